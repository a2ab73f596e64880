"""`tradefair check`: exit codes, names with a hint, JSON, snapshots."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from tests.testing.foreign import SCENARIO, BoxType, MintsMoney

from tradefair.catalog import market_listing
from tradefair.catalog.listing import LISTING
from tradefair.cli import run
from tradefair.testing import CHECKS, check_command
from tradefair.testing.checks import declarations

QUICK = ["--only", "conservation", "--only", "keeps_the_protocol"]


def test_a_sound_market_keeps_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "teaching", *QUICK]) == 0
    assert "keeps the contract (2 checks)" in capsys.readouterr().out


def _one_scenario(kind: object, slow: bool = False) -> list[object]:
    return [SCENARIO]


@pytest.fixture
def minting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds a market that makes money under the name of another."""
    kind = BoxType()
    kind.rules = MintsMoney

    def found(name: str) -> BoxType:
        return kind

    monkeypatch.setattr(check_command, "market_type", found)
    monkeypatch.setattr("tradefair.testing.bench.bundled_scenarios", _one_scenario)


@pytest.mark.usefixtures("minting")
def test_findings_are_lines_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "teaching", *QUICK]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "conservation (box/three, seed 1): round 1: money was made"
    assert lines[-1] == "teaching 1: 3 failures in 2 checks"


@pytest.mark.usefixtures("minting")
def test_json_lists_the_checks_with_their_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "teaching", "--json", *QUICK]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["passed"] is False
    assert [entry["name"] for entry in content["checks"]] == ["conservation", "keeps_the_protocol"]
    assert content["checks"][0]["failures"][0] == {
        "check": "conservation",
        "scenario": "box/three",
        "seed": 1,
        "message": "round 1: money was made",
    }
    assert content["checks"][1] == {
        "name": "keeps_the_protocol",
        "sentence": CHECKS["keeps_the_protocol"].sentence,
        "passed": True,
        "failures": [],
    }


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["teachin"], "there is no market 'teachin'; did you mean teaching?"),
        (["zzz"], "there are bargaining, double_auction"),
        (["teaching", "--only", "determinist"], "there is no check 'determinist'; did you mean determinism?"),
    ],
)
def test_unknown_names_come_with_a_hint(arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *arguments]) == 2
    assert hint in capsys.readouterr().err


def test_a_market_that_cannot_be_imported_is_a_matter_of_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(name: str) -> None:
        raise NameError("name 'Pie' is not defined")

    monkeypatch.setattr(check_command, "market_type", broken)
    assert run(["check", "teaching"]) == 2
    assert "the market teaching cannot be loaded: raised NameError: name 'Pie'" in capsys.readouterr().err


def test_a_snapshot_is_recorded_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "teaching.json"
    assert run(["check", "teaching", "--write", str(path)]) == 0
    assert run(["check", "teaching", "--snapshot", str(path), *QUICK]) == 0
    path.write_text(path.read_text().replace("slices", "pieces"))
    assert run(["check", "teaching", "--snapshot", str(path), *QUICK]) == 1
    assert "--write teaching.json" in capsys.readouterr().out


def test_a_listing_is_written_as_the_package_has_it(tmp_path: Path) -> None:
    path = tmp_path / LISTING
    assert run(["check", "teaching", "--write", str(path)]) == 0
    assert path.read_bytes() == files("tradefair.teaching").joinpath(LISTING).read_bytes()


def test_a_listing_that_says_something_else_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = market_listing("teaching")._replace(title="three seats divide a pie")
    monkeypatch.setattr(declarations, "market_listing", {"teaching": stale}.__getitem__)
    assert run(["check", "teaching", "--only", "listing_is_current"]) == 1
    assert "tradefair check teaching --write listing.toml" in capsys.readouterr().out


def test_progress_is_on_stderr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check_command, "_QUIET_S", -1.0)
    assert run(["check", "teaching", *QUICK]) == 0
    assert capsys.readouterr().err == "check 1 of 2: conservation\ncheck 2 of 2: keeps_the_protocol\n"


def test_every_check_is_data_with_a_sentence() -> None:
    assert [check.name for check in CHECKS.values()] == list(CHECKS)
    assert [name for name, check in CHECKS.items() if not check.sentence or check.sentence.endswith(".")] == []
    assert next(iter(CHECKS)) == "keeps_the_protocol"


def test_the_guide_lists_every_check_with_its_sentence() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "writing-a-market.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$", page.partition("## 7. Prove it")[2], re.MULTILINE)
    assert rows == [(check.name, check.sentence) for check in CHECKS.values()]

"""What docs/how-to/models.md shows is so."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.calling import moves
from tests.waiting import LONG

from tradefair.cli import run
from tradefair.frameworks.models import Faults
from tradefair.frameworks.models.faults import FAULTS
from tradefair.frameworks.models.prices import PRICES, cost_usd_micro

_PAGE = (Path(__file__).parents[3] / "docs" / "how-to" / "models.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", _PAGE, re.DOTALL)


@pytest.mark.network
def test_the_two_runs_of_the_page_write_the_same_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in _blocks("console")[0].splitlines():
        assert run(shlex.split(line.removeprefix("$ tradefair "))) == 0
    traces = [next(Path("runs", name).glob("*.trace")) for name in ("first", "again")]
    assert moves(traces[0]) == moves(traces[1])


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    [program] = _blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (done.returncode, done.stdout) == (0, "['policy:zip']\n"), done.stderr
    assert (tmp_path / "mine.jsonl").exists()


def test_the_table_of_faults_is_complete_and_the_schedule_is_one() -> None:
    assert re.findall(r"^\| `(\w+)` \|", _PAGE, re.MULTILINE) == list(FAULTS)
    [spec] = re.findall(r'faults = "(\S+)"', _PAGE)
    schedule = Faults.parse(spec)
    assert [fault and fault.kind for fault in map(schedule.at, (2, 3, 6, 8, 19, 99))] == [
        None,
        "429",
        "500",
        "drop",
        None,
        "endless",
    ]


def test_the_prices_of_the_page_are_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(_blocks("toml")[0])
    monkeypatch.setenv(PRICES, str(own))
    assert cost_usd_micro("openai:our-model", 1_000, 500, 100) == 400 + 40 + 240

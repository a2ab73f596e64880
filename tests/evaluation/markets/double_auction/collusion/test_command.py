"""`tradefair lab collusion` on real traces: what it reads, prints and refuses."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from benchmarks.auctions import CHAT, fast_game
from tests.evaluation.playing import played, played_by
from tests.sample import sample_logs

from tradefair.cli import run
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.markets.double_auction.collusion.game import game_of
from tradefair.evaluation.markets.double_auction.collusion.reading import played_of
from tradefair.tracestore import open_trace

RING: Mapping[str, str] = dict.fromkeys(("S1", "S2", "S3"), "cartel_sellers")
SILENT = "double_auction/collusion_silent"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("arms")
    for folder in ("talk", "silent", "talk/references"):
        (root / folder).mkdir()
    for seed in (1, 2):
        played_by(root / "talk" / f"{seed}.trace", CHAT, RING, seed, "truthful")
        played_by(root / "silent" / f"{seed}.trace", SILENT, RING, seed, "truthful")
        played(root / "talk" / "references" / f"truthful-{seed}.trace", CHAT, "truthful", seed)
    return root


def test_a_trace_says_what_the_rules_played(folders: Path) -> None:
    fast = fast_game(CHAT, 1, {"buyer": "truthful", **RING})
    with open_trace(folders / "talk" / "1.trace") as trace:
        read = played_of(trace)
    assert game_of(read._replace(name=fast.name, pairing=fast.pairing), "sellers") == game_of(fast, "sellers")
    assert read.pairing.players == fast.pairing.players


def test_arms_and_references_are_paired_by_seed(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "collusion", str(folders / "talk"), "--against", str(folders / "silent"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["sample"]["episodes"], report["silent"]["episodes"]) == (2, 2)
    assert report["references"] == {"truthful": 2, "gd_bazaar": 0, "zip": 0}
    assert report["unpaired"] == []
    assert report["conclusion"] == "exploratory"
    assert any("gd_bazaar" in line for line in report["missing"])
    against = {(row["name"], row["against"]): row["n"] for row in report["versus"]}
    assert against["withheld", "silent"] == against["withheld", "truthful"] == 2


def test_figures_of_each_label_in_each_role(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    played_by(mixed / "ring.trace", CHAT, RING, 1, "truthful")
    played_by(mixed / "some.trace", CHAT, {"S1": "zip"}, 2, "truthful")
    arguments = ["lab", "collusion", str(mixed), "--by", "label", "--play-references"]
    assert run([*arguments, "--json", "-o", str(tmp_path / "p.csv")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["references"] == {"truthful": 2, "gd_bazaar": 2, "zip": 2}
    episodes = {(row["player"], row["role"]): row["episodes"] for row in report["players"]}
    assert episodes == {
        ("policy:cartel_sellers", "seller"): 1,
        ("policy:truthful", "seller"): 1,
        ("policy:zip", "seller"): 1,
        ("policy:truthful", "buyer"): 2,
    }
    head, *rows = csv.reader((tmp_path / "p.csv").read_text().splitlines())
    assert head[0] == "role, player (episodes)"
    assert [row[0] for row in rows] == ["seller policy:cartel_sellers (1)"]
    monkeypatch.setenv("COLUMNS", "80")
    assert run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("1 overcharge by player") for line in lines) == 1


def test_references_are_played_or_named_not_both(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = str(folders / "talk")
    assert run(["lab", "collusion", talk, "--references", talk, "--play-references"]) == 2
    assert "--play-references" in capsys.readouterr().err


def test_the_tables_fit_a_narrow_terminal(
    folders: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["lab", "collusion", str(folders / "talk"), "--against", str(folders / "silent")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("exploratory, no verdict") for line in lines) == 2


def test_a_trace_of_another_market_is_refused_and_among_references_it_is_named(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = played(tmp_path / "odd.trace", "bargaining/smoke", "random_legal")
    assert run(["lab", "collusion", str(folders / "talk" / "1.trace"), str(odd), "--json"]) == 1
    assert "these are traces of bargaining and double_auction" in " ".join(capsys.readouterr().err.split())
    asked = ["lab", "collusion", str(folders / "talk" / "1.trace"), "--references", str(odd), "--json"]
    assert run(asked) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding == "odd.trace: a trace of bargaining; the collusion report reads double_auction"


def test_a_trace_that_was_cut_short_is_named(folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (folders / "talk" / "1.trace").read_bytes()
    (tmp_path / "cut.trace").write_bytes(whole[: len(whole) // 2])
    assert run(["lab", "collusion", str(folders / "talk" / "1.trace"), str(tmp_path / "cut.trace"), "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding.startswith("cut.trace: ")


@pytest.mark.many
def test_public_games_are_read_and_their_missing_arm_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = sample_logs("emergent_collusion")[:9]
    run_importer("collusion-log", logs, tmp_path)
    assert run(["lab", "collusion", str(tmp_path), "--by", "label", "--play-references", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["sample"]["with_talk"] == 9
    assert report["references"] == {"truthful": 9, "gd_bazaar": 9, "zip": 9}
    assert sum(row["episodes"] for row in report["players"] if row["name"] == "overcharge") == 9 * 6
    assert report["missing"][0].startswith("the silent arm")
    assert report["primary"][0]["p"] is None
    assert report["conclusion"] in {"ambiguous", "no_signs"}


def test_a_figure_shows_each_measure_beside_its_null(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["lab", "collusion", str(folders / "talk"), "--against", str(folders / "silent")]
    assert run([*asked, "--json", "-o", str(tmp_path / "c.csv")]) == 0
    report = json.loads(capsys.readouterr().out)
    head, *rows = csv.reader((tmp_path / "c.csv").read_text().splitlines())
    assert head == ["measure", "observed", "expected by chance"]
    known = {f"{row['measure']} {row['name']}": (row["value"], row["expected"]) for row in report["within"] if row["n"]}
    shown = {name.partition(" (")[0]: (float(value), float(null)) for name, value, null in rows}
    assert shown
    assert shown.items() <= known.items()
    assert run([*asked, "-o", str(tmp_path / "c.html")]) == 0
    assert run([*asked, "-o", str(tmp_path / "c.svg")]) == 0
    assert b"Each measure beside its null" in (tmp_path / "c.svg").read_bytes()
    assert run([*asked, "-o", str(tmp_path / "c.txt")]) == 2

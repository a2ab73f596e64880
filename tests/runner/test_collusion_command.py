"""`tradefair lab collusion` asks the market of the traces; what it cannot ask about it refuses in a sentence."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.evaluation.playing import played, played_by

from tradefair.cli import run
from tradefair.evaluation.evaluator import Evaluator, evaluator_of


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("collusion")
    for folder in ("prices", "book", "other"):
        (root / folder).mkdir()
    for seed in (1, 2):
        played(root / "prices" / f"{seed}.trace", "pricing/textbook", "grim", seed, rounds=24)
        rings: dict[str, str] = dict.fromkeys(("S1", "S2"), "ring")
        played_by(root / "book" / f"{seed}.trace", "order_book/smoke", rings, seed, "zip")
    played(root / "other" / "talk.trace", "bargaining/smoke", "random_legal")
    return root


def asked(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 0) -> str:
    assert run(["lab", "collusion", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_a_market_that_announces_no_measures_has_none() -> None:
    assert Evaluator("x").collusion is None
    having = [
        name for name in ("bargaining", "double_auction", "order_book", "pricing") if evaluator_of(name).collusion
    ]
    assert having == ["double_auction", "order_book", "pricing"]


def test_a_market_without_measures_is_refused_and_those_that_have_some_are_named(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = " ".join(asked(capsys, folders / "other", code=1).split())
    assert "bargaining has no measures of collusion; double_auction, order_book and pricing have some" in told


def test_traces_of_several_markets_are_refused(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = " ".join(asked(capsys, folders / "prices", folders / "other", code=1).split())
    assert "these are traces of bargaining and pricing: name those of one market" in told


def test_an_option_that_says_nothing_of_the_market_is_refused(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "not of pricing, which takes --probe" in asked(capsys, folders / "prices", "--side", "buyers", code=2)
    told = " ".join(asked(capsys, folders / "book", "--probe", code=2).split())
    assert "--probe: not of order_book, which takes --play-references and --references" in told


def test_posted_prices_answer_two_questions(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = json.loads(asked(capsys, folders / "prices", "--json"))
    assert (plain["market"], plain["enforced"], plain["episodes"][0]["conclusion"]) == ("pricing", None, "ambiguous")
    assert plain["missing"] == [
        "probes of 2 of 2 episodes: not asked for (--probe)",
        "parallel movement: 2 of 2 episodes have no two firms whose prices move",
    ]
    probed = json.loads(asked(capsys, folders / "prices", "--probe", "--json"))
    assert (probed["elevated"], probed["enforced"], probed["conclusion"]) == (True, True, "exploratory")
    assert probed["episodes"][0]["conclusion"] == "signs"
    assert len(probed["episodes"][0]["probes"]) == 2


def test_the_page_of_a_probe_has_both_branches_of_its_prices(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(capsys, folders / "prices", "--probe", "-o", tmp_path / "p.csv")
    head, *rows = csv.reader((tmp_path / "p.csv").read_text().splitlines())
    assert head == ["series", "panel", "round", "price (minor units)"]
    prices = {(name, float(number)): float(price) for name, _, number, price in rows if price}
    # Round 17 of 24: F1 posts its best reply to 1925 once, and grim answers with nash for ever.
    assert (prices["F1 as it was", 17], prices["F1", 17]) == (1925, 1662)
    assert (prices["F2 as it was", 18], prices["F2", 18]) == (1925, 1473)
    assert (prices["F2", 17], prices["F1", 18]) == (1925, 1925)
    for name in ("p.html", "p.tex", "p.json"):
        asked(capsys, folders / "prices", "--probe", "-o", tmp_path / name)
    told = json.loads((tmp_path / "p.json").read_bytes())
    assert told["verdict"].startswith("exploratory, no verdict: 2 episodes, fewer than 8")


def test_an_order_book_is_held_against_references_that_are_played_here(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = json.loads(asked(capsys, folders / "book", "--json"))
    assert (alone["conclusion"], alone["references"]) == ("nothing_to_test", {"zi_c": 0, "zip": 0})
    beside = json.loads(asked(capsys, folders / "book", "--play-references", "--json", "-o", tmp_path / "b.html"))
    assert (beside["conclusion"], beside["references"]) == ("exploratory", {"zi_c": 2, "zip": 2})
    assert (tmp_path / "b.html").stat().st_size > 10_000


@pytest.mark.parametrize("folder", ["prices", "book"])
def test_the_tables_fit_a_narrow_terminal(
    folders: Path, folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    option = "--probe" if folder == "prices" else "--play-references"
    lines = asked(capsys, folders / folder, option).splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("exploratory, no verdict") for line in lines) == 2


def test_a_trace_that_was_cut_short_is_left_out_and_named(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = (folders / "prices" / "1.trace").read_bytes()
    (tmp_path / "cut.trace").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "whole.trace").write_bytes(whole)
    assert run(["lab", "collusion", str(tmp_path), "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding.startswith("cut.trace: ")

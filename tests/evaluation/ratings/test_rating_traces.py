"""From trace files to leaderboards, and the command that does it."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.mutations import (
    DAMAGES,
    Damage,
    Mutation,
    damage,
    mutated_parts,
    mutations,
    parts_of,
    reseat,
    write_parts,
)
from tests.evaluation.ratings.playing import play_seats
from tests.sample import sample_logs

from tradefair.cli import run
from tradefair.evaluation.charts import StripChart, XYChart
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.rating import DuelBoard, FieldBoard
from tradefair.evaluation.ratings.results import GameResult, Unread, gathered, read_result, read_results
from tradefair.tracestore import open_trace


def read_outcome(path: Path) -> Any:
    with open_trace(path) as trace:
        return evaluate(trace)


SMOKE = {"B1": "zip", "B2": "truthful", "S1": "zic", "S2": "truthful"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three small auctions, a bargaining block in both seatings, and references that are no runs."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (1, 2, 3):
        play_seats(folder / "auctions" / f"{seed}.trace", "double_auction/smoke", SMOKE, seed)
    for place, pair in enumerate((("truthful", "conceder"), ("conceder", "truthful"))):
        play_seats(folder / f"{place}.trace", "bargaining/smoke", dict(zip(("B1", "S1"), pair, strict=True)), 4)
    play_seats(folder / "references" / "r.trace", "double_auction/smoke", SMOKE, 9)
    return folder


def test_traces_are_read_once_and_references_are_passed_over(runs: Path) -> None:
    found = read_results([runs, runs / "auctions", runs / "auctions" / "1.trace"])
    assert (len(found.games), found.unread, found.references) == (5, [], 1)
    assert all(not game.unusable for game in found.games)
    duel = next(game for game in found.games if game.market == "bargaining")
    assert (duel.potential, [seat.label for seat in duel.seats]) == (120, ["truthful", "conceder"])


@pytest.mark.many
def test_several_processes_read_what_one_reads(runs: Path) -> None:
    assert read_results([runs], workers=2) == read_results([runs])


def test_damaged_unfinished_and_unlabelled_traces_are_told_apart(runs: Path, tmp_path: Path) -> None:
    source = runs / "auctions" / "1.trace"
    changed, open_one, nameless = (tmp_path / f"{name}.trace" for name in ("changed", "open", "nameless"))
    shutil.copy(source, changed)
    with closing(sqlite3.connect(changed)) as database, database:
        database.execute("UPDATE events SET body = replace(body, '\"round\":1', '\"round\":2') WHERE seq = 5")
    parts = parts_of(source)
    parts.bodies, parts.numbers, parts.about = parts.bodies[:20], parts.numbers[:20], {}
    write_parts(parts, open_one)
    parts = parts_of(source)
    reseat(parts, players={**orjson.loads(parts.bodies[0])["seating"]["players"], "B2": {"label": ""}})
    write_parts(parts, nameless)
    (tmp_path / "none.trace").write_bytes(b"nothing")
    results = {path.stem: read_result(path) for path in tmp_path.glob("*.trace")}
    assert isinstance(results["changed"], Unread)
    assert isinstance(results["none"], Unread)
    reasons = {name: game.unusable for name, game in results.items() if isinstance(game, GameResult)}
    assert reasons["open"].startswith("unfinished")
    assert reasons["nameless"] == "a seat has no label"


@settings(max_examples=20, deadline=None)
@given(changes=mutations(), how=st.none() | st.tuples(st.sampled_from(DAMAGES), st.integers(0, 100_000)))
def test_a_spoilt_trace_is_left_out_or_rated_and_never_a_crash(
    runs: Path, changes: Sequence[Mutation], how: Damage | None
) -> None:
    spoilt = runs.parent / "spoilt.trace"
    for source in (runs / "auctions" / "1.trace", runs / "0.trace"):
        write_parts(mutated_parts(parts_of(source), changes), spoilt)
        if how is not None:
            damage(spoilt, how)
        results = gathered([read_result(path, series=True) for path in (spoilt, source)])
        found = leaderboards(results)
        outside = [*found.left_out, *(left for board in found.boards for left in board.left_out)]
        assert found.rated + sum(left.count for left in outside) == found.traces == 2


def test_the_command_prints_leaderboards_and_their_making(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rate", str(runs)]) == 0
    shown = capsys.readouterr().out
    assert "bargaining/smoke · 2 games · 2 labels" in shown
    assert "double_auction/smoke · 3 games · 3 labels" in shown
    assert "TrueSkill" in shown
    assert "5 of 5 traces rated" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_rankings_stand_alone_until_all_is_asked_for(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rate", str(runs)]) == 0
    few = capsys.readouterr().out
    assert run(["rate", str(runs), "--all"]) == 0
    everything = capsys.readouterr().out
    for title in ("Means over games", "Head to head"):
        assert f"\n{title}\n" in everything
        assert f"\n{title}\n" not in few
        assert title in " ".join(few.split("tradefair rate --all shows")[1].split())
    assert "--all" not in everything
    for ranking in ("\nTrueSkill\n", "\nCMS-style score\n"):
        assert ranking in few


def test_the_command_gives_json_a_file_and_a_page(
    runs: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["rate", str(runs), "--json", "--score", "payoff", "-o", str(tmp_path / "boards.json")]) == 0
    printed = orjson.loads(capsysbinary.readouterr().out)
    assert printed == orjson.loads((tmp_path / "boards.json").read_bytes())
    assert next(iter(printed)) == "verdict"
    assert [board["kind"] for board in printed["boards"]] == ["duel", "field"]
    assert printed["boards"][1]["score"] == "payoff"
    assert run(["rate", str(runs), "-o", str(tmp_path / "boards.html")]) == 0
    page = (tmp_path / "boards.html").read_bytes()
    assert b"double_auction/smoke" in page
    assert bytes(tmp_path) not in page
    capsysbinary.readouterr()
    assert run(["rate", str(runs), "-o", str(tmp_path / "boards.csv")]) == 0
    # The numbers of the largest leaderboard's ranking, and the verdict beside them on the terminal.
    assert (tmp_path / "boards.csv").read_text().startswith("label,rating,low,high\n")
    assert (
        b"First place is open in double_auction/smoke by rating by share of possible: zip "
        in capsysbinary.readouterr().out
    )
    assert run(["rate", str(runs), "-o", str(tmp_path / "boards.doc")]) == 2


PICTURES = {
    "duel": [
        "profit_strip", "profit_by_round", "bid_offset_by_round", "trade_offset_by_round", "average_offset",
        "opponent_offset_by_round", "game_offset_strip", "all_bid_offsets", "all_trade_offsets", "trade_frequency",
        "games_with_a_trade", "trade_frequency_by_round",
    ],
    "field": [
        "score_strip", "average_offset", "game_offset_strip", "offset_by_round", "all_trade_offsets",
        "trade_frequency", "price_against_value",
    ],
}  # fmt: skip


def test_a_page_has_the_published_pictures_of_either_market(runs: Path, tmp_path: Path) -> None:
    assert run(["rate", str(runs), "-o", str(tmp_path / "boards.json"), "--score", "payoff"]) == 0
    boards = orjson.loads((tmp_path / "boards.json").read_bytes())["boards"]
    assert {board["kind"]: [chart["id"] for chart in board["charts"]] for board in boards} == PICTURES
    for board in boards:
        for chart in board["charts"]:
            # What an offset is stands with each picture of one, and who published it.
            if "offset" in chart["id"]:
                assert "less" in chart["note"]
                assert "own value or cost, turned by role" in chart["note"]
                assert "Lech Mazur" in chart["note"]
    # A terminal shows none of them, so nothing is read for them.
    assert all(not board.charts for board in leaderboards(read_results([runs])).boards)


def test_series_of_the_outcome_make_the_pictures(runs: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["evaluate", str(runs / "0.trace"), "--json"]) == 0
    outcome = orjson.loads(capsysbinary.readouterr().out)["traces"][0]["outcome"]
    duel, field = leaderboards(
        read_results([runs / "0.trace", runs / "1.trace", runs / "auctions"], series=True)
    ).boards
    by_id = {chart.id: chart for chart in duel.charts}
    course = by_id["profit_by_round"]
    assert isinstance(course, XYChart)
    buyers, rounds = outcome["seats"]["B1"]["profits"], len(outcome["seats"]["B1"]["profits"])
    assert outcome["seats"]["B1"]["label"] == "truthful"
    other = read_outcome(runs / "1.trace").seats["S1"].profits
    line = next(line for line in course.lines if line.name == "truthful")
    assert line.x == list(range(1, rounds + 1))
    assert line.y == pytest.approx([(one + two) / 2 for one, two in zip(buyers, other, strict=True)])
    auction = read_outcome(runs / "auctions" / "1.trace").seats["B1"]
    for price, offset, traded in zip(auction.trade_prices, auction.trade_offsets, auction.traded, strict=True):
        assert (price is not None) == (offset is not None) == traded
        assert price is None or auction.value - price == offset
    assert sum(offset or 0 for offset in auction.trade_offsets) == auction.payoff
    strip = next(chart for chart in field.charts if chart.id == "all_trade_offsets")
    assert isinstance(strip, StripChart)
    # Labels sit on every seat of three games; what they are not told to be they did not trade.
    assert sum(known.of for known in strip.strips) == sum(
        seat.trades for path in (runs / "auctions").iterdir() for seat in read_outcome(path).seats.values()
    )


def test_prices_stand_at_the_value_of_the_seat_that_traded(runs: Path) -> None:
    (field,) = leaderboards(read_results([runs / "auctions"], series=True)).boards
    chart = next(chart for chart in field.charts if chart.id == "price_against_value")
    assert isinstance(chart, XYChart)
    expected: dict[str, list[tuple[float, float]]] = {"buyers": [], "sellers": []}
    for path in (runs / "auctions").iterdir():
        for seat in read_outcome(path).seats.values():
            expected[f"{seat.role}s"] += [(seat.value, price) for price in seat.trade_prices if price is not None]
    assert {line.name: list(zip(line.x, line.y, strict=True)) for line in chart.lines[:2]} == {
        role: sorted(places) for role, places in expected.items()
    }


def test_one_chart_can_be_written_alone(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in ("csv", "tex"):
        out = tmp_path / f"x.{suffix}"
        assert run(["rate", str(runs / "auctions"), "--chart", "offset_by_round", "-o", str(out)]) == 0
        assert "value − bid, ask − cost" in out.read_text(encoding="utf-8").replace("$-$", "−")
    assert run(["rate", str(runs / "auctions"), "--chart", "luck", "-o", str(tmp_path / "x.csv")]) == 2
    assert "offset_by_round" in capsys.readouterr().err
    assert run(["rate", str(runs), "--chart", "offset_by_round"]) == 2
    assert ".svg, .csv or .tex" in capsys.readouterr().err


def test_the_command_says_what_cannot_be_rated(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none.trace").write_bytes(b"nothing")
    shutil.copy(runs / "auctions" / "1.trace", tmp_path)
    assert run(["rate", str(tmp_path)]) == 1
    assert "cannot be read" in capsys.readouterr().out
    assert run(["rate", str(runs), "--score", "luck"]) == 2
    assert "csa_clean" in capsys.readouterr().err


def test_the_documented_code_rates_a_folder(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "ratings.md"
    found = re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    code = found[1].replace('Path("runs")', "Path('.')")
    assert code != found[1]
    monkeypatch.chdir(runs)
    exec(compile(code, str(page), "exec"), {})  # the page's own code
    assert capsys.readouterr().out.splitlines()[0].startswith("bargaining/smoke 2 [")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public games, imported."""
    out = tmp_path_factory.mktemp("samples")
    for kind in ("bazaar", "pact"):
        run_importer(f"{kind}-log", sample_logs(kind), out / kind)
    return out


@pytest.mark.many
def test_the_public_samples_have_leaderboards_with_uncertainty_and_counts(samples: Path) -> None:
    found = leaderboards(read_results([samples]))
    assert (found.traces, found.rated, found.left_out) == (53, 53, [])
    pact = [board for board in found.boards if isinstance(board, DuelBoard)]
    bazaar = [board for board in found.boards if isinstance(board, FieldBoard)]
    assert len(pact) + len(bazaar) == len(found.boards)
    assert {board.scenario for board in pact} == {"bargaining/pact_log"}
    assert {board.scenario for board in bazaar} == {"double_auction/bazaar_log"}
    assert (sum(board.games for board in pact), sum(len(board.rows) for board in pact), len(pact)) == (37, 67, 30)
    assert sum(board.games for board in bazaar) == 16
    assert all(board.leader is None and len(board.rows) > 1 for board in found.boards)
    sizes = [len(board.rows) for board in pact]
    assert sizes == sorted(sizes, reverse=True)
    for board in pact:
        assert sum(row.games for row in board.rows) == 2 * board.games
        assert sum(sum(met.games.values()) for met in board.meetings) == 2 * board.games
        assert all(row.exploratory and 0 <= row.score <= 100 for row in board.rows)
    for board in bazaar:
        assert all((row.score_low is None) == (row.episodes == 1) == (row.low is None) for row in board.rows)

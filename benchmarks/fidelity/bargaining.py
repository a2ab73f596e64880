"""PACT: its public games re-executed, what `rate` makes of them, and the published table beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.fidelity.row import Row
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.outcome import SeatOutcome
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.rating import DuelBoard
from tradefair.evaluation.ratings.results import read_results
from tradefair.evaluation.statistics.paired import interval
from tradefair.tracestore import open_trace

# README of github.com/lechmazur/pact, 21 August 2025: 30 models, 10,531 games counted once per model; means weighted
# by games of the columns "CMS (%)" and "Avg Profit / Round".
PUBLISHED_PROFIT = 16.66
PUBLISHED_SCORE = 47.6

_IMPORT = "tradefair import pact-log $TRADEFAIR_DATA/logs/pact --out runs/pact"
_EVALUATE = "tradefair evaluate runs/pact/*.trace --json"
_RATE = "tradefair rate runs/pact --all"
# The floats of a log were summed in another order than ours.
_EXACT = 1e-9
_LATER = (
    "the sample has one or two games of each of 67 models, most of them later than the table; its interval is of games"
)


class _Seat(NamedTuple):
    """One seat of a log, from the log's rows alone, and our outcome of the same seat."""

    rounds: int
    payoff: float
    share: float
    offsets: list[float]
    traded: int
    ours: Any


def rows(data: Path | None) -> Iterator[Row]:
    """Every game, seat share and course of the sample logs, then the table's two columns; nothing without logs."""
    files = sorted((data / "logs" / "pact").glob("*.jsonl")) if data else []
    if not files:
        return
    with TemporaryDirectory() as folder:
        report = run_importer("pact-log", files, Path(folder))
        seats = [seat for game in report.games if game.trace for seat in _seats(files, game.file, Path(game.trace))]
        (board,) = leaderboards(read_results([folder])).boards
    assert isinstance(board, DuelBoard)
    whole = float(len(files))
    facts = [tally for game in report.games for tally in game.checks.values()]
    met = sum(game.sound and all(tally.first is None for tally in game.checks.values()) for game in report.games)
    yield _count("games re-executed, every fact of the log met", whole, met, _IMPORT)
    yield _count(
        "facts of the logs", sum(tally.total for tally in facts), sum(tally.matched for tally in facts), _IMPORT
    )
    equal = sum(abs(seat.share - (seat.ours.surplus_share or 0.0)) <= _EXACT for seat in seats)
    yield _count("seats whose share is that of seat_surplus_share_map", 2 * whole, equal, _EVALUATE)
    yield from _means(seats)
    scores = [row.score for row in board.rows]
    within = sum(0 <= score <= 100 for score in scores)
    yield _count("models whose score lies in 0 to 100", float(len(scores)), within, _RATE)
    low, high = interval(scores) or (None, None)
    yield Row(
        "mean score of the models, %", PUBLISHED_SCORE, fmean(scores), low, high, _RATE, ".1f", None,
        f"a CMS-style score of our own definition; {_LATER}",
    )  # fmt: skip
    profits = [
        fmean(seat.payoff / seat.rounds for seat in seats[place : place + 2]) for place in range(0, len(seats), 2)
    ]
    low, high = interval(profits) or (None, None)
    yield Row("profit a round, ticks", PUBLISHED_PROFIT, fmean(profits), low, high, _RATE, ".2f", None, _LATER)


def _means(seats: Sequence[_Seat]) -> Iterator[Row]:
    """Means over seats of what the published charts show: the log's rows on one side, our outcomes on the other."""
    measures: Mapping[str, tuple[Callable[[_Seat], float], Callable[[Any], float]]] = {
        "mean profit a round of the seats, ticks": (lambda seat: seat.payoff / seat.rounds, _ours("profit_per_round")),
        "mean share of the seats": (lambda seat: seat.share, _ours("surplus_share")),
        "mean quote offset of the seats, ticks": (lambda seat: fmean(seat.offsets), _mean_of("quote_offsets")),
        "mean trade frequency of the seats": (lambda seat: seat.traded / seat.rounds, _mean_of("traded")),
    }
    for what, (logged, ours) in measures.items():
        here = fmean(ours(seat.ours) for seat in seats)
        yield Row(what, fmean(map(logged, seats)), here, None, None, _EVALUATE, ".4f")


def _ours(name: str) -> Callable[[Any], float]:
    return lambda seat: getattr(seat, name) or 0.0


def _mean_of(name: str) -> Callable[[Any], float]:
    return lambda seat: fmean(value for value in getattr(seat, name) if value is not None)


def _count(what: str, published: float, ours: float, command: str) -> Row:
    return Row(what, published, float(ours), None, None, command, ".0f")


def _seats(files: Sequence[Path], name: str, trace: Path) -> Iterator[_Seat]:
    """Both seats of a game."""
    log = next(file for file in files if file.name == name)
    with open_trace(trace) as opened:
        outcomes: Mapping[str, SeatOutcome] = evaluate(opened).seats
    written = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.strip()]
    init = next(row["data"] for row in written if row["type"] == "init")
    final = next(row["data"] for row in written if row["type"] == "final")
    quotes = [row for row in written if row["type"] == "bid_ask"]
    traded = sum(row["type"] == "trade" for row in written)
    for seat, outcome in outcomes.items():
        agent = init["agents"][seat]
        # Quote − valuation, "with buyer bids treated as negative": the source's own words.
        sign, limit = (-1, agent["valuation"]) if agent["role"] == "buyer" else (1, agent["cost"])
        offsets = [sign * (row["price"] - limit) for row in quotes if row["agent_id"] == seat]
        payoff, share = final["final_payoff_map"][seat], final["seat_surplus_share_map"][seat]
        yield _Seat(init["num_rounds"], payoff, share, offsets, traded, outcome)

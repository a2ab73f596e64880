"""The published scores of BAZAAR, seat by seat, next to ours by the source's table and by our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from benchmarks.fidelity.row import Row
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.markets.double_auction.evaluator import EVALUATOR
from tradefair.evaluation.markets.double_auction.results import DoubleAuctionSeat
from tradefair.evaluation.markets.double_auction.source_table import TOLERANCE
from tradefair.evaluation.statistics.paired import interval
from tradefair.tracestore import open_trace

_COMMAND = "tradefair import bazaar-log $TRADEFAIR_DATA/logs/bazaar --out bazaar; tradefair evaluate bazaar --json"


def csa_rows(data: Path | None) -> Iterator[Row]:
    """Rows on the conditional surplus alphas of the public games in `data`; none without them."""
    logs = sorted((data / "logs" / "bazaar").glob("*.jsonl")) if data else []
    if not logs:
        return
    games = list(_games(logs))
    keyed = [(ours, logged) for game in games for ours, logged in _pairs(game) if ours is not None]
    agree = sum(abs(ours - logged) <= TOLERANCE for ours, logged in keyed)
    seats = sum(map(len, games))
    what = (
        f"csa_source: seats with the published score to 1e-6, of those whose key the source's table has ({seats} seats)"
    )
    yield Row(what, len(keyed), agree, None, None, _COMMAND, ".0f")
    truthful = [[seat.csa for seat in game if seat.csa is not None] for game in games]
    # Seats of a game share its luck: the game is what was drawn.
    low, high = interval([fmean(scores) for scores in truthful]) or (None, None)
    yield Row(
        "csa, by our table of all-truthful play: mean of all seats",
        fmean(logged for game in games for _, logged in _pairs(game)),
        fmean(score for scores in truthful for score in scores),
        low,
        high,
        _COMMAND,
        differs="another table: ours is of all-truthful play; the source does not say of whose play its own is",
    )


def _games(logs: list[Path]) -> Iterator[list[DoubleAuctionSeat]]:
    """The seats of each game, evaluated from its imported log."""
    with TemporaryDirectory() as folder:
        for game in run_importer("bazaar-log", logs, Path(folder)).games:
            if game.trace is not None:
                with open_trace(game.trace) as trace:
                    yield list(EVALUATOR.outcomes(trace).seats.values())


def _pairs(game: list[DoubleAuctionSeat]) -> Iterator[tuple[float | None, float]]:
    """Our score by the source's table, and the log's, of every seat that has the latter."""
    for seat in game:
        if seat.csa_logged is not None:
            yield seat.csa_source, seat.csa_logged

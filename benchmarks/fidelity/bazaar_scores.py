"""The published scores of BAZAAR, seat by seat, next to ours by the source's table and by our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median
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
    off: dict[str, list[float]] = {"solved": [], "filled": []}
    for game in games:
        for seat in game:
            if seat.csa_source_basis and seat.csa_source is not None and seat.csa_logged is not None:
                off[seat.csa_source_basis].append(abs(seat.csa_source - seat.csa_logged))
    agree = sum(distance <= TOLERANCE for distance in off["solved"])
    seats = sum(map(len, games))
    what = f"csa_source: seats with the published score to 1e-6, of those whose key is solved ({seats} seats)"
    yield Row(what, len(off["solved"]), agree, None, None, _COMMAND, ".0f")
    yield Row(
        f"csa_source: median distance from the published score of the {len(off['filled'])} seats with a filled key",
        0.0,
        median(off["filled"]),
        None,
        None,
        _COMMAND,
        differs="filled keys are estimates, and their seats say so",
    )
    truthful = [[seat.csa for seat in game if seat.csa is not None] for game in games]
    # Seats of a game share its luck: the game is what was drawn.
    low, high = interval([fmean(scores) for scores in truthful]) or (None, None)
    yield Row(
        "csa, by our table of all-truthful play: mean of all seats",
        fmean(seat.csa_logged for game in games for seat in game if seat.csa_logged is not None),
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

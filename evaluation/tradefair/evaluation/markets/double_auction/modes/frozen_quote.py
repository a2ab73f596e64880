"""frozen_quote: the same quote round after round, without a trade, while another would have paid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from tradefair.evaluation.markets.double_auction.modes.cases import proven
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound, runs
from tradefair.evaluation.modes.sign import Sign


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Rounds of such stretches out of those with a quote; severity: what was missed in them."""
    quoted = [round_ for round_ in seat.rounds if not round_.forfeited]
    frozen = [
        run
        for run in _equal(quoted)
        # An equal quote is no mistake where nothing would have traded: some of its rounds must have been missed (10.1).
        if len(run) >= limits["rounds"] and sum(round_.missed for round_ in run) >= limits["missed"]
    ]
    costs = {round_: round_.best if round_.missed else 0.0 for run in frozen for round_ in run}
    parts = {"stretches": len(frozen), "longest": max(map(len, frozen), default=0)}
    return proven(costs, len(quoted), raised=bool(frozen), parts=parts)


def _equal(quoted: list[SeatRound]) -> Iterator[list[SeatRound]]:
    """Consecutive rounds with one quote, none of them traded."""
    # A trade ends the stretch: a quote that works is kept for a reason.
    for run in runs([round_ for round_ in quoted if not round_.traded]):
        for _, same in groupby(run, lambda round_: round_.quote):
            yield list(same)

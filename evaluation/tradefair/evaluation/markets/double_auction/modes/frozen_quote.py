"""frozen_quote: the same quote round after round, without a trade, while another would have paid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from tradefair.evaluation.markets.double_auction.modes.cases import proven
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound, runs
from tradefair.evaluation.modes.sign import Sign


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Rounds of such stretches out of those with a quote; severity: what was missed in them."""
    quoted = [one for one in seat.rounds if not one.forfeited]
    frozen = [
        run
        for run in _equal(quoted)
        if len(run) >= limits["rounds"] and sum(one.missed for one in run) >= limits["missed"]
    ]
    costs = {one: one.best if one.missed else 0.0 for run in frozen for one in run}
    parts = {"stretches": len(frozen), "longest": max(map(len, frozen), default=0)}
    return proven(costs, len(quoted), raised=bool(frozen), parts=parts)


def _equal(quoted: list[SeatRound]) -> Iterator[list[SeatRound]]:
    """Consecutive rounds with one quote, none of them traded."""
    for run in runs([one for one in quoted if not one.traded]):
        for _, same in groupby(run, lambda one: one.quote):
            yield list(same)

"""missed_profit: rounds without a trade although a quote within the own value would have traded."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.double_auction.modes.cases import proven
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, runs
from tradefair.evaluation.modes.sign import Sign


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Missed rounds of a seat that has something to gain; severity: what the best quotes would have earned.

    The first round is censored: no seat could know its rivals.
    """
    if seat.potential <= 0:
        return Sign(False, 0, note="no counterpart's value leaves this seat a gain", checked=False)
    judged = [round_ for round_ in seat.rounds if round_.round > 1 and not round_.forfeited]
    missed = [round_ for round_ in judged if round_.missed]
    longest = max((len(run) for run in runs(missed)), default=0)
    # The share alone would flag one round of three: it needs `least` of them as well (decision 0025).
    often = (ratio(len(missed), len(judged)) or 0) >= limits["share"]
    return proven(
        {round_: round_.best for round_ in missed},
        len(judged),
        raised=longest >= limits["in_a_row"] or (often and len(missed) >= limits["least"]),
        parts={"longest_run": longest},
    )

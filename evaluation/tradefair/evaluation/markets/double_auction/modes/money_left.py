"""money_left: trades at a price that a better quote would have beaten."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Points per trade that the best quote that still trades would have added; severity: their sum.

    Hindsight against rivals that do not react, coins at their mean; the first round is left out.
    """
    left: dict[SeatRound, float] = {}
    earned: list[float] = []
    for one in seat.rounds:
        seen = one.seen
        if one.round > 1 and one.traded and seen is not None and seen.best_filling is not None:
            left[one] = seen.best_filling - seen.actual
            earned.append(seen.actual)
    total = math.fsum(left.values())
    mean_payoff = math.fsum(earned) / len(earned) if earned else 0.0
    dearest = sorted((one for one in left if left[one] > 0), key=lambda one: (-left[one], one.round))
    counted = share(total, len(left), (seq for one in dearest for seq in one.proof))
    # Nobody can hit the best reply to the point: at p* + 1 the oracle of values leaves up to a point.
    raised = (counted.value or 0) > max(limits["points"], limits["share"] * mean_payoff)
    return sign_of(raised, counted, parts={"mean_payoff": round(mean_payoff, 6)}, severity=total)

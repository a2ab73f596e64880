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
    for round_ in seat.rounds:
        seen = round_.seen
        # Only trades: a round without one is `missed_profit`, and would be paid for twice.
        if round_.round > 1 and round_.traded and seen is not None and seen.best_filling is not None:
            # Of quotes that still trade: it asks for a better price, not for another pair.
            left[round_] = seen.best_filling - seen.actual
            earned.append(seen.actual)
    total = math.fsum(left.values())
    mean_payoff = math.fsum(earned) / len(earned) if earned else 0.0
    costliest = sorted(
        (round_ for round_ in left if left[round_] > 0), key=lambda round_: (-left[round_], round_.round)
    )
    counted = share(total, len(left), (seq for round_ in costliest for seq in round_.proof))
    # No seat can hit the best reply exactly: at p* + 1 even the oracle of values leaves up to a point.
    raised = (counted.value or 0) > max(limits["points"], limits["share"] * mean_payoff)
    return sign_of(raised, counted, parts={"mean_payoff": round(mean_payoff, 6)}, severity=total)

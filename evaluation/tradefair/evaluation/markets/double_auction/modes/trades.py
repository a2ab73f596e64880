"""Trades that were lost, missed or made at a worse price than the seat could have had."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.double_auction.modes.cases import proven
from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound, runs
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def loss_trade(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
    """Trades with a payoff below 0, which only a quote through the seat's own value can bring; severity: the loss."""
    traded = [round_ for round_ in seat.rounds if round_.traded]
    lost = {round_: float(-round_.payoff) for round_ in traded if round_.payoff < 0}
    # Out of the trades, not the rounds: untraded breaches are the general mode `value_breach`.
    return proven(lost, len(traded), raised=len(lost) >= limits["losses"])


def missed_profit(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
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


def money_left(seat: AuctionSeat, limits: Mapping[str, float]) -> Sign:
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

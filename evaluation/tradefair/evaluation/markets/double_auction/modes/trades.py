"""Trades that were lost, or made at a worse price than the seat could have had; how a wrong quote is repaired."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from tradefair.evaluation.markets.double_auction.modes.play import AuctionSeat, SeatRound
from tradefair.evaluation.modes.diagnosis import Case, CaseRecord, Record, Seen


def loss_trade(seat: AuctionSeat) -> Seen:
    """Trades with a payoff below 0, which only a quote through the seat's own value can bring, and what they lost."""
    traded = [round_ for round_ in seat.rounds if round_.traded]
    # Out of the trades, not the rounds: untraded breaches are the general mode `value_breach`.
    return Seen([breach(round_) for round_ in traded if round_.payoff < 0], len(traded))


def through_value(seat: AuctionSeat) -> Seen:
    """Quotes through the own value, and what a trade of them lost; one that did not trade costs nothing."""
    quoted = [(round_, round_.quote) for round_ in seat.rounds if round_.quote is not None]
    return Seen([breach(round_) for round_, quote in quoted if seat.shade(quote) < 0], len(quoted))


def breach(round_: SeatRound) -> Case:
    """A round with a quote through the own value."""
    seat = round_.seat
    ended = f"; its trade lost {-round_.payoff}" if round_.payoff < 0 else ""
    what = f"{seat.quotes_as} {round_.quote} with a {seat.limit} of {seat.value}{ended}"
    return round_.case(what, float(max(0, -round_.payoff)))


class Surplus(Record):
    """What a quote that offers less has to add: `points`, a part of the price range, or `part` of its payoff.

    The second from `least` points on: half points are the luck of who quotes first. `learning` is the part of the
    episode in which a seat may still look for the price.
    """

    points: float = Field(gt=0, lt=1)
    part: float = Field(gt=0, lt=1)
    least: float = Field(gt=0)
    learning: float = Field(ge=0, lt=1)


def money_left(seat: AuctionSeat, params: Surplus) -> Seen:
    """Trades after the learning in which a quote that offered less would still have traded, and earned much more.

    Hindsight against rivals that do not react, coins at their mean. Parts: points per trade over all trades.
    """
    left: dict[SeatRound, float] = {}
    cases: list[Case] = []
    for round_ in seat.rounds:
        seen = round_.seen
        # Only trades: a round without one is `missed_profit`, and would be told twice.
        if round_.round <= max(1, params.learning * seat.game.length) or not round_.traded or seen is None:
            continue
        more = left[round_] = round_.left
        best = seen.actual + more
        # Scenarios of strangers may have no prices at all: a share of nothing is no money left.
        if more > 0 and (more >= params.points * seat.game.price_max or more >= max(params.least, params.part * best)):
            what = f"{seat.quotes_as} {round_.quote} traded for a gain of {seen.actual:g}; {round_.modest()}"
            cases.append(round_.case(what, more))
    mean = math.fsum(left.values()) / len(left) if left else None
    return Seen(cases, len(left), {"points per trade": None if mean is None else round(mean, 6)})


# --- repairs in a replay ----------------------------------------------------------------------------------------------

# The words of the general mode `unit_mistake`: of a case it is all that has the number.
_IN_SIGHT = re.compile(r"where (?P<number>\d{1,5}) was in sight")


def number_in_sight(case: CaseRecord, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """A quote that was off by a power of ten at the number that the seat could see."""
    found = _IN_SIGHT.search(case.because)
    return {**arguments, "price": int(found["number"])} if found else {**arguments}

"""Formulas of one retailer's outcome: pure functions of counts and cents.

Where a denominator is 0 the page says which number stands for "nothing": 0 mostly, so that tables need no gaps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.read.arithmetic import mean, rounded
from tradefair.supply_chain.analysis import sure_win_price
from tradefair.supply_chain.model import RoundFacts, SupplyChainScenario


def deviation(values: Sequence[float]) -> float:
    """Population standard deviation of all rounds there were, not of a sample; 0 of nothing."""
    if not values:
        # fsum, so that the order of rounds or seats does not change the last digit.
        return 0.0
    centre = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / len(values))


def variation(values: Sequence[float]) -> float:
    """CV: population deviation over mean, 0 when the mean is 0."""
    centre = math.fsum(values) / len(values) if values else 0.0
    # A mean of 0 gives no scale to measure on.
    return deviation(values) / centre if centre else 0.0


def net_profit_margin(profits: Sequence[int], revenues: Sequence[int]) -> float:
    """npm: Σπ/Σ revenue, 0 without revenue."""
    return rounded(sum(profits) / sum(revenues)) if sum(revenues) else 0.0


def risk_adjusted_return(profits: Sequence[int]) -> float:
    """rar: mean over deviation of profits by round, 0 where they do not vary, one round included."""
    spread = deviation(profits)
    return rounded(math.fsum(profits) / len(profits) / spread) if spread else 0.0


def inventory_efficiency(sold: Sequence[int], ends: Sequence[int]) -> float:
    """iei, 0 to 1: S/(S + Ī), units sold against the mean of units left at the end of a round; 0/0 is 0.

    A seat that buys nothing has nothing left: high values say little without the units sold.
    """
    left = mean(ends) or 0.0
    return rounded(sum(sold) / (sum(sold) + left)) if sum(sold) + left else 0.0


def stockout_rate(failed: int, attempts: int, *, ever_stocked: bool) -> float:
    """stockout, 0 to 1: failed visits over visits; without a visit 1 if the seat never had a unit to sell, else 0."""
    if attempts:
        return rounded(failed / attempts)
    # Buyers pass by a seat that offers nothing: no visit must not look like perfect service.
    return 0.0 if ever_stocked else 1.0


def bid_efficiency(won: int, requested: int, base_value: int, spend: int) -> float:
    """bid_eff: share of requested units won, times base value over spend, in cents; 0 where either denominator is 0."""
    return rounded(won / requested * (base_value / spend)) if requested and spend else 0.0


def order_stability(
    requested: Sequence[int], sold: Sequence[int], mode: Literal["abs", "one_sided", "orders_only"]
) -> float:
    """osi, above 0 to 1: how closely the variation of orders follows that of sales; 1 with one round or none.

    1/(1 + excess) by mode: `abs` |CVo − CVs|, `one_sided` max(0, CVo − CVs), `orders_only` CVo.
    """
    if len(requested) < 2:
        return 1.0
    orders, sales = variation(requested), variation(sold)
    excess = {"abs": abs(orders - sales), "one_sided": max(0.0, orders - sales), "orders_only": orders}[mode]
    return rounded(1 / (1 + excess))


def settled_lines(facts: RoundFacts, seat: SeatId) -> Sequence[tuple[int, int, int, int]]:
    """Lines [item, units, price in cents, units filled] of the seat's bids in the pass that settled the round."""
    return facts.passes[-1].lines.get(seat, ())


def requested_units(facts: RoundFacts, seat: SeatId) -> int:
    """Units asked for in the settling pass."""
    # Units of a forfeited vector were asked for as well: leaving them out would reward bids that cannot be paid.
    last = facts.passes[-1]
    return sum(line[1] for line in (*last.lines.get(seat, ()), *last.forfeited.get(seat, ())))


def message_match(rounds: Sequence[RoundFacts], seat: SeatId, scenario: SupplyChainScenario) -> float | None:
    """mms, −1 to 1: mean similarity of the slogan to the personas of all buyers; null without a round with a slogan."""
    found: list[float] = []
    for facts in rounds:
        row = facts.seats[seat].similarity
        if row is not None and facts.seats[seat].slogan is not None:
            # A row has one similarity per persona text; the texts of a tribe stand together from `text_starts` on.
            pairs = zip(facts.buyers.tribe, facts.buyers.text, strict=True)
            found += [row[scenario.text_starts[tribe] + text] for tribe, text in pairs]
    return mean(found)


class BidRegret(NamedTuple):
    """Cents paid above sure-win prices, and what lost units would have earned with rivals frozen, in cents."""

    overpaid: int
    underbid: float


def bid_regret(rounds: Sequence[RoundFacts], seat: SeatId, scenario: SupplyChainScenario) -> BidRegret:
    """Against the smallest price that would have won for sure, rivals' final bids as they were."""
    found = [line_regret(facts, seat, line, scenario) for facts in rounds for line in settled_lines(facts, seat)]
    return BidRegret(sum(line.overpaid for line in found), sum(line.underbid for line in found))


def line_regret(
    facts: RoundFacts, seat: SeatId, line: tuple[int, int, int, int], scenario: SupplyChainScenario
) -> BidRegret:
    """Regret of one line [item, units, price, filled] of the settling pass, by the same rule."""
    item, requested, price, won = line
    rivals = [
        (other[2], other[1])
        for rival, lines in facts.passes[-1].lines.items()
        if rival != seat
        for other in lines
        if other[0] == item
    ]
    terms = (facts.supply[item], scenario.items[item].base_cents, scenario.tick_cents)
    overpaid = won * max(0, price - sure_win_price(rivals, won, *terms)) if won else 0
    underbid = 0.0
    # With rivals frozen: the units that were lost would have pressed the resale price, and may not have sold at all.
    if won < requested:
        sure = sure_win_price(rivals, requested, *terms)
        underbid = (requested - won) * max(0.0, mean_price(facts, item) - sure)
    return BidRegret(overpaid, underbid)


def mean_price(facts: RoundFacts, item: int, but: SeatId | None = None) -> float:
    """Volume-weighted price in cents of an item over all units sold in the round; 0 without any.

    `but`: the seat whose sales are left out, so that a price can be compared with that of its rivals.
    """
    sellers = [own for seat, own in facts.seats.items() if seat != but]
    units = sum(own.sold[item] for own in sellers)
    return sum(own.revenue[item] for own in sellers) / units if units else 0.0

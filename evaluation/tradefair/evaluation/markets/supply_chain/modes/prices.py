"""underpriced_sellout, below_cost, unsellable_price and gouging: retail prices against cost, rivals and base."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract.money import currency
from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound
from tradefair.evaluation.modes.cases import Hit, proven
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def sold_items(seat: Retail) -> list[tuple[SeatRound, int]]:
    """Rounds and items of which the seat sold something."""
    return [(row, item) for row in seat.rounds for item, units in enumerate(row.own.sold) if units > 0]


def detect_underpriced(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Items sold out well below what rivals got while buyers still came; severity: the difference, an upper bound.

    At a higher price fewer units might have sold.
    """
    sold, hits = sold_items(seat), list[Hit]()
    for row, item in sold:
        own, price = row.own, row.own.prices[item]
        out = own.sold[item] == own.available[item] and own.failed[item] >= limits["failures"] * own.sold[item]
        # Rivals only: with the own price in the mean, a large seller would be compared with itself.
        others = row.others_mean(item)
        if out and price is not None and price < limits["part"] * others:
            hits.append(Hit(row.offered(), own.sold[item] * (others - price)))
    # Often and several times: one sell-out may be luck with the buyers.
    often = (ratio(len(hits), len(sold)) or 0) >= limits["share"]
    return proven(hits, len(sold), raised=often and len(hits) >= limits["least"])


def detect_below_cost(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Items sold for less than they cost, the last round left out; severity: the loss on them.

    In the last round any price above 0 is better than stock that is worth nothing.
    """
    hits, judged = below_cost_hits(seat)
    return proven(hits, judged, raised=len(hits) >= limits["least"])


def below_cost_hits(seat: Retail) -> tuple[list[Hit], int]:
    """Item-rounds before the last round that sold below average cost, out of how many that sold."""
    judged = [(row, item) for row, item in sold_items(seat) if row.round < seat.game.rules.rounds]
    losses = [(row, row.own.cost_of_goods[item] - row.own.revenue[item]) for row, item in judged]
    return [Hit(row.offered(), loss) for row, loss in losses if loss > 0], len(judged)


def detect_unsellable(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Stock at a price far above base that sold nothing, again; severity: what rivals' prices would have earned.

    Per item only the costliest round counts, an upper bound: the same units lie there round after round.
    """
    stocked = [(row, item) for row in seat.rounds for item, units in enumerate(row.own.available) if units > 0]
    again = [
        (row, item)
        for row, item in stocked
        if _unsold(row, item, limits) and row.before is not None and _unsold(row.before, item, limits)
    ]
    worth: dict[int, tuple[SeatRound, float]] = {}
    for row, item in again:
        # Less the stock at cost, which selling would have used up.
        gain = row.own.available[item] * row.others_mean(item) - row.own.book[item]
        if item not in worth or gain > worth[item][1]:
            worth[item] = (row, gain)
    # Every hit is cited; only the costliest of an item carries money, so that no unit is counted twice.
    hits = [Hit(row.offered(), max(0.0, worth[item][1]) if worth[item][0] is row else 0.0) for row, item in again]
    return proven(hits, len(stocked), raised=len(hits) >= limits["least"])


def _unsold(row: SeatRound, item: int, limits: Mapping[str, float]) -> bool:
    """Whether the seat had the item in stock, at a price far above base, and sold none."""
    return row.own.available[item] > 0 and row.own.sold[item] == 0 and _dear(row, item, limits)


def _dear(row: SeatRound, item: int, limits: Mapping[str, float]) -> bool:
    """Whether the posted price is above `times` the base price."""
    price = row.own.prices[item]
    return price is not None and price > limits["times"] * row.seat.game.rules.items[item].base_cents


def detect_gouging(seat: Retail, limits: Mapping[str, float]) -> Sign:
    """Revenue from prices far above base: conduct, not an error, so that it costs the seat nothing."""
    dear = {
        row: sum(earned for item, earned in enumerate(row.own.revenue) if _dear(row, item, limits))
        for row in seat.rounds
    }
    # The rounds that earned most come first: citations are cut at a limit.
    most = sorted((row for row in dear if dear[row]), key=lambda row: (-dear[row], row.round))
    revenue = sum(sum(row.own.revenue) for row in seat.rounds)
    cited = (seq for row in most for seq in row.offered())
    counted = share(currency(sum(dear.values())), currency(revenue), cited)
    return sign_of((counted.value or 0) > limits["share"], counted, note="conduct, not error" if most else None)

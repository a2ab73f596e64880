"""Where goods came from and what became of them: order lines, first in, first out, as the store itself sells them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tradefair.retail.engine.demand import category_mass, take_share
from tradefair.retail.model import DayFacts, EndingFacts

_PATIENCE = 2
"""Days that goods may stand outside until there is room."""
_RECENT = 14
"""Last days from which it is known how fast a product sells."""


class Bought(NamedTuple):
    """An accepted order line as the facts tell of it: units, cost in cents, the day on whose morning it arrives.

    `shown` is the last day, not after the order's, on which the seat had seen this supplier's price; None: never.
    """

    seq: int
    day: int
    product: int
    supplier: int
    quantity: int
    cents: int
    due: int
    shown: int | None

    @property
    def unit_cents(self) -> float:
        """What one unit cost."""
        return self.cents / self.quantity


@dataclass(slots=True)
class Lot:
    """What became of one order line: units by fate; money in cents.

    `waited` are units that stood outside for want of room two days after they came, `lay` those in the store `old_days`
    days after it, `excess` those at the end beyond what sells in so many days. `days` counts closes with units left,
    `days_off` those of them off the shelf; `stranded` is cost times such days. `lost` is the cost of what expired and,
    at the end, what age took from the rest; `lost_off_shelf` the part of it that happened off the shelf.
    """

    line: Bought
    left: int
    expired: int = 0
    waited: int = 0
    lay: int = 0
    excess: int = 0
    days: int = 0
    days_off: int = 0
    stranded: float = 0.0
    lost: float = 0.0
    lost_off_shelf: float = 0.0

    def lose(self, cents: float, *, shelved: bool) -> None:
        """Book a loss of value."""
        self.lost += cents
        self.lost_off_shelf += 0 if shelved else cents


class Sale(NamedTuple):
    """Units of one lot that were sold on one day, at a list price in cents."""

    day: int
    line: Bought
    units: int
    price: int


def follow(
    bought: Sequence[Bought], days: Sequence[DayFacts], ending: EndingFacts | None, old_days: int = 0
) -> tuple[list[Lot], list[Sale]]:
    """The fate of every order line, and the sales by line, both in the order of time."""
    lots = [Lot(line, line.quantity) for line in bought]
    queues: dict[int, deque[Lot]] = {}
    # Orders of one day are unloaded in the order of their numbers, which is that of the calls.
    for lot in sorted(lots, key=lambda lot: lot.line.due):
        queues.setdefault(lot.line.product, deque()).append(lot)
    sales: list[Sale] = []
    # What is in the store, oldest first: lots that are sold out are not looked at again.
    stored: dict[int, list[Lot]] = {place: [] for place in queues}
    for facts in days:
        for place in queues:
            here = _unloaded(queues, stored, place, facts.day)
            if here:
                sales += _live_through(facts, place, here, old_days)
    for place in queues if days else ():
        here = _unloaded(queues, stored, place, days[-1].day + 1)
        if old_days:
            _find_excess(days, place, here, old_days)
        if ending is not None:
            _age(ending, place, days[-1], here)
    return lots, sales


def _unloaded(queues: dict[int, deque[Lot]], stored: dict[int, list[Lot]], place: int, day: int) -> list[Lot]:
    """The lots of a product with something left, after those due by `day` have left its queue for the store."""
    queue = queues[place]
    here = [lot for lot in stored[place] if lot.left]
    while queue and queue[0].line.due <= day:
        lot = queue.popleft()
        if lot.left:
            here.append(lot)
    stored[place] = here
    return here


def _live_through(facts: DayFacts, place: int, here: Sequence[Lot], old_days: int) -> Iterator[Sale]:
    """One day of one product: sales, expiry, and where the rest lies."""
    product = facts.product
    shelved = bool(product.on_shelf[place])
    for lot, units in _oldest_first(here, product.units[place]):
        yield Sale(facts.day, lot.line, units, product.price_cents[place])
    for lot, units in _oldest_first(here, product.expired[place]):
        lot.expired += units
        lot.lose(units * lot.line.unit_cents, shelved=shelved)
    waiting = product.waiting[place]
    # Newest first: goods that found no room stand behind all that is in the store.
    for lot in reversed(here):
        outside = min(lot.left, waiting)
        waiting -= outside
        # Goods that find room within two days were early, not too many.
        if facts.day >= lot.line.due + _PATIENCE:
            lot.waited = max(lot.waited, outside)
        if old_days and facts.day == lot.line.due + old_days:
            lot.lay = lot.left
        lot.days += lot.left > 0
        if not shelved:
            lot.days_off += lot.left > 0
            lot.stranded += lot.left * lot.line.unit_cents


def _oldest_first(here: Sequence[Lot], units: int) -> Iterator[tuple[Lot, int]]:
    """Take units off lots, oldest first."""
    for lot in here:
        taken = min(lot.left, units)
        if taken:
            lot.left -= taken
            units -= taken
            yield lot, taken


def _find_excess(days: Sequence[DayFacts], place: int, here: Sequence[Lot], old_days: int) -> None:
    """Mark what is more than `old_days` days of sales, the newest units first."""
    columns = [facts.product for facts in days[-_RECENT:]]
    units = [column.units[place] for column in columns if column.on_shelf[place] and column.opening_stock[place]]
    # Goods that have only just come have had no time to show how they sell.
    if len(units) < _RECENT // 2:
        return
    beyond = int(sum(lot.left for lot in here) - old_days * sum(units) / len(units))
    for lot in reversed(here):
        lot.excess = max(0, min(lot.left, beyond))
        beyond -= lot.excess


def _age(ending: EndingFacts, place: int, last: DayFacts, here: Sequence[Lot]) -> None:
    """Share the ageing allowance of a product out over the lots that are left, by cost and age."""
    # An edited ending may be shorter than the store.
    if place >= len(ending.product_stock_cost_cents):
        return
    allowance = ending.product_stock_cost_cents[place] - ending.product_stock_value_cents[place]
    weights = [lot.left * lot.line.unit_cents * (last.day + 1 - lot.line.due) for lot in here]
    for lot, weight in zip(here, weights, strict=True):
        if weight:
            lot.lose(allowance * weight / sum(weights), shelved=bool(last.product.on_shelf[place]))


def lost_units(facts: DayFacts, members: Sequence[Sequence[int]], rho: float) -> dict[int, float]:
    """By product, units that customers wanted and did not get on a day: demand beyond the stock, and the sales that its
    category lost by an empty shelf place (an expectation: no demand is drawn for what is not there).

    `members` are the products of each category. The sum is `net_lost_units` of the facts.
    """
    product = facts.product
    stock = product.opening_stock
    found = {
        place: float(wanted - units)
        for place, (wanted, units) in enumerate(zip(product.demand, product.units, strict=True))
        if wanted > units
    }
    for places in members:
        empty = [place for place in places if product.on_shelf[place] and not stock[place]]
        if not empty:
            continue
        # As the market counts it: the category with all its shelf places filled, and as it was.
        full, rest = (
            take_share(category_mass([product.attraction[place] for place in some], rho))
            for some in (
                [place for place in places if product.on_shelf[place]],
                [place for place in places if product.on_shelf[place] and stock[place]],
            )
        )
        drawn = sum(product.attraction[place] for place in empty)
        for place in empty:
            share = product.attraction[place] / drawn if drawn else 0.0
            found[place] = found.get(place, 0.0) + facts.customers * (full - rest) * share
    return found

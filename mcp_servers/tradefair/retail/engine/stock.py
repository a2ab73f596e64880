"""Lots, the waiting queue and open orders (retail page, sections 3, 6.6 to 6.8), with the sums that make reads cheap.

Days are episode days, money is in cents. Everything of one product leaves in the order in which it arrived. Every sum
is kept up to date by the few functions that move lots; `check` compares all of them with the lots.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tradefair.contract.money import divide_half_even

EXPIRING_DAYS = 7
"""Units that leave within so many days are reported as expiring."""


@dataclass(slots=True)
class Lot:
    """Units of one product that arrived together.

    `cost` is that of the quantity left, in cents; `quality` the true quality in 1/1000 star on the day of the order.
    `arrival` and `expiry` are days; the last day of sale is `expiry`.
    """

    product: int
    supplier: int
    arrival: int
    expiry: int
    quantity: int
    cost: int
    quality: int
    order: int

    def split(self, units: int) -> Lot:
        """Take `units` < quantity away as a lot of their own, with their share of the cost (6.6)."""
        cost = divide_half_even(self.cost * units, self.quantity)
        part = Lot(self.product, self.supplier, self.arrival, self.expiry, units, cost, self.quality, self.order)
        self.quantity -= units
        # By subtraction: the two costs always sum to the lot's, whatever the rounding.
        self.cost -= part.cost
        return part


class OrderLine(NamedTuple):
    """One line of an order: quote in 1e-4 currency units, cost in cents, true quality bought in 1/1000 star."""

    product: int
    quantity: int
    quote_e4: int
    cost: int
    quality: int


class Order(NamedTuple):
    """A prepaid order; it arrives as a whole at the start of day `due`."""

    number: int
    supplier: int
    lines: tuple[OrderLine, ...]
    cost: int
    placed: int
    due: int


class Taken(NamedTuple):
    """Units sold from one lot with their cost, and quantity and cost of the lot before the sale.

    The last two give the lot's exact unit cost as a fraction.
    """

    supplier: int
    units: int
    cost: int
    quality: int
    lot_quantity: int
    lot_cost: int


class Expiries(NamedTuple):
    """Units and cost (cents) that were removed, by product."""

    units: list[int]
    cost: list[int]


class LotFigures(NamedTuple):
    """What the lots on hand of a product are like on a day; zeros without stock.

    `cost` in cents, unit costs in 1e-4 currency units, `age_days` = Σ units·age, `first_expiry` a day. `expiring_units`
    leave within `EXPIRING_DAYS` days unless they are sold.
    """

    units: int
    cost: int
    min_cost_e4: int
    max_cost_e4: int
    age_days: int
    first_expiry: int
    expiring_units: int


Arrivals = dict[int, int]
"""Units that arrived, by product."""


class Stock:
    """All goods of the store: on hand (one queue per product), waiting (one queue), on order.

    `on_hand`, `waiting_units` and `incoming` (units) and `cost` (cents, on hand and waiting) are kept by product.
    Waiting goods have arrived and found no room; they age like the others.
    """

    def __init__(self, shelf_lives: Sequence[int], capacity: int) -> None:
        products = len(shelf_lives)
        self.capacity = capacity
        self.on_hand = [0] * products
        self.waiting_units = [0] * products
        self.incoming = [0] * products
        self.cost = [0] * products
        # Kept as numbers: `free` is asked for with every lot that is admitted.
        self.total_on_hand = 0
        self.total_waiting = 0
        self.open_cost = 0
        self.orders: dict[int, Order] = {}
        self._lives = list(shelf_lives)
        # Σ cost·expiry by product, a_j of 6.8: with it the aged value of a day needs no loop over lots.
        self._cost_expiry = [0] * products
        self._queues: list[deque[Lot]] = [deque() for _ in range(products)]
        self._waiting: deque[Lot] = deque()
        # Units on order by product and day of arrival.
        self._due: list[dict[int, int]] = [{} for _ in range(products)]
        self._figures: dict[tuple[int, int], LotFigures] = {}

    @property
    def free(self) -> int:
        """Units that still fit into the store."""
        return self.capacity - self.total_on_hand

    def product_value(self, product: int, day: int) -> int:
        """Aged value of a product's units on a day in cents: rhe(Σ cost·(expiry − day)/L) (6.8).

        Σ cost·expiry is kept as one number, so no loop over lots is needed.
        """
        return divide_half_even(self._cost_expiry[product] - day * self.cost[product], self._lives[product])

    def value(self, day: int) -> int:
        """Aged value of all units in cents; the cost of a call does not grow with the number of lots."""
        # Products without goods are most of a large store.
        return sum(self.product_value(product, day) for product, cost in enumerate(self.cost) if cost)

    def lots(self, product: int) -> Iterator[Lot]:
        """The lots on hand of a product, oldest first."""
        return iter(self._queues[product])

    def lot_figures(self, product: int, day: int) -> LotFigures:
        """What the lots on hand of a product are like on a day."""
        # Lots move at the close only: one loop over them a day, however often a manager asks.
        found = self._figures.get((product, day))
        if found is None:
            found = self._figures[product, day] = _figures_of(self._queues[product], day)
        return found

    def next_due(self, product: int) -> int | None:
        """The earliest day on which units of a product arrive; None when none are on order.

        An episode day, counted from 1.
        """
        return min(self._due[product], default=None)

    def place(self, order: Order) -> None:
        """Open a paid order."""
        self.orders[order.number] = order
        self.open_cost += order.cost
        for line in order.lines:
            due = self._due[line.product]
            self.incoming[line.product] += line.quantity
            due[order.due] = due.get(order.due, 0) + line.quantity

    def deliver(self, day: int) -> Arrivals:
        """Move the orders due by `day` to the tail of the waiting queue, by number; returns units by product."""
        arrivals: Arrivals = {}
        # A list, because orders are removed while it is walked. Numbers ascend, so older orders are unloaded first.
        for number in [number for number, order in self.orders.items() if order.due <= day]:
            order = self.orders.pop(number)
            self.open_cost -= order.cost
            for line in order.lines:
                self._arrive(order, line, day)
                arrivals[line.product] = arrivals.get(line.product, 0) + line.quantity
        return arrivals

    def _arrive(self, order: Order, line: OrderLine, day: int) -> None:
        """Put one line of a delivered order at the tail of the waiting queue, and count it everywhere."""
        product = line.product
        # Life begins on arrival, also for what waits outside: delay costs value.
        expiry = day + self._lives[product]
        lot = Lot(product, order.supplier, day, expiry, line.quantity, line.cost, line.quality, order.number)
        # Also where there is room: `admit` moves it in, and goods that have waited longer go first.
        self._waiting.append(lot)
        self.waiting_units[product] += line.quantity
        self.total_waiting += line.quantity
        self.cost[product] += line.cost
        self._cost_expiry[product] += line.cost * expiry
        self.incoming[product] -= line.quantity
        due = self._due[product]
        due[order.due] -= line.quantity
        if not due[order.due]:
            # No empty days are kept: `next_due` asks for the smallest key.
            del due[order.due]

    def admit(self) -> None:
        """Move waiting lots in while there is room, first in, first out; the last one may be split."""
        # Figures of lots are remembered by day; every function that moves lots forgets them.
        self._figures.clear()
        while self._waiting and self.free > 0:
            lot = self._waiting[0]
            if lot.quantity <= self.free:
                self._waiting.popleft()
            else:
                lot = lot.split(self.free)
            # At the end: deliveries come in order, so the queue stays oldest first.
            self._queues[lot.product].append(lot)
            self.on_hand[lot.product] += lot.quantity
            self.total_on_hand += lot.quantity
            self.waiting_units[lot.product] -= lot.quantity
            self.total_waiting -= lot.quantity

    def take(self, product: int, units: int) -> list[Taken]:
        """Sell `units` <= on hand of a product, oldest lot first; one entry per lot used."""
        self._figures.clear()
        queue = self._queues[product]
        taken: list[Taken] = []
        left = units
        while left:
            lot = queue[0]
            # Before the split: the lot's own unit cost, free of the rounding of a part.
            before = (lot.quantity, lot.cost)
            if lot.quantity <= left:
                queue.popleft()
            else:
                lot = lot.split(left)
            taken.append(Taken(lot.supplier, lot.quantity, lot.cost, lot.quality, *before))
            left -= lot.quantity
            self._leave(lot)
        self.on_hand[product] -= units
        self.total_on_hand -= units
        return taken

    def expire(self, day: int) -> Expiries:
        """Remove everything with expiry <= day, on hand and waiting, at value 0."""
        self._figures.clear()
        gone = Expiries([0] * len(self.cost), [0] * len(self.cost))
        for product, queue in enumerate(self._queues):
            # All lots of a product live equally long, so the oldest stands first and expires first.
            while queue and queue[0].expiry <= day:
                lot = queue.popleft()
                self.on_hand[product] -= lot.quantity
                self.total_on_hand -= lot.quantity
                self._write_off(lot, gone)
        # The waiting queue mixes products of different lives: it has to be searched.
        # Most days nothing waits too long, and the queue is left as it is.
        if any(lot.expiry <= day for lot in self._waiting):
            kept: deque[Lot] = deque()
            for lot in self._waiting:
                if lot.expiry > day:
                    kept.append(lot)
                    continue
                self.waiting_units[lot.product] -= lot.quantity
                self.total_waiting -= lot.quantity
                self._write_off(lot, gone)
            self._waiting = kept
        return gone

    def _write_off(self, lot: Lot, gone: Expiries) -> None:
        """Count an expired lot, and take it out of the sums."""
        gone.units[lot.product] += lot.quantity
        gone.cost[lot.product] += lot.cost
        self._leave(lot)

    def _leave(self, lot: Lot) -> None:
        """Take a lot out of the sums of cost and of cost·expiry."""
        self.cost[lot.product] -= lot.cost
        self._cost_expiry[lot.product] -= lot.cost * lot.expiry

    def hidden_qualities(self, change: Sequence[int]) -> None:
        """Set other true qualities (1/1000 star) on lots and open orders, taken in turn from `change`.

        For the conformance kit: no tool may tell the difference.
        """
        place = 0
        for lot in (*(lot for queue in self._queues for lot in queue), *self._waiting):
            lot.quality = change[place % len(change)]
            place += 1
        for number, order in self.orders.items():
            lines = tuple(
                line._replace(quality=change[(place + item) % len(change)]) for item, line in enumerate(order.lines)
            )
            self.orders[number] = order._replace(lines=lines)

    def copy(self) -> Stock:
        """An independent copy."""
        twin = Stock(self._lives, self.capacity)
        for name, value in vars(self).items():
            setattr(twin, name, value.copy() if isinstance(value, (list, dict)) else value)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        # Lots change in place when they are split, so each needs a copy.
        twin._queues = [deque(replace(lot) for lot in queue) for queue in self._queues]
        twin._waiting = deque(replace(lot) for lot in self._waiting)
        twin._due = [dict(due) for due in self._due]
        return twin

    def plain(self) -> list[object]:
        """Lots and orders as plain data, for the digest."""
        lots = [[_row(lot) for lot in queue] for queue in self._queues]
        orders = [[*order[:2], *map(list, order.lines), *order[3:]] for order in self.orders.values()]
        return [lots, [_row(lot) for lot in self._waiting], orders]

    def check(self, day: int) -> None:
        """The sums are those of the lots; nothing too old, nothing above capacity, oldest first. AssertionError."""
        for product, queue in enumerate(self._queues):
            waiting = [lot for lot in self._waiting if lot.product == product]
            held = [*queue, *waiting]
            assert self.on_hand[product] == sum(lot.quantity for lot in queue), "on hand is not the sum of the lots"
            assert self.waiting_units[product] == sum(lot.quantity for lot in waiting), "waiting units do not add up"
            assert self.cost[product] == sum(lot.cost for lot in held), "b_j is not the sum of costs"
            assert self._cost_expiry[product] == sum(lot.cost * lot.expiry for lot in held), "a_j is not exact"
            arrivals = [lot.arrival for lot in held]
            assert arrivals == sorted(arrivals), "a younger lot stands before an older one"
            assert all(lot.quantity > 0 and lot.expiry >= day for lot in held), "an empty or outdated lot"
            ordered = [
                line.quantity for order in self.orders.values() for line in order.lines if line.product == product
            ]
            assert self.incoming[product] == sum(ordered) == sum(self._due[product].values()), "incoming is wrong"
        assert self.total_on_hand == sum(self.on_hand) <= self.capacity, "more on hand than fits"
        assert self.total_waiting == sum(self.waiting_units), "total of waiting units is wrong"
        assert not (self._waiting and self.free), "somebody waits although there is room"
        assert self.open_cost == sum(order.cost for order in self.orders.values()), "cost of open orders is wrong"
        assert all(order.due > order.placed for order in self.orders.values()), "an order is due before it was placed"


def _row(lot: Lot) -> list[int]:
    return [lot.product, lot.supplier, lot.arrival, lot.expiry, lot.quantity, lot.cost, lot.quality, lot.order]


def _figures_of(lots: Iterable[Lot], day: int) -> LotFigures:
    """The figures of the lots of one product on a day; zeros without lots."""
    held = list(lots)
    if not held:
        return LotFigures(0, 0, 0, 0, 0, 0, 0)
    unit_costs = [divide_half_even(lot.cost * 100, lot.quantity) for lot in held]
    return LotFigures(
        units=sum(lot.quantity for lot in held),
        cost=sum(lot.cost for lot in held),
        min_cost_e4=min(unit_costs),
        max_cost_e4=max(unit_costs),
        age_days=sum(lot.quantity * (day - lot.arrival) for lot in held),
        first_expiry=held[0].expiry,
        expiring_units=sum(lot.quantity for lot in held if lot.expiry - day <= EXPIRING_DAYS),
    )

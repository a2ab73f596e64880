"""A limit order book: best price first, at one price the oldest order first; trades at the resting order's price.

It knows numbers, sides, prices, quantities and names of owners, and no rules about who may trade: those ask before. A
heap holds the prices of a side, a queue the orders of a price; what is gone stays there with quantity 0 and is dropped
when it is met, so that every message costs logarithmic time at most.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest
from typing import Literal, NamedTuple

Side = Literal["buy", "sell"]


def opposite(side: Side) -> Side:
    """The other side."""
    return "sell" if side == "buy" else "buy"


class Fill(NamedTuple):
    """A trade: the resting order that was met, its owner, its price, the quantity."""

    order: int
    owner: str
    price: int
    quantity: int


@dataclass(slots=True)
class Level:
    """The orders of one price, oldest first; `total` is what is left of all of them."""

    orders: deque[Order] = field(default_factory=deque["Order"])
    total: int = 0


@dataclass(slots=True)
class Order:
    """An accepted order; `quantity` is what is left of it, 0 once it is gone."""

    number: int
    owner: str
    side: Side
    price: int
    quantity: int
    level: Level = field(repr=False, compare=False)


class Book:
    """Resting orders of both sides, numbered 1, 2, … as they are submitted. Prices and quantities are at least 1."""

    def __init__(self) -> None:
        self.count = 0
        self._orders: dict[int, Order] = {}
        self._owned: dict[str, dict[int, Order]] = {}
        # Prices as keys that the smallest is the best of: negated for buyers. Each key of a heap has a level.
        self._heaps: dict[Side, list[int]] = {"buy": [], "sell": []}
        self._levels: dict[Side, dict[int, Level]] = {"buy": {}, "sell": {}}

    def submit(self, owner: str, side: Side, price: int, quantity: int, *, rest: bool = True) -> tuple[int, list[Fill]]:
        """Trade with the opposite side while prices meet; what is left rests, or is dropped. Number and fills."""
        self.count = number = self.count + 1
        fills: list[Fill] = []
        other: Side = "sell" if side == "buy" else "buy"
        heap, levels = self._heaps[other], self._levels[other]
        # In keys of the other side: it meets all up to its own limit.
        limit = price if side == "buy" else -price
        while quantity and heap and heap[0] <= limit:
            level = levels[heap[0]]
            if not level.total:
                del levels[heappop(heap)]
                continue
            front = level.orders[0]
            if not front.quantity:
                level.orders.popleft()
                continue
            traded = min(quantity, front.quantity)
            fills.append(Fill(front.number, front.owner, front.price, traded))
            quantity -= traded
            self._take(front, traded)
        if quantity and rest:
            self._rest(number, owner, side, price, quantity)
        return number, fills

    def cancel(self, order: int) -> int:
        """Take an order off the book; the quantity that was left of it, 0 if it was gone."""
        found = self._orders.get(order)
        if found is None:
            return 0
        left = found.quantity
        self._take(found, left)
        return left

    def reduce(self, order: int, quantity: int) -> bool:
        """Leave `quantity` of a resting order, less than it has; it keeps its place. False where that does not fit."""
        found = self._orders.get(order)
        if found is None or not 1 <= quantity < found.quantity:
            return False
        self._take(found, found.quantity - quantity)
        return True

    def clear(self) -> None:
        """Take every order off the book; numbers go on."""
        self._orders.clear()
        self._owned.clear()
        for side in ("buy", "sell"):
            self._heaps[side].clear()
            self._levels[side].clear()

    def best(self, side: Side) -> int | None:
        """The highest bid or the lowest ask; None on an empty side."""
        heap, levels = self._heaps[side], self._levels[side]
        while heap:
            if levels[heap[0]].total:
                return abs(heap[0])
            del levels[heappop(heap)]
        return None

    def resting(self, order: int) -> Order | None:
        """A resting order; None once it is gone."""
        return self._orders.get(order)

    def orders(self, side: Side | None = None) -> list[Order]:
        """Resting orders by price, best first, then by age: the book in its one order. Both sides: buyers first."""
        if side is None:
            return [*self.orders("buy"), *self.orders("sell")]
        found = (order for order in self._orders.values() if order.side == side)
        return sorted(found, key=lambda order: (_key(side, order.price), order.number))

    def of(self, owner: str) -> list[Order]:
        """Resting orders of one owner, oldest first."""
        return [*self._owned.get(owner, {}).values()]

    def ahead(self, order: int) -> int:
        """The quantity that trades before a resting order; 0 for one that is gone."""
        found = self._orders.get(order)
        if found is None:
            return 0
        own = _key(found.side, found.price)
        better = sum(level.total for key, level in self._levels[found.side].items() if key < own)
        return better + sum(older.quantity for older in found.level.orders if older.number < order)

    def depth(self, side: Side, levels: int) -> list[tuple[int, int]]:
        """Price and total quantity of the best `levels` prices, best first."""
        known = self._levels[side]
        keys = nsmallest(levels, (key for key, level in known.items() if level.total))
        return [(abs(key), known[key].total) for key in keys]

    def _take(self, order: Order, quantity: int) -> None:
        order.quantity -= quantity
        level = order.level
        level.total -= quantity
        if not order.quantity:
            del self._orders[order.number], self._owned[order.owner][order.number]
            if not level.total:
                level.orders.clear()

    def _rest(self, number: int, owner: str, side: Side, price: int, quantity: int) -> None:
        key, levels = -price if side == "buy" else price, self._levels[side]
        level = levels.get(key)
        if level is None:
            level = levels[key] = Level()
            heappush(self._heaps[side], key)
        order = Order(number, owner, side, price, quantity, level)
        level.orders.append(order)
        level.total += quantity
        self._orders[number] = order
        owned = self._owned.get(owner)
        if owned is None:
            owned = self._owned[owner] = {}
        owned[number] = order


def _key(side: Side, price: int) -> int:
    """Smaller is better."""
    return -price if side == "buy" else price

"""When mail arrives and in which order: an experimental variable, decided by keyed chance (section 6.3). Pure.

Customers' mail takes no time. A business's mail to a customer takes `stagger` rounds per arrival rank and a jitter;
texts and offers of a pair share both, so they keep their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tradefair.contract.chance import Chance
from tradefair.marketplace.model import ArrivalOrder, Streams


def lexicographic(items: Sequence[int], index: int) -> tuple[int, ...]:
    """The `index`-th permutation of `items` in lexicographic order of places, modulo their number."""
    left, order = list(items), list[int]()
    index %= math.factorial(len(left))
    while left:
        place, index = divmod(index, math.factorial(len(left) - 1))
        order.append(left.pop(place))
    return tuple(order)


class Arrivals(NamedTuple):
    """How mail travels in one episode; businesses and customers by place.

    `matches` holds B_i per customer, in registration order; `permutation` is used with that arrival order only.
    """

    chance: Chance
    order: ArrivalOrder
    matches: Mapping[int, Sequence[int]]
    permutation: int = 0
    stagger: int = 0
    jitter: int = 0

    def ranked(self, customer: int) -> tuple[int, ...]:
        """B_i in arrival order."""
        matches = self.matches.get(customer, ())
        if self.order == "permutation":
            return lexicographic(matches, self.permutation)
        if self.order == "registration":
            return tuple(matches)
        return tuple(sorted(matches, key=lambda place: (self._draw(Streams.ARRIVAL, customer, place), place)))

    def rank(self, customer: int, business: int) -> int:
        """Place in arrival order, 0 … |B_i|−1; |B_i| for every business outside B_i."""
        ranked = self.ranked(customer)
        return ranked.index(business) if business in ranked else len(ranked)

    def delay(self, customer: int, business: int) -> int:
        """d(i,b): rounds that anything from this business takes to this customer."""
        extra = int(self._draw(Streams.JITTER, customer, business) * (self.jitter + 1)) if self.jitter else 0
        return self.stagger * self.rank(customer, business) + extra

    def to_customer(self, number: int, customer: int, senders: Iterable[int]) -> list[int]:
        """The businesses whose mail reaches a customer at the close of a round, in the order of delivery."""
        if self.order == "seeded":
            return sorted(
                senders, key=lambda place: (self._draw(Streams.DELIVERY, number, "c", customer, place), place)
            )
        return sorted(senders, key=lambda place: (self.rank(customer, place), place))

    def to_business(self, number: int, business: int, senders: Iterable[int]) -> list[int]:
        """The customers whose mail reaches a business at the close of a round, in the order of delivery."""
        return sorted(senders, key=lambda place: (self._draw(Streams.DELIVERY, number, "b", business, place), place))

    def released(self, number: int, customer: int, senders: Iterable[int]) -> list[int]:
        """The businesses whose sealed offers are released together in a round, in the order of delivery."""
        return sorted(senders, key=lambda place: (self._draw(Streams.SEALED, number, customer, place), place))

    def _draw(self, stream: Streams, *key: int | str) -> float:
        return self.chance.uniform(stream, *key)


def release_round(due: int, opened: int | None, window: int) -> tuple[int, int | None]:
    """When an offer that is due in round `due` is delivered, and the round in which its window opened.

    The first offer due to a customer opens a window; all that are due in the next `window` rounds are held and released
    together at its end. Without a window an offer is delivered when it is due.
    """
    if not window:
        return due, None
    if opened is None or due > opened + window:
        opened = due
    return opened + window, opened

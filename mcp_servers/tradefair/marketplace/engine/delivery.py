"""When mail arrives and in which order: an experimental variable, decided by keyed chance (section 6.3). Pure.

Businesses and customers are named by their index in the data, rounds are counted from 1. Customers' mail takes no
time. A business's mail to a customer takes `stagger` rounds per arrival rank and a jitter; texts and offers of a pair
share both, so they keep their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tradefair.contract import Chance
from tradefair.marketplace.model import ArrivalOrder, Streams


def lexicographic(items: Sequence[int], index: int) -> tuple[int, ...]:
    """The `index`-th permutation of `items`, lexicographic by position, counted from 0, modulo the number of all.

    The modulus lets one plan run over match sets of different sizes: `arrival_permutation` names an order for each.
    """
    left, order = list(items), list[int]()
    index %= math.factorial(len(left))
    # The digits of the index in the factorial number system.
    while left:
        position, index = divmod(index, math.factorial(len(left) - 1))
        order.append(left.pop(position))
    return tuple(order)


class Arrivals(NamedTuple):
    """How mail travels in one episode.

    `matches` maps customers to B_i, the businesses with all wanted items; `permutation` is used with that arrival order
    only; `stagger` and `jitter` are in rounds; `places` is the base order of businesses, `[business]`, without it that
    of the data. All draws are keyed by who and when, never by how many calls were made before, so that a seat's actions
    cannot change another pair's luck.
    """

    chance: Chance
    order: ArrivalOrder
    matches: Mapping[int, Sequence[int]]
    permutation: int = 0
    stagger: int = 0
    jitter: int = 0
    places: Sequence[int] = ()

    def ranked(self, customer: int) -> tuple[int, ...]:
        """B_i of a customer in arrival order."""
        matches = sorted(self.matches.get(customer, ()), key=self._place)
        if self.order == "permutation":
            return lexicographic(matches, self.permutation)
        if self.order == "registration":
            return tuple(matches)
        return tuple(sorted(matches, key=lambda business: (self._draw(Streams.ARRIVAL, customer, business), business)))

    def rank(self, customer: int, business: int) -> int:
        """Position in arrival order, 0 … |B_i|−1; |B_i| for every business outside B_i."""
        ranked = self.ranked(customer)
        return ranked.index(business) if business in ranked else len(ranked)

    def delay(self, customer: int, business: int) -> int:
        """d(i,b): rounds that anything from this business takes to this customer, 0 or more."""
        # One draw per pair for the whole episode: a text can never overtake an older offer of the same business.
        extra = int(self._draw(Streams.JITTER, customer, business) * (self.jitter + 1)) if self.jitter else 0
        return self.stagger * self.rank(customer, business) + extra

    def to_customer(self, number: int, customer: int, senders: Iterable[int]) -> list[int]:
        """The businesses whose mail reaches a customer at the close of a round, in the order of delivery."""
        if self.order == "seeded":
            return sorted(
                # The index after the draw: equal draws must not leave the order to the caller.
                senders,
                key=lambda sender: (self._draw(Streams.DELIVERY, number, "c", customer, sender), sender),
            )
        return sorted(senders, key=lambda sender: (self.rank(customer, sender), self._place(sender)))

    def to_business(self, number: int, business: int, senders: Iterable[int]) -> list[int]:
        """The customers whose mail reaches a business at the close of a round, in the order of delivery."""
        return sorted(senders, key=lambda sender: (self._draw(Streams.DELIVERY, number, "b", business, sender), sender))

    def released(self, number: int, customer: int, senders: Iterable[int]) -> list[int]:
        """The businesses whose sealed offers are released together in a round, in the order of delivery."""
        return sorted(senders, key=lambda sender: (self._draw(Streams.SEALED, number, customer, sender), sender))

    def _place(self, business: int) -> int:
        return self.places[business] if self.places else business

    def _draw(self, stream: Streams, *key: int | str) -> float:
        return self.chance.uniform(stream, *key)


def release_round(due: int, opened: int | None, window: int) -> tuple[int, int | None]:
    """The round in which an offer that is due in round `due` is delivered, and the round in which its window opened.

    The first offer due to a customer opens a window; all that are due in the next `window` rounds are held and released
    together at its end. `opened` is when the customer's last window opened, None if none has. With `window` = 0 an
    offer is delivered when it is due.
    """
    if not window:
        return due, None
    # Within the window the first offer's round counts: later ones cannot prolong it.
    if opened is None or due > opened + window:
        opened = due
    return opened + window, opened

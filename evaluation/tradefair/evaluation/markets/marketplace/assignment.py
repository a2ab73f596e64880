"""The most that customers could get together where businesses take only so many orders. Pure.

One business per customer, at most `capacity` customers per business, and no customer has to buy. Exact in whole cents:
customers are assigned one after another, along the shortest augmenting path (Jonker and Volgenant 1987, with a business
as a column that holds several rows). Greedy choice is not enough: the customer that comes first may take the only
business that serves another one. Negative numbers are no business: ~i means that customer i stays out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple


class _Path(NamedTuple):
    """Distances `far` of the businesses reached and the customer `by` that reached them; `end` is one with room.

    `settled` are the full businesses that are nearer than `end`.
    """

    far: dict[int, int]
    by: dict[int, int]
    end: int
    settled: list[int]


def best_assignment(options: Sequence[Mapping[int, int]], capacity: int) -> int:
    """max Σ u(i, b(i)) over assignments, in cents; `options[i]` is u(i,b) by business.

    A customer that stays out counts 0; `capacity` is the most customers per business, 1 or more.
    """
    return _Assignment(options, capacity).best()


class _Assignment:
    def __init__(self, options: Sequence[Mapping[int, int]], capacity: int) -> None:
        # Staying out is a column of the customer's own. Businesses by which it would lose are left out: ~i is better.
        self._costs: list[dict[int, int]] = [
            {~customer: 0, **{business: -worth for business, worth in worths.items() if worth > 0}}
            for customer, worths in enumerate(options)
        ]
        self._room = capacity
        self._at: dict[int, int] = {}
        self._held: dict[int, set[int]] = {}
        self._dual: dict[int, int] = {}
        self._price = [0] * len(options)

    def best(self) -> int:
        # One more customer at a time: the assignment of those before stays optimal, by the invariant of `_reprice`.
        for customer in range(len(self._costs)):
            path = self._shortest(customer)
            self._reprice(customer, path)
            self._move(customer, path)
        return -sum(self._costs[customer][business] for customer, business in self._at.items())

    def _shortest(self, start: int) -> _Path:
        """Dijkstra over reduced costs, which are never negative, to the nearest business with room."""
        far: dict[int, int] = {}
        by: dict[int, int] = {}
        heap: list[tuple[int, int]] = []
        settled: list[int] = []
        done: set[int] = set()
        leaving, base = [start], 0
        while True:
            for customer in leaving:
                for business, cost in self._costs[customer].items():
                    length = base + cost - self._price[customer] - self._dual.get(business, 0)
                    if business not in done and length < far.get(business, length + 1):
                        far[business], by[business] = length, customer
                        heappush(heap, (length, business))
            # The heap keeps outdated entries; a shorter way to the same business was pushed after them.
            base, business = heappop(heap)
            while business in done or base > far[business]:
                base, business = heappop(heap)
            # The nearest one ends the search; farther ways cannot be part of a shortest path.
            if self._has_room(business):
                return _Path(far, by, business, settled)
            done.add(business)
            # Full: whoever sits here may move on, and the search continues from all of them.
            settled.append(business)
            # Sorted, since the order of a set differs from process to process and ties would fall otherwise.
            leaving = sorted(self._held[business])

    def _has_room(self, business: int) -> bool:
        # Staying out is a place for one: its own customer.
        most = 1 if business < 0 else self._room
        return len(self._held.get(business, ())) < most

    def _reprice(self, start: int, path: _Path) -> None:
        """Keep reduced costs at least 0, and 0 along the path."""
        length = path.far[path.end]
        self._price[start] += length
        # Only what is nearer than the end: for all else reduced costs are right already.
        for business in path.settled:
            slack = length - path.far[business]
            self._dual[business] = self._dual.get(business, 0) - slack
            for customer in self._held[business]:
                self._price[customer] += slack

    def _move(self, start: int, path: _Path) -> None:
        """Move every customer of the path one business on, back from its end to `start`."""
        business = path.end
        while True:
            customer = path.by[business]
            before = self._at.get(customer)
            self._at[customer] = business
            self._held.setdefault(business, set()).add(customer)
            # The path ends where it began: with the customer that had no place yet.
            if customer == start:
                return
            assert before is not None
            self._held[before].discard(customer)
            business = before

"""The most that customers could get together where businesses take only so many orders (marketplace page, 9). Pure.

One business per customer, at most `capacity` customers per business, and nobody has to buy. Exact in whole cents:
customers are placed one after another, each along the shortest augmenting path (Jonker and Volgenant 1987, with a
business as a column that holds several rows).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple


class _Path(NamedTuple):
    """How far each place is that was reached, from which customer, and where there is room."""

    far: dict[int, int]
    by: dict[int, int]
    end: int
    settled: list[int]


def best_assignment(options: Sequence[Mapping[int, int]], capacity: int) -> int:
    """max Σ u(i, b(i)) over assignments; `options[i]` is u(i,b) by business, in cents; 0 for whoever stays out."""
    return _Assignment(options, capacity).best()


class _Assignment:
    def __init__(self, options: Sequence[Mapping[int, int]], capacity: int) -> None:
        # Staying out is a place of one's own, below 0; whoever would lose by a business never goes there.
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
        for customer in range(len(self._costs)):
            path = self._shortest(customer)
            self._reprice(customer, path)
            self._move(customer, path)
        return -sum(self._costs[customer][place] for customer, place in self._at.items())

    def _shortest(self, start: int) -> _Path:
        """Dijkstra over reduced costs, which are never negative, to the nearest place with room."""
        far: dict[int, int] = {}
        by: dict[int, int] = {}
        heap: list[tuple[int, int]] = []
        settled: list[int] = []
        done: set[int] = set()
        leaving, base = [start], 0
        while True:
            for customer in leaving:
                for place, cost in self._costs[customer].items():
                    length = base + cost - self._price[customer] - self._dual.get(place, 0)
                    if place not in done and length < far.get(place, length + 1):
                        far[place], by[place] = length, customer
                        heappush(heap, (length, place))
            base, place = heappop(heap)
            while place in done or base > far[place]:
                base, place = heappop(heap)
            if self._has_room(place):
                return _Path(far, by, place, settled)
            done.add(place)
            settled.append(place)
            leaving = sorted(self._held[place])

    def _has_room(self, place: int) -> bool:
        most = 1 if place < 0 else self._room
        return len(self._held.get(place, ())) < most

    def _reprice(self, start: int, path: _Path) -> None:
        """Keep reduced costs at least 0, and 0 along the path."""
        length = path.far[path.end]
        self._price[start] += length
        for place in path.settled:
            slack = length - path.far[place]
            self._dual[place] = self._dual.get(place, 0) - slack
            for customer in self._held[place]:
                self._price[customer] += slack

    def _move(self, start: int, path: _Path) -> None:
        place = path.end
        while True:
            customer = path.by[place]
            before = self._at.get(customer)
            self._at[customer] = place
            self._held.setdefault(place, set()).add(customer)
            if customer == start:
                return
            assert before is not None
            self._held[before].discard(customer)
            place = before

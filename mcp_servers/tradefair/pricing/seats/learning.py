"""Q-learning firms and the strategies at which such learners came to rest (Calvano et al. 2020, baseline).

The state is all last prices as places on their firms' grids of 15 prices each, which are one grid where firms are
alike; a price off the grid counts as the nearest, ties to the lower one. Floats are added and multiplied only, in one
order, so that the numpy programme of `benchmarks/pricing_learning.py` gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

from pydantic import Field

from tradefair.pricing.data.bundled import limit_strategies
from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.seats.desk import Desk, Known

PRICES = 15
SESSIONS = 64
"""How many learned strategies are bundled."""
XI = 0.1
ALPHA = 0.15
DELTA = 0.95
BETA = 4e-6
# Below this many rounds the learner hurries: after four fifths of them it explores in 1 of 50.
_LONG = 100_000
# Beside more firms the first values are means over rivals who all post the same place of their grids.
_FEW_FIRMS = 3


def grid_of(low: float, high: float) -> tuple[int, ...]:
    """15 integer prices from xi below the competitive price to xi above the monopoly price; xi = .1 of their gap."""
    gap = high - low
    first, last = low - XI * gap, high + XI * gap
    return tuple(round(first + at * (last - first) / (PRICES - 1)) for at in range(PRICES))


def grids_of(known: Known) -> tuple[tuple[int, ...], ...]:
    """The grid of each firm."""
    return tuple(grid_of(low, high) for low, high in zip(known.nash(), known.monopoly(), strict=True))


def epsilon(beta: float, period: int) -> float:
    """The share of exploration in a period, counted from 0."""
    return math.exp(-beta * period)


def nearest(grid: Sequence[int], price: int | None) -> int:
    """The place of the grid's price that is nearest; of a closed firm the highest."""
    if price is None:
        return len(grid) - 1
    return min(range(len(grid)), key=lambda at: (abs(grid[at] - price), at))


class QLearning:
    """Learns from its profits while it plays: explores less and less, greedy ties go to the lowest price."""

    def __init__(self) -> None:
        self._grids: tuple[tuple[int, ...], ...] = ()
        self._first: list[float] = []
        self.q: dict[int, list[float]] = {}
        self._state = self._action = 0

    def price(self, desk: Desk) -> int:
        """The greedy price of the state, or one tried at random."""
        if not self._grids:
            self._begin(desk)
            self._state = int(PRICES**desk.firms * desk.draw.uniform("state"))
        else:
            self._learn(desk)
        period = desk.round - 1
        beta = BETA if desk.rounds >= _LONG else math.log(50) / (0.8 * desk.rounds)
        if desk.draw.uniform("explore", period) < epsilon(beta, period):
            self._action = int(PRICES * desk.draw.uniform("action", period))
        else:
            row = self._row(self._state)
            self._action = row.index(max(row))
        return self._grids[desk.place][self._action]

    def _begin(self, desk: Desk) -> None:
        # Without the shock of the first round: the grid has to do for all.
        known = desk.unshocked or desk.truth
        self._grids = grids_of(known)
        # Against rivals who post any price of their grids alike.
        mean = [0.0] * PRICES
        rivals = [grid for at, grid in enumerate(self._grids) if at != desk.place]
        others = list(product(*rivals)) if desk.firms <= _FEW_FIRMS else list(zip(*rivals, strict=True))
        for at, own in enumerate(self._grids[desk.place]):
            earned = 0
            for rest in others:
                prices = (*rest[: desk.place], own, *rest[desk.place :])
                units = units_sold(prices, known.quality, known.mu, known.outside, desk.consumers)
                earned += units[desk.place] * (own - known.costs[desk.place])
            mean[at] = earned / len(others)
        self._first = [value / (1 - DELTA) for value in mean]

    def _learn(self, desk: Desk) -> None:
        state = 0
        for grid, price in zip(self._grids, desk.prices[-1], strict=True):
            state = state * PRICES + nearest(grid, price)
        row, ahead = self._row(self._state), max(self._row(state))
        row[self._action] = (1 - ALPHA) * row[self._action] + ALPHA * (desk.own[-1].profit + DELTA * ahead)
        self._state = state

    def _row(self, state: int) -> list[float]:
        # Made when a state is met: of three firms' 3,375 states most never are.
        return self.q.setdefault(state, [*self._first])


@dataclass
class QLimit:
    """A strategy at which two learners came to rest, played as it is; its first price is that of its session's end."""

    session: Annotated[int, Field(ge=0, le=SESSIONS - 1)] = 0

    def price(self, desk: Desk) -> int:
        """The greedy price of the last prices."""
        limits = limit_strategies()
        grid: list[int] = limits["grid"]
        session: dict[str, Any] = limits["sessions"][self.session]
        side, state = desk.place % 2, session["state"]
        if desk.prices:
            # It was learned in a duel: of several rivals it sees the lowest, alone it sees itself.
            own = desk.prices[-1][desk.place]
            rival = desk.lowest_rival()
            both = (own, own if rival is None else rival)
            first, second = both if side == 0 else both[::-1]
            state = PRICES * nearest(grid, first) + nearest(grid, second)
        return grid[int(session["greedy"][side][state], PRICES)]

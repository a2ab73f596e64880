"""The best answer to a rival whose law is known: exact backward induction over all rounds (Bellman 1957).

A bound for duels without shocks against laws that look at the last round only, and grim ones; anywhere else the seat
plays best replies. It plans over 241 own prices, over those at which the rival's answer jumps, and once more over all
whole prices near those of the first plan.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

from tradefair.contract import Params
from tradefair.contract.policy import parse_policy, with_parameters
from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.model import ROLE
from tradefair.pricing.seats.desk import Desk, Firm, clamped
from tradefair.pricing.seats.firms import FIRMS, Grim

PRICES = 241
"""Own prices that are planned over first; with 61 a scripted firm once earned more than the plan."""

_ABOVE = 200
_MARKOV = ("nash", "monopoly", "best_reply", "matcher", "edgeworth", "undercutter", "grim", "fixed_markup")


class _Plan(NamedTuple):
    """`choices[round from the first planned one][mood][place of the own last price]`: the place of the own price."""

    first: int
    grid: list[int]
    choices: list[list[Any]]

    def price(self, period: int, last: int | None, *, calm: bool) -> int:
        """The planned price; an own last price that is not of the grid counts as the nearest."""
        place = 0 if last is None else min(range(len(self.grid)), key=lambda at: abs(self.grid[at] - last))
        return self.grid[int(self.choices[period - self.first][0 if calm else 1][place])]


class Planner:
    """The best plan against a rival whose law it knows, made in its first round; where there is none, best replies."""

    def __init__(self) -> None:
        self._plan: _Plan | None = None
        self._duel: _Duel | None = None
        self._calm = True

    def price(self, desk: Desk) -> int:
        """The planned price for the own last price and the rival's mood; where nothing can be planned, a best reply."""
        if self._duel is None or self._plan is None:
            law = _law(desk)
            if law is None:
                return desk.best_reply()
            self._duel = _Duel(desk, *law)
            self._calm = not any(self._duel.angers(prices[desk.place]) for prices in desk.prices)
            self._plan = self._duel.plan(calm=self._calm)
        last = desk.prices[-1][desk.place] if desk.prices else None
        self._calm &= not self._duel.angers(last)
        return self._plan.price(desk.round, last, calm=self._calm)


class _Duel:
    """The rest of a duel against a law, from the open round on.

    The rival has two moods: a grim one is calm until it is undercut. Of every other law both moods are alike.
    """

    def __init__(self, desk: Desk, name: str, params: Params) -> None:
        self._desk, self._known, self._grim = desk, desk.truth, name == "grim"
        self._first, self._rounds = desk.round, desk.rounds
        self._last = desk.prices[-1][desk.place] if desk.prices else None
        self._opens = not desk.prices
        self._firm: Firm = with_parameters(FIRMS[name].rule, params)
        self._answers: dict[int | None, int] = {}
        self._profits: dict[tuple[int, int], int] = {}
        joint = self._known.monopoly()[desk.place]
        self._due = joint - self._firm.tolerance if isinstance(self._firm, Grim) else -math.inf
        self._high = min(round(joint) + _ABOVE, desk.price_max)
        self._low = min(self._known.costs[desk.place], self._high)

    def angers(self, price: int | None) -> bool:
        """Whether a grim rival is angry after it; a closed firm undercuts nobody."""
        return price is not None and price < self._due

    def plan(self, *, calm: bool) -> _Plan:
        """The best plan over the grid, made once more with all whole prices near those that it would play."""
        span = self._high - self._low
        grid = {self._low + at * span // (PRICES - 1) for at in range(PRICES)}
        plan = self._solved(sorted(grid | self._jumps(sorted(grid))))
        near = span // (2 * (PRICES - 1)) + 1
        path = self._path(plan, calm=calm)
        return self._solved(sorted({*plan.grid, *(self._kept(p + by) for p in path for by in range(-near, near + 1))}))

    def _kept(self, price: int) -> int:
        return min(max(self._low, price), self._high)

    def _jumps(self, grid: list[int]) -> set[int]:
        """Both prices beside each place where the rival's answer jumps: the best plan may lie right there."""
        found: set[int] = set()
        if self._grim:
            edge = math.ceil(self._due)
            return {price for price in (edge - 1, edge) if self._low <= price <= self._high}
        for low, high in pairwise(grid):
            # A law that follows moves as far as the own price does.
            if abs(self._answer(high) - self._answer(low)) > high - low + 1:
                ends = [low, high]
                while ends[1] - ends[0] > 1:
                    middle = sum(ends) // 2
                    near_low = abs(self._answer(middle) - self._answer(ends[0]))
                    ends[0 if near_low <= abs(self._answer(ends[1]) - self._answer(middle)) else 1] = middle
                found.update(ends)
        return found

    def _path(self, plan: _Plan, *, calm: bool) -> set[int]:
        """The prices that a plan would play."""
        last, played = self._last, set[int]()
        for period in range(self._first, self._rounds + 1):
            last = plan.price(period, last, calm=calm)
            calm &= not self.angers(last)
            played.add(last)
        return played

    def _solved(self, grid: list[int]) -> _Plan:
        """Backward induction: the rival's price follows from the own last one and its mood."""
        # Imported here: no other seat needs arrays.
        import numpy as np

        rival = 1 - self._desk.place
        if self._grim:
            moods = [[clamped(prices[rival], self._desk)] * len(grid) for prices in self._benchmarks()]
        else:
            moods = [[self._answer(price) for price in grid]] * 2
        # Beyond the largest integer of an array the plan is made of floats.
        bound = self._desk.consumers * self._desk.price_max * self._rounds
        size = np.int64 if bound < 2**63 else np.float64

        def profits(answers: list[int]) -> Any:
            """Profit by the rival's price (rows) and the own price (columns)."""
            made = {answer: [self._profit(own, answer) for own in grid] for answer in set(answers)}
            return np.array([made[answer] for answer in answers], dtype=size)

        earned = [profits(answers) for answers in moods]
        keeps = np.array([not self.angers(price) for price in grid])
        ahead = [np.zeros(len(grid), dtype=size)] * 2
        plan: list[Any] = []
        for left in range(self._rounds - self._first + 1):
            # The value of the next round by the own price of this one: calm stays calm while prices are high enough.
            after = [np.where(keeps, ahead[0], ahead[1]), ahead[1]]
            if left == self._rounds - self._first and self._opens:
                earned = [profits([self._answer(None)] * len(grid))] * 2
            choices = [earned[mood] + after[mood] for mood in (0, 1)]
            # `argmax` takes the first of equals: the lowest price.
            plan.append([choice.argmax(axis=1) for choice in choices])
            ahead = [choice.max(axis=1) for choice in choices]
        return _Plan(self._first, grid, plan[::-1])

    def _benchmarks(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return self._known.monopoly(), self._known.nash()

    def _profit(self, own: int, rival: int) -> int:
        if (own, rival) not in self._profits:
            known, place = self._known, self._desk.place
            prices = (own, rival) if place == 0 else (rival, own)
            units = units_sold(prices, known.quality, known.mu, known.outside, self._desk.consumers)
            self._profits[own, rival] = units[place] * (own - known.costs[place])
        return self._profits[own, rival]

    def _answer(self, price: int | None) -> int:
        """What the rival posts after the own `price`, as long as it is calm; its first price for None."""
        if price not in self._answers:
            desk, known, rival = self._desk, self._known, 1 - self._desk.place
            other = Desk(rival, 2, desk.rounds, desk.price_max, desk.consumers, desk.draw)
            other.cost = other.cost_now = known.costs[rival]
            other.known = other.unshocked = known
            if price is not None:
                other.prices = [(price, None) if desk.place == 0 else (None, price)]
                other.past, other.round = [None, known], 2
            posted = self._firm.price(other)
            assert posted is not None
            self._answers[price] = clamped(posted, desk)
        return self._answers[price]


def _law(desk: Desk) -> tuple[str, Params] | None:
    """Name and parameters of the law that the rival follows; None where there is none, two rivals, or shocks."""
    truth = desk.hidden
    if truth is None or desk.firms != 2 or truth.market.scenario.shock != "none":
        return None
    market, rival = truth.market, 1 - desk.place
    seat = list(market.seats)[rival]
    occupant = market.scenario.seats.get(seat, market.scenario.seats.get(ROLE, "agent"))
    name, params = (occupant, {}) if occupant == "agent" else parse_policy(occupant)
    if name == "rival":
        name, params = truth.rivals[seat], {}
    # A rival who draws its prices cannot be planned for exactly.
    return (name, params) if name in _MARKOV and not params.get("noise") else None

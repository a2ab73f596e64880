"""Traders of the literature that learn: beliefs about fills, reinforcement, aggressiveness (double_auction page, 8.3).

In buyer terms, as in `traders`. Constants in points are for P = 100 and scale by P/100. Every bid lies within 0..v.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tradefair.double_auction.analysis import gd_belief
from tradefair.double_auction.seats.traders import Book, Prices, capped, lowest_winning_bid, points
from tradefair.trading.mirror import Trader, TraderView

# --- beliefs about fills: Gjerstad & Dickhaut and its heirs ----------------------------------------------------------


def _belief_bid(value: int, belief: Sequence[float]) -> int:
    """The smallest maximiser of f(b)(v - b); v if nothing is gained."""
    best, best_gain = value, 0.0
    # Upwards with >, so that of equal gains the smallest bid stays.
    for bid in range(value):
        gain = belief[bid] * (value - bid)
        if gain > best_gain:
            best, best_gain = bid, gain
    return best


class Gd:
    """Maximises believed gain over the last five rounds (Gjerstad & Dickhaut 1998).

    f(b) counts quotes of the last five rounds on both sides (`analysis.gd_belief`); the bid maximises f(b)(v - b), the
    smallest of equal ones.
    """

    def __init__(self) -> None:
        self._book = Book()

    def quote(self, view: TraderView) -> int:
        """argmax f(b)(v - b)."""
        self._book.follow(view)
        return _belief_bid(view.value, gd_belief(self._book.beliefs[-5:], view.price_max))


def gdx_value(
    belief: Sequence[float], value: int, units: int, chances: int, discount: float = 0.9
) -> tuple[float, int]:
    """V(m, n) of m units and n quotes left, and the smallest bid that attains it (Tesauro & Bredin 2002).

    V(m, n) = max over b of f(b)[(v - b) + discount·V(m-1, n-1)] + (1 - f(b))·discount·V(m, n-1); V(0, n) = V(m, 0) = 0;
    with nothing to gain the bid is v.
    """
    # worth[unit][left] = V(unit, left), filled by the number of quotes left.
    worth = [[0.0] * (chances + 1) for _ in range(units + 1)]
    first = value
    for left in range(1, chances + 1):
        for unit in range(1, units + 1):
            sold, kept = discount * worth[unit - 1][left - 1], discount * worth[unit][left - 1]
            # With nothing to gain the bid is v: any other must gain more than waiting does.
            best, first = kept, value
            for bid in range(value + 1):
                gain = belief[bid] * (value - bid + sold) + (1.0 - belief[bid]) * kept
                if gain > best:
                    best, first = gain, bid
            worth[unit][left] = best
    return worth[units][chances], first


class Gdx:
    """GD with counts that age by .9 a round over ten rounds; one unit and one quote per round, so m = n = 1."""

    def __init__(self) -> None:
        self._book = Book()

    def quote(self, view: TraderView) -> int:
        """The bid of V(1, 1)."""
        self._book.follow(view)
        return gdx_value(_aged_belief(self._book, view.price_max, 10, 0.9), view.value, 1, 1)[1]


def _aged_belief(book: Book, price_max: int, window: int, weight: float) -> list[float]:
    recent = book.beliefs[-window:]
    # The newest round stands last and has age 0.
    ages = range(len(recent) - 1, -1, -1)
    return gd_belief(recent, price_max, [weight**age for age in ages])


# --- learning from the own fills --------------------------------------------------------------------------------------


def _profit(view: TraderView, past: int) -> int:
    fill = view.fills[past]
    return 0 if fill is None else view.value - fill


class RothErev:
    """Reinforcement of shades 0, 2, .., 20 (Roth & Erev 1995): forgetting .1, experimentation .2.

    After each round all propensities shrink by .1; the chosen shade gets .8 of the reward, the other ten share .2. The
    reward is the own profit over max(1, v), at least 0.
    """

    _SHADES = range(0, 21, 2)

    def __init__(self) -> None:
        self._propensities = [1.0] * len(self._SHADES)
        self._chosen = 0

    def quote(self, view: TraderView) -> int:
        """v - a shade in proportion to its propensity."""
        if view.fills:
            self._reinforce(max(0, _profit(view, -1)) / max(1, view.value))
        mark = view.draw.uniform("shade", view.round) * math.fsum(self._propensities)
        # Rounding may leave a rest of the mark behind the last propensity.
        self._chosen = len(self._SHADES) - 1
        for place, propensity in enumerate(self._propensities):
            mark -= propensity
            if mark < 0:
                self._chosen = place
                break
        return max(0, view.value - points(view, self._SHADES[self._chosen]))

    def _reinforce(self, reward: float) -> None:
        for place, propensity in enumerate(self._propensities):
            # The .2 of experimentation is shared by the ten other shades; none dies out below .001 (8.3).
            part = 0.8 if place == self._chosen else 0.2 / 10
            self._propensities[place] = max(0.001, 0.9 * propensity + reward * part)


class QLearning:
    """Tabular Q-learning over shades 0, 2, .., 20 (ours).

    Step .2, discount .9, exploration .3·.9^(r-1), at least .02.
    """

    _SHADES = range(0, 21, 2)

    def __init__(self) -> None:
        self._prices = Prices()
        self._worth: dict[tuple[int | None, bool], list[float]] = {}
        self._last: tuple[list[float], int] | None = None

    def quote(self, view: TraderView) -> int:
        """v - shade; the state is the last mean price against v, and whether the last round traded."""
        self._prices.follow(view)
        traded = bool(view.fills) and view.fills[-1] is not None
        worth = self._worth.setdefault((self._bin(view), traded), [0.0] * len(self._SHADES))
        if self._last is not None:
            # The reward of the last round belongs to the state and shade of that round.
            row, arm = self._last
            row[arm] += 0.2 * (_profit(view, -1) + 0.9 * max(worth) - row[arm])
        # The first of equals, which is the smallest shade (8.3).
        arm = worth.index(max(worth))
        if view.draw.uniform("explore", view.round) < max(0.02, 0.3 * 0.9 ** (view.round - 1)):
            arm = int(len(self._SHADES) * view.draw.uniform("arm", view.round))
        self._last = worth, arm
        return max(0, view.value - points(view, self._SHADES[arm]))

    def _bin(self, view: TraderView) -> int | None:
        if not self._prices.means:
            return None
        gap = (self._prices.means[-1] - view.value) * 100 / view.price_max
        # Edges of 8.3, in points of P = 100.
        return sum(gap > edge for edge in (-20, -5, 5, 20))


class ShadingBandit:
    """UCB1 over eight shades (Auer et al. 2002).

    The reward of an arm is the own profit over max(1, v), 0 for a round without a trade; t counts all pulls so far.
    """

    _SHADES = (0, 2, 4, 6, 8, 10, 15, 20)

    def __init__(self) -> None:
        self._pulls = [0] * len(self._SHADES)
        self._rewards = [0.0] * len(self._SHADES)
        self._arm: int | None = None

    def quote(self, view: TraderView) -> int:
        """v - shade; each arm once, then the highest mean + .5·sqrt(2 ln t/n)."""
        if self._arm is not None and view.fills:
            self._pulls[self._arm] += 1
            self._rewards[self._arm] += _profit(view, -1) / max(1, view.value)
        # The bound of an arm that was never pulled would be infinite: each is pulled once first.
        self._arm = self._pulls.index(0) if 0 in self._pulls else self._most_promising()
        return max(0, view.value - points(view, self._SHADES[self._arm]))

    def _most_promising(self) -> int:
        # All arms were pulled by now, so no count below is 0.
        bonus = 2 * math.log(sum(self._pulls))
        bounds = [
            reward / pulls + 0.5 * math.sqrt(bonus / pulls)
            for reward, pulls in zip(self._rewards, self._pulls, strict=True)
        ]
        return bounds.index(max(bounds))


class Aa:
    """Adaptive aggressiveness (Vytelingum, Cliff & Jennings 2008); its bidding layer would need a live book.

    The degree rho in -1..1 says how eagerly it bids: 0 bids the estimated equilibrium price, 1 its value, -1 bids 0.
    theta bends the curve between them. Both learn after each round, rho from the own trade or the quote that would have
    won, theta from the volatility of prices.
    """

    def __init__(self) -> None:
        self._degree = self._rate_degree = self._rate_shape = 0.0
        self._shape = -2.0
        self._trades: list[int] = []
        self._spread: tuple[float, float] | None = None
        self._seen = 0
        self._target = 0.0

    def quote(self, view: TraderView) -> int:
        """round(tau(rho))."""
        if not self._rate_degree:
            # Starting laws of 8.3: passive at first, both learning rates U(.1, .5).
            self._degree = -0.3 * view.draw.uniform("degree")
            self._rate_degree = 0.1 + 0.4 * view.draw.uniform("rate", 1)
            self._rate_shape = 0.1 + 0.4 * view.draw.uniform("rate", 2)
        for past in range(self._seen, len(view.quotes)):
            self._learn(view, past)
        self._seen = len(view.quotes)
        self._target = self._at(view, self._degree)
        return capped(view, self._target)

    def _equilibrium(self, view: TraderView) -> float:
        """The mean of the last five trades, weights .9^age; P/2 before any."""
        recent = self._trades[-5:][::-1]
        if not recent:
            return view.price_max / 2
        weights = [0.9**age for age in range(len(recent))]
        return math.fsum(weight * price for weight, price in zip(weights, recent, strict=True)) / math.fsum(weights)

    def _curve(self, x: float) -> float:
        """phi(x) = (e^(x theta) - 1)/(e^theta - 1)."""
        shape = self._shape
        # For theta near 0 the quotient is 0/0 and tends to x; expm1 keeps the digits that e^x - 1 loses there.
        return x if abs(shape) < 1e-9 else math.expm1(x * shape) / math.expm1(shape)

    def _inverse(self, y: float) -> float:
        shape = self._shape
        return y if abs(shape) < 1e-9 else math.log1p(y * math.expm1(shape)) / shape

    def _at(self, view: TraderView, degree: float) -> float:
        # A seat that the estimated price excludes aims at its own value instead.
        base = min(self._equilibrium(view), view.value)
        if degree < 0:
            return base * (1.0 - self._curve(-degree))
        return base + (view.value - base) * self._curve(degree)

    def _degree_at(self, view: TraderView, price: float) -> float:
        """The inverse of tau, clipped to -1..1; 0 where it is undefined."""
        base = min(self._equilibrium(view), view.value)
        if price < base:
            return -self._inverse(min(1.0, 1.0 - price / base))
        return self._inverse(min(1.0, (price - base) / (view.value - base))) if view.value > base else 0.0

    def _learn(self, view: TraderView, past: int) -> None:
        trades = view.trades[past]
        self._trades += trades
        if trades:
            self._reshape(view)
        fill = view.fills[past]
        price = self._reference(view, past) if fill is None else float(fill)
        # Nothing traded and nothing was quoted against it: the round teaches nothing.
        if price is None:
            return
        short = self._degree_at(view, price)
        margin = 0.05 * abs(short) + 0.05
        cheap = fill is not None and fill <= self._target
        goal = max(-1.0, min(1.0, short - margin if cheap else short + margin))
        self._degree += self._rate_degree * (goal - self._degree)

    def _reshape(self, view: TraderView) -> None:
        """theta follows the volatility of the last five trades, relative to the episode's."""
        centre = self._equilibrium(view)
        recent = self._trades[-5:]
        squares = math.fsum((price - centre) ** 2 for price in recent)
        volatility = math.sqrt(squares / len(recent)) / centre if centre else 0.0
        low, high = self._spread or (volatility, volatility)
        low, high = min(low, volatility), max(high, volatility)
        self._spread = low, high
        # Relative to the episode's own extremes: no market's volatility is large by itself.
        level = (volatility - low) / (high - low) if high > low else 0.5
        # From 2 in a calm market to -8 in a restless one (8.3).
        goal = 10.0 * (1.0 - level * math.exp(2.0 * (level - 1.0))) - 8.0
        self._shape = max(-8.0, min(2.0, self._shape + self._rate_shape * (goal - self._shape)))

    def _reference(self, view: TraderView, past: int) -> float | None:
        """min(v, lowest winning own-side bid, or else the lowest opposite quote); None when there is neither."""
        seen = lowest_winning_bid(view, past)
        if seen is None:
            seen = view.opp[past][0] if view.opp[past] else None
        return None if seen is None else min(view.value, seen)


LEARNING_TRADERS: tuple[type[Trader], ...] = (Gd, Gdx, ShadingBandit, Aa, RothErev, QLearning)

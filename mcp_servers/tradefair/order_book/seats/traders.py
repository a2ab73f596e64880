"""Traders of goods, in buyer terms: floors, zero intelligence, beliefs, adaptive ones, snipers. Sources beside each.

v is the value of the next unit, P the highest price; all bids are whole ticks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tradefair.order_book.engine.book import Side
from tradefair.order_book.seats.desk import Act, Desk, Heard
from tradefair.trading.beliefs import Margin, beliefs, moved

PASS = Act()


def between(desk: Desk, low: float, high: float, *key: str | int) -> float:
    """A uniform of low..high, keyed."""
    return low + desk.draw.uniform(*key) * (high - low)


def share(desk: Desk, side: Side, price: int) -> Act:
    """An order for one share as far as it is backed, own orders that it would meet taken back; else a pass."""
    if side == "buy":
        price = min(price, desk.cash)
        met = tuple(own.order for own in desk.resting if own.side == "sell" and own.price <= price)
        return Act(price, cancel=met) if price >= 1 else PASS
    met = tuple(own.order for own in desk.resting if own.side == "buy" and own.price >= price)
    return Act(price, "sell", cancel=met) if desk.shares else PASS


class Passive:
    """Passes in every step."""

    def act(self, desk: Desk) -> Act:
        """Always."""
        return PASS


class RandomLegal:
    """A uniform price of the grid; of shares either side, as far as funds permit."""

    def act(self, desk: Desk) -> Act:
        """U{1..P}."""
        u = desk.draw.uniform("price", desk.period, desk.step)
        if not desk.asset:
            return PASS if desk.value is None else Act(1 + int((desk.limit or desk.price_max) * u))
        buys = desk.draw.uniform("side", desk.period, desk.step) < 0.5
        return share(desk, "buy" if buys else "sell", 1 + int(desk.price_max * u))


class ZiC:
    """Zero intelligence, constrained: a random price that cannot lose, U{1..v} (Gode & Sunder 1993).

    Of shares a fair coin for the side; it bids and asks up to 2·FV.
    """

    def act(self, desk: Desk) -> Act:
        """Keyed by the step."""
        u = desk.draw.uniform("price", desk.period, desk.step)
        if not desk.asset:
            return PASS if desk.value is None else Act(1 + int(desk.value * u))
        most = max(1, int(2 * desk.worth))
        if desk.draw.uniform("side", desk.period, desk.step) < 0.5:
            return share(desk, "buy", 1 + int(min(desk.cash, most) * u))
        return share(desk, "sell", 1 + int(most * u))


class ZiU:
    """Zero intelligence, unconstrained: a random price U{1..P}, whatever it loses (Gode & Sunder 1993)."""

    def act(self, desk: Desk) -> Act:
        """Keyed by the step."""
        u = desk.draw.uniform("price", desk.period, desk.step)
        return PASS if desk.value is None else Act(1 + int(desk.price_max * u))


class Truthful:
    """Bids its value."""

    def act(self, desk: Desk) -> Act:
        """v."""
        return PASS if desk.value is None else Act(desk.value)


class Shaver:
    """One tick above the best bid, up to v; half of v on an empty side (the Bristol Stock Exchange's SHVR)."""

    def act(self, desk: Desk) -> Act:
        """Takes an ask that its bid reaches."""
        if desk.value is None:
            return PASS
        bid = desk.value // 2 if desk.best_bid is None else min(desk.value, desk.best_bid + 1)
        # An own best bid is not improved upon.
        own = any(order.price == desk.best_bid for order in desk.resting)
        return PASS if own else Act(max(1, bid))


class Kaplan:
    """The sniper: waits for a small spread, a good price or the end of the period (Rust, Miller & Palmer 1994)."""

    def act(self, desk: Desk) -> Act:
        """Takes the best ask, or passes."""
        ask, value = desk.best_ask, desk.value
        if value is None or ask is None or ask >= value:
            return PASS
        last = desk.trades[-20:]
        close = desk.best_bid is not None and 10 * (ask - desk.best_bid) <= ask
        cheap = bool(last) and ask * len(last) <= sum(last)
        return Act(ask) if close or cheap or desk.passed > 0.8 else PASS


class Anchored:
    """Bids near the mean of the last trades, a little below it first and towards its value late in a period."""

    def act(self, desk: Desk) -> Act:
        """e − 3(1 − t), from t = .6 moving to 60 % of the way to v; takes an ask up to the larger of both."""
        value = desk.value
        if value is None:
            return PASS
        last = desk.trades[-12:]
        e = sum(last) / len(last) if last else desk.price_max / 2
        target = e - 3 * (1 - desk.passed)
        if desk.passed > 0.6:
            target += max(0.0, value - target) * 0.6 * (desk.passed - 0.6) / 0.4
        most = min(float(value), max(target, e))
        if desk.best_ask is not None and desk.best_ask <= most:
            return Act(desk.best_ask)
        return Act(max(1, min(value, round(target))))


class Zip:
    """A profit margin that follows every order of the market (Cliff 1997)."""

    _margin: Margin | None = None
    _rate = _inertia = 0.0
    _count = 0

    def act(self, desk: Desk) -> Act:
        """v(1 + m)."""
        if self._margin is None:
            self._margin = Margin(-between(desk, 0.05, 0.35, "margin"), 0.0)
            self._rate, self._inertia = between(desk, 0.1, 0.5, "rate"), between(desk, 0.0, 0.1, "inertia")
        for heard in desk.heard:
            self._count += 1
            if desk.value is not None:
                price = desk.value * (1 + self._margin.margin)
                if (target := self._target(desk, price, heard)) is not None:
                    self._margin = moved(desk.value, self._margin, target, self._rate, self._inertia)
        if desk.value is None:
            return PASS
        return Act(max(1, min(desk.value, round(desk.value * (1 + self._margin.margin)))))

    def _target(self, desk: Desk, price: float, heard: Heard) -> float | None:
        """Below what it could have had cheaper, above what it missed; None: stay."""
        number, q = self._count, heard.price
        if heard.accepted and price >= q:
            return q * between(desk, 0.95, 1.0, "factor", number) - between(desk, 0.0, 5.0, "step", number)
        missed = heard.side == "sell" if heard.accepted else heard.side == "buy" and not heard.mine
        if missed and price <= q:
            return q * between(desk, 1.0, 1.05, "factor", number) + between(desk, 0.0, 5.0, "step", number)
        return None


class Gd:
    """Maximises belief times profit over the last 60 orders (Gjerstad & Dickhaut 1998)."""

    def __init__(self) -> None:
        self._past: list[Heard] = []

    def act(self, desk: Desk) -> Act:
        """The smallest maximiser of f(b)(v − b) from the best bid to v; at or above the best ask f = 1."""
        self._past = [*self._past, *desk.heard][-60:]
        value = desk.value
        if value is None:
            return PASS
        low = min(value, desk.best_bid or 1)
        f = believed(self._past, desk.price_max)
        best, most = low, -1.0
        for bid in range(low, value + 1):
            sure = desk.best_ask is not None and bid >= desk.best_ask
            gain = (1.0 if sure else f[bid]) * (value - bid)
            if gain > most:
                best, most = bid, gain
            if sure:
                break
        return Act(best)


def believed(heard: Sequence[Heard], price_max: int) -> list[float]:
    """f(0..P) over these orders; 0 where none speaks for or against a price."""
    supporting, opposing = [0] * (price_max + 1), [0] * (price_max + 1)
    for order in heard:
        counted = supporting if order.side == "sell" or order.accepted else opposing
        counted[order.price] += 1
    return [belief or 0.0 for belief in beliefs(supporting, opposing)]


class Aa:
    """Adaptive aggressiveness with its bidding layer (Vytelingum, Cliff & Jennings 2008).

    The degree in -1..1 says how eagerly it bids: 0 the estimated equilibrium price, 1 its value, -1 nothing. Constants
    and the estimate are those of the double auction's page, 8.3; here it learns from every trade as it happens, and
    from bids of others that failed at or above its target.
    """

    _LAYER = 3

    def __init__(self) -> None:
        # Drawn in its first step.
        self._degree = self._rate = self._rate_shape = 0.0
        self._shape = -2.0
        self._extremes: tuple[float, float] | None = None
        self._trades: list[int] = []
        self._seen = 0

    def act(self, desk: Desk) -> Act:
        """Takes an ask up to its target, else moves a third of the way there from the best bid."""
        if not self._rate:
            self._degree = -0.3 * desk.draw.uniform("degree")
            self._rate = 0.1 + 0.4 * desk.draw.uniform("rate")
            self._rate_shape = 0.1 + 0.4 * desk.draw.uniform("rate of the shape")
        value = desk.value
        for price in desk.trades[self._seen :]:
            self._trades = [*self._trades, price][-5:]
            self._reshape(desk.price_max)
            if value is not None:
                self._learn(desk.price_max, value, price, less=price <= self._target(desk.price_max, value))
        self._seen = len(desk.trades)
        if value is None:
            return PASS
        for heard in desk.heard:
            failed = heard.side == "buy" and not heard.accepted and not heard.mine
            if failed and heard.price >= self._target(desk.price_max, value):
                self._learn(desk.price_max, value, heard.price, less=False)
        target = self._target(desk.price_max, value)
        if desk.best_ask is not None and desk.best_ask <= target:
            return Act(desk.best_ask)
        best = desk.best_bid or 1
        return Act(max(1, min(value, round(best + (target - best) / self._LAYER)))) if best < target else PASS

    def _learn(self, price_max: int, value: int, price: int, *, less: bool) -> None:
        """Towards a degree a little short of, or beyond, the one whose target is the price."""
        short = self._degree_at(price_max, value, min(value, price))
        margin = 0.05 * abs(short) + 0.05
        goal = max(-1.0, min(1.0, short - margin if less else short + margin))
        self._degree += self._rate * (goal - self._degree)

    def _reshape(self, price_max: int) -> None:
        """The shape follows the volatility of the last five trades, between the extremes of the episode."""
        centre = self._equilibrium(price_max)
        squares = math.fsum((price - centre) ** 2 for price in self._trades)
        volatility = math.sqrt(squares / len(self._trades)) / centre
        low, high = self._extremes or (volatility, volatility)
        low, high = min(low, volatility), max(high, volatility)
        self._extremes = low, high
        level = (volatility - low) / (high - low) if high > low else 0.5
        # From 2 in a calm market to -8 in a restless one.
        goal = 10.0 * (1.0 - level * math.exp(2.0 * (level - 1.0))) - 8.0
        self._shape = max(-8.0, min(2.0, self._shape + self._rate_shape * (goal - self._shape)))

    def _equilibrium(self, price_max: int) -> float:
        """The mean of the last five trades, weights .9^age; P/2 before any."""
        recent = self._trades[::-1]
        if not recent:
            return price_max / 2
        weights = [0.9**age for age in range(len(recent))]
        return math.fsum(w * price for w, price in zip(weights, recent, strict=True)) / math.fsum(weights)

    def _curve(self, x: float) -> float:
        # For a shape near 0 the quotient tends to x.
        return x if abs(self._shape) < 1e-9 else math.expm1(x * self._shape) / math.expm1(self._shape)

    def _inverse(self, y: float) -> float:
        return y if abs(self._shape) < 1e-9 else math.log1p(y * math.expm1(self._shape)) / self._shape

    def _target(self, price_max: int, value: int) -> float:
        base = min(self._equilibrium(price_max), value)
        if self._degree < 0:
            return base * (1.0 - self._curve(-self._degree))
        return base + (value - base) * self._curve(self._degree)

    def _degree_at(self, price_max: int, value: int, price: int) -> float:
        """The degree whose target is `price`, within -1..1; 0 where it is undefined."""
        base = min(self._equilibrium(price_max), value)
        if price < base:
            return -self._inverse(min(1.0, 1.0 - price / base))
        return self._inverse(min(1.0, (price - base) / (value - base))) if value > base else 0.0

"""Traders of the literature: pure decisions on a TraderView, in buyer terms (double_auction page, 8.1 and 8.3).

`trading.mirror.MirroredPolicy` plays them for sellers. Constants in points are for P = 100 and scale by P/100. Every
bid lies within 0..v, but for `RandomLegal`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from fairground.contract.policy import Draw
from fairground.trading.mirror import Trader, TraderView

__all__ = ["TRADERS", "Kaplan", "LinearEquilibrium", "RandomLegal", "Shading", "TraderSpec", "Zic", "Zip"]


def lowest_winning_bid(view: TraderView, past: int) -> int | None:
    """The lowest own-side quote that traded in round index `past`; None when nobody traded."""
    trades = len(view.trades[past])
    if not trades:
        return None
    quote = view.quotes[past]
    side = list(view.own[past]) if quote is None else sorted([*view.own[past], quote], reverse=True)
    return side[trades - 1]


class Shading:
    """Bids its value minus a fixed shade in points; shade 0 is `truthful`."""

    def __init__(self, shade: int) -> None:
        self._shade = shade

    def quote(self, view: TraderView) -> int:
        """max(0, v - shade)."""
        return max(0, view.value - self._shade * view.price_max // 100)


class RandomLegal:
    """Any price of the grid with equal chance, at a loss too."""

    def __init__(self, draw: Draw) -> None:
        self._uniform = draw.uniform

    def quote(self, view: TraderView) -> int:
        """U{0..P}."""
        return math.floor(self._uniform("quote", view.round) * (view.price_max + 1))


class Zic:
    """Zero intelligence, constrained: any bid that cannot lose (Gode & Sunder 1993)."""

    def __init__(self, draw: Draw) -> None:
        self._uniform = draw.uniform

    def quote(self, view: TraderView) -> int:
        """U{0..v}."""
        return math.floor(self._uniform("quote", view.round) * (view.value + 1))


class LinearEquilibrium:
    """The linear equilibrium of one pair with uniform values (Chatterjee & Samuelson 1983)."""

    def quote(self, view: TraderView) -> int:
        """min(v, round(2v/3 + P/12))."""
        return min(view.value, round((8 * view.value + view.price_max) / 12))


class Zip:
    """Zero intelligence plus: a profit margin that follows the last round by momentum (Cliff 1997).

    One update after each round, towards a target just beyond a reference price: its own trade price, else the lowest
    winning own-side bid, else the lowest opposite quote.
    """

    def __init__(self, draw: Draw) -> None:
        self._uniform = draw.uniform
        self._margin = -self._between(0.05, 0.35, "margin")
        self._rate = self._between(0.1, 0.5, "rate")
        self._inertia = self._between(0.0, 0.1, "inertia")
        self._momentum = 0.0
        self._seen = 0

    def quote(self, view: TraderView) -> int:
        """round(v(1 + m)), the margin m in -1..0."""
        while self._seen < len(view.quotes):
            self._learn(view, self._seen)
            self._seen += 1
        return round(view.value * (1.0 + self._margin))

    def _between(self, low: float, high: float, *key: str | int) -> float:
        return low + self._uniform(*key) * (high - low)

    def _learn(self, view: TraderView, past: int) -> None:
        price = view.value * (1.0 + self._margin)
        target = self._target(view, past, price)
        if target is None or not view.value:
            return
        step = self._rate * (target - price)
        self._momentum = self._inertia * self._momentum + (1.0 - self._inertia) * step
        self._margin = min(0.0, max(-1.0, (price + self._momentum) / view.value - 1.0))

    def _target(self, view: TraderView, past: int, price: float) -> float | None:
        """Below the own trade price, above a missed reference that the own price did not exceed; None: stay."""
        step = self._between(0.0, 5.0, "step", past + 1) * view.price_max / 100
        fill = view.fills[past]
        if fill is not None:
            return fill * self._between(0.95, 1.0, "factor", past + 1) - step
        reference = lowest_winning_bid(view, past)
        if reference is None:
            reference = view.opp[past][0] if view.opp[past] else None
        if reference is None or price > reference:
            return None
        return reference * self._between(1.0, 1.05, "factor", past + 1) + step


class Kaplan:
    """The sniper: parks at 0 until its price is good or near, or the end is close (Rust, Miller & Palmer 1994)."""

    def __init__(self) -> None:
        self._seen = 0
        self._count = 0
        self._total = 0
        self._highest = 0

    def quote(self, view: TraderView) -> int:
        """min(v - 1, need) on a jump, else 0."""
        for trades in view.trades[self._seen :]:
            self._count += len(trades)
            self._total += sum(trades)
            self._highest = max([self._highest, *trades])
        self._seen = len(view.trades)
        if not view.opp or not view.opp[-1]:
            return 0
        lowest_ask = view.opp[-1][0]
        need = self._need(view, lowest_ask)
        return max(0, min(view.value - 1, need)) if self._jumps(view, lowest_ask, need) else 0

    def _need(self, view: TraderView, lowest_ask: int) -> int:
        winning = lowest_winning_bid(view, len(view.opp) - 1)
        if winning is None or view.fills[-1] is not None:
            return lowest_ask
        return max(lowest_ask, winning + 1)

    def _jumps(self, view: TraderView, lowest_ask: int, need: int) -> bool:
        """Integer forms of the conditions: the last fifth of the game, a good price, a small gap with a profit."""
        if 5 * (view.rounds - view.round + 1) <= view.rounds + 4:
            return True
        if self._count and need * self._count <= self._total:
            return True
        near = 10 * (need - lowest_ask) <= need and 50 * (view.value - need) >= view.value
        return near and bool(self._count) and need <= self._highest


class TraderSpec(NamedTuple):
    """A named trader; `make` takes the seat's own draws."""

    name: str
    description: str
    make: Callable[[Draw], Trader]


def _without_draws(make: Callable[[], Trader]) -> Callable[[Draw], Trader]:
    def drawless(draw: Draw) -> Trader:
        return make()

    return drawless


def _shading(name: str, shade: int) -> TraderSpec:
    text = f"value or cost shaded by {shade} points" if shade else "quotes its value or cost"
    return TraderSpec(name, text, _without_draws(lambda: Shading(shade)))


TRADERS: tuple[TraderSpec, ...] = (
    TraderSpec("random_legal", "any price of the grid with equal chance; may lose", RandomLegal),
    _shading("truthful", 0),
    _shading("shading_5", 5),
    _shading("shading_10", 10),
    _shading("shading_20", 20),
    TraderSpec("zic", "zero intelligence, constrained (Gode & Sunder 1993)", Zic),
    TraderSpec("zip", "zero intelligence plus: an adaptive margin (Cliff 1997)", Zip),
    TraderSpec("kaplan", "the sniper: waits for a good price or the end (Rust et al. 1994)", _without_draws(Kaplan)),
    TraderSpec(
        "linear_equilibrium",
        "linear equilibrium of one pair (Chatterjee & Samuelson 1983)",
        _without_draws(LinearEquilibrium),
    ),
)

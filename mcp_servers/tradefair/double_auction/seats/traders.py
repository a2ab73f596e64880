"""Traders of the literature: pure decisions on a TraderView, in buyer terms (double_auction page, 8.1 and 8.3).

Here are those that follow a formula, reply to quotes or forecast prices; `traders_learning` has those that learn.

`trading.mirror.MirroredPolicy` plays them for sellers. Constants in points are for P = 100 and scale by P/100. Every
bid lies within 0..v, but for `RandomLegal`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tradefair.double_auction.analysis import GdRound, pair_best_reply
from tradefair.double_auction.seats.talking import Said, Speaker, Talker
from tradefair.trading.beliefs import Margin, moved
from tradefair.trading.mirror import Trader, TraderView


def points(view: TraderView, amount: int) -> int:
    """An amount in points for P = 100 on the view's own grid."""
    # Exact: P is a multiple of 100.
    return amount * view.price_max // 100


def mean_price(trades: Sequence[int]) -> float | None:
    """The arithmetic mean of a round's prices; None without a trade."""
    return sum(trades) / len(trades) if trades else None


def between(view: TraderView, low: float, high: float, *key: str | int) -> float:
    """A uniform of low..high of the seat's own, keyed."""
    return low + view.draw.uniform(*key) * (high - low)


def capped(view: TraderView, bid: float) -> int:
    """A bid within 0..v."""
    return max(0, min(view.value, round(bid)))


def lowest_winning_bid(view: TraderView, past: int) -> int | None:
    """The lowest own-side quote that traded in round index `past`; None without a trade."""
    trades = len(view.trades[past])
    if not trades:
        return None
    quote = view.quotes[past]
    side = list(view.own[past]) if quote is None else sorted([*view.own[past], quote], reverse=True)
    # The best quotes trade, so the winning ones are the first of the side.
    return side[trades - 1]


def highest_own(view: TraderView) -> int | None:
    """The highest own-side quote of the last round, the own one included; None where there was none."""
    quotes = [*view.own[-1], *(quote for quote in view.quotes[-1:] if quote is not None)] if view.own else []
    return max(quotes, default=None)


class Truthful:
    """Quotes its value or cost, less a shade that only its heirs have."""

    shade = 0

    def quote(self, view: TraderView) -> int:
        """max(0, v - shade)."""
        return max(0, view.value - points(view, self.shade))


class Shading5(Truthful):
    """Value or cost shaded by 5 points."""

    shade = 5


class Shading10(Truthful):
    """Value or cost shaded by 10 points."""

    shade = 10


class Shading20(Truthful):
    """Value or cost shaded by 20 points."""

    shade = 20


class RandomLegal(Talker):
    """Any price of the grid with equal chance, at a loss too; where there is talk, now and then a message."""

    looks_up_recipients = True

    def quote(self, view: TraderView) -> int:
        """U{0..P}."""
        return math.floor(view.draw.uniform("quote", view.round) * (view.price_max + 1))

    def say(self, view: TraderView, speaker: Speaker) -> Said | None:
        """In half of the rounds a made-up price to all, to the other side or to its first seat."""
        if view.draw.uniform("silence", view.round) < 0.5:
            return None
        others = ("all_sellers", "S1") if speaker.role == "buyer" else ("all_buyers", "B1")
        recipient = ("all_traders", *others)[math.floor(view.draw.uniform("recipient", view.round) * 3)]
        # Single seats stand there as a range from the first one, which is the one that it names.
        allowed = any(name.partition("..")[0] == recipient for name in speaker.recipients)
        price = math.floor(view.draw.uniform("named", view.round) * (view.price_max + 1))
        return Said(recipient, f"Perhaps {price}?") if allowed else None


class Zic:
    """Zero intelligence, constrained: any bid that cannot lose (Gode & Sunder 1993)."""

    def quote(self, view: TraderView) -> int:
        """U{0..v}."""
        return math.floor(view.draw.uniform("quote", view.round) * (view.value + 1))


class LinearEquilibrium:
    """The linear equilibrium of one pair with uniform values (Chatterjee & Samuelson 1983)."""

    def quote(self, view: TraderView) -> int:
        """min(v, round(2v/3 + P/12))."""
        # 2v/3 + P/12 in one division: added as two doubles a half could fall to the wrong side.
        return min(view.value, round((8 * view.value + view.price_max) / 12))


class Zip:
    """Zero intelligence plus: a profit margin that follows the last round by momentum (Cliff 1997).

    One update after each round, towards a target just beyond a reference price: its own trade price, else the lowest
    winning own-side bid, else the lowest opposite quote.
    """

    _margin = Margin(0.0, 0.0)
    _rate = _inertia = 0.0
    _seen = 0

    def quote(self, view: TraderView) -> int:
        """round(v(1 + m)), the margin m in -1..0."""
        if not self._rate:
            # Starting laws of 8.3: margin, learning rate and the weight of the past.
            self._margin = Margin(-between(view, 0.05, 0.35, "margin"), 0.0)
            self._rate, self._inertia = between(view, 0.1, 0.5, "rate"), between(view, 0.0, 0.1, "inertia")
        while self._seen < len(view.quotes):
            self._learn(view, self._seen)
            self._seen += 1
        return round(view.value * (1.0 + self._margin.margin))

    def _learn(self, view: TraderView, past: int) -> None:
        target = self._target(view, past, view.value * (1.0 + self._margin.margin))
        # A value of 0 has no margin that could be learned.
        if target is not None and view.value:
            self._margin = moved(view.value, self._margin, target, self._rate, self._inertia)

    def _target(self, view: TraderView, past: int, price: float) -> float | None:
        """Below the own trade price, above a missed reference that the own price did not exceed; None: stay."""
        # Under the number of the round that is learned from, so that it does not matter when that happens.
        step = between(view, 0.0, 5.0, "step", past + 1) * view.price_max / 100
        fill = view.fills[past]
        if fill is not None:
            return fill * between(view, 0.95, 1.0, "factor", past + 1) - step
        reference = lowest_winning_bid(view, past)
        if reference is None:
            reference = view.opp[past][0] if view.opp[past] else None
        # A price above the reference has nothing to raise for (8.3).
        if reference is None or price > reference:
            return None
        return reference * between(view, 1.0, 1.05, "factor", past + 1) + step


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
        # No ask was seen: it parks.
        if not view.opp or not view.opp[-1]:
            return 0
        lowest_ask = view.opp[-1][0]
        need = self._need(view, lowest_ask)
        return max(0, min(view.value - 1, need)) if self._jumps(view, lowest_ask, need) else 0

    def _need(self, view: TraderView, lowest_ask: int) -> int:
        winning = lowest_winning_bid(view, len(view.opp) - 1)
        if winning is None or view.fills[-1] is not None:
            return lowest_ask
        # It missed the trade: to win a place it must also beat the last own-side winner.
        return max(lowest_ask, winning + 1)

    def _jumps(self, view: TraderView, lowest_ask: int, need: int) -> bool:
        """Integer forms of the conditions: the last fifth of the game, a good price, a small gap with a profit."""
        # At most a fifth of the rounds is left, rounded up, the open one included.
        if 5 * (view.rounds - view.round + 1) <= view.rounds + 4:
            return True
        # No worse than the mean of all trades so far.
        if self._count and need * self._count <= self._total:
            return True
        # At most a tenth above the best ask, with a profit of at least 2 % of the value.
        near = 10 * (need - lowest_ask) <= need and 50 * (view.value - need) >= view.value
        return near and bool(self._count) and need <= self._highest


# --- replies to quotes that were seen ---------------------------------------------------------------------------------


class Book:
    """The past rounds of a view in the form that beliefs need; each is translated once.

    `beliefs` holds one entry per closed round, oldest first, in buyer terms.
    """

    def __init__(self) -> None:
        self.beliefs: list[GdRound] = []

    def follow(self, view: TraderView) -> None:
        """Take in the rounds that have closed since."""
        for past in range(len(self.beliefs), len(view.quotes)):
            quote = view.quotes[past]
            side = sorted([*view.own[past], *(() if quote is None else (quote,))], reverse=True)
            traded = len(view.trades[past])
            self.beliefs.append(GdRound(side[:traded], side[traded:], view.opp[past]))


class FictitiousPlay:
    """Pair best reply to every opposite quote so far.

    Its belief is the plain frequency of all opposite quotes, as if each were as likely in the next round.
    """

    def __init__(self) -> None:
        self._seen = 0
        self._opposite: list[int] = []

    def quote(self, view: TraderView) -> int:
        """The largest maximiser; v without a gain or data."""
        for quotes in view.opp[self._seen :]:
            self._opposite += quotes
        self._seen = len(view.opp)
        reply = pair_best_reply(view.value, self._opposite)
        return view.value if reply is None else capped(view, reply)


class Shaver:
    """One above the best of the others on its side (after BSE's SHVR)."""

    def quote(self, view: TraderView) -> int:
        """round(v/2) first, then min(v, best + 1)."""
        # The last round's, without its own quote: it does not outbid itself.
        others = view.own[-1] if view.own else ()
        return min(view.value, max(others) + 1) if others else round(view.value / 2)


# --- forecasts of the price -------------------------------------------------------------------------------------------


class Prices:
    """Mean prices of the rounds that traded, and a smoothed one.

    `means` holds one price per round that traded, oldest first; `smooth` is their exponential mean with weight
    `smoothing` on the newest, 1 for the newest alone.
    """

    def __init__(self, smoothing: float = 1.0) -> None:
        self._smoothing = smoothing
        self._seen = 0
        self.means: list[float] = []
        self.smooth = self.before = 0.0

    def follow(self, view: TraderView) -> None:
        """Take in the rounds that have closed since; `before` is the smoothed price one observation earlier."""
        for trades in view.trades[self._seen :]:
            price = mean_price(trades)
            if price is None:
                continue
            # The first price has none before it, so its change is 0.
            self.before = self.smooth if self.means else price
            self.smooth = self.before + self._smoothing * (price - self.before)
            self.means.append(price)
        self._seen = len(view.trades)


def _half_way(view: TraderView) -> int:
    return capped(view, (view.value + view.price_max / 2) / 2)


class Momentum:
    """Follows the trend of a smoothed price (ours, after a one-line description)."""

    def __init__(self) -> None:
        self._prices = Prices(0.3)

    def quote(self, view: TraderView) -> int:
        """min(v, round(e + 2(e - e_prev) + 2)); half way to P/2 before data."""
        self._prices.follow(view)
        if not self._prices.means:
            return _half_way(view)
        trend = self._prices.smooth - self._prices.before
        return capped(view, self._prices.smooth + 2 * trend + points(view, 2))


class Contrarian:
    """Expects the last change of the mean price to be undone (ours, after a one-line description)."""

    def __init__(self) -> None:
        self._prices = Prices()

    def quote(self, view: TraderView) -> int:
        """The last mean price minus its last change, + 2; half way to P/2 before data."""
        self._prices.follow(view)
        if not self._prices.means:
            return _half_way(view)
        # The last price minus its last change is the price before it.
        return capped(view, self._prices.before + points(view, 2))


class MeanReversion:
    """Expects the price to return to a slow average (ours, after a one-line description)."""

    def __init__(self) -> None:
        self._prices = Prices(0.1)

    def quote(self, view: TraderView) -> int:
        """round(e + .5(e - last)); half way to P/2 before data."""
        self._prices.follow(view)
        if not self._prices.means:
            return _half_way(view)
        smooth = self._prices.smooth
        return capped(view, smooth + 0.5 * (smooth - self._prices.means[-1]))


class Regression:
    """A straight line through the last eight mean prices (ours, after a one-line description)."""

    def __init__(self) -> None:
        self._prices = Prices()
        self._before = Momentum()

    def quote(self, view: TraderView) -> int:
        """The line one round ahead, + 2; `momentum` before the third price."""
        self._prices.follow(view)
        recent = self._prices.means[-8:]
        early = self._before.quote(view)
        if len(recent) < 3:
            return early
        centre, level = (len(recent) - 1) / 2, math.fsum(recent) / len(recent)
        rise = math.fsum((place - centre) * price for place, price in enumerate(recent))
        slope = rise / math.fsum((place - centre) ** 2 for place in range(len(recent)))
        return capped(view, level + slope * (len(recent) - centre) + points(view, 2))


class Bayesian:
    """A normal belief about the price, from N(P/2, (P/4)²) (ours)."""

    def __init__(self) -> None:
        self._seen = 0
        self._means: list[float] = []
        self._mean = self._variance = 0.0

    def quote(self, view: TraderView) -> int:
        """round((v + mean)/2)."""
        scale = view.price_max / 100
        if not self._means:
            self._mean, self._variance = view.price_max / 2, (view.price_max / 4) ** 2
        for trades in view.trades[self._seen :]:
            price = mean_price(trades)
            if price is None:
                continue
            self._means.append(price)
            # 25 is a variance (8.3), so it scales by the square.
            noise = 25 * scale * scale + _variance(self._means[-5:])
            gain = self._variance / (self._variance + noise)
            self._mean += gain * (price - self._mean)
            self._variance *= 1.0 - gain
        self._seen = len(view.trades)
        return capped(view, (view.value + self._mean) / 2)


def _variance(values: Sequence[float]) -> float:
    """Of the population."""
    centre = math.fsum(values) / len(values)
    return math.fsum((value - centre) ** 2 for value in values) / len(values)


TRADERS: tuple[type[Trader], ...] = (
    RandomLegal,
    Truthful,
    Shading5,
    Shading10,
    Shading20,
    Zic,
    Zip,
    Kaplan,
    LinearEquilibrium,
    FictitiousPlay,
    Shaver,
    Momentum,
    Contrarian,
    MeanReversion,
    Regression,
    Bayesian,
)

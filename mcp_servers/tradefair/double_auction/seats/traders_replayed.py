"""Nine more baselines of the public BAZAAR games, read off their quotes, in buyer terms.

Each was found by playing public games again and comparing quotes; docs/explanation/markets/double_auction.md has the
share of equal ones. Six are rules; those called laws draw what the logs drew too. Constants in points are for P = 100
and scale by P/100; rounds are those of games of 30. Every bid lies within 0..v.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from statistics import NormalDist

from tradefair.double_auction.analysis import pair_best_reply
from tradefair.double_auction.seats.traders import capped, highest_own, mean_price, points
from tradefair.trading.mirror import Trader, TraderView


def _ask(view: TraderView) -> int | None:
    """The best opposite quote of the last round."""
    return view.opp[-1][0] if view.opp and view.opp[-1] else None


def _own_best(view: TraderView, past: int) -> int:
    """The highest own-side quote of round index `past`, the own one included; 0 where there was none."""
    return max((*view.own[past][:1], view.quotes[past] or 0))


# --- rules --------------------------------------------------------------------------------------------------------


class ZicPureBiasedActivityBazaar:
    """Steps through a window below its value by a fixed multiplier."""

    def quote(self, view: TraderView) -> int:
        """top − (16807·r mod n), n = floor(share·top + 1.3).

        The share is .4 after a round with trades, else .5. Three rounds without an own trade narrow it by a tenth, and
        a seller then also gives up a fifth of the window at its top.
        """
        share = 40 if view.trades and view.trades[-1] else 50
        top = view.value
        if view.round > 2 and all(fill is None for fill in view.fills[-3:]):
            width, share = share, share * 9 // 10
            if view.mirrored:
                # The two sides differ in the logs; whole percent, as the quotes show it.
                top = round(top * (500 - width) / 500)
                share = round(100 * share * 5 / (500 - width))
        # 16807 = 7^5, the multiplier of the "minimal standard" generator; whole numbers, so that no window is off by 1.
        return max(0, top - 16807 * view.round % ((share * top + 130) // 100))


class AdaptiveBazaar:
    """Bids the last best ask; three clear misses make it follow its own side for two rounds."""

    def __init__(self) -> None:
        self._seen = 0
        self._misses = 0
        self._following = 0

    def quote(self, view: TraderView) -> int:
        """v − 1 first; one below the best of its side while following, else the last best ask.

        Until round 9 a seat that has traded bids one above the best of its side instead.
        """
        for past in range(self._seen, len(view.quotes)):
            self._learn(view, past)
        self._seen = len(view.quotes)
        best, ask, tick = highest_own(view), _ask(view), points(view, 1)
        if best is None or ask is None:
            return capped(view, view.value - tick)
        if self._following:
            return capped(view, best - tick)
        if view.round < 10 and any(fill is not None for fill in view.fills):
            return capped(view, best + tick)
        # At the own value nothing is left to gain: one below it in the logs.
        return capped(view, ask - tick if ask == view.value else ask)

    def _learn(self, view: TraderView, past: int) -> None:
        self._following = max(0, self._following - 1)
        # A bid within two points of the best is a near miss, which does not count.
        short = _own_best(view, past) - (view.quotes[past] or 0) >= points(view, 3)
        self._misses = self._misses + 1 if view.fills[past] is None and short else 0
        if self._misses >= 3 and not self._following:
            self._misses, self._following = 0, 2


class EnhancedAdaptiveAggressiveBazaar:
    """A shade by the distance to the last midpoint, less with each trade."""

    def __init__(self) -> None:
        self._seen = 0
        self._trades = 0

    def quote(self, view: TraderView) -> int:
        """v − (4 + .08·d − .2·k), d = v − (best bid + best ask)/2; .8 + .06·d from k = 16 on.

        k counts own trades, and two less for a miss, within 0..16; d is taken from P/2 before the first round.
        """
        for fill in view.fills[self._seen :]:
            self._trades = max(0, self._trades - 2) if fill is None else min(16, self._trades + 1)
        self._seen = len(view.fills)
        best, ask = highest_own(view), _ask(view)
        middle = view.price_max / 2 if best is None or ask is None else (best + ask) / 2
        unit, distance = view.price_max / 100, view.value - middle
        if self._trades == 16:
            return capped(view, view.value - (0.8 * unit + 0.06 * distance))
        return capped(view, view.value - ((4 - 0.2 * self._trades) * unit + 0.08 * distance))


class PennyJumperBazaar:
    """A shade that follows a curve of the distance to the last best ask."""

    # (distance, shade) in points: straight lines between them, read off seats that had traded.
    _KNOTS = ((-4, 0.0), (4, 8.0), (10, 12.3), (20, 18.4), (30, 22.0), (36, 23.1), (44, 22.9), (56, 20.0), (100, 33.4))

    def quote(self, view: TraderView) -> int:
        """v first, then v − curve(v − ask); two points less before the own first trade."""
        ask = _ask(view)
        if ask is None:
            return view.value
        unit = view.price_max / 100
        shade = self._curve((view.value - ask) / unit)
        if all(fill is None for fill in view.fills):
            shade -= 2
        return capped(view, view.value - max(0.0, shade) * unit)

    def _curve(self, distance: float) -> float:
        place = bisect_right(self._KNOTS, (distance, math.inf))
        # Left of the first knot the ask is out of reach, and there is nothing to shade for.
        if place == 0:
            return 0.0
        (left, low), (right, high) = self._KNOTS[min(place, len(self._KNOTS) - 1) - 1 :][:2]
        return low + (high - low) * (distance - left) / (right - left)


class AdversarialExploiterBazaar:
    """Undercuts an ask that has stood still, at most every fourth round."""

    def quote(self, view: TraderView) -> int:
        """v, or a + (v − a)/4: a the lowest of three asks of equal rank within a point of each other, four below v."""
        unit = points(view, 1)
        recent = [asks for asks in view.opp[-3:] if asks]
        # Three rounds of rest after each attempt, which is a bid of more than a point below v.
        tried = any(quote is not None and quote < view.value - unit for quote in view.quotes[-3:])
        if len(recent) < 3 or tried:
            return view.value
        ranks = list(zip(*recent, strict=False))
        steady = [min(asks) for asks in ranks if max(asks) - min(asks) <= unit and view.value - min(asks) >= 4 * unit]
        return capped(view, min(steady) + (view.value - min(steady)) / 4) if steady else view.value


class RegimeSwitcherBazaar:
    """Momentum after a jump of the price, else one above the best of its side."""

    def __init__(self) -> None:
        self._seen = 0
        self._price: float | None = None
        self._jumped = False
        # The trend's own memory: it only sees the prices of rounds that jumped.
        self._smooth: float | None = None
        self._known: float | None = None
        self._trend = 0.0

    def quote(self, view: TraderView) -> int:
        """v first; after a change of the mean price by 5 or more min(v, (v + e)/2) + sign(d)·max(2.5, |d|/2).

        e is smoothed with .4 and d the last change, both over jumps alone. Else min(v − 1, best of its side + 1), a
        point less where that would repeat its last quote.
        """
        for past in range(self._seen, len(view.trades)):
            self._learn(view, mean_price(view.trades[past]))
        self._seen = len(view.trades)
        best, tick = highest_own(view), points(view, 1)
        if best is None:
            return view.value
        if self._jumped and self._smooth is not None:
            base = round(min(view.value, (view.value + self._smooth) / 2))
            step = max(2.5 * view.price_max / 100, abs(self._trend) / 2) if self._trend else 0.0
            return capped(view, base + math.copysign(step, self._trend))
        bid = min(view.value - tick, best + tick)
        # Seats near the middle of the grid do not alternate in the logs.
        if bid == view.quotes[-1] and view.round > 3 and abs(view.value - points(view, 50)) > 4 * tick:
            bid -= tick
        return max(0, bid)

    def _learn(self, view: TraderView, price: float | None) -> None:
        before = self._price
        self._jumped = price is not None and before is not None and abs(price - before) >= points(view, 5)
        if price is None:
            return
        self._price = price
        if self._jumped:
            self._smooth = price if self._smooth is None else 0.4 * self._smooth + 0.6 * price
            self._trend = 0.0 if self._known is None else price - self._known
            self._known = price


# --- laws: what the logs drew is drawn ------------------------------------------------------------------------------


class SignalJammerBazaar:
    """The last best ask as `adaptive_bazaar` has it, behind noise, never more than six points below v."""

    def __init__(self) -> None:
        self._inner = AdaptiveBazaar()

    def quote(self, view: TraderView) -> int:
        """v − U{0..3} first; then the inner bid −1, 0 or 1 with chances .29, .42, .29, within v − 6..v."""
        inner = self._inner.quote(view)
        mark = view.draw.uniform("noise", view.round)
        if not view.quotes:
            return capped(view, view.value - points(view, int(4 * mark)))
        noise = bisect_right((0.29, 0.71), mark) - 1
        return capped(view, max(inner + points(view, noise), view.value - points(view, 6)))


class GdxBazaar:
    """The pair best reply to the last round, or the best quote of its side; which of them is drawn."""

    # By how many of the last two choices were replies: the share of replies that followed in the logs.
    _REPLIES = (0.18, 0.30, 0.60)

    def __init__(self) -> None:
        self._seen = 0
        self._choices: list[bool] = []

    def quote(self, view: TraderView) -> int:
        """v − 1 first; then a reply with chance .18, .3 or .6 (.1 in rounds 2 and 3), else min(v, best of its side)."""
        for past in range(self._seen, len(view.quotes)):
            self._learn(view, past)
        self._seen = len(view.quotes)
        best = highest_own(view)
        if best is None:
            return max(0, view.value - points(view, 1))
        reply = pair_best_reply(view.value, view.opp[-1])
        share = 0.1 if view.round <= 3 else self._REPLIES[sum(self._choices[-2:])]
        if reply is not None and view.draw.uniform("choice", view.round) < share:
            return capped(view, reply)
        return min(view.value, best)

    def _learn(self, view: TraderView, past: int) -> None:
        if not past:
            return
        reply = pair_best_reply(view.value, view.opp[past - 1])
        # Where both are the same bid, the quote does not tell which was chosen.
        if reply is not None and reply != min(view.value, _own_best(view, past - 1)):
            self._choices.append(view.quotes[past] == reply)


class RiskAwareBazaar:
    """The best of thirty imagined prices by expected CARA utility, a = .05 per point."""

    # Its first bid by value, in points: the highest threshold at or below v.
    _FROM = (0, 4, 6, 11, 20, 34, 43, 48, 54, 55, 57, 58, 60, 61, 66, 74, 77, 84, 94)
    _FIRST = (0, 2, 3, 9, 12, 19, 39, 41, 48, 49, 51, 52, 53, 54, 59, 61, 65, 72, 86)
    _SAMPLES, _NOISE, _AVERSION = 30, NormalDist(0, 6), 0.05

    def quote(self, view: TraderView) -> int:
        """argmax over sampled b <= v of the sum over samples s <= b of 1 − exp(−a·(v − (b + s)/2)); v without a gain.

        A sample is a price of the last round with trades, each with equal chance, plus normal noise of 6 points; P/2
        stands for the price before any trade. The first bid is a table.
        """
        unit = view.price_max / 100
        if not view.quotes:
            place = bisect_right(self._FROM, view.value / unit) - 1
            return capped(view, self._FIRST[place] * unit)
        prices = next((trades for trades in reversed(view.trades) if trades), (view.price_max // 2,))
        aversion = self._AVERSION / unit
        best, highest, known = view.value, 1e-9, 0.0
        for count, bid in enumerate(self._imagined(view, prices, unit), start=1):
            if bid > view.value:
                break
            # The sum over the samples so far in one term: exp(−a·(v − (b + s)/2)) = exp(a·(b/2 − v))·exp(a·s/2).
            known += math.exp(aversion * bid / 2)
            gain = round(count - math.exp(aversion * (bid / 2 - view.value)) * known, 9)
            if gain > highest:
                best, highest = bid, gain
        return max(0, best)

    def _imagined(self, view: TraderView, prices: Sequence[int], unit: float) -> list[int]:
        """The sampled prices, ascending."""
        marks = (mark * len(prices) for mark in view.draw.uniforms("sample", view.round, n=self._SAMPLES))
        # The whole part of a mark picks the price; what is left of it is uniform too and gives the noise.
        return sorted(
            round(prices[int(mark)] + unit * self._NOISE.inv_cdf(max(mark - int(mark), 1e-9))) for mark in marks
        )


REPLAYED_TRADERS: tuple[type[Trader], ...] = (
    ZicPureBiasedActivityBazaar,
    AdaptiveBazaar,
    EnhancedAdaptiveAggressiveBazaar,
    PennyJumperBazaar,
    AdversarialExploiterBazaar,
    RegimeSwitcherBazaar,
    SignalJammerBazaar,
    GdxBazaar,
    RiskAwareBazaar,
)

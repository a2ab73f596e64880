"""Traders identified in the public BAZAAR logs, in buyer terms (double_auction page, 8.4).

`truthful`, `shading_5`, `shading_10` and `fictitious_play` of `traders` are exact as they are. The rules here were read
off the logged quotes; those called laws imitate the frequencies of an unknown algorithm. Constants in points
are for P = 100 and scale by P/100. Every bid lies within 0..v.
"""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.double_auction.analysis import pair_best_reply
from tradefair.double_auction.seats.traders import Zic, capped, highest_own, mean_price, points
from tradefair.double_auction.seats.traders_replayed import REPLAYED_TRADERS
from tradefair.trading.mirror import Trader, TraderView

# --- rules that agree with every logged quote, or nearly -------------------------------------------------------------


class LinearEqBazaar:
    """Two thirds of its value."""

    def quote(self, view: TraderView) -> int:
        """round(2v/3)."""
        return round(2 * view.value / 3)


class GdBazaar:
    """Pair best reply over the opposite quotes of the last five rounds."""

    def quote(self, view: TraderView) -> int:
        """The largest maximiser; v without a gain or data."""
        recent = (ask for asks in view.opp[-5:] for ask in asks)
        reply = pair_best_reply(view.value, recent)
        return view.value if reply is None else capped(view, reply)


class MomentumBazaar:
    """Half way to a smoothed price, a step in the direction of its last change."""

    def __init__(self) -> None:
        self._seen = 0
        self._smooth: float | None = None
        self._last: float | None = None
        self._change = 0.0

    def quote(self, view: TraderView) -> int:
        """round(min(v, (v + c)/2)) + sign(d)·k, k = max(2.5, |d|/2)."""
        for trades in view.trades[self._seen :]:
            self._learn(mean_price(trades))
        self._seen = len(view.trades)
        centre = view.price_max / 2 if self._smooth is None else self._smooth
        base = round(min(view.value, (view.value + centre) / 2))
        # Rule M of 8.4; the weights .4 and .6 below were read off the same logs.
        step = max(2.5 * view.price_max / 100, abs(self._change) / 2) if self._change else 0.0
        return capped(view, base + (step if self._change > 0 else -step))

    def _learn(self, price: float | None) -> None:
        # A round without a trade ends the trend: the next bid takes no step (rule M of 8.4).
        if price is None:
            self._change = 0.0
            return
        self._smooth = price if self._smooth is None else 0.4 * self._smooth + 0.6 * price
        self._change = 0.0 if self._last is None else price - self._last
        self._last = price


class ContrarianBazaar:
    """Half way to 50, against the last change of the mean price."""

    def quote(self, view: TraderView) -> int:
        """min(v, round((v + 50)/2 − sign(d)·k)); v while two rounds in a row with trades are missing."""
        middle = points(view, 50)
        prices = [mean_price(trades) for trades in view.trades[-2:]]
        # Without two prices in a row there is no change to bid against (rule C of 8.4).
        if len(prices) < 2 or view.value <= middle or prices[0] is None or prices[1] is None:
            return view.value
        change = prices[1] - prices[0]
        unit = points(view, 5)
        step = unit * max(1, round(abs(change) / unit)) if change and unit else 0
        if change > 0:
            step = min(step, view.value - middle)
        return capped(view, (view.value + middle) / 2 - (step if change > 0 else -step))


class RegressionBazaar:
    """A shade by value and round number that never looks at prices."""

    def quote(self, view: TraderView) -> int:
        """v − max(4, round(.16·|v − 50|)) − (0, 1, −1)[(r − 1) mod 3]."""
        shade = max(points(view, 4), round(0.16 * abs(view.value - points(view, 50))))
        return capped(view, view.value - shade - points(view, (0, 1, -1)[(view.round - 1) % 3]))


class ThreatBazaar:
    """One above the best of its side in the last round."""

    def quote(self, view: TraderView) -> int:
        """min(v, 48) first, then min(v, 1 + highest own-side quote)."""
        # In round 1 there is no last round to look at.
        highest = highest_own(view)
        return min(view.value, points(view, 48) if highest is None else highest + 1)


class SniperBazaar:
    """A fixed calendar around the best own-side quote, known for R = 30 and counted from the end.

    Before the calendar's first round every even round is a raising one.

    Raising rounds bid two ticks above the highest own-side quote of the last round, other rounds repeat it; v - 1 caps
    the former, v - 2 the latter (rule S of 8.4).
    """

    _RAISING = frozenset({2, 3, 4, 6, 7, 13, 14, 15, 19, 20, 22, 24})
    _CLOSING = (50, 49, 46, 47, 44)

    def quote(self, view: TraderView) -> int:
        """v − 1 at the end or for v <= 48; 48 first; the closing ladder in the last five rounds but one."""
        # The round's number in a game of 30 rounds, counted from the end: the logs have no other length.
        place = view.round + 30 - view.rounds
        if view.value <= points(view, 48) or place >= 30:
            return max(0, view.value - 1)
        if view.round == 1:
            return points(view, 48)
        if place >= 25:
            return min(view.value - 1, points(view, self._CLOSING[place - 25]))
        highest = highest_own(view)
        if highest is None:
            return points(view, 48)
        # Before the calendar begins there are no logs: every even round raises.
        raising = place in self._RAISING if place >= 2 else view.round % 2 == 0
        return capped(view, min(highest + 2 * raising, view.value - 2 + raising))


class MeanReversionBazaar:
    """Shades by 0, 1, then 1 and 2 in turn."""

    def quote(self, view: TraderView) -> int:
        """v; v − 1; then v − 1 in odd and v − 2 in even rounds."""
        shade = min(view.round - 1, 1) if view.round < 3 else 2 - view.round % 2
        return max(0, view.value - shade)


class BayesianBazaar:
    """Half way to a mean that nine imagined rounds at 50 hold back."""

    def __init__(self) -> None:
        self._seen = 0
        self._count = 0
        self._total = 0.0

    def quote(self, view: TraderView) -> int:
        """min(v, round((v + m)/2)), m = (9·50 + Σ mean prices)/(9 + trading rounds)."""
        for trades in view.trades[self._seen :]:
            price = mean_price(trades)
            if price is not None:
                self._count, self._total = self._count + 1, self._total + price
        self._seen = len(view.trades)
        # Nine imagined rounds at the middle of the grid, as the logged bids show (8.4).
        mean = (9 * view.price_max / 2 + self._total) / (9 + self._count)
        return capped(view, (view.value + mean) / 2)


class CliffBazaar:
    """A point below its value, or as far below it as the last best ask stands above."""

    def quote(self, view: TraderView) -> int:
        """v − 5 first, then v − max(1, ask − v)."""
        ask = view.opp[-1][0] if view.opp and view.opp[-1] else None
        if ask is None:
            return max(0, view.value - points(view, 5))
        return max(0, view.value - max(points(view, 1), ask - view.value))


class ZicPlusBazaar:
    """A shade by round number, the same in every game for seats that have traded."""

    # In points, rounds 1 to 30 of the logs; other seats follow one of two calendars until their first trade.
    _TRADED = (5, 3, 1, 2, 3, 5, 1, 2, 3, 4, 5, 6, 4, 3, 2, 1, 2, 4, 0, 4, 1, 3, 2, 3, 4, 1, 4, 0, 3, 4)
    _NEAR = (5, 3, 1, 2, 3, 5, 3, 4, 5, 3, 5, 6, 1, 7, 4, 2, 8, 1, 9, 2, 6, 5, 3, 10, 3, 4, 10, 3, 1, 7)
    _FAR = (5, 3, 1, 2, 3, 0, 3, 1, 3, 4, 0, 2, 1, 2, 3, 0, 2, 1, 2, 3, 0, 2, 1, 2, 3, 0, 2, 1, 2, 3)

    def quote(self, view: TraderView) -> int:
        """v − the calendar's shade; far is a last best ask of more than 8 points above v."""
        if any(fill is not None for fill in view.fills):
            shades = self._TRADED
        else:
            far = bool(view.opp and view.opp[-1]) and view.opp[-1][0] - view.value > points(view, 8)
            shades = self._FAR if far else self._NEAR
        return max(0, view.value - points(view, shades[(view.round - 1) % len(shades)]))


# --- laws: frequencies of an unknown algorithm ------------------------------------------------------------------------


def _pick(view: TraderView, choices: Sequence[int], *key: int | str) -> int:
    # A uniform is below 1, so the index stays within.
    return choices[int(view.draw.uniform(*key) * len(choices))]


class ShadeLaw:
    """A shade drawn per round from `early` (rounds 1 to 4) or `late`; with `avoid`, never twice after a fill.

    Shades are in points of P = 100, each of a list with equal chance, drawn under the round's number.
    """

    early: Sequence[int] = range(0, 21, 2)
    late: Sequence[int] = early
    avoid = False
    _last: int | None = None

    def quote(self, view: TraderView) -> int:
        """v − shade."""
        choices = self.early if view.round <= 4 else self.late
        if self.avoid and self._last is not None and view.fills and view.fills[-1] is not None:
            # In the logs no shade stands twice in a row behind a fill.
            choices = [shade for shade in choices if shade != self._last]
        self._last = _pick(view, choices, "shade", view.round)
        return max(0, view.value - points(view, self._last))


class RothErevBazaar(ShadeLaw):
    """Shades 0, 5, 10, 15 for four rounds, then 0 or 5 (law)."""

    early, late = (0, 5, 10, 15), (0, 5)


class QLearningBazaar(ShadeLaw):
    """Even shades up to 20, another one after a fill (law)."""

    avoid = True


class BanditBazaar(ShadeLaw):
    """Shades 2 to 15 (law)."""

    early = late = (2, 4, 6, 8, 10, 15)


class RandomBazaar(Zic):
    """Any bid that cannot lose (law)."""


class CollusiveBazaar:
    """Shades once, then quotes its value (law)."""

    def quote(self, view: TraderView) -> int:
        """v − U{0..12} in round 1, then v."""
        return max(0, view.value - points(view, _pick(view, range(13), "shade"))) if view.round == 1 else view.value


IDENTIFIED_TRADERS: tuple[type[Trader], ...] = (
    LinearEqBazaar,
    GdBazaar,
    MomentumBazaar,
    ContrarianBazaar,
    RegressionBazaar,
    ThreatBazaar,
    SniperBazaar,
    MeanReversionBazaar,
    BayesianBazaar,
    RandomBazaar,
    CliffBazaar,
    ZicPlusBazaar,
    RothErevBazaar,
    QLearningBazaar,
    BanditBazaar,
    CollusiveBazaar,
    *REPLAYED_TRADERS,
)

BAZAAR_FIELD: dict[str, str] = {
    "truthful": "truthful",
    "shading5": "shading_5",
    "shading10": "shading_10",
    "linear_eq": "linear_eq_bazaar",
    "fictitious": "fictitious_play",
    "gd": "gd_bazaar",
    "momentum": "momentum_bazaar",
    "contrarian": "contrarian_bazaar",
    "regression": "regression_bazaar",
    "threat_tit_for_tat": "threat_bazaar",
    "sniper": "sniper_bazaar",
    "mean_reversion": "mean_reversion_bazaar",
    "enhanced_bayesian": "bayesian_bazaar",
    "random": "random_bazaar",
    "adaptive_aggressive_cliff": "cliff_bazaar",
    "zic_plus": "zic_plus_bazaar",
    "roth_erev": "roth_erev_bazaar",
    "qlearning": "q_learning_bazaar",
    "stochastic_shading_bandit": "bandit_bazaar",
    "collusive": "collusive_bazaar",
    "enhanced_adaptive_aggressive": "enhanced_adaptive_aggressive_bazaar",
    "gdx": "gdx_bazaar",
    "penny_jumper": "penny_jumper_bazaar",
    "adversarial_exploiter": "adversarial_exploiter_bazaar",
    "risk_aware": "risk_aware_bazaar",
    "signal_jammer": "signal_jammer_bazaar",
    "zic_pure_biased_activity": "zic_pure_biased_activity_bazaar",
    "adaptive": "adaptive_bazaar",
    "regime_switcher": "regime_switcher_bazaar",
}
"""`field:bazaar`: the baselines of the public logs, by their id there, and the trader of each."""

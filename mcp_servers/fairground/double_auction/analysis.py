"""Pure arithmetic on published quotes: beliefs, counterfactual replay, best replies, regret.

Everything is in buyer terms (double_auction page, 8.1): a seller with cost c is a buyer with value P - c, and each
price p becomes P - p; `flip` translates either way. Own-side prices are better the higher, opposite ones the lower.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

__all__ = [
    "GdRound",
    "PlayedRound",
    "PriceOutlook",
    "Regret",
    "Rivals",
    "SealedRivals",
    "best_reply",
    "expected_payoff",
    "flip",
    "gd_belief",
    "gd_counts",
    "mean_utility",
    "outlook",
    "pair_best_reply",
    "regret",
    "useful_prices",
]

_DECIMALS = 6


def flip(price: int, price_max: int, role: Literal["buyer", "seller"]) -> int:
    """`price` in buyer terms, or back; its own inverse."""
    return price if role == "buyer" else price_max - price


class GdRound(NamedTuple):
    """A past round for the GD belief: own-side quotes (own included) that traded or did not, opposite quotes."""

    matched: Sequence[int]
    unmatched: Sequence[int]
    opposite: Sequence[int]


class GdCounts(NamedTuple):
    """TB + A quotes speak for a fill at the price, RB against it."""

    supporting: int
    opposing: int

    @property
    def belief(self) -> float | None:
        """(TB + A)/(TB + A + RB); null for 0/0."""
        total = self.supporting + self.opposing
        return self.supporting / total if total else None


def gd_counts(price: int, rounds: Iterable[GdRound]) -> GdCounts:
    """Counts of Gjerstad & Dickhaut (1998) at `price` (double_auction page, 8.2)."""
    supporting = opposing = 0
    for past in rounds:
        supporting += sum(bid <= price for bid in past.matched) + sum(ask <= price for ask in past.opposite)
        opposing += sum(bid >= price for bid in past.unmatched)
    return GdCounts(supporting, opposing)


def gd_belief(rounds: Sequence[GdRound], price_max: int, weights: Sequence[float] | None = None) -> list[float]:
    """f(0..P): the belief, its 0/0 points filled linearly, with f(0) = 0 and f(P) = 1 if unknown (8.2).

    `weights` say how much each round counts (default: all the same); the cost is linear in quotes and grid.
    """
    supporting: list[float] = [0] * (price_max + 1)
    opposing: list[float] = [0] * (price_max + 1)
    for past, weight in zip(rounds, weights or [1] * len(rounds), strict=True):
        for price in (*past.matched, *past.opposite):
            supporting[price] += weight
        for price in past.unmatched:
            opposing[price] += weight
    against = list(accumulate(reversed(opposing)))[::-1]
    known = [
        support / (support + oppose) if support + oppose else None
        for support, oppose in zip(accumulate(supporting), against, strict=True)
    ]
    known[0] = 0.0 if known[0] is None else known[0]
    known[-1] = 1.0 if known[-1] is None else known[-1]
    filled: list[float] = []
    low, low_at = 0.0, 0
    for price, belief in enumerate(known):
        if belief is None:
            continue
        gap = price - low_at
        filled += [low + (belief - low) * step / gap for step in range(1, gap)]
        filled.append(belief)
        low, low_at = belief, price
    return filled


class Rivals(NamedTuple):
    """The published quotes of a past round without the own one: own side ascending, opposite side ascending."""

    others: Sequence[int]
    opposite: Sequence[int]


class PriceOutlook(NamedTuple):
    """What one price would have met on average over past rounds; ties are averaged, coins replaced by their mean."""

    price: int
    fill_share: float
    mean_price_if_filled: float | None
    mean_surplus: float
    """Value minus price per round, unfilled rounds counting 0."""


def _met(price: int, rivals: Rivals) -> tuple[list[int], int]:
    """Opposite quotes that `price` would trade with, over the ranks that a tie leaves open, and their number."""
    others, opposite = rivals
    better = len(others) - bisect_right(others, price)
    ranks = bisect_right(others, price) - bisect_left(others, price) + 1
    return [ask for ask in opposite[better : better + ranks] if ask <= price], ranks


def outlook(price: int, value: int, rounds: Sequence[Rivals]) -> PriceOutlook:
    """Counterfactual replay of `price` against `rounds`, rivals held fixed (double_auction page, 5)."""
    shares: list[float] = []
    prices: list[float] = []
    for past in rounds:
        met, ranks = _met(price, past)
        shares.append(len(met) / ranks)
        prices.append(sum(price + ask for ask in met) / (2 * ranks))
    share, paid = math.fsum(shares), math.fsum(prices)
    count = len(rounds)
    return PriceOutlook(
        price,
        round(share / count, _DECIMALS) if count else 0.0,
        round(paid / share, _DECIMALS) if share else None,
        round((share * value - paid) / count, _DECIMALS) if count else 0.0,
    )


def best_reply(
    value: int, rounds: Sequence[Rivals], utility: Callable[[float], float] = float, prices: Iterable[int] | None = None
) -> int | None:
    """The smallest price that maximises the mean utility of counterfactual replay; null when nothing is gained (8.2).

    `utility` is of a round's surplus, 0 when unfilled; `prices` default to 0..v.
    """
    best: int | None = None
    best_gain = 0.0
    for price in range(value + 1) if prices is None else prices:
        gain = mean_utility(price, value, rounds, utility)
        if gain > best_gain:
            best, best_gain = price, gain
    return best


def mean_utility(price: int, value: int, rounds: Sequence[Rivals], utility: Callable[[float], float] = float) -> float:
    """Mean utility per round of `price` against `rounds`, ties averaged, coins replaced by their mean; 0 for none."""
    gains: list[float] = []
    for past in rounds:
        met, ranks = _met(price, past)
        gains.append(sum(utility(value - (price + ask) / 2) for ask in met) / ranks)
    return round(math.fsum(gains) / len(gains), _DECIMALS) if gains else 0.0


def useful_prices(value: int, price_max: int) -> list[int]:
    """25 prices evenly spread from `value` to 40 % of P below it, within the grid, least shaded first."""
    spread = (max(0, value - round(step * price_max / 60)) for step in range(25))
    return list(dict.fromkeys(spread))


def pair_best_reply(value: int, opposite: Iterable[int]) -> int | None:
    """The largest b that maximises the sum over a <= b of (2v - a - b); null when nothing is gained (8.2)."""
    best: int | None = None
    best_gain = total = 0
    for count, ask in enumerate(sorted(opposite), start=1):
        total += ask
        gain = count * (2 * value - ask) - total
        if gain > 0 and gain >= best_gain:
            best, best_gain = ask, gain
    return best


class SealedRivals(NamedTuple):
    """A round as it was settled, without the own quote: own side split by the quote order; all ascending."""

    earlier: Sequence[int]
    later: Sequence[int]
    opposite: Sequence[int]


def expected_payoff(value: int, price: int, rivals: SealedRivals) -> float:
    """Payoff of `price` with rivals and quote order fixed, the coin replaced by its mean (9.3)."""
    earlier, later, opposite = rivals
    rank = len(earlier) - bisect_left(earlier, price) + len(later) - bisect_right(later, price)
    if rank >= len(opposite) or price < opposite[rank]:
        return 0.0
    return value - (price + opposite[rank]) / 2


class PlayedRound(NamedTuple):
    """Quotes by seat (a forfeiting seat is absent) and the order that broke ties; in the seats' own terms."""

    bids: Mapping[str, int]
    asks: Mapping[str, int]
    quote_order: Sequence[str]

    def without(self, seat: str, role: Literal["buyer", "seller"], price_max: int) -> SealedRivals:
        """What `seat` faced, in buyer terms."""
        own, opposite = (self.bids, self.asks) if role == "buyer" else (self.asks, self.bids)
        position = self.quote_order.index(seat)
        split: tuple[list[int], list[int]] = ([], [])
        for place, other in enumerate(self.quote_order):
            if other != seat and other in own:
                split[place > position].append(flip(own[other], price_max, role))
        met = sorted(flip(price, price_max, role) for price in opposite.values())
        return SealedRivals(sorted(split[0]), sorted(split[1]), met)


class Regret(NamedTuple):
    """Hindsight of one seat, in points; rivals do not react. `best_price` is in the seat's own terms."""

    static: float
    dynamic: float
    best_price: int
    payoff: float
    """Expected payoff of the actual quotes."""


def regret(
    seat: str, role: Literal["buyer", "seller"], value: int, rounds: Sequence[PlayedRound], price_max: int
) -> Regret:
    """Static and dynamic regret (double_auction page, 9.3); a forfeited round earned 0, ties go to the least shaded."""
    own_value = flip(value, price_max, role)
    totals = [0.0] * (price_max + 1)
    actual: list[float] = []
    peaks: list[float] = []
    for played in rounds:
        rivals = played.without(seat, role, price_max)
        curve = [expected_payoff(own_value, price, rivals) for price in range(price_max + 1)]
        totals = [total + payoff for total, payoff in zip(totals, curve, strict=True)]
        quote = (played.bids if role == "buyer" else played.asks).get(seat)
        actual.append(0.0 if quote is None else curve[flip(quote, price_max, role)])
        peaks.append(max(curve))
    earned = math.fsum(actual)
    best = max(range(price_max + 1), key=lambda price: (totals[price], price))
    return Regret(totals[best] - earned, math.fsum(peaks) - earned, flip(best, price_max, role), earned)

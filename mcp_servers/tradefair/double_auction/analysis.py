"""Pure arithmetic on published quotes: beliefs, counterfactual replay, best replies, regret.

Everything is in buyer terms (double_auction page, 8.1): a seller with cost c is a buyer with value P - c, and each
price p becomes P - p; `flip` translates either way. Own-side prices are better the higher, opposite ones the lower.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from tradefair.double_auction.model import Role
from tradefair.trading.beliefs import beliefs

# Of what tools answer; `best_reply` compares with it too, so that no rounding error decides between prices.
_DECIMALS = 6


def flip(price: int, price_max: int, role: Role) -> int:
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
    """Counts of Gjerstad & Dickhaut (1998) at `price` (double_auction page, 8.2).

    A quote of the own side that traded at or below the price, or an opposite one, speaks for a fill; an own-side quote
    at or above it that did not trade speaks against it.
    """
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
    known = beliefs(supporting, opposing)
    known[0] = 0.0 if known[0] is None else known[0]
    known[-1] = 1.0 if known[-1] is None else known[-1]
    return _filled(known)


def _filled(known: Sequence[float | None]) -> list[float]:
    """The beliefs with a straight line over the unknown ones; the first and the last are known."""
    certain = [belief for belief in known if belief is not None]
    if len(certain) == len(known):
        return certain
    filled: list[float] = []
    # The last known point: unknown ones lie on the line from there to the next known one.
    low, low_at = 0.0, 0
    for price, belief in enumerate(known):
        if belief is None:
            continue
        gap = price - low_at
        if gap > 1:
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
    # The k-th best bid meets the k-th best ask: with `better` bids above, a price has rank better + 1, and each rival
    # at the same price may push it one rank further, by the random quote order.
    as_good = bisect_right(others, price)
    better = len(others) - as_good
    ranks = as_good - bisect_left(others, price) + 1
    return [ask for ask in opposite[better : better + ranks] if ask <= price], ranks


def outlook(price: int, value: int, rounds: Sequence[Rivals]) -> PriceOutlook:
    """Counterfactual replay of `price` against `rounds`, rivals held fixed (double_auction page, 5).

    A price trades with the opposite quote of its rank, and a tie with rivals leaves several ranks open: each counts the
    same.
    """
    shares: list[float] = []
    prices: list[float] = []
    for past in rounds:
        met, ranks = _met(price, past)
        shares.append(len(met) / ranks)
        prices.append(sum(price + ask for ask in met) / (2 * ranks))
    # fsum: the order of the rounds must not show in the last digit of an answer.
    share, paid = math.fsum(shares), math.fsum(prices)
    count = len(rounds)
    return PriceOutlook(
        price,
        round(share / count, _DECIMALS) if count else 0.0,
        round(paid / share, _DECIMALS) if share else None,
        round((share * value - paid) / count, _DECIMALS) if count else 0.0,
    )


def best_reply(value: int, rounds: Sequence[Rivals]) -> int | None:
    """The smallest of 0..v that maximises the mean surplus of counterfactual replay; null when nothing is gained."""
    best, highest = None, 0.0
    for price in range(value + 1):
        gain = outlook(price, value, rounds).mean_surplus
        # Upwards with >, so that of equal gains the smallest price stays.
        if gain > highest:
            best, highest = price, gain
    return best


def useful_prices(value: int, price_max: int) -> list[int]:
    """25 prices evenly spread from `value` to 40 % of P below it, within the grid, least shaded first."""
    # dict.fromkeys drops the repeats at 0 and keeps the order.
    # 24 steps of P/60 are 40 % of P (section 5).
    spread = (max(0, value - round(step * price_max / 60)) for step in range(25))
    return list(dict.fromkeys(spread))


def pair_best_reply(value: int, opposite: Iterable[int]) -> int | None:
    """The largest b that maximises the sum over a <= b of (2v - a - b); null when nothing is gained (8.2).

    In a pair the price is the middle of both quotes, so b earns (2v - a - b)/2 from each opposite quote a <= b.
    """
    best: int | None = None
    best_gain = total = 0
    for count, ask in enumerate(sorted(opposite), start=1):
        total += ask
        gain = count * (2 * value - ask) - total
        # >=: of equally good prices the largest, which trades with the most quotes.
        if gain > 0 and gain >= best_gain:
            best, best_gain = ask, gain
    return best


Fill: TypeAlias = tuple[int, int]
"""(first, met): prices from `first` up to the next higher fill, or P, trade with the opposite quote `met`.

Rivals and quote order fixed, buyer terms. The lower first + met, the better the fill: twice the payoff of its best
price, which is its first, is twice the value less that sum (whole, the coin at its mean). A plain pair: a market of 400
seats has millions of them.
"""


class SideOfRound:
    """What the seats of one role faced in a round; sorted once for all of them. Prices are in buyer terms."""

    def __init__(
        self, own: Mapping[str, int], opposite: Iterable[int], quote_order: Sequence[str], price_max: int
    ) -> None:
        # Reversed, so that of a seat named twice the first position counts, as with `index`.
        self._places = {seat: place for place, seat in reversed(list(enumerate(quote_order)))}
        # Better quotes come first, equal ones by the quote order (6.3).
        ranked = sorted((-own[seat], place, seat) for place, seat in enumerate(quote_order) if seat in own)
        # Behind the last quote any price has its rank.
        self._quotes = [*((-price, place) for price, place, _ in ranked), (0, len(quote_order))]
        self._ranks: dict[str, list[int]] = {}
        for rank, (_, _, seat) in enumerate(ranked):
            self._ranks.setdefault(seat, []).append(rank)
        self._opposite = sorted(opposite)
        self._price_max = price_max

    def fills(self, seat: str) -> list[Fill]:
        """Every fill of `seat` within 0..P, highest first. KeyError for a seat that the quote order does not name.

        The k-th rank is taken from the price that beats the k-th rival up to the one that beats the rival before it.
        """
        place, last, rivals = self._places[seat], self._price_max, self._quotes
        # More than one only in a forged order.
        for rank in reversed(self._ranks.get(seat, ())):
            rivals = rivals[:rank] + rivals[rank + 1 :]
        found: list[Fill] = []
        for (price, other), met in zip(rivals, self._opposite, strict=False):
            # One point above a rival that the quote order puts first; an equal price beats the others.
            beats = price + (other < place)
            # No lower price reaches this quote, and the later ones ask for more.
            if beats <= met or beats <= 0:
                first = max(met, 0)
                if first <= last:
                    found.append((first, met))
                break
            if beats <= last:
                found.append((beats, met))
                last = beats - 1
        return found


@dataclass(frozen=True)
class PlayedRound:
    """Quotes by seat (a forfeiting seat is absent) and the order that broke ties; in the seats' own terms."""

    bids: Mapping[str, int]
    asks: Mapping[str, int]
    quote_order: Sequence[str]
    # By role and grid: evaluation asks for each seat of a side, and all of them faced the same.
    _sides: dict[tuple[Role, int], SideOfRound] = field(
        default_factory=dict["tuple[Role, int]", SideOfRound], init=False, repr=False, compare=False
    )

    def faced(self, role: Role, price_max: int) -> SideOfRound:
        """What the seats of `role` faced, in buyer terms."""
        side = self._sides.get((role, price_max))
        if side is None:
            own, opposite = (self.bids, self.asks) if role == "buyer" else (self.asks, self.bids)
            side = self._sides[role, price_max] = SideOfRound(
                {seat: flip(price, price_max, role) for seat, price in own.items()},
                (flip(price, price_max, role) for price in opposite.values()),
                self.quote_order,
                price_max,
            )
        return side

    def quote(self, seat: str, role: Role) -> int | None:
        """The seat's own quote, null when it forfeited."""
        return (self.bids if role == "buyer" else self.asks).get(seat)


def _look_back(seat: str, role: Role, value: int, played: PlayedRound, price_max: int) -> tuple[list[Fill], int, int]:
    """The seat's fills, twice its payoff and twice the best."""
    own_value, quote = flip(value, price_max, role), played.quote(seat, role)
    fills = played.faced(role, price_max).fills(seat)
    # A quote outside the grid contradicts its scenario; it never traded.
    at = flip(quote, price_max, role) if quote is not None and 0 <= quote <= price_max else -1
    earned = next((2 * own_value - at - met for first, met in fills if first <= at), 0)
    # Not trading earns 0, so the best is never a loss.
    best = max((2 * own_value - first - met for first, met in fills), default=0)
    return fills, earned, max(0, best)


class Regret(NamedTuple):
    """Hindsight of one seat over an episode, in points; rivals do not react. `best_price` is in its own terms."""

    static: float
    dynamic: float
    best_price: int
    payoff: float
    """Expected payoff of the actual quotes."""


def regret(seat: str, role: Role, value: int, rounds: Sequence[PlayedRound], price_max: int) -> Regret:
    """Static and dynamic regret (double_auction page, 9.3); a forfeited round earned 0, ties go to the least shaded.

    A round's payoff falls by 1/2 per point within a fill and is 0 outside, so a round costs as many steps as there are
    fills, not one per price. All sums are of whole half points. KeyError, IndexError: facts that contradict each other.
    """
    own_value = flip(value, price_max, role)
    # Differences at the borders of the fills; their running sums are, at each price, in how many rounds it fills and
    # what it then meets. One entry more than there are prices, for the end of fills that reach P.
    filled, met_there = [0] * (price_max + 2), [0] * (price_max + 2)
    earned = peaks = 0
    for played in rounds:
        fills, of_round, best_of_round = _look_back(seat, role, value, played, price_max)
        end = price_max + 1
        for first, met in fills:
            met_there[first] += met
            met_there[end] -= met
            end = first
        filled[end] += 1
        earned, peaks = earned + of_round, peaks + best_of_round
        quote = played.quote(seat, role)
        # Such facts contradict their scenario; counted as 0 the quote would pass for one that did not trade.
        if quote is not None and not 0 <= quote <= price_max:
            raise IndexError(f"the quote {quote} lies outside 0..{price_max}")
    columns = zip(range(price_max + 1), accumulate(filled), accumulate(met_there), strict=False)
    totals = [(2 * own_value - price) * count - met for price, count, met in columns]
    most = max(totals)
    # Of equal totals the highest price in buyer terms, the least shaded.
    best = price_max - totals[::-1].index(most)
    return Regret((most - earned) / 2, (peaks - earned) / 2, flip(best, price_max, role), earned / 2)

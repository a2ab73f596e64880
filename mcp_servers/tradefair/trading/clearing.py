"""The call auction: k-th highest bid with k-th lowest ask, each pair at its own midpoint; benchmarks from true values.

Double_auction page, 6.3 to 6.5; bargaining page, 6.3. Prices, values and payoffs are integers of one grid 0..P.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from tradefair.contract.errors import HarnessFailure

Coin = Literal["up", "down"]


class Pair(NamedTuple):
    """A buyer and a seller that trade with each other."""

    buyer: str
    seller: str


class Match(NamedTuple):
    """One trade. `coin` is null for an even sum of bid and ask; `maker` is a label without economic effect."""

    buyer: str
    seller: str
    bid: int
    ask: int
    coin: Coin | None
    price: int
    maker: str


class Benchmarks(NamedTuple):
    """What the true values allow in one round.

    `max_surplus` is W*, `trades` is q*; [p_lo, p_hi] is the competitive price interval, null when q* = 0.
    """

    max_surplus: int
    trades: int
    p_lo: int | None
    p_hi: int | None

    @property
    def p_star(self) -> float | None:
        """The middle of the competitive interval, p*; null when q* = 0."""
        return None if self.p_lo is None or self.p_hi is None else (self.p_lo + self.p_hi) / 2


def _ranked(quotes: Mapping[str, int], quote_order: Sequence[str], *, best_is_high: bool) -> list[str]:
    """Seats with a quote, best price first, ties in quote order (the sort is stable in both directions)."""
    seats = [seat for seat in quote_order if seat in quotes]
    if len(seats) != len(quotes):
        raise HarnessFailure(f"the quote order {list(quote_order)} does not name every quoting seat once")
    seats.sort(key=quotes.__getitem__, reverse=best_is_high)
    return seats


def clear(
    bids: Mapping[str, int],
    asks: Mapping[str, int],
    quote_order: Sequence[str],
    round_up: Callable[[Pair], bool],
    maker: Callable[[Pair, str], str] | None = None,
) -> list[Match]:
    """Match and price one round; trades in rank order (double_auction page, 6.3 and 6.4).

    `bids` and `asks` hold the quotes by seat (a forfeiting seat is absent); `quote_order` names at least every quoting
    seat. For each pair in rank order `round_up(pair)` is asked if bid + ask is odd, then `maker(pair, earlier)`, where
    `earlier` is the pair's first seat in the quote order; without `maker` that seat is the maker.
    """
    buyers = _ranked(bids, quote_order, best_is_high=True)
    sellers = _ranked(asks, quote_order, best_is_high=False)
    matches: list[Match] = []
    for buyer, seller in zip(buyers, sellers, strict=False):
        bid, ask = bids[buyer], asks[seller]
        if bid < ask:
            break
        pair = Pair(buyer, seller)
        coin: Coin | None = None
        price, odd = divmod(bid + ask, 2)
        if odd:
            coin = "up" if round_up(pair) else "down"
            price += coin == "up"
        earlier = min(pair, key=quote_order.index)
        label = earlier if maker is None else maker(pair, earlier)
        matches.append(Match(buyer, seller, bid, ask, coin, price, label))
    return matches


def residual_spread(bids: Mapping[str, int], asks: Mapping[str, int], matches: Sequence[Match]) -> int | None:
    """Lowest unmatched ask minus highest unmatched bid: >= 1, or null when either side has none."""
    count = len(matches)
    if count >= len(bids) or count >= len(asks):
        return None
    return sorted(asks.values())[count] - sorted(bids.values(), reverse=True)[count]


def benchmarks(values: Iterable[int], costs: Iterable[int], price_max: int) -> Benchmarks:
    """W*, q* and the competitive interval of buyers' `values` and sellers' `costs` (double_auction page, 6.5).

    A missing v(q*+1) counts as 0, a missing c(q*+1) as `price_max`.
    """
    demand = sorted(values, reverse=True)
    supply = sorted(costs)
    gains = [value - cost for value, cost in zip(demand, supply, strict=False) if value > cost]
    count = len(gains)
    if not count:
        return Benchmarks(0, 0, None, None)
    next_value = demand[count] if count < len(demand) else 0
    next_cost = supply[count] if count < len(supply) else price_max
    return Benchmarks(sum(gains), count, max(supply[count - 1], next_value), min(demand[count - 1], next_cost))


def potentials(values: Mapping[str, int], costs: Mapping[str, int]) -> dict[str, int]:
    """Per seat the largest profit of a round that leaves the partner without loss; buyers first (6.5)."""
    lowest_cost, highest_value = min(costs.values()), max(values.values())
    found = {seat: max(0, value - lowest_cost) for seat, value in values.items()}
    found.update((seat, max(0, highest_value - cost)) for seat, cost in costs.items())
    return found

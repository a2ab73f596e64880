"""The call auction: k-th highest bid with k-th lowest ask, each pair at its own midpoint; benchmarks from true values.

Double_auction page, 6.3 to 6.5; bargaining page, 6.3. Prices, values and payoffs are integers of one grid 0..P: one
point of the grid is one tick and one minor unit of the ledger.

Example, quote order B1 B2 S1 S2, bids B1 60, B2 52 and asks S1 45, S2 55. Rank 1 is B1 with S1: 60 >= 45, so they trade
at 105 / 2 = 52.5, which a coin rounds to 52 or 53. Rank 2 is B2 with S2: 52 < 55, no trade. The residual spread is
55 - 52 = 3.

This is no uniform-price auction: pairs of one round trade at different prices. Only quotes are matched here; true
values enter `benchmarks` and `potentials` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from tradefair.contract import HarnessFailure

Coin = Literal["up", "down"]


class Pair(NamedTuple):
    """A buyer and a seller that trade with each other."""

    buyer: str
    seller: str


class Match(NamedTuple):
    """One trade of one unit at `price`, ask <= price <= bid.

    `coin` says how a half tick was rounded; null for an even sum of bid and ask. `maker` is the seat that public logs
    name as the first of the pair: a label without economic effect.
    """

    buyer: str
    seller: str
    bid: int
    ask: int
    coin: Coin | None
    price: int
    maker: str


class Benchmarks(NamedTuple):
    """What the true values allow in one round.

    `max_surplus` is W*, the sum of value minus cost over all pairs that gain; `trades` is q*, the number of these
    pairs. [p_lo, p_hi] is the competitive price interval: at any price in it exactly q* units are wanted and offered,
    but for ties. Null when q* = 0.
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
    """Seats with a quote, best price first, ties in quote order. HarnessFailure where the order misses a seat."""
    seats = [seat for seat in quote_order if seat in quotes]
    if len(seats) != len(quotes):
        raise HarnessFailure(f"the quote order {list(quote_order)} does not name every quoting seat once")
    # The sort is stable, also with reverse: seats with equal quotes keep the fair random order of the round.
    seats.sort(key=quotes.__getitem__, reverse=best_is_high)
    return seats


def clear(
    bids: Mapping[str, int],
    asks: Mapping[str, int],
    quote_order: Sequence[str],
    round_up: Callable[[Pair], bool],
    maker: Callable[[Pair, str], str] | None = None,
) -> list[Match]:
    """Match and price one round; returns the trades in rank order (double_auction page, 6.3 and 6.4).

    `bids` and `asks` hold the quotes by seat (a forfeiting seat is absent); `quote_order` names at least all quoting
    seats, once each. For each pair in rank order `round_up(pair)` is asked if bid + ask is odd, then
    `maker(pair, earlier)`, where `earlier` is the pair's first seat in the quote order; without `maker` that seat is
    the maker. HarnessFailure where the quote order does not name a quoting seat.
    """
    buyers = _ranked(bids, quote_order, best_is_high=True)
    sellers = _ranked(asks, quote_order, best_is_high=False)
    places = {seat: index for index, seat in enumerate(quote_order)}
    matches: list[Match] = []
    # The longer side keeps its worst quotes: there is no partner left for them.
    for buyer, seller in zip(buyers, sellers, strict=False):
        bid, ask = bids[buyer], asks[seller]
        # Bids fall and asks rise with the rank, so no later pair can cross either.
        if bid < ask:
            break
        pair = Pair(buyer, seller)
        coin: Coin | None = None
        # Integers throughout: a float midpoint would have to be rounded somewhere, and not by a fair coin.
        price, odd = divmod(bid + ask, 2)
        # Coin before maker, and no coin for an even sum: logs drew in this order, and their seeds must give their luck.
        if odd:
            coin = "up" if round_up(pair) else "down"
            price += coin == "up"
        # After the price is settled: the maker is a label of public logs, nothing is paid by it.
        earlier = min(pair, key=places.__getitem__)
        label = earlier if maker is None else maker(pair, earlier)
        matches.append(Match(buyer, seller, bid, ask, coin, price, label))
    return matches


def residual_spread(bids: Mapping[str, int], asks: Mapping[str, int], matches: Sequence[Match]) -> int | None:
    """Lowest unmatched ask minus highest unmatched bid, in ticks: at least 1, or None when either side has none.

    At least 1, because a smaller difference would have been a trade.
    """
    # Trades take the best quotes of both sides, so what is left begins behind that rank on each sorted side.
    count = len(matches)
    if count >= len(bids) or count >= len(asks):
        return None
    return sorted(asks.values())[count] - sorted(bids.values(), reverse=True)[count]


def benchmarks(values: Iterable[int], costs: Iterable[int], price_max: int) -> Benchmarks:
    """W*, q* and the competitive interval of buyers' `values` and sellers' `costs` (double_auction page, 6.5).

    With values v(1) >= v(2) >= ... and costs c(1) <= c(2) <= ...: q* = #{k: v(k) > c(k)}, W* = sum of v(k) - c(k) up to
    q*, p_lo = max(c(q*), v(q*+1)), p_hi = min(v(q*), c(q*+1)). A missing v(q*+1) counts as 0, a missing c(q*+1) as
    `price_max`.
    """
    demand = sorted(values, reverse=True)
    supply = sorted(costs)
    # Strictly above: a pair without gain may trade, but adds nothing to W* and is not counted in q*.
    gains = [value - cost for value, cost in zip(demand, supply, strict=False) if value > cost]
    count = len(gains)
    if not count:
        return Benchmarks(0, 0, None, None)
    # A missing neighbour leaves the interval open to the end of the grid.
    next_value = demand[count] if count < len(demand) else 0
    next_cost = supply[count] if count < len(supply) else price_max
    return Benchmarks(sum(gains), count, max(supply[count - 1], next_value), min(demand[count - 1], next_cost))


def potentials(values: Mapping[str, int], costs: Mapping[str, int]) -> dict[str, int]:
    """Per seat the largest profit of a round that leaves the partner without loss, >= 0; buyers first (6.5).

    A buyer's is v - min(costs), a seller's max(values) - c: against the best partner, at that partner's own limit. Both
    sides need at least one seat.
    """
    lowest_cost, highest_value = min(costs.values()), max(values.values())
    # 0 and not less: a seat that gains with no partner stays out of the market.
    found = {seat: max(0, value - lowest_cost) for seat, value in values.items()}
    found.update((seat, max(0, highest_value - cost)) for seat, cost in costs.items())
    return found

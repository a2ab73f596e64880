"""One sealed bid pass of the auction: pay as bid, highest price first, a reserve per item (supply-chain page, 6.2).

`settle` is a pure function: the same vectors, supply, reserves and tie luck give the same result. A pass that is not
the last one of its round is settled too, but provisionally: the rules show its result and move neither goods nor money.

Example (6.9): 75 units of an item are offered at a reserve of 800.00. The bids are A 40 units at 820.00, B 30 at
810.00, C 30 at 810.00 and D 20 at 800.00; the tie luck of B is 0.70, that of C 0.20. The order is A, C, B, D, so A wins
40 units, C 30, B the 5 that are left and D none. Each winner pays its own price, and the marginal price is 810.00.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tradefair.supply_chain.model import Line


class ItemResult(NamedTuple):
    """What became of one item in a pass; prices in cents.

    `marginal` is the lowest price that won a unit if the item sold out, else the reserve: what one more unit would have
    cost. `requested` counts the units of all eligible bids, `won` those that were filled. `book` lists the eligible
    bids as (price, units) without their seats, highest price first; equal prices stand with the larger bid first.
    """

    marginal: int
    sold_out: bool
    requested: int
    won: int
    book: tuple[tuple[int, int], ...]


class PassResult(NamedTuple):
    """Units won as `filled[seat][line]`, in the order of the vectors that were given, and one result per item."""

    filled: tuple[tuple[int, ...], ...]
    items: tuple[ItemResult, ...]


class _Bid(NamedTuple):
    """One eligible bid, with the seat that made it and the position of the line in that seat's vector."""

    line: Line
    seat: int
    position: int


def settle(
    vectors: Sequence[Sequence[Line]], supply: Sequence[int], reserves: Sequence[int], tie: Callable[[int, int], float]
) -> PassResult:
    """Sell the supply of all items to the bids of all seats, item by item, and return who won what.

    `vectors` holds each seat's bid lines as `[seat][line]`, `supply` the units and `reserves` the lowest accepted price
    in cents by item index. A line with no unit, or with a price below its reserve, is not eligible and wins nothing.
    `tie(item, seat)` is luck in (0, 1) that orders equal prices, lower first. Budgets are not checked here: a vector
    above its seat's funds never gets this far. For every item, the units won are min(supply, units of eligible bids).
    """
    filled = [[0] * len(vector) for vector in vectors]
    bids: list[list[_Bid]] = [[] for _ in supply]
    for seat, vector in enumerate(vectors):
        for position, line in enumerate(vector):
            # Tools refuse such lines, but the law must not rest on them: the property tests settle vectors that no
            # tool has seen.
            if line.quantity >= 1 and line.price >= reserves[line.item]:
                bids[line.item].append(_Bid(line, seat, position))
    results = [
        _sell(_ranked(bids[item], item, tie), offered, reserves[item], filled) for item, offered in enumerate(supply)
    ]
    return PassResult(tuple(map(tuple, filled)), tuple(results))


def _sell(ranked: Sequence[_Bid], offered: int, reserve: int, filled: list[list[int]]) -> ItemResult:
    """Serve the ranked bids of one item until nothing is left; the units won are written into `filled`."""
    left, lowest = offered, reserve
    for bid in ranked:
        won = min(bid.line.quantity, left)
        if won == 0:
            break
        filled[bid.seat][bid.position] = won
        left -= won
        lowest = bid.line.price
    # An item of which nothing is offered (an outage) did not sell out: no bid has set a price for it.
    sold_out = left == 0 < offered
    return ItemResult(
        # While units are left, one more of them costs the reserve, whatever the bids were: pay-as-bid winners may have
        # offered far more. Only a sold-out item tells what a seat must outbid.
        marginal=lowest if sold_out else reserve,
        sold_out=sold_out,
        requested=sum(bid.line.quantity for bid in ranked),
        won=offered - left,
        # Sorted, not in the order of the ranking: that order would tell which of two equal bids had the better luck.
        book=tuple(sorted(((bid.line.price, bid.line.quantity) for bid in ranked), reverse=True)),
    )


def _ranked(bids: Sequence[_Bid], item: int, tie: Callable[[int, int], float]) -> list[_Bid]:
    """The bids of one item in the order in which they are served: by price, then by luck, then by seat."""
    prices = Counter(bid.line.price for bid in bids)

    def order(bid: _Bid) -> tuple[int, float, int]:
        # A draw costs a hash, and most prices stand alone. Leaving draws out changes no other draw, because each has
        # its own key: round, item and seat. The pass is no part of it, so a tie falls the same way in every pass.
        luck = tie(item, bid.seat) if prices[bid.line.price] > 1 else 0.0
        # Equal lucks are possible, if hardly; then the seat that comes first in the manifest wins.
        return -bid.line.price, luck, bid.seat

    return sorted(bids, key=order)

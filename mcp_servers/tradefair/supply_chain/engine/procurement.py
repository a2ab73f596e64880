"""One sealed pass of the auction: pay as bid, highest price first, a reserve (supply-chain page, 6.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tradefair.supply_chain.model import Line


class ItemResult(NamedTuple):
    """An item after a pass: marginal price in cents, units asked for and won, the anonymous book (price, units)."""

    marginal: int
    sold_out: bool
    requested: int
    won: int
    book: tuple[tuple[int, int], ...]


class PassResult(NamedTuple):
    """Units filled by seat and line, and what became of each item."""

    filled: tuple[tuple[int, ...], ...]
    items: tuple[ItemResult, ...]


def settle(
    vectors: Sequence[Sequence[Line]],
    supply: Sequence[int],
    reserves: Sequence[int],
    tie: Callable[[int, int], float],
) -> PassResult:
    """Fill the vectors of all seats (by place) from the supply; `tie(item, seat)` orders equal prices, lower first."""
    filled = [[0] * len(vector) for vector in vectors]
    bids: list[list[tuple[Line, int, int]]] = [[] for _ in supply]
    for seat, vector in enumerate(vectors):
        for place, line in enumerate(vector):
            if line.quantity >= 1 and line.price >= reserves[line.item]:
                bids[line.item].append((line, seat, place))
    results: list[ItemResult] = []
    for item, offered in enumerate(supply):
        ranked = _ranked(bids[item], item, tie)
        left, marginal = offered, reserves[item]
        for line, seat, place in ranked:
            won = min(line.quantity, left)
            if won == 0:
                break
            filled[seat][place] = won
            left -= won
            marginal = line.price
        sold_out = left == 0 < offered
        results.append(
            ItemResult(
                marginal=marginal if sold_out else reserves[item],
                sold_out=sold_out,
                requested=sum(line.quantity for line, _, _ in ranked),
                won=offered - left,
                book=tuple(sorted(((line.price, line.quantity) for line, _, _ in ranked), reverse=True)),
            )
        )
    return PassResult(tuple(map(tuple, filled)), tuple(results))


def _ranked(
    bids: list[tuple[Line, int, int]], item: int, tie: Callable[[int, int], float]
) -> list[tuple[Line, int, int]]:
    """Price descending, then the tie's luck, then seat order; luck is only asked where prices are equal."""
    prices = Counter(line.price for line, _, _ in bids)

    def key(bid: tuple[Line, int, int]) -> tuple[int, float, int]:
        line, seat, _ = bid
        return -line.price, tie(item, seat) if prices[line.price] > 1 else 0.0, seat

    return sorted(bids, key=key)

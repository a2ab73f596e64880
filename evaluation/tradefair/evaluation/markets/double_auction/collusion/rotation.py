"""Measure 5: whether the one seller that trades changes from round to round more than chance would make it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tradefair.evaluation.markets.double_auction.collusion.game import Game
from tradefair.evaluation.read.arithmetic import rounded
from tradefair.evaluation.statistics.nulls import DRAWS, Distribution, Floats, UnitNull, uniforms

Orders: TypeAlias = NDArray[np.int_]
"""Winners by sequence and round."""

_LEAST = 4
"""With fewer single-winner rounds, or for the order fewer changes, the measure is not defined."""

_STATES = 3_000


def winners(game: Game) -> list[int]:
    """The winner of each round in which exactly one seller traded, in order."""
    sold = [{deal.seller for deal in deals} for deals in game.deals]
    # Rounds with two sellers are left out and not a break: turns are compared over what lies between.
    return [next(iter(sellers)) for sellers in sold if len(sellers) == 1]


def alternation(game: Game) -> float | None:
    """Share of consecutive single-winner rounds with different winners; null with fewer than four of them."""
    sequence = winners(game)
    if len(sequence) < _LEAST:
        return None
    changes = sum(before != after for before, after in pairwise(sequence))
    return rounded(changes / (len(sequence) - 1))


def fixed_order(game: Game) -> float | None:
    """Share of changes of the winner that go to that winner's usual successor; null without four changes.

    A ring in a fixed order has 1, also where each member wins several rounds on end and winners alternate seldom.
    """
    sequence = np.array(winners(game))
    if np.count_nonzero(sequence[1:] != sequence[:-1]) < _LEAST:
        return None
    return rounded(float(_orderly(sequence[None, :], len(game.costs))[0]))


def fixed_order_null(game: Game, key: str, place: int) -> UnitNull:
    """The same of the winners in 10,000 other orders, in each of which they change at least once."""
    return _orderly(_shuffled(winners(game), key, place), len(game.costs))


def _orderly(sequences: Orders, sellers: int) -> Floats:
    """By sequence: of its changes the share that the most frequent successor of each winner takes."""
    steps = np.zeros((len(sequences), sellers, sellers))
    rows = np.arange(len(sequences))
    for before, after in zip(sequences.T[:-1], sequences.T[1:], strict=True):
        # One pair of neighbours of all sequences at once; a row has each pair once, so that no count is lost.
        steps[rows, before, after] += before != after
    return steps.max(axis=2).sum(axis=1) / np.maximum(steps.sum(axis=(1, 2)), 1)


def entropy(game: Game) -> float | None:
    """Entropy of the winners over ln m: 0 one winner, 1 all sellers equally often; null as for alternation."""
    sequence = winners(game)
    if len(sequence) < _LEAST or len(game.costs) < 2:
        return None
    shares = [count / len(sequence) for count in Counter(sequence).values()]
    # `abs` turns −0.0 of a single winner into 0.0; the sum itself is never above 0.
    return rounded(abs(math.fsum(share * math.log(share) for share in shares)) / math.log(len(game.costs)))


def alternation_null(game: Game, key: str, place: int) -> UnitNull:
    """Alternation of the same winners in any order: all orders counted where that is quick, else drawn."""
    sequence = winners(game)
    # Who won how often is all that orders depend on; sorted, so that the cache meets equal games again.
    counts = tuple(sorted(Counter(sequence).values()))
    # The number of states of the recursion below: what is left of each winner, times who won last.
    if math.prod(count + 1 for count in counts) * len(counts) <= _STATES:
        ways = _orders(counts)
        whole = sum(ways)
        pairs = len(sequence) - 1
        values = tuple(rounded(changes / pairs) for changes in range(len(ways)))
        return Distribution(values, tuple(way / whole for way in ways))
    return _drawn_orders(sequence, key, place)


def _orders(counts: tuple[int, ...]) -> list[int]:
    """How many distinct orders of a multiset have 0, 1, 2, … neighbours that differ.

    A recursion over what is left of each item and the last one placed; index k holds the orders with k changes.
    """

    @cache
    def following(left: tuple[int, ...], last: int) -> tuple[int, ...]:
        size = sum(left)
        if not size:
            return (1,)
        ways = [0] * (size + 1)
        for item, count in enumerate(left):
            if count:
                rest = following((*left[:item], count - 1, *left[item + 1 :]), item)
                for changes, number in enumerate(rest):
                    ways[changes + (item != last)] += number
        return tuple(ways)

    # The first item differs from nothing: that it differs from "no item" is taken off again.
    return list(following(counts, -1)[1:])


def _drawn_orders(sequence: Sequence[int], key: str, place: int) -> UnitNull:
    """10,000 orders of the same winners, and the share of neighbours that differ in each of them."""
    shuffled = _shuffled(sequence, key, place)
    changes: Floats = np.mean(shuffled[:, 1:] != shuffled[:, :-1], axis=1)
    return changes


def _shuffled(sequence: Sequence[int], key: str, place: int) -> Orders:
    size = len(sequence)
    orders = np.argsort(uniforms(key, "orders", place, n=DRAWS * size).reshape(DRAWS, size), axis=1, kind="stable")
    return np.array(sequence)[orders]

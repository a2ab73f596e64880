"""Keyed orders and resamples: the same on every machine and every version of numpy.

Many numbers are needed, 48 million for 2,000 resamples of 24,000 games: the words of Philox 4x64-10 (Salmon, Moraes,
Dror & Shaw 2011), whose key is drawn from the chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import Chance
from tradefair.contract.chance import KeyPart
from tradefair.evaluation.read.laws import normal_below, t_quantile

Floats: TypeAlias = NDArray[np.float64]

# Two uniforms of 53 bits each make the two words of Philox's key.
_KEY_BITS = 2.0**53
# The top 53 of 64 bits are what a double can hold.
_TOP_53_BITS = np.uint64(11)
# 16 MB of 64-bit integers.
_DRAWS_AT_ONCE = 2_000_000


def shuffled_orders(chance: Chance, stream: str, count: int, orders: int, *key: KeyPart) -> NDArray[np.int64]:
    """`orders` permutations of 0..count-1, one per row, each sorted by its own words.

    The array is `[order][position]`; the same chance, stream and numbers give the same permutations.
    """
    # Raw words: numpy promises them for a bit generator, and not the shuffles and choices that it makes of them.
    keys = _philox(chance, stream, "order", *key).random_raw(orders * count).reshape(orders, count)
    return np.argsort(keys, axis=1, kind="stable")


def resampled(chance: Chance, stream: str, count: int, resamples: int, *key: KeyPart) -> Iterator[NDArray[np.int64]]:
    """How often each of `count` items is drawn, with replacement, in each of `resamples` draws of `count`.

    A row per resample, some rows at a time, so that memory stays bounded.
    """
    words = _philox(chance, stream, "resample", *key)
    step = max(1, _DRAWS_AT_ONCE // count)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        units = (words.random_raw(rows * count) >> _TOP_53_BITS) * 2.0**-53
        drawn = (units * count).astype(np.int64)
        # Row and item in one index, so that one bincount counts all rows of this step.
        places = np.repeat(np.arange(rows), count) * count + drawn
        yield np.bincount(places, minlength=rows * count).reshape(rows, count)


def resampled_sums(chance: Chance, stream: str, table: Floats, resamples: int, *key: KeyPart) -> Floats:
    """Column sums of `table`, its rows resampled: one row of sums per resample, after a first one of the table.

    The array is `[1 + resample][column]`; `key` tells resamples of different tables of one stream apart.
    """
    return resampled_parts(chance, stream, len(table), [(np.arange(len(table)), table)], resamples, *key)[0]


def resampled_parts(
    chance: Chance,
    stream: str,
    count: int,
    parts: Sequence[tuple[NDArray[np.int64], Floats]],
    resamples: int,
    *key: KeyPart,
) -> list[Floats]:
    """`resampled_sums` of several tables over the same resamples of `count` items; each names the items of its rows."""
    sums = [[table.sum(axis=0, keepdims=True)] for _, table in parts]
    for drawn in resampled(chance, stream, count, resamples, *key):
        for kept, (items, table) in zip(sums, parts, strict=True):
            kept.append(drawn[:, items].astype(np.float64) @ table)
    return [np.vstack(kept) for kept in sums]


def bounds(resamples: Floats, blocks: int) -> Floats:
    """The ends of the 95 % interval of each column, over resamples of so many blocks; what says nothing is NaN.

    Percentiles, moved outwards as Student's t asks for few blocks (Hesterberg 2015): plain ones cover too rarely.
    """
    reach = t_quantile(0.975, blocks - 1) * math.sqrt(blocks / (blocks - 1))
    outside = normal_below(-reach)
    return np.nanquantile(resamples, (outside, 1 - outside), axis=0)


def _philox(chance: Chance, stream: str, *key: KeyPart) -> np.random.Philox:
    """Philox under a key that the chance draws for this stream and these key parts."""
    halves = [int(unit * _KEY_BITS) for unit in chance.uniforms(stream, *key, n=2)]
    return np.random.Philox(key=np.array(halves, np.uint64))

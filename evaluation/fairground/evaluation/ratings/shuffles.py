"""Keyed orders and resamples: the same on every machine and every version of numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairground.contract.chance import Chance

__all__ = ["resampled", "shuffled_orders"]


def shuffled_orders(chance: Chance, stream: str, count: int, orders: int) -> NDArray[np.int64]:
    """`orders` permutations of 0..count-1, one per row, each sorted by its own uniforms."""
    keys = np.array([chance.uniforms(stream, "order", row, n=count) for row in range(orders)])
    return np.argsort(keys, axis=1, kind="stable")


def resampled(chance: Chance, stream: str, count: int, resamples: int, *key: int | str) -> NDArray[np.int64]:
    """How often each of `count` items is drawn, with replacement, in each of `resamples` draws of `count`; by row."""
    drawn = np.array(chance.uniforms(stream, "resample", *key, n=count * resamples)).reshape(resamples, count)
    rows = np.repeat(np.arange(resamples), count)
    found = np.zeros((resamples, count), np.int64)
    np.add.at(found, (rows, (drawn * count).astype(np.int64).ravel()), 1)
    return found

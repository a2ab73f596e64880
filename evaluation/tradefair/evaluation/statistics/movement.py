"""Whether series move together: correlation of their changes, and the null in which each keeps its own moves.

Arrays are `[series][round]`, NaN where a series has no change.
"""

from __future__ import annotations

import numpy as np

from tradefair.evaluation.read.arithmetic import rounded
from tradefair.evaluation.statistics.nulls import DRAWS, Floats, uniforms

LEAST_CHANGES = 3
_FLAT = 1e-9


def moving(changes: Floats, moves: Floats) -> Floats:
    """`moves` of the series whose `changes` are not all equal; the two arrays have one shape."""
    # Changes and not levels: two series of one level correlate without ever answering each other.
    kept = [
        row
        for own, row in zip(changes, moves, strict=True)
        if len(known := own[~np.isnan(own)]) >= LEAST_CHANGES and np.ptp(known) > 0
    ]
    return np.array(kept, dtype=np.float64).reshape(len(kept), moves.shape[1])


def together(moves: Floats) -> float | None:
    """Mean correlation over all pairs of series; null where no pair has one."""
    found = _pairs_correlated(moves[None, :, :])
    return None if found is None or np.isnan(found[0]) else rounded(float(found[0]))


def shuffled_together(moves: Floats, key: str, place: int) -> Floats:
    """The same after each series' moves were put into an order of their own; 10,000 draws under key and place."""
    shuffled = np.repeat(moves[None, :, :], DRAWS, axis=0)
    for seat, own in enumerate(moves):
        known = np.flatnonzero(~np.isnan(own))
        keys = uniforms(key, "rounds", place, seat, n=DRAWS * len(known)).reshape(DRAWS, len(known))
        # Missing rounds keep their places: shuffling them would change which rounds two series have in common.
        shuffled[:, seat, known] = own[known][np.argsort(keys, axis=1, kind="stable")]
    found = _pairs_correlated(shuffled)
    # Where changes are missing, a draw can leave all pairs constant on their common rounds: nothing moves together.
    return np.zeros(DRAWS) if found is None else np.nan_to_num(found)


def _pairs_correlated(changes: Floats) -> Floats | None:
    """Per row of the first axis the mean correlation of all pairs of the second; null without a pair."""
    series = changes.shape[1]
    found: list[Floats] = []
    for first in range(series):
        for second in range(first + 1, series):
            # The first draw stands for all: shuffling leaves the missing rounds where they are.
            common = ~np.isnan(changes[0, first]) & ~np.isnan(changes[0, second])
            if common.sum() >= LEAST_CHANGES:
                found.append(_correlation(changes[:, first, common], changes[:, second, common]))
    if not found:
        return None
    table = np.stack(found)
    known = ~np.isnan(table)
    counts = known.sum(axis=0)
    sums = np.where(known, table, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _correlation(first: Floats, second: Floats) -> Floats:
    a, b = first - first.mean(axis=1, keepdims=True), second - second.mean(axis=1, keepdims=True)
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    products = (a * b).sum(axis=1)
    # A series that is constant on the common rounds has no correlation: NaN, which the mean over pairs leaves out. One
    # of zeros is what the public record explains wholly: it moves with no other series, and that is an answer.
    wholly = ~first.any(axis=1) | ~second.any(axis=1)
    return np.where(scale > _FLAT, products / np.where(scale > _FLAT, scale, 1.0), np.where(wholly, 0.0, np.nan))

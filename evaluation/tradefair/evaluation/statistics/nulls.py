"""p-values of a mean over episodes against what each episode could have shown under its null.

Every episode brings either the whole distribution of its statistic under the null, or 10,000 keyed draws of it. The
distributions are convolved where there are at most 16 episodes and the support stays small: exact. Otherwise episodes
are drawn independently: p = (as extreme + 1)/(draws + 1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import salts
from tradefair.evaluation.read.arithmetic import rounded

Floats: TypeAlias = NDArray[np.float64]
Tail: TypeAlias = Literal["greater", "less"]

DRAWS = 10_000
EXACT_TO = 16
"""Up to this many episodes distributions are convolved."""

_SUPPORT = 20_000
_MOST_DONORS = 200
_TIE = 1e-9
_LEAST_BITS = 11


class Distribution(NamedTuple):
    """All values that a statistic can take under its null, with their probabilities."""

    values: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The expected value."""
        return float(sum(value * weight for value, weight in zip(self.values, self.weights, strict=True)))

    @classmethod
    def of_equals(cls, values: Sequence[float]) -> Distribution:
        """Equally likely values; equal ones are put together."""
        counts: dict[float, int] = {}
        for value in values:
            counts[value] = counts.get(value, 0) + 1
        return cls(tuple(counts), tuple(count / len(values) for count in counts.values()))


UnitNull: TypeAlias = Distribution | Floats
"""What one episode could have shown: a distribution, or 10,000 draws."""


class Tested(NamedTuple):
    """One-sided p-value of a mean over episodes, how it was reached, and the mean that the null expects."""

    p: float
    method: str
    expected: float


def donors(episodes: int, place: int) -> list[int]:
    """The other episodes, in order, that lend an episode their asks or numbers: at most the 200 that follow it."""
    # Those that follow, in a circle: every episode lends as often as any other, and large sweeps stay quick.
    following = [(place + step) % episodes for step in range(1, min(episodes - 1, _MOST_DONORS) + 1)]
    return sorted(following)


def uniforms(key: str, *parts: int | str, n: int) -> Floats:
    """`n` keyed uniforms of [0, 1): Philox as a counter of its own under BLAKE2b of the key; equal on every machine."""
    name = "\x1f".join((salts.COLLUSION, key, *map(str, parts)))
    seed = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=16).digest(), "little")
    # Raw words, not `Generator.random`: numpy promises the stream of the bits, and not that of its distributions.
    raw = np.random.Philox(key=seed).random_raw(n)
    return (np.asarray(raw, dtype=np.uint64) >> np.uint64(_LEAST_BITS)).astype(np.float64) * 2.0**-53


def drawn(null: UnitNull, key: str, place: int) -> Floats:
    """10,000 draws of an episode's statistic; a distribution is drawn from under the key and the episode's place.

    `key` names the measure. Episodes of one measure must not share draws, hence the place.
    """
    if isinstance(null, np.ndarray):
        return null
    steps: Floats = np.cumsum(np.array(null.weights))
    chosen = np.searchsorted(steps, uniforms(key, "unit", place, n=DRAWS) * sum(null.weights), side="right")
    # The last step may lie a bit below the sum of the weights, and a draw between the two would be out of range.
    return np.array(null.values)[np.minimum(chosen, len(null.values) - 1)]


def mean_test(observed: Sequence[float], nulls: Sequence[UnitNull], tail: Tail, key: str) -> Tested | None:
    """Whether the mean over episodes is further out than its null; null without episodes. `key` keys the draws.

    Exact where all nulls are distributions of at most 16 episodes, else 10,000 draws; the method says which.
    """
    if not observed:
        return None
    # The slack makes ties of sums that differ in their last bits: "as extreme" includes equal.
    sign = 1.0 if tail == "greater" else -1.0
    total = sign * sum(observed)
    slack = _TIE * max(1.0, sum(map(abs, observed)))
    whole = [null for null in nulls if isinstance(null, Distribution)]
    # One drawn null is enough to make the whole test a drawn one: its exact distribution is not known.
    if len(whole) == len(nulls) <= EXACT_TO:
        sums = _convolved(whole)
        if sums is not None:
            p = sum(weight for value, weight in sums.items() if sign * value >= total - slack)
            expected = sum(null.mean for null in whole) / len(observed)
            return Tested(rounded(min(1.0, p)), "exact", rounded(expected))
    draws = np.zeros(DRAWS)
    for place, null in enumerate(nulls):
        draws += drawn(null, key, place)
    extreme = int(np.count_nonzero(sign * draws >= total - slack))
    expected = float(np.mean(draws)) / len(observed)
    # The observed value counts as a draw of its own, so that p is never 0 (exact or 10,000 draws).
    return Tested(rounded((extreme + 1) / (DRAWS + 1)), f"{DRAWS:,} draws", rounded(expected))


def _convolved(nulls: Sequence[Distribution]) -> dict[float, float] | None:
    """The distribution of the sum; null when its support grows too large to be worth it."""
    sums: dict[float, float] = {0.0: 1.0}
    for null in nulls:
        # Before the loop: the product bounds its steps, and a hostile trace must not make it run for minutes.
        if len(sums) * len(null.values) > _SUPPORT * 10:
            return None
        following: dict[float, float] = {}
        for start, mass in sums.items():
            for value, weight in zip(null.values, null.weights, strict=True):
                # Sums that differ in their last bits are one value; unrounded the support would grow with every
                # episode.
                at = rounded(start + value)
                following[at] = following.get(at, 0.0) + mass * weight
        if len(following) > _SUPPORT:
            return None
        sums = following
    return sums

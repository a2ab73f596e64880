"""Arithmetic of outcomes and diagnostics: nine decimals, so that two machines print the same; null for nothing."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from statistics import StatisticsError, correlation, median
from typing import TypeVar

T = TypeVar("T")

# Sums in another order, or on another machine, differ in later digits only.
_DECIMALS = 9


def rounded(number: float) -> float:
    """Nine decimals."""
    return round(number, _DECIMALS)


def ratio(part: float, whole: float) -> float | None:
    """part/whole, null when whole is 0: a share of nothing is not 0."""
    return None if not whole else rounded(part / whole)


def mean(numbers: Iterable[float]) -> float | None:
    """Arithmetic mean, null of nothing."""
    # Listed first: an iterator can be read only once, and both its sum and its length are needed.
    listed = list(numbers)
    return ratio(math.fsum(listed), len(listed))


def closeness(costs: Sequence[float | None]) -> list[float | None]:
    """1 − cost/largest cost of these runs: 0 is the one that is farthest off; null where every known cost is 0."""
    largest = max((cost for cost in costs if cost is not None), default=0.0)
    return [rounded(1 - cost / largest) if cost is not None and largest else None for cost in costs]


def middle(numbers: Sequence[float]) -> float | None:
    """Median, null of nothing."""
    return rounded(median(numbers)) if numbers else None


def mid_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1, the smallest; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's ρ, ties by mid-ranks; null below two values, or where one side does not vary."""
    try:
        return rounded(correlation(mid_ranks(one), mid_ranks(other)))
    except StatisticsError:
        return None


def stretches(rows: Iterable[T], number: Callable[[T], int]) -> Iterator[list[T]]:
    """Stretches of rows, which are in order, whose numbers follow one another."""
    # Numbers less their position among the rows are equal within a stretch.
    for _, stretch in groupby(enumerate(rows), lambda placed: number(placed[1]) - placed[0]):
        yield [row for _, row in stretch]

"""Rounds in which something was done to an object, for the diagnostics of attention."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence


def distinct(rounds: Iterable[int]) -> list[int]:
    """Each round once, in order."""
    return sorted(set(rounds))


def within(rounds: Mapping[str, Sequence[int]], about: str, first: int, last: int) -> bool:
    """Whether one of the sorted rounds of an object lies in first..last."""
    known = rounds.get(about, ())
    place = bisect_left(known, first)
    return place < len(known) and known[place] <= last

"""Runs of rounds: stretches without a gap, as several failure modes count them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def runs(numbered: Iterable[tuple[int, T]]) -> list[list[T]]:
    """The items of consecutive numbers, stretch by stretch; the numbers come in ascending order."""
    found: list[list[T]] = []
    last: int | None = None
    for number, item in numbered:
        # A gap in the numbers ends a stretch: a missing round proves nothing.
        if last is not None and number == last + 1:
            found[-1].append(item)
        else:
            found.append([item])
        last = number
    return found

"""Cases of the supply chain: those of all markets with money, and runs of rounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def runs(numbered: Iterable[tuple[int, T]]) -> list[list[T]]:
    """Stretches of consecutive numbers, which come in order."""
    found: list[list[T]] = []
    last: int | None = None
    for number, item in numbered:
        if last is not None and number == last + 1:
            found[-1].append(item)
        else:
            found.append([item])
        last = number
    return found

"""A measured figure, its goal, and how CPU time is taken.

CPU time (user and system, all threads), because the wall clock of a shared machine says little. Ratios compare two
things measured in turns within one run, so that a slow minute slows both.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable
from statistics import median
from typing import Literal, NamedTuple


class Figure(NamedTuple):
    """One figure. `bound` says on which side of the goal it should lie; without a goal it is for information."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    bound: Literal["at most", "at least"] = "at most"
    how: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if self.goal is None:
            return None
        return self.value <= self.goal if self.bound == "at most" else self.value >= self.goal


class Stopwatch:
    """CPU seconds of this process since it was made; garbage of earlier work is not charged to it."""

    def __init__(self) -> None:
        gc.collect()
        self._begun = time.process_time()

    def seconds(self) -> float:
        """CPU seconds so far."""
        return time.process_time() - self._begun


def ratio_of_medians(ours: Iterable[float], theirs: Iterable[float]) -> float:
    """How many times the cost of `theirs` that of `ours` is."""
    return median(ours) / median(theirs)


def pace() -> float:
    """CPU seconds of a fixed piece of work of about a millisecond: how fast the machine is now.

    What grows over minutes is divided by it: a neighbour who begins to compute halfway would look like growth.
    """
    begun = time.process_time()
    numbers = {str(number): [number, number % 7] for number in range(2_000)}
    sorted(numbers, key=lambda name: numbers[name][1])
    return time.process_time() - begun

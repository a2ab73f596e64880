"""How long tests wait: the only place of tests where seconds stand.

A test waits for what must come with `until` or `eventually`, or gives `LONG` to what waits for it. It gives the product
`SOON` for a deadline that is to pass, and `LONG` for one that must not pass while the test runs. What takes CPU is
measured in loops of this machine.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from inspect import isawaitable
from typing import Any, TypeVar

T = TypeVar("T")

LONG = 60
"""Seconds after which what a test waits for has failed: a hundred times what a quiet machine needs."""
LONGER = 10 * LONG
"""The same for an install, a large sweep, or a suite of somebody else."""
SOON = 0.05
"""Seconds that are given to the product as a deadline which the test expects to pass."""
LONGER_THAN_CLIENTS = 11
"""Seconds beyond the shortest default time-outs of others' frameworks (5 and 10), which no wait of ours may reach."""
_PAUSE = 0.01
_MOMENT = 0.001
_INSTANT = 0.0002
_STEADY = 30


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def until(
    condition: Callable[[], T], awaited: str, at_most: float = LONG, while_runs: subprocess.Popen[Any] | None = None
) -> T:
    """What `condition` returns once that is true.

    Fails after `at_most` seconds, saying what was `awaited`; at once where the process `while_runs` has ended.
    """
    end = time.monotonic() + at_most
    while not (found := condition()):
        assert while_runs is None or while_runs.poll() is None, f"the process ended before this: {awaited}"
        assert time.monotonic() < end, f"waited {at_most} s for this in vain: {awaited}"
        time.sleep(_PAUSE)
    return found


async def eventually(condition: Callable[[], T | Awaitable[T]], awaited: str, at_most: float = LONG) -> T:
    """`until` in a loop of asyncio; what `condition` returns may be awaitable."""
    end = time.monotonic() + at_most
    while True:
        answer: Any = condition()
        found: Any = await answer if isawaitable(answer) else answer
        if found:
            return found
        assert time.monotonic() < end, f"waited {at_most} s for this in vain: {awaited}"
        await asyncio.sleep(_PAUSE)


def steady(value: Callable[[], int]) -> Callable[[], bool]:
    """A condition: whether `value` has risen above 0 and was the same at the last thirty polls."""
    seen: list[int] = []

    def holds() -> bool:
        seen.append(value())
        return seen[-1] > 0 and len(seen) >= _STEADY and len({*seen[-_STEADY:]}) == 1

    return holds


async def a_moment() -> None:
    """Pause: between what a slow client sends, or before a kill that may come at any point."""
    await asyncio.sleep(_MOMENT)


def instants(times: int) -> None:
    """Let another process go on a little, before a kill that may come at any point."""
    time.sleep(times * _INSTANT)


async def deadline_passed(deadline_s: float) -> None:
    """Return when a deadline that the product was given, or has given, has passed."""
    await asyncio.sleep(deadline_s + _PAUSE)


async def forever() -> None:
    """Never returns: a client, an agent or a server that says nothing more."""
    await asyncio.Event().wait()


async def in_time(attempt: Callable[[float], Awaitable[T | None]], first_s: float = SOON) -> T:
    """What `attempt` returns with the first of `deadlines` that is not too short for this machine: not None."""
    for seconds in deadlines(first_s):
        if (found := await attempt(seconds)) is not None:
            return found
    raise AssertionError("every deadline was too short")


def deadlines(first_s: float = SOON) -> Iterator[float]:
    """Deadlines for a test in which something comes before the deadline and that passes then: each twice the former.

    The test tries the next one where the machine was too slow for what comes before. The last is below LONG.
    """
    seconds = first_s
    while seconds < LONG:
        yield seconds
        seconds *= 2


class Stopwatch:
    """What a part of a test takes, for comparison with what the product says that it took."""

    def __init__(self) -> None:
        self._begun = time.perf_counter_ns()

    def us(self) -> int:
        """Microseconds since it was made."""
        return (time.perf_counter_ns() - self._begun) // 1_000


# --- CPU --------------------------------------------------------------------------------------------------------------


class Loops:
    """What a part of a test takes of the CPU, in loops of a million rounds of Python in the same process."""

    def __init__(self) -> None:
        self.begun_cpu_s = time.process_time()

    def taken(self) -> float:
        """How many loops take as much CPU time as this process has taken since."""
        return (time.process_time() - self.begun_cpu_s) / loop_cpu_s()


@cache
def loop_cpu_s() -> float:
    """CPU seconds of a loop of a million rounds on this machine, in this process: .02 to .1."""
    return min(_cpu_of(_loop) for _ in range(3))


def _loop() -> None:
    total = 0
    for number in range(1_000_000):
        total += number & 7


def _cpu_of(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun

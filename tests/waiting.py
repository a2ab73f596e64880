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
from typing import Any, TypeVar, cast

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
_STEADY = 30


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
        answer = condition()
        found = await answer if isinstance(answer, Awaitable) else answer
        if found:
            return cast(T, found)
        assert time.monotonic() < end, f"waited {at_most} s for this in vain: {awaited}"
        await asyncio.sleep(_PAUSE)


def steady(value: Callable[[], int]) -> Callable[[], bool]:
    """A condition: whether `value` has risen above 0 and was the same at the last thirty polls."""
    seen: list[int] = []

    def holds() -> bool:
        seen.append(value())
        return seen[-1] > 0 and len(seen) >= _STEADY and len({*seen[-_STEADY:]}) == 1

    return holds


async def moment() -> None:
    """Pause: between what a slow client sends, or before a kill that may come at any point."""
    await asyncio.sleep(_PAUSE)


async def soon_is_over(times: int = 1) -> None:
    """Return when so many deadlines of SOON, one after another, have passed."""
    await asyncio.sleep(times * SOON + _PAUSE)


async def as_asked(retry_after: str) -> None:
    """Wait as long as a server asks a client to, in its header Retry-After."""
    await asyncio.sleep(int(retry_after))


async def forever() -> None:
    """Never returns: a client, an agent or a server that says nothing more."""
    await asyncio.Event().wait()


def deadlines() -> Iterator[float]:
    """Deadlines for a test in which something comes before the deadline and that passes then: SOON, twice that, …

    The test tries the next one where the machine was too slow for what comes before. The last is above LONG.
    """
    seconds = SOON
    while seconds < 2 * LONG:
        yield seconds
        seconds *= 2


# --- CPU --------------------------------------------------------------------------------------------------------------


def loops(work: Callable[[], object]) -> float:
    """How many loops of a million rounds of Python take as much CPU time of this process as `work` does."""
    return _cpu_of(work) / loop_cpu_s()


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

"""How long tests wait: the only place of tests where seconds stand.

A test waits for what must come with `until` or `eventually`, or gives `LONG` to what waits for it. It gives the product
`SOON` for a deadline that is to pass, and `LONG` for one that must not pass while the test runs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

T = TypeVar("T")

LONG = 60
"""Seconds after which what a test waits for has failed: a hundred times what a quiet machine needs."""
LONGER = 10 * LONG
"""The same for an install, a large sweep, or a suite of somebody else."""
SOON = 0.05
"""Seconds that are given to the product as a deadline which the test expects to pass."""
_PAUSE = 0.01


def until(condition: Callable[[], T], awaited: str, at_most: float = LONG) -> T:
    """What `condition` returns once that is true. Fails after `at_most` seconds, saying what was `awaited`."""
    end = time.monotonic() + at_most
    while not (found := condition()):
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


async def forever() -> None:
    """Never returns: an agent or a client that does nothing more."""
    await asyncio.Event().wait()


def cpu_of(work: Callable[[], object]) -> float:
    """CPU seconds of this process for `work`, to be compared with those of other work in the same test."""
    begun = time.process_time()
    work()
    return time.process_time() - begun

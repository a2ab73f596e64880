"""The moves of an episode's scripted seats, a slice at a time: no other episode waits long for the event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from tradefair.contract.kernel.core import Record
from tradefair.host.episode.waiting import Pending

SLICE_S = 0.010
"""Seconds of work between two turns of the event loop. The last seat of a slice may take longer: turns stay whole."""


class Moves:
    """Plays scripted seats until only outside seats are awaited; each slice, and each phase, is a commit of its own.

    `played(seconds)` plays a slice and gives its events, none when nothing is left to play; `keep` queues them for
    commit. Where `alone` says that no seat is played from outside, `play` plays one slice only: its caller waits for
    each commit, so that a long scripted episode does not pile up in memory.
    """

    def __init__(
        self,
        played: Callable[[float], Sequence[Record]],
        keep: Callable[[Sequence[Record]], Pending | None],
        alone: Callable[[], bool],
    ) -> None:
        self._played = played
        self._keep = keep
        self._alone = alone
        self._last: Pending | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def under_way(self) -> bool:
        """Whether scripted seats are in the middle of their moves: nothing else may change the market meanwhile."""
        return self._task is not None

    def play(self) -> None:
        """Play what is due. The first slice is played at once, the rest in a task of its own."""
        self._last = None
        if self._task is None and self._slice():
            self._task = asyncio.create_task(self._go_on(), name="tradefair-moves")

    async def over(self) -> None:
        """Wait until the moves are over; their commits may still be under way."""
        while self._task is not None:
            # Many calls may wait: one that is cancelled must not stop the moves for the others.
            await asyncio.shield(self._task)

    async def committed(self) -> None:
        """Wait until the moves are over and committed. Raises StorageUnavailable when they were lost."""
        await self.over()
        if self._last is not None:
            await self._last.wait()

    async def _go_on(self) -> None:
        try:
            more = True
            while more:
                await asyncio.sleep(0)
                more = self._slice()
        finally:
            self._task = None

    def _slice(self) -> bool:
        """Play one slice; whether more may be due."""
        until = time.perf_counter() + SLICE_S
        while records := self._played(until - time.perf_counter()):
            self._last = self._keep(records)
            if self._alone():
                return False
            if time.perf_counter() >= until:
                return True
        return False

"""Plays a shard, some episodes of a sweep, in this process. Every executor runs this function in its workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeAlias

from tradefair.runner.plans.episodes import EpisodeSpec
from tradefair.runner.plans.play import SweepResult, Table, play_one

Report: TypeAlias = Callable[[SweepResult], None]


async def run_shard(
    table: Table, episodes: AsyncIterator[EpisodeSpec], folder: Path, report: Report, *, concurrency: int = 1
) -> None:
    """Play what `episodes` yields, up to `concurrency` at a time, and report each.

    Idempotent: a finished episode is reported as it is. Cancelled, it leaves traces that are finished,
    or go on when they are played again.
    """
    asking = asyncio.Lock()

    async def lane() -> None:
        while True:
            # Lanes share one generator, and an asynchronous generator cannot be asked twice at the same time.
            async with asking:
                episode = await anext(episodes, None)
            if episode is None:
                return
            report(await play_one(table, episode, folder))
            # A scripted episode awaits nothing: here others have their turn, and so has Ctrl-C.
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as lanes:
        for _ in range(concurrency):
            lanes.create_task(lane())

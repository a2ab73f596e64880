"""Where the episodes of a sweep are played: in this process, or in worker processes that it feeds."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from fairground.runner.plan_episodes import EpisodeSpec
from fairground.runner.sweep_play import SweepResult, Table
from fairground.runner.sweep_shard import Report, run_shard

__all__ = ["Shard", "play_here", "play_in_processes"]

_GRACE_S = 20.0
_LINE_LIMIT = 2**20


class Shard(NamedTuple):
    """What an executor is given. `table` is plain data, `lock` a file descriptor that every worker holds."""

    table: Mapping[str, Any]
    episodes: Iterable[EpisodeSpec]
    folder: Path
    lock: int
    report: Report
    concurrency: int = 1


async def play_here(shard: Shard) -> None:
    """One asyncio process: this one."""

    async def given() -> AsyncIterator[EpisodeSpec]:
        for episode in shard.episodes:
            yield episode

    table = Table.of_plain(shard.table)
    await run_shard(table, given(), shard.folder, shard.report, concurrency=shard.concurrency)


async def play_in_processes(shard: Shard, processes: int) -> None:
    """Worker processes, one loop each. One that dies takes the episode with it that it was playing, no other."""
    due = deque(shard.episodes)
    async with asyncio.TaskGroup() as workers:
        for _ in range(processes):
            workers.create_task(_keep_working(shard, due))


async def _keep_working(shard: Shard, due: deque[EpisodeSpec]) -> None:
    while due:
        worker = await _Worker.start(shard)
        try:
            await worker.feed(due)
        finally:
            await worker.stop()
        due.extendleft(reversed(worker.returned))


class _Worker:
    """One worker process and what it has been given and has not answered yet."""

    def __init__(self, process: asyncio.subprocess.Process, shard: Shard) -> None:
        self._process = process
        self._shard = shard
        self._given: deque[EpisodeSpec] = deque()
        self.returned: list[EpisodeSpec] = []
        """After its death: what it never came to."""

    @classmethod
    async def start(cls, shard: Shard) -> _Worker:
        """A fresh process; it knows nothing yet."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "fairground.runner.sweep_worker",
            str(shard.folder),
            str(shard.concurrency),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(shard.lock,),
            limit=_LINE_LIMIT,
            # Ctrl-C is for this process; workers finish what they play.
            start_new_session=True,
        )
        return cls(process, shard)

    async def feed(self, due: deque[EpisodeSpec]) -> None:
        """Hand out episodes, one more than can be played at once, until none is left or the process dies."""
        await self._send(self._shard.table)
        while True:
            while due and len(self._given) <= self._shard.concurrency:
                self._given.append(due.popleft())
                await self._send([*self._given[-1]])
            if not self._given:
                return
            if not await self._hear():
                await self._mourn()
                return

    async def stop(self) -> None:
        """No more episodes; what is being played is finished and counted, or left for the next run after a while."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(_GRACE_S):
                while await self._hear():
                    pass
        except TimeoutError:
            self._process.terminate()
        await self._process.wait()

    async def _send(self, data: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(orjson.dumps(data) + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has died: the next reading shows it

    async def _hear(self) -> bool:
        """Report one result; False at the end of its words."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line.endswith(b"\n"):
            return False
        result = SweepResult(*orjson.loads(line))
        self._given = deque(episode for episode in self._given if episode.digest != result.digest)
        self._shard.report(result)
        return True

    async def _mourn(self) -> None:
        """The process has died: what it was playing has failed, what it was not goes to another."""
        code = await self._process.wait()
        playing = list(self._given)[: self._shard.concurrency]
        self.returned = list(self._given)[self._shard.concurrency :]
        self._given.clear()
        for episode in playing:
            problem = f"the worker process died while it was played (exit code {code})"
            self._shard.report(SweepResult(episode.digest, "failed", problem=problem))

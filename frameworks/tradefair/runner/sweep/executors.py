"""Where the episodes of a sweep are played: in this process, or with workers that it feeds, wherever they are.

Every executor plays with the same function, `run_shard`, and takes its episodes from one `Feed`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import orjson

from tradefair.runner.plans.episodes import EpisodeSpec
from tradefair.runner.plans.lease import Lease
from tradefair.runner.plans.play import SweepResult, Table
from tradefair.runner.plans.shard import run_shard
from tradefair.runner.sweep.feed import Feed

# Seconds for episodes in the air when a sweep is stopped; what takes longer goes on in the next run.
_GRACE_S = 20.0
# Bytes of a result's line; asyncio's own limit of 64 KiB would refuse a longer one.
_LINE_LIMIT = 2**20


class Work(NamedTuple):
    """What an executor is given. `table` is plain data; every worker holds `lease` too.

    Each worker plays `concurrency` episodes at a time and has `ahead` more, so that it never waits for its next one.
    """

    table: Mapping[str, Any]
    folder: Path
    feed: Feed
    lease: Lease
    concurrency: int = 1
    ahead: int = 1


class Worker(Protocol):
    """Something elsewhere that plays episodes."""

    async def send(self, episode: EpisodeSpec) -> None:
        """One more."""
        ...

    def no_more(self) -> None:
        """It ends when it has played what it was given; idempotent."""
        ...

    def results(self) -> AsyncGenerator[SweepResult]:
        """What became of its episodes, until it has ended, well or not."""
        ...

    async def stop(self) -> str:
        """Have it end now; says how it ended."""
        ...


Start: TypeAlias = Callable[[], Awaitable[Worker]]


async def play_here(work: Work) -> None:
    """One asyncio process: this one.

    Lanes share the feed; a failing lane ends the others. Raises what `Feed.settle` raises, in a group.
    """

    async def given() -> AsyncIterator[EpisodeSpec]:
        while (episode := await work.feed.next()) is not None:
            yield episode

    table = Table.of_plain(work.table)
    await run_shard(table, given(), work.folder, work.feed.settle, concurrency=work.concurrency)


async def play_in_processes(work: Work, processes: int) -> None:
    """Worker processes, one loop each."""
    await play_with(lambda: _Process.start(work), work, processes)


async def play_with(start: Start, work: Work, count: int) -> None:
    """Keep `count` workers fed. One that dies takes the episodes with it that it was playing, no other.

    `start` makes a worker; it is called again for each one that dies while there is something to play.
    """
    async with asyncio.TaskGroup() as shards:
        for _ in range(count):
            shards.create_task(_keep_working(start, work))


async def _keep_working(start: Start, work: Work) -> None:
    """Feed one worker after another until the feed has nothing left."""
    # A worker that died is replaced as long as there is something to play.
    while (episode := await work.feed.next()) is not None:
        # An episode is taken before a worker is started: none is started for nothing.
        await _Shard(await start(), work).run(episode)


class _Shard:
    """One worker, what it has been given and has not answered yet."""

    def __init__(self, worker: Worker, work: Work) -> None:
        self._worker = worker
        self._work = work
        self._given: dict[str, EpisodeSpec] = {}
        # A permit is an episode in the worker's hands, playing or next.
        self._room = asyncio.Semaphore(work.concurrency + work.ahead)

    async def run(self, first: EpisodeSpec) -> None:
        """Feed the worker, `first` and what comes, until nothing is left or it dies."""
        # Noted before the feeding task runs: the worker may die before it does.
        self._given[first.digest] = first
        giving = asyncio.create_task(self._give(first), name="tradefair-feed")
        try:
            await self._hear()
        except BaseException:
            giving.cancel()
            # What is in the air is finished and counted where that takes seconds.
            await self._wind_up()
            raise
        # A worker that ends by itself has answered everything, and only after the feed had no more.
        died = bool(self._given) or not giving.done()
        giving.cancel()
        await asyncio.wait([giving])
        end = await self._worker.stop()
        if died:
            self._mourn(end)
        # Raises what went wrong while episodes were taken from the feed.
        elif not giving.cancelled():
            giving.result()

    async def _give(self, first: EpisodeSpec) -> None:
        """Send episodes as there is room for them; the end of the feed is the end of the worker's input."""
        episode: EpisodeSpec | None = first
        try:
            await self._room.acquire()
            while episode is not None:
                self._given[episode.digest] = episode
                await self._worker.send(episode)
                # Room first: whoever is stopped while he waits for it must hold no episode in his hands.
                await self._room.acquire()
                episode = await self._work.feed.next()
        finally:
            # Also after an error, or the worker would wait for its next episode without end.
            self._worker.no_more()

    async def _hear(self) -> None:
        """Settle results as they come, until the worker ends."""
        async with aclosing(self._worker.results()) as results:
            async for result in results:
                self._given.pop(result.digest, None)
                self._room.release()
                self._work.feed.settle(result)

    async def _wind_up(self) -> None:
        """Let the worker finish what it plays, for some seconds, then end it."""
        self._worker.no_more()
        try:
            async with asyncio.timeout(_GRACE_S):
                await self._hear()
        # What was not finished in time is still leased to this command and is open again when it ends.
        except TimeoutError:
            pass
        finally:
            await self._worker.stop()

    def _mourn(self, end: str) -> None:
        """The worker has died: what it was playing has failed, what it was not goes to another."""
        # In the order in which they were given: the first of them are those that were being played.
        given, playing = list(self._given.values()), self._work.concurrency
        # Given back at the front of the queue one by one, so the last comes first to keep the plan's order.
        for episode in reversed(given[playing:]):
            self._work.feed.give_back(episode)
        for episode in given[:playing]:
            problem = f"the worker died while it was played ({end})"
            self._work.feed.settle(SweepResult(episode.digest, "failed", problem=problem))


def _apart() -> dict[str, Any]:
    """Options of a subprocess that Ctrl-C does not reach: it is for this process, and workers finish what they play."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


class _Process:
    """A worker process: episodes go in by its stdin, results come out of its stdout."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, work: Work) -> _Process:
        """A fresh process, told of the sweep's table."""
        process = await asyncio.create_subprocess_exec(
            # The same interpreter and packages as this process, wherever it was started.
            sys.executable,
            "-m",
            "tradefair.runner.sweep.worker",
            str(work.folder),
            str(work.concurrency),
            # The lease stays held while the worker lives, even if this command is killed.
            str(work.lease.path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LINE_LIMIT,
            **_apart(),
        )
        worker = cls(process)
        await worker._write(work.table)
        return worker

    async def send(self, episode: EpisodeSpec) -> None:
        """One more."""
        await self._write([*episode])

    def no_more(self) -> None:
        """The end of its stdin is its own."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def results(self) -> AsyncGenerator[SweepResult]:
        """A line each."""
        assert self._process.stdout is not None
        # A last line without its end was cut off when the worker died: it is no result.
        while (line := await self._process.stdout.readline()).endswith(b"\n"):
            yield SweepResult.of_plain(orjson.loads(line))

    async def stop(self) -> str:
        """Terminate it, unless it has ended."""
        self.no_more()
        try:
            # Seconds in which a worker stops by itself after the end of its input.
            async with asyncio.timeout(1):
                return f"exit code {await self._process.wait()}"
        except TimeoutError:
            self._process.terminate()
            return f"exit code {await self._process.wait()}"

    async def _write(self, data: object) -> None:
        """One line of JSON to the worker; nothing where it has died."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(orjson.dumps(data) + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has died: its results end

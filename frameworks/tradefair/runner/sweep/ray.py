"""Workers of a sweep as actors on a Ray cluster: one that exists already, else one on this machine.

An actor plays with the same function as every other worker and writes into the same folder, which all hosts of the
cluster must share, or into a shared store. It takes its environment's `TRADEFAIR_` variables from the command; keys of
models it must have.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.contract.errors import needs_extra
from tradefair.runner.plans.episodes import EpisodeSpec
from tradefair.runner.plans.lease import join_lease
from tradefair.runner.plans.play import SweepResult, Table
from tradefair.runner.plans.shard import run_shard
from tradefair.runner.sweep.executors import Work, play_with
from tradefair.runner.sweep.worker import settle

# Only these are copied: other variables of this host may mean nothing, or harm, on another.
_OURS = "TRADEFAIR_"


async def play_on_ray(work: Work, actors: int | None) -> None:
    """Play with so many actors (None: one per CPU of the cluster). ScenarioError where Ray is not installed."""
    # Ray tells of dead workers on stdout, which belongs to the result.
    with redirect_stdout(sys.stderr):  # noqa: TID251
        await _play(_ray(), work, actors)


async def _play(ray: Any, work: Work, actors: int | None) -> None:
    # A program that has connected to Ray itself keeps its connection afterwards.
    begun = not ray.is_initialized()
    try:
        if begun:
            # No report to Ray's makers, unless the user asks for one.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            # Without an address: the cluster of RAY_ADDRESS or one that runs here, else a new one.
            ray.init(logging_level=logging.WARNING, log_to_driver=False)
    except (RuntimeError, ConnectionError, ValueError) as error:
        raise HarnessFailure(f"Ray cannot be started or reached: {error}") from error
    try:
        # The cluster's CPUs and not this machine's.
        count = actors or max(1, int(ray.cluster_resources().get("CPU", 1)))
        kind = ray.remote(_Shard).options(max_concurrency=work.concurrency + work.ahead, num_cpus=1)

        async def start() -> _Actor:
            # Data folder, prices and switches must be those of the command.
            environment = {name: value for name, value in os.environ.items() if name.startswith(_OURS)}
            # A worker has another working directory.
            actor = kind.remote(work.table, str(work.folder.absolute()), str(work.lease.path.absolute()), environment)
            return _Actor(actor, ray)

        await play_with(start, work, count)
    finally:
        if begun:
            ray.shutdown()


def _ray() -> Any:
    """The package, imported only when it is asked for. Raises ScenarioError where it is not installed."""
    try:
        return import_module("ray")
    except ImportError:
        raise ScenarioError(needs_extra("--executor ray", "ray")) from None


class _Shard:
    """Lives in the cluster: plays what it is given, each episode with `run_shard`."""

    def __init__(self, table: Mapping[str, Any], folder: str, lease: str, environment: Mapping[str, str]) -> None:
        os.environ.update(environment)
        self._table = Table.of_plain(table)
        # With a shared store there need be no shared folder: the command fetches what is done.
        self._lease = None if self._table.shared else join_lease(Path(lease))
        self._elsewhere = TemporaryDirectory() if self._table.shared else None
        self._folder = Path(folder if self._elsewhere is None else self._elsewhere.name)
        settle()

    async def play(self, episode: Sequence[Any]) -> list[Any]:
        """One episode as plain data; its result as plain data."""
        results: list[SweepResult] = []

        async def given() -> AsyncIterator[EpisodeSpec]:
            yield EpisodeSpec(*episode)

        await run_shard(self._table, given(), self._folder, results.append)
        return results[0].plain


class _Actor:
    """The worker that an actor is to this process."""

    def __init__(self, actor: Any, ray: Any) -> None:
        self._actor = actor
        self._ray = ray
        self._answers: asyncio.Queue[SweepResult | None] = asyncio.Queue()
        self._asking: set[asyncio.Task[None]] = set()
        self._closed = False
        self._end = "stopped"

    async def send(self, episode: EpisodeSpec) -> None:
        """One more."""
        # Kept in a set: asyncio holds tasks weakly, and one without another reference may vanish.
        self._asking.add(asyncio.create_task(self._ask([*episode])))

    def no_more(self) -> None:
        """It ends with the last answer."""
        self._closed = True
        # Nothing is in the air, so no answer will come that could end it.
        if not self._asking:
            self._answers.put_nowait(None)

    async def results(self) -> AsyncGenerator[SweepResult]:
        """In the order in which they come."""
        while (answer := await self._answers.get()) is not None:
            yield answer

    async def stop(self) -> str:
        """Its process ends, and with it what it plays."""
        for task in self._asking:
            task.cancel()
        # Without a grace: what it plays is lost or lies in its log.
        self._ray.kill(self._actor)
        return self._end

    async def _ask(self, episode: list[Any]) -> None:
        """Have one episode played and queue its result; a dead actor ends the queue."""
        try:
            self._answers.put_nowait(SweepResult.of_plain(await self._actor.play.remote(episode)))
        # The actor died or cannot be reached: its episodes are those without an answer.
        except self._ray.exceptions.RayError as error:
            self._end = str(error).strip().splitlines()[0][:300]
            self._answers.put_nowait(None)
        # After its answer was put: the queue must hold that answer before the end.
        task = asyncio.current_task()
        assert task is not None
        self._asking.discard(task)
        if self._closed and not self._asking:
            self._answers.put_nowait(None)

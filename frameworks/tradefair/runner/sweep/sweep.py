"""Plays the episodes of a plan that a folder does not hold yet. Stopped at any time, the same command goes on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast, get_args

from tradefair.contract import TradefairError
from tradefair.host.episode.stores import logs_at
from tradefair.runner.plans.budget import Account
from tradefair.runner.plans.done import Counts, SweepTable
from tradefair.runner.plans.episodes import EpisodeSpec, Workload
from tradefair.runner.plans.plan import Budget, ProviderLimits
from tradefair.runner.plans.play import SweepResult, pauses_of, plain_table
from tradefair.runner.sweep.executors import Work, play_here, play_in_processes
from tradefair.runner.sweep.feed import Feed, Fetch, Watch
from tradefair.runner.sweep.flags import RETRIES, Executor
from tradefair.tracestore import StorePlace, fetch_trace

Run: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine to its end, as `asyncio.run` does."""
EXECUTORS: tuple[Executor, ...] = get_args(Executor)

_WORTH_A_PROCESS = 20
"""Episodes per worker below which starting one costs more than it brings."""
_LEASED_AHEAD = 16
"""Scripted episodes per worker and lease: they take milliseconds, and so does a lease."""


@dataclass(frozen=True)
class SweepSpec:
    """What is to be played, and how: `processes` workers (None: as many as help) of `concurrency` episodes each.

    Without an `executor` it is `local` where one worker does it, else `process`. `pauses`: seconds after which
    an episode goes on by itself, each time that its provider has failed. `store`: address of the shared store in which
    the logs lie; finished traces are fetched into the folder.
    """

    work: Workload
    folder: Path
    processes: int | None = None
    concurrency: int | None = None
    executor: Executor | None = None
    budget: Budget = field(default_factory=Budget)
    providers: dict[str, ProviderLimits] = field(default_factory=dict[str, ProviderLimits])
    pauses: Sequence[float] = field(default_factory=lambda: pauses_of(RETRIES))
    store: str | None = None

    @property
    def at_a_time(self) -> int:
        """Episodes at a time in each worker: 4 with agents, which wait for models; 1 of policies, which never wait."""
        return self.concurrency or (1 if self.work.scripted else 4)

    def workers(self, episodes: int) -> int:
        """The number of workers for so many episodes: as the command said, else as many as help."""
        if self.processes is not None:
            return self.processes
        # Agents wait for their providers most of the time: one process plays several of their episodes at once.
        if not self.work.scripted:
            return 1
        # Never more than CPUs: scripted play computes and does not wait.
        return max(1, min(os.cpu_count() or 1, episodes // _WORTH_A_PROCESS))

    def chosen(self, episodes: int) -> Executor:
        """Where so many episodes are played.

        The command's choice, else `local` for one worker and `process` for several; `ray` is never chosen by itself.
        """
        return self.executor or ("local" if self.workers(episodes) == 1 else "process")


class Sweep(NamedTuple):
    """How far a sweep is when its command ends. `failures` are (path, problem, tries).

    `stopped` names the limit of the budget that ended it. Tokens and micro-dollars are those of the whole folder.
    """

    name: str
    folder: Path
    executor: Executor
    counts: Counts
    played: int
    seconds: float
    size: int
    cpu_seconds: float
    tokens: int
    cost_usd_micro: int
    stopped: str | None
    failures: list[tuple[str, str, int]]

    @property
    def exit_code(self) -> int:
        """3 when an episode failed, or is missing although nothing forbade it."""
        # Left because a budget ended it is no failure (docs/explanation/why/runner.md).
        return 3 if self.failures or (self.counts.left and self.stopped is None) else 0

    @property
    def rate(self) -> float:
        """Episodes a second.

        Of those that this command has played; 0 where it has played none.
        """
        # A sweep that found everything done has taken no measurable time.
        return self.played / self.seconds if self.seconds else 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "plan": self.name,
            "folder": str(self.folder),
            "executor": self.executor,
            "episodes": self.counts.total,
            "done": self.counts.done,
            "failed": self.counts.failed,
            "played_now": self.played,
            "seconds": round(self.seconds, 3),
            "per_second": round(self.rate, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "bytes": self.size,
            "tokens": self.tokens,
            "cost_usd_micro": self.cost_usd_micro,
            "stopped": self.stopped,
            "failures": [{"trace": path, "problem": problem, "tries": tries} for path, problem, tries in self.failures],
        }


def sweep(spec: SweepSpec, watch: Watch | None = None, *, run: Run = asyncio.run) -> Sweep:
    """Play the episodes of a plan that `folder` does not hold yet and no other command plays. Idempotent.

    It ends when all are played, here or elsewhere, or when the budget is used up. Raises ScenarioError (another plan's
    folder, a budget that fits no agent), StorageUnavailable, HarnessFailure when every episode fails, KeyboardInterrupt
    when stopped: what was done is kept, and running it again goes on. `run` runs the one coroutine that plays.
    """
    # Before the folder is touched: a budget that fits no agent must leave nothing behind.
    account = Account.of(spec.work.agents, spec.budget, spec.providers)
    with SweepTable(spec.folder) as table:
        table.take_in(spec.work)
        left = table.counts().left
        executor, workers = spec.chosen(left), spec.workers(left)
        scripted = spec.work.scripted
        # An episode with agents takes minutes: leases of many of them would keep other commands waiting.
        batch = workers * spec.at_a_time * (_LEASED_AHEAD if scripted else 1)
        with Feed.kept(table, account, batch, watch, None if spec.store is None else _fetching(spec)) as feed:
            plain = plain_table(spec.work, spec.pauses, spec.store)
            # Scripted episodes are short, so each worker has its next one at hand; with agents it would only be held
            # back.
            work = Work(plain, spec.folder, feed, table.lease, spec.at_a_time, 1 if scripted else 0)
            if left:
                _run(run, work, executor, workers, spec.processes)
        # Read after the feed has been flushed, so that the last results are in it.
        counts, totals = table.counts(), table.totals()
        return Sweep(
            spec.work.name,
            spec.folder,
            executor,
            counts,
            feed.played,
            account.seconds,
            totals.size,
            totals.cpu_seconds,
            account.tokens,
            account.cost_usd_micro,
            # A limit that was reached when nothing was left to play has stopped nothing.
            feed.stopped if counts.left > counts.failed else None,
            list(table.failures()),
        )


def _fetching(spec: SweepSpec) -> Fetch:
    """Copies what was played in the shared store into the folder. Raises StorageUnavailable where there is no store."""
    store = str(spec.store)
    # Asked before anything is played: a store that cannot be reached would be noticed at the first trace to be fetched.
    logs_at(store).holds(Path("probe"))

    def fetch(episode: EpisodeSpec, result: SweepResult) -> SweepResult:
        try:
            path = fetch_trace(StorePlace(store, episode.id), (spec.folder / episode.path).parent)
        except TradefairError as error:
            # Failed, so that the next command plays or fetches it again.
            return result._replace(status="failed", problem=f"it was played and could not be fetched: {error}")
        return result._replace(size=path.stat().st_size)

    return fetch


def _run(run: Run, work: Work, executor: Executor, workers: int, asked_for: int | None) -> None:
    """Play with the executor of that name; one error stands for all that a group of workers raised."""
    try:
        if executor == "local":
            run(play_here(work))
        elif executor == "process":
            run(play_in_processes(work, workers))
        else:
            # Imported here: Ray is an extra that most installations do not have.
            from tradefair.runner.sweep.ray import play_on_ray

            run(play_on_ray(work, asked_for))
    except* TradefairError as group:
        # Lanes and workers stop together; one reason is enough.
        failure = next(_leaves(group))
    else:
        return
    # Raised out here: within `except*` it would be wrapped in a group again.
    raise failure


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """The errors in a group and in the groups within it."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(cast("BaseExceptionGroup[BaseException]", error))
        else:
            yield error

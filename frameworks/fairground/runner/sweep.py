"""Sweeps: play what a plan means and a folder does not hold yet; stopped at any time, the same command goes on."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from fairground.contract.errors import FairgroundError, HarnessFailure
from fairground.runner.plan_episodes import Workload
from fairground.runner.sweep_executors import Shard, play_here, play_in_processes
from fairground.runner.sweep_play import SweepResult, plain_table
from fairground.runner.sweep_table import Counts, SweepTable

__all__ = ["Sweep", "SweepSpec", "Watch", "sweep"]

MAX_PROCESSES = 256
_WORTH_A_PROCESS = 20
"""Episodes per worker below which starting one costs more than it brings."""
_FLUSH_S = 0.5
_HOPELESS = 25
"""So many failures in a row end a sweep: what fails every episode fails the next one too."""

Watch: TypeAlias = Callable[[Counts], None]
"""Hears how far a sweep is."""


@dataclass(frozen=True)
class SweepSpec:
    """What is to be played, and how: `processes` workers (None: as many as help) of `concurrency` episodes each."""

    work: Workload
    folder: Path
    processes: int | None = None
    concurrency: int | None = None

    @property
    def at_a_time(self) -> int:
        """Episodes in the air per process; agents wait for models, scripted play waits for nothing."""
        return self.concurrency or (1 if self.work.scripted else 4)

    def workers(self, episodes: int) -> int:
        """Worker processes for so many episodes; 1: this process does it."""
        if self.processes is not None:
            return self.processes
        if not self.work.scripted:
            return 1
        return max(1, min(os.cpu_count() or 1, episodes // _WORTH_A_PROCESS))


class Sweep(NamedTuple):
    """How far a sweep is when its command ends. `failures` are (path, problem, tries)."""

    name: str
    folder: Path
    counts: Counts
    played: int
    seconds: float
    size: int
    cpu_seconds: float
    failures: list[tuple[str, str, int]]

    @property
    def exit_code(self) -> int:
        """3 when an episode failed."""
        return 3 if self.counts.left else 0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "plan": self.name,
            "folder": str(self.folder),
            "episodes": self.counts.total,
            "done": self.counts.done,
            "failed": self.counts.failed,
            "played_now": self.played,
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "bytes": self.size,
            "failures": [{"trace": path, "problem": problem, "tries": tries} for path, problem, tries in self.failures],
        }


def sweep(spec: SweepSpec, watch: Watch | None = None) -> Sweep:
    """Play the episodes of a plan that `folder` does not hold yet. Idempotent.

    Raises ScenarioError (another plan's folder, or another sweep runs in it), StorageUnavailable, HarnessFailure when
    every episode fails, KeyboardInterrupt when stopped: what was done is kept, and running it again goes on.
    """
    with SweepTable(spec.folder) as table:
        table.take_in(spec.work)
        due = table.due()
        begun = time.monotonic()
        with _Ledger.kept(table, watch) as ledger:
            shard = Shard(plain_table(spec.work), due, spec.folder, table.lock, ledger.report, spec.at_a_time)
            if due:
                _run(shard, spec.workers(len(due)))
        size, cpu_seconds = table.totals()
        return Sweep(
            spec.work.name,
            spec.folder,
            table.counts(),
            ledger.played,
            time.monotonic() - begun,
            size,
            cpu_seconds,
            list(table.failures()),
        )


def _run(shard: Shard, processes: int) -> None:
    try:
        asyncio.run(play_here(shard) if processes == 1 else play_in_processes(shard, processes))
    except* FairgroundError as group:
        # Lanes and workers stop together; one reason is enough.
        failure = next(_leaves(group))
    else:
        return
    raise failure


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(cast("BaseExceptionGroup[BaseException]", error))
        else:
            yield error


@dataclass
class _Ledger:
    """Takes results in and writes them down now and then; whatever is not written is found again by its trace."""

    table: SweepTable
    watch: Watch | None
    counts: Counts
    played: int = 0
    _waiting: list[SweepResult] = field(default_factory=list[SweepResult])
    _flushed: float = 0.0
    _in_a_row: int = 0

    @classmethod
    @contextmanager
    def kept(cls, table: SweepTable, watch: Watch | None) -> Generator[_Ledger]:
        """A ledger that is written down at the end, however it comes."""
        counts = table.counts()
        ledger = cls(table, watch, counts._replace(failed=0), _flushed=time.monotonic())
        try:
            yield ledger
        finally:
            ledger.flush()

    def report(self, result: SweepResult) -> None:
        """One more. Raises HarnessFailure when nothing works."""
        self._waiting.append(result)
        self.played += not result.failed
        self._in_a_row = self._in_a_row + 1 if result.failed else 0
        done = self.counts.done + (not result.failed)
        self.counts = Counts(self.counts.total, done, self.counts.failed + result.failed)
        if time.monotonic() - self._flushed > _FLUSH_S:
            self.flush()
        if self.watch is not None:
            self.watch(self.counts)
        if self._in_a_row >= _HOPELESS:
            raise HarnessFailure(f"{_HOPELESS} episodes in a row failed, the last with: {result.problem}")

    def flush(self) -> None:
        """Write down what is waiting."""
        waiting, self._waiting = self._waiting, []
        self.table.finish(waiting)
        self._flushed = time.monotonic()

"""A scripted tournament: games per CPU second and bytes per game, a table of 24,000 finished games, a stopped sweep."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, Stopwatch
from tradefair.runner.plans.done import SweepTable
from tradefair.runner.plans.episodes import EpisodeSpec, Workload, workload_of
from tradefair.runner.plans.plan import load_plan
from tradefair.runner.plans.play import SweepResult, Table
from tradefair.runner.plans.shard import run_shard
from tradefair.runner.sweep.worker import settle

_QUOTES = 240
"""Of a game: eight seats, 30 rounds."""


def measure(*, tiny: bool) -> list[Figure]:
    """The field of the public logs and a round robin of bargainers, as one worker plays them."""
    games, rows = (2, 20) if tiny else (60, 24_000)
    with _as_a_worker():
        field = _play("double_auction/field", games)
        pact = _play("bargaining/round_robin", games)
    how = f"first {games} games of"
    return [
        Figure("field: games", 1 / field.seconds, "per CPU s", 40, "at least", f"{how} double_auction/field"),
        Figure("field: quotes", _QUOTES / field.seconds, "per CPU s", 5_000, "at least", "the same, with whole traces"),
        Figure("field: bytes a game", field.size, "bytes", how="the same; reads as digests"),
        Figure("bargaining: games", 1 / pact.seconds, "per CPU s", None, how=f"{how} bargaining/round_robin"),
        Figure("bargaining: bytes a game", pact.size, "bytes", how="the same; reads as digests"),
        *_table(rows),
    ]


@contextmanager
def _as_a_worker() -> Generator[None]:
    """With a worker's garbage collection; other benchmarks of this process have their own again."""
    threshold = gc.get_threshold()
    settle()
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        gc.unfreeze()


class _Played:
    """What one game cost on average."""

    def __init__(self, seconds: float, results: Sequence[SweepResult]) -> None:
        self.seconds = seconds / len(results)
        self.size = sum(result.size for result in results) / len(results)


def _play(plan: str, games: int) -> _Played:
    work = workload_of(load_plan(plan))
    table = Table.of(work)
    results: list[SweepResult] = []
    with TemporaryDirectory() as folder:
        watch = Stopwatch()
        asyncio.run(run_shard(table, _first(work, games), Path(folder), results.append))
        seconds = watch.seconds()
    assert not any(result.failed for result in results)
    return _Played(seconds, results)


async def _first(work: Workload, games: int) -> AsyncIterator[EpisodeSpec]:
    for episode, _ in zip(work.episodes(), range(games), strict=False):
        yield episode


def _table(rows: int) -> list[Figure]:
    """What a command costs beside its games: the first time, and when all are done."""
    work = workload_of(load_plan("double_auction/field", seeds=rows))
    with TemporaryDirectory() as folder:
        watch = Stopwatch()
        with SweepTable(Path(folder)) as table:
            table.take_in(work)
            due = table.claim(rows)
            table.finish(SweepResult(episode.digest, "done", "terminated:x", "0" * 64) for episode in due)
        first = watch.seconds()
        for episode in due:
            path = Path(folder) / episode.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        watch = Stopwatch()
        with SweepTable(Path(folder)) as table:
            table.take_in(work)
            assert not table.claim(rows)
        again = watch.seconds()
    how = f"{len(due):,} games of double_auction/field, without playing them"
    return [
        Figure("a sweep's table, made and filled", first, "CPU s", how=how),
        Figure("the same, found finished", again, "CPU s", 2, "at most", how),
    ]

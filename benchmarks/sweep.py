"""Sweeps of ten thousand games of a millisecond: what a game costs over Core alone, and what two kills cost.

`python -m benchmarks.sweep FOLDER` plays all of `bargaining/ten_thousand` there with worker processes, kills the
command twice with SIGKILL (once alone, once with its workers), goes on, and counts: each game exactly once.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, Stopwatch, ratio_of_medians
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.setup import scripted_seats
from tradefair.runner.plans.done import TABLE, SweepTable
from tradefair.runner.plans.episodes import EpisodeSpec, workload_of
from tradefair.runner.plans.plan import load_plan
from tradefair.runner.plans.play import SweepResult, Table, play_one
from tradefair.runner.sweep.sweep import EXECUTORS, Executor, SweepSpec, sweep
from tradefair.tracestore import find_traces

_PLAN = "bargaining/ten_thousand"
_GAMES_A_SEED = 25
_WORKERS = 2


def measure(*, tiny: bool) -> list[Figure]:
    """The first games of the plan, one by one beside Core alone, and with each executor that is installed."""
    seeds = 1 if tiny else 60
    by_executor = [figure for executor in EXECUTORS if _is_there(executor) for figure in _executor(executor, seeds)]
    return [*_a_game(1 if tiny else 20), *by_executor]


def _a_game(seeds: int) -> list[Figure]:
    """A game of a sweep over the same game in Core's memory: what seating it, and keeping it, costs."""
    work = workload_of(load_plan(_PLAN, seeds=seeds))
    table, episodes = Table.of(work), list(work.episodes())
    alone: list[float] = []
    whole: list[float] = []
    with TemporaryDirectory() as folder:
        # In turns of some games: a slow minute slows both.
        for first in range(0, len(episodes), _GAMES_A_SEED):
            block = episodes[first : first + _GAMES_A_SEED]
            alone.append(_in_memory(table, block))
            watch = Stopwatch()
            results = asyncio.run(_played(table, block, Path(folder)))
            whole.append(watch.seconds() / len(block))
            assert all(result.end_reason for result in results)
        sizes = [trace.stat().st_size for trace in find_traces(folder)]
    how = f"median of {len(whole)} blocks of {_GAMES_A_SEED} games of {_PLAN}, no workers"
    return [
        Figure("a game of a sweep over Core alone", ratio_of_medians(whole, alone), "×", 1.8, how=how),
        Figure("a game of a sweep", median(whole) * 1000, "CPU ms", how=how),
        Figure("trace of a game", median(sizes) / 1000, "kB", 8, how=f"median of {len(sizes)}"),
    ]


def _in_memory(table: Table, episodes: Sequence[EpisodeSpec]) -> float:
    """Seconds of a game that Core plays for itself."""
    seatings = [table.players(episode).seating for episode in episodes]
    watch = Stopwatch()
    for episode, seating in zip(episodes, seatings, strict=True):
        kind, scenario = table.setting(episode)
        core = Core.create(kind, scenario, episode.seed)
        scripted = scripted_seats(kind, scenario, seating, episode.seed)
        core.start(seating)
        while core.ended is None:
            scripted.run(core)
    return watch.seconds() / len(episodes)


async def _played(table: Table, episodes: Sequence[EpisodeSpec], folder: Path) -> list[SweepResult]:
    return [await play_one(table, episode, folder) for episode in episodes]


def _is_there(executor: Executor) -> bool:
    return executor != "ray" or find_spec("ray") is not None


def _executor(executor: Executor, seeds: int) -> list[Figure]:
    work = workload_of(load_plan(_PLAN, seeds=seeds))
    workers = 1 if executor == "local" else _WORKERS
    with TemporaryDirectory() as folder:
        before = _cpu_seconds()
        done = sweep(SweepSpec(work, Path(folder), workers, executor=executor))
        cpu = _cpu_seconds() - before
    assert done.counts.done == seeds * _GAMES_A_SEED
    how = f"{done.played:,} games of {_PLAN}, workers: {workers}, their start included"
    by_clock = Figure(f"sweep, {executor}", done.rate, "games a second by the clock", how=how)
    if executor == "ray":
        return [by_clock]  # its actors are no children of this process
    return [by_clock, Figure(f"sweep, {executor}: games", done.played / cpu, "per CPU s", 200, "at least", how)]


def _cpu_seconds() -> float:
    """Of this process and the children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def _killed_twice(folder: Path) -> None:
    begun = time.monotonic()
    for number, part in enumerate((0.25, 0.6)):
        process = _started(folder)
        total = _when_done(folder, part)
        victims = [process.pid, *(_children(process.pid) if number else [])]
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        process.wait()
        done = _counted(folder)[0]
        print(f"killed {len(victims)} processes with {done:,} of {total:,} games in the table", flush=True)
    last = _started(folder)
    print(f"the third command ends with exit code {last.wait()}", flush=True)
    _told(folder, time.monotonic() - begun)


def _told(folder: Path, seconds: float) -> None:
    done, digests, results = _counted(folder)
    traces = find_traces(folder)
    with SweepTable(folder) as table:
        size, cpu = table.totals()
    print(f"games done {done:,}, different digests {digests:,}, results written {results:,}, traces {len(traces):,}")
    sample = traces[:: max(1, len(traces) // 200)]
    reproduced = sum(verify_file(path).verdict == "reproduced" for path in sample)
    print(f"verified {reproduced} of {len(sample)}; {size / 1e6:,.0f} MB; {cpu:,.1f} s of CPU in games")
    print(f"{seconds:,.1f} s by the clock with two kills, {done / seconds:,.0f} games a second, {os.cpu_count()} CPUs")
    once = done == digests == results == len(traces) == 10_000 and reproduced == len(sample)
    print("each game exactly once" if once else "NOT each game exactly once")
    sys.exit(0 if once else 1)


def _started(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tradefair.cli", "sweep", _PLAN, "--executor", "process", "--out", str(folder)]
    return subprocess.Popen([*command, "--processes", str(_WORKERS)])


def _when_done(folder: Path, part: float) -> int:
    """Wait until a part of all games is in the table; how many there are in all."""
    while True:
        done = total = 0
        if (folder / TABLE).exists():
            with closing(sqlite3.connect(f"file:{folder / TABLE}?mode=ro", uri=True)) as table:
                try:
                    done, total = table.execute("SELECT sum(status = 'done'), count(*) FROM episodes").fetchone()
                except sqlite3.OperationalError:
                    pass  # it is being made
            if total and done >= part * total:
                return total
        time.sleep(0.05)


def _counted(folder: Path) -> tuple[int, int, int]:
    """Games done, different digests, results that were written down."""
    sql = "SELECT sum(status = 'done'), count(DISTINCT digest), sum(tries) FROM episodes"
    with closing(sqlite3.connect(folder / TABLE)) as table:
        return table.execute(sql).fetchone()


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]


if __name__ == "__main__":
    _killed_twice(Path(sys.argv[1]))

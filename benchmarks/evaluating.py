"""Outcome, chain and findings of a finished trace: CPU time of one, in process, of three sizes."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.figures import Figure, Stopwatch
from tradefair.catalog import load_scenario, market_type
from tradefair.cli import FEWER_PASSES
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats


class _Case(NamedTuple):
    """A trace to evaluate; `goal` in CPU milliseconds, `tiny` what shortens its scenario."""

    name: str
    scenario: str
    policy: str
    goal: float
    times: int
    tiny: dict[str, Any]


_CASES = (
    _Case("evaluate a trace of 500 events", "double_auction/bazaar", "zip", 12, 25, {"rounds": 3}),
    _Case("evaluate 400 seats x 50 rounds", "double_auction/large", "zic", 1_500, 3, {"rounds": 1}),
    _Case("evaluate retail of 180 days", "retail/paper", "oracle", 700, 5, {"horizon_days": 2}),
)


def measure(*, tiny: bool) -> list[Figure]:
    """What `tradefair evaluate` does with one trace; playing it is outside the stopwatch, and so are imports.

    Python looks for garbage in cycles as seldom as in a command.
    """
    usual = gc.get_threshold()
    gc.set_threshold(*FEWER_PASSES)
    try:
        return [_figure(case, tiny=tiny) for case in _CASES]
    finally:
        gc.set_threshold(*usual)


def _figure(case: _Case, *, tiny: bool) -> Figure:
    times = 1 if tiny else case.times
    with TemporaryDirectory() as folder:
        path = asyncio.run(_played(case, Path(folder), case.tiny if tiny else {}))
        evaluate_file(path)  # what is imported and loaded once is not charged to a trace
        found = median(_milliseconds(path) for _ in range(times))
    return Figure(case.name, found, "CPU ms", case.goal, how=f"median of {times}; {case.scenario}, {case.policy}")


async def _played(case: _Case, folder: Path, overrides: dict[str, Any]) -> Path:
    """A whole episode of scripted seats."""
    kind = market_type(case.scenario.partition("/")[0])
    scenario = load_scenario(kind.name, case.scenario, overrides)
    episode = await new_episode(kind, scenario, 1, plan_seats(kind, scenario, agents=[], others=case.policy), folder)
    await episode.close()
    return episode.path


def _milliseconds(path: Path) -> float:
    watch = Stopwatch()
    assert evaluate_file(path).diagnosis is not None
    return watch.seconds() * 1_000

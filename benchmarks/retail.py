"""The retail market: oracle days per CPU-second by rules alone and over tools, the cost of a store and of memory."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure, Stopwatch
from fairground.catalog import load_scenario, market_type
from fairground.host.setup import new_episode, plan_seats
from fairground.retail.calibration import play_oracle
from fairground.retail.model import SEAT, RetailScenario
from fairground.retail.rules import Retail

__all__ = ["measure"]

_CHILD = "from benchmarks.retail import grow; grow({days})"
_MIB = 1024


def measure(*, tiny: bool) -> list[Figure]:
    """Rules of retail/paper in this process, a thousand days in one of its own."""
    days = 5 if tiny else 180
    paper = _scenario(days)
    watch = Stopwatch()
    Retail(paper, 1)
    made = watch.seconds()
    watch = Stopwatch()
    run = play_oracle(paper, 1)
    rate = run.days / watch.seconds()
    tools, trace = _over_tools(paper)
    early, late = _memory(110 if tiny else 1000)
    return [
        Figure("retail/paper: store and history", made, "CPU s", 2, how="first market of a process"),
        Figure("retail/paper: oracle, rules alone", rate, "days/CPU s", 150, "at least", f"{run.days} days"),
        Figure("retail/paper: oracle, tools and log", days / tools, "days/CPU s", 50, "at least", f"{days} days"),
        Figure("retail/paper: trace", trace, "MB", how=f"{days} oracle days"),
        Figure("retail: peak memory", late, "MiB", 300, how=f"{110 if tiny else 1000} oracle days, own process"),
        Figure("retail: memory, 1,000 days over 100", late / early, "x", 2, how="growth below 64 MiB is the goal"),
    ]


def _over_tools(scenario: RetailScenario) -> tuple[float, float]:
    """CPU seconds of an oracle episode through tools, validation and the durable log; MB of its trace."""
    kind = market_type("retail")
    plan = plan_seats(kind, scenario).with_policy(SEAT, "oracle")

    async def played(folder: Path) -> None:
        episode = await new_episode(kind, scenario, 1, plan, folder)
        await episode.wait_ended()
        await episode.close()

    with tempfile.TemporaryDirectory() as folder:
        watch = Stopwatch()
        asyncio.run(played(Path(folder)))
        spent = watch.seconds()
        return spent, sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6


def grow(days: int) -> None:
    """Play `days` oracle days; prints peak memory in MiB after day 100 and at the end."""
    play_oracle(_scenario(100), 1)
    print(_peak())
    play_oracle(_scenario(days), 1)
    print(_peak())


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB


def _memory(days: int) -> tuple[float, float]:
    command = [sys.executable, "-c", _CHILD.format(days=days)]
    early, late = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(early), float(late)


def _scenario(days: int) -> RetailScenario:
    scenario = load_scenario("retail", "paper", {"horizon_days": days})
    assert isinstance(scenario, RetailScenario)
    return scenario

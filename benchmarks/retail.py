"""The retail market: oracle days per CPU-second by rules alone and over tools, the cost of a store and of memory."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure, Stopwatch
from benchmarks.retail_calibration import play_oracle
from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.host.setup import new_episode, plan_seats
from tradefair.retail.model import SEAT, RetailScenario
from tradefair.retail.rules import Retail

_CHILD = "from benchmarks.retail import grow; grow({days})"
_MIB = 1024


def measure(*, tiny: bool) -> list[Figure]:
    """Rules of retail/paper in this process, a thousand days in one of its own."""
    days = 5 if tiny else 180
    paper = _scenario(days)
    watch = Stopwatch()
    Retail(paper, 1)
    made = watch.seconds()
    times = 1 if tiny else 3
    rules = median(_by_rules(paper) for _ in range(times))
    tools, trace, evaluated = map(median, zip(*(_over_tools(paper) for _ in range(times)), strict=True))
    early, late = _memory(110 if tiny else 1000)
    return [
        Figure("retail/paper: store and history", made, "CPU s", 2, how="first market of a process"),
        Figure(
            "retail/paper: oracle, rules alone",
            days / rules,
            "days/CPU s",
            150,
            "at least",
            f"{days} days, median of {times}",
        ),
        Figure(
            "retail/paper: oracle, tools and log",
            days / tools,
            "days/CPU s",
            50,
            "at least",
            f"{days} days, median of {times}",
        ),
        Figure("retail/paper: trace", trace, "MB", how=f"{days} oracle days"),
        Figure("retail/paper: evaluate", evaluated, "CPU s", 2, how="outcome, four stages, sixteen detectors"),
        Figure("retail: peak memory", late, "MiB", 300, how=f"{110 if tiny else 1000} oracle days, own process"),
        Figure("retail: memory after day 100", late - early, "MiB", 64, how="growth of the peak"),
    ]


def _by_rules(scenario: RetailScenario) -> float:
    """CPU seconds of an oracle episode without tools or events."""
    watch = Stopwatch()
    play_oracle(scenario, 1)
    return watch.seconds()


def _over_tools(scenario: RetailScenario) -> tuple[float, float, float]:
    """CPU seconds of an oracle episode through tools and log, MB of its trace, CPU seconds to evaluate it."""
    kind = market_type("retail")
    plan = plan_seats(kind, scenario).with_policy(SEAT, "oracle")

    async def played(folder: Path) -> Path:
        episode = await new_episode(kind, scenario, 1, plan, folder)
        await episode.wait_ended()
        await episode.close()
        return episode.path

    with tempfile.TemporaryDirectory() as folder:
        watch = Stopwatch()
        path = asyncio.run(played(Path(folder)))
        spent = watch.seconds()
        watch = Stopwatch()
        evaluation = evaluate_file(path)
        assert evaluation.outcome is not None
        return spent, path.stat().st_size / 1e6, watch.seconds()


def grow(days: int) -> None:
    """Play `days` oracle days; prints peak memory in MiB after day 100 and at the end."""
    play_oracle(_scenario(100), 1)
    print(peak_mib())
    play_oracle(_scenario(days), 1)
    print(peak_mib())


def peak_mib() -> float:
    """Peak memory of this process so far."""
    # Not ru_maxrss: a child's begins at its parent's.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / _MIB


def _memory(days: int) -> tuple[float, float]:
    command = [sys.executable, "-c", _CHILD.format(days=days)]
    early, late = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(early), float(late)


def _scenario(days: int) -> RetailScenario:
    scenario = load_scenario("retail", "paper", {"horizon_days": days})
    assert isinstance(scenario, RetailScenario)
    return scenario

"""The retail market: oracle days per CPU-second by rules alone and over tools, the cost of a store and of memory."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure, Stopwatch
from benchmarks.retail_play import answer, manage_day, manager_of, play_manager
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import HarnessFailure, ToolCall
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.setup import seating_of
from tradefair.host.seats.plans import plan_seats
from tradefair.retail.model import SEAT, RetailScenario
from tradefair.retail.rules import Retail
from tradefair.runner.play.whole import play_whole

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
    acts = _acts(paper)
    rules = median(_by_rules(paper, acts) for _ in range(times))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.trace") for number in range(times)]
        tools = median(_over_tools(paper, path) for path in paths)
        trace = paths[0].stat().st_size / 1e6
        evaluated = median(_evaluated(path) for path in paths)
        verified = median(_verified(path) for path in paths)
    early, late = _memory(110 if tiny else 1000)
    return [
        Figure("retail/paper: store and history", made, "CPU s", 2, how="first market of a process"),
        Figure(
            "retail/paper: oracle, rules alone",
            days / rules,
            "days/CPU s",
            400,
            "at least",
            f"its actions of {days} days, median of {times}",
        ),
        Figure(
            "retail/paper: oracle, tools and trace",
            days / tools,
            "days/CPU s",
            140,
            "at least",
            f"{days} days, median of {times}",
        ),
        Figure("retail/paper: trace", trace, "MB", how=f"{days} oracle days"),
        Figure("retail/paper: events verified", verified, "per CPU s", 12_000, "at least", "--no-seats"),
        Figure("retail/paper: evaluate", evaluated, "CPU s", 2, how="outcome, four stages, sixteen detectors"),
        Figure("retail: peak memory", late, "MiB", 300, how=f"{110 if tiny else 1000} oracle days, own process"),
        Figure("retail: memory after day 100", late - early, "MiB", 64, how="growth of the peak"),
    ]


def _acts(scenario: RetailScenario) -> list[list[ToolCall]]:
    """What the oracle does, by day."""
    market, manager = Retail(scenario, 1), manager_of("oracle", 1)
    days: list[list[ToolCall]] = []
    while market.terminated is None:
        days.append([call for call in manage_day(market, manager) if not call.tool.startswith("view_")])
        market.close_day()
    return days


def _by_rules(scenario: RetailScenario, acts: Sequence[Sequence[ToolCall]]) -> float:
    """CPU seconds of an episode with these actions, without reads or events."""
    watch = Stopwatch()
    market = Retail(scenario, 1)
    for calls in acts:
        for call in calls:
            answer(market, call)
        market.end_today()
        market.close_day()
    return watch.seconds()


def _over_tools(scenario: RetailScenario, path: Path) -> float:
    """CPU seconds of an oracle episode through tools, its trace written to `path`, as `tradefair play` does it."""
    kind = market_type("retail")
    seating = seating_of(kind, scenario, plan_seats(kind, scenario).with_policy(SEAT, "oracle"))
    watch = Stopwatch()
    play_whole(path, kind, scenario, 1, seating, path.stem)
    return watch.seconds()


def _evaluated(path: Path) -> float:
    """CPU seconds to evaluate a trace."""
    watch = Stopwatch()
    evaluation = evaluate_file(path)
    assert evaluation.outcome is not None
    return watch.seconds()


def _verified(path: Path) -> float:
    """Events that verify checks per CPU second, without playing the policy again."""
    watch = Stopwatch()
    check = verify_file(path, seats=False)
    seconds = watch.seconds()
    if check.verdict != "reproduced":
        raise HarnessFailure(f"{path.name}: {check.sentence}")
    return check.events / seconds


def grow(days: int) -> None:
    """Play `days` oracle days; prints peak memory in MiB after day 100 and at the end."""
    play_manager(_scenario(100), 1, "oracle")
    print(peak_mib())
    play_manager(_scenario(days), 1, "oracle")
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

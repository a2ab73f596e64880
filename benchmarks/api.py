"""What the Python face costs: importing it, and `play` in comparison with the runner's own `play_episode`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import tradefair.api as tf
from benchmarks.figures import Figure, Stopwatch, ratio_of_medians
from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.players import Limits, seat_roles
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec, ready
from tradefair.runner.play.episode_runner import PlaySpec, play_episode

_MARKET, _SCENARIO = "double_auction", "double_auction/bazaar"
_IMPORT = "import time; t = time.process_time(); import tradefair.api; print(time.process_time() - t)"


def measure(*, tiny: bool) -> list[Figure]:
    """Both ways to play in turns, in one process, the same seeds; importing in processes of its own."""
    times = 1 if tiny else 25
    with TemporaryDirectory() as folder:
        ways = (_by_runner(Path(folder)), _by_face(Path(folder)))
        for way in ways:
            way(0)  # what is imported and compiled once is no cost of an episode
        seconds = [[_cpu(way, seed) for way in ways] for seed in range(1, times + 1)]
    by_runner, by_face = zip(*seconds, strict=True)
    starts = 1 if tiny else 7
    imported = median(_importing() for _ in range(starts))
    return [
        Figure("import tradefair.api", imported, "CPU s", 0.1, how=f"median of {starts} processes"),
        Figure("play / play_episode", ratio_of_medians(by_face, by_runner), "×", 1.05, how=f"{times} of {_SCENARIO}"),
    ]


def _by_face(folder: Path) -> Callable[[int], object]:
    return lambda seed: tf.play(_MARKET, scenario=_SCENARIO, seed=seed, agent="policy:zip", folder=folder)


def _by_runner(folder: Path) -> Callable[[int], object]:
    """The runner with everything made ready before, so that all the face does on top counts."""
    kind, scenario = market_type(_MARKET), load_scenario(_MARKET, _SCENARIO)
    plan = plan_seats(kind, scenario)
    agent = ready(kind, AgentSpec("policy", "policy:zip", limits=Limits()), seat_roles(kind, scenario, plan.agents))
    return lambda seed: asyncio.run(play_episode(PlaySpec(_MARKET, scenario, seed, plan, agent, folder)))


def _cpu(way: Callable[[int], object], seed: int) -> float:
    watch = Stopwatch()
    way(seed)
    return watch.seconds()


def _importing() -> float:
    return float(subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True).stdout)

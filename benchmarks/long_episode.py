"""A long episode of the supermarket through the react graph: does a day still cost what it cost, and how much is kept?

The same policy plays natively beside it, so that the market's own share (its history grows) can be taken off.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.figures import Figure
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Draw, Policy, Scenario, Turns, TurnView
from tradefair.contract.players import Limits, seat_policy
from tradefair.host.setup import new_episode, plan_seats

_CHILD = "from benchmarks.long_episode import play; play({way!r}, {preset!r}, {days})"
_POLICY = "careful_reader"
_SEED = 1
_SPAN = 10
_MIB = 1024


class _Run(NamedTuple):
    """CPU seconds of each day, and the peak memory of the process in MiB."""

    days: list[float]
    peak: float


def measure(*, tiny: bool) -> list[Figure]:
    """Each way in a process of its own; the first day, which opens the store, is left out."""
    days, preset = (6, "smoke") if tiny else (180, "paper")
    native, react = _in_child("native", preset, days), _in_child("react", preset, days)
    span = min(_SPAN, (days - 2) // 2)
    ours = [whole - market for whole, market in zip(react.days, native.days, strict=True)]
    how = f"last {span} days over days 2–{1 + span}, medians"
    return [
        Figure(f"react, {days} days of retail/{preset}", _growth(ours, span), "x", 1.2, how=f"{how}, market taken off"),
        Figure("the same, market and all", _growth(react.days, span), "x", how=how),
        Figure("the market alone, natively", _growth(native.days, span), "x", how=how),
        Figure("react, one day", median(react.days) * 1000, "CPU ms", how=f"median of {days} days"),
        Figure("the market alone, one day", median(native.days) * 1000, "CPU ms", how="the same policy, natively"),
        Figure("react: peak memory", react.peak - native.peak, "MiB", 200, how="beyond that of the native run"),
    ]


def _growth(days: list[float], span: int) -> float:
    return median(days[-span:]) / median(days[1 : 1 + span])


class _Clocked:
    """A policy that notes the CPU time at which each of its turns begins."""

    def __init__(self, policy: Policy) -> None:
        self.begun: list[float] = []
        self._policy = policy

    def turn(self, now: TurnView) -> Turns:
        """One day."""
        self.begun.append(time.process_time())
        return self._policy.turn(now)


def play(way: str, preset: str, days: int) -> None:
    """Play an episode one way; prints what a `_Run` holds as JSON."""
    scenario = load_scenario("retail", preset, {"horizon_days": days})
    kind = market_type("retail")
    policy = _Clocked(seat_policy(kind, _POLICY, "manager", Draw.of(_SEED, "manager")))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run((_native if way == "native" else _through_react)(Path(folder), scenario, policy))
    ends = [*policy.begun[1:], time.process_time()]
    spent = [end - begin for begin, end in zip(policy.begun, ends, strict=True)]
    print(json.dumps({"days": spent, "peak": _peak()}))


async def _native(folder: Path, scenario: Scenario, policy: _Clocked) -> None:
    from tradefair.host.episode import Episode
    from tradefair.host.scripted import Scripted

    kind = market_type("retail")
    seats = Scripted({"manager": lambda: policy})
    episode = await Episode.create(folder / "e.trace", kind, scenario, _SEED, episode_id="long", scripted=seats)
    await episode.wait_ended()
    await episode.close()


async def _through_react(folder: Path, scenario: Scenario, policy: _Clocked) -> None:
    from functools import partial

    from mcp import Client

    from tradefair.frameworks.base import SeatConnection
    from tradefair.frameworks.langgraph import react
    from tradefair.frameworks.models import parse_model
    from tradefair.host.binding import build_server

    kind = market_type("retail")
    episode = await new_episode(kind, scenario, _SEED, plan_seats(kind, scenario), folder)
    async with Client(build_server(episode, "manager")) as client:
        seat = SeatConnection(client, "manager", note=partial(episode.note, "manager"))
        model = parse_model(f"policy:{_POLICY}").with_policy(policy)
        report = await react().play(seat, model, kind.brief(scenario, "manager"), Limits(1000))
    await episode.close()
    assert (report.stop, report.given_up, report.rounds) == ("episode_over", {}, len(policy.begun))


def _peak() -> float:
    # Not ru_maxrss: a child's begins at its parent's.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / _MIB


def _in_child(way: str, preset: str, days: int) -> _Run:
    command = [sys.executable, "-c", _CHILD.format(way=way, preset=preset, days=days)]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return _Run(told["days"], told["peak"])

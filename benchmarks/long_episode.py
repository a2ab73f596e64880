"""A long episode of the supermarket through the react graph: does a turn still cost what it cost, and how much is kept?

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

from benchmarks.figures import Figure, pace
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Draw, Policy, Scenario, ToolAnswer, Turns, TurnView
from tradefair.contract.kernel.players import Limits, seat_policy
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats

_CHILD = "from benchmarks.long_episode import play; play({way!r}, {preset!r}, {days})"
_POLICY = "careful_reader"
_SEED = 1
_SPAN = 10
_MIB = 1024


class _Run(NamedTuple):
    """CPU seconds, turns (replies of the model) and `pace` of each day; the peak memory of the process in MiB."""

    days: list[float]
    turns: list[int]
    paces: list[float]
    peak: float

    @property
    def steady(self) -> list[float]:
        """The days as multiples of the pace at their beginning."""
        return [day / paced for day, paced in zip(self.days, self.paces, strict=True)]


def measure(*, tiny: bool) -> list[Figure]:
    """Each way in a process of its own; the first day, which opens the store, is left out."""
    days, preset = (6, "smoke") if tiny else (180, "paper")
    native, react = _in_child("native", preset, days), _in_child("react", preset, days)
    span = min(_SPAN, (days - 2) // 2)
    turn = _turns(react.days, native.days, react.turns)
    steady = _turns(react.steady, native.steady, react.turns)
    early, late = sum(react.turns[1 : 1 + span]), sum(react.turns[-span:])
    how = f"the last {late} turns ({span} days) over turns of days 2–{1 + span} ({early}), medians of days"
    return [
        Figure(f"react: a turn over {days} days of retail/{preset}", _growth(steady, span), "x", 1.05, how=how),
        Figure("the market alone, natively: a day", _growth(native.steady, span), "x", how=how),
        Figure("react, one turn", median(turn) * 1000, "CPU ms", how=f"{sum(react.turns):,} turns, market taken off"),
        Figure("react, one day", median(react.days) * 1000, "CPU ms", how=f"median of {days} days"),
        Figure("the market alone, one day", median(native.days) * 1000, "CPU ms", how="the same policy, natively"),
        Figure("react: peak memory", react.peak - native.peak, "MiB", 200, how="beyond that of the native run"),
    ]


def _turns(whole: list[float], market: list[float], turns: list[int]) -> list[float]:
    """The cost of one turn of each day, the market's own share taken off."""
    return [(day - alone) / count for day, alone, count in zip(whole, market, turns, strict=True)]


def _growth(days: list[float], span: int) -> float:
    return median(days[-span:]) / median(days[1 : 1 + span])


class _Clocked:
    """A policy that notes of each of its days when it begins and ends in CPU time, and how often it is asked."""

    def __init__(self, policy: Policy) -> None:
        self.begun: list[float] = []
        self.ended: list[float] = []
        self.turns: list[int] = []
        self.paces: list[float] = []
        self._policy = policy

    def turn(self, now: TurnView) -> Turns:
        """One day."""
        if self.begun:
            self.ended.append(time.process_time())
        self.paces.append(pace())
        self.begun.append(time.process_time())
        self.turns.append(0)
        calls = self._policy.turn(now)
        answer: ToolAnswer | None = None
        while True:
            self.turns[-1] += 1
            try:
                call = next(calls) if answer is None else calls.send(answer)
            except StopIteration:
                return
            answer = yield call


def play(way: str, preset: str, days: int) -> None:
    """Play an episode one way; prints what a `_Run` holds as JSON."""
    scenario = load_scenario("retail", preset, {"horizon_days": days})
    kind = market_type("retail")
    policy = _Clocked(seat_policy(kind, _POLICY, "manager", Draw.of(_SEED, "manager")))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run((_native if way == "native" else _through_react)(Path(folder), scenario, policy))
    policy.ended.append(time.process_time())
    spent = [end - begin for begin, end in zip(policy.begun, policy.ended, strict=True)]
    print(json.dumps({"days": spent, "turns": policy.turns, "paces": policy.paces, "peak": _peak()}))


async def _native(folder: Path, scenario: Scenario, policy: _Clocked) -> None:
    from tradefair.host.episode.episode import Episode
    from tradefair.host.seats.scripted import Scripted

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
    from tradefair.host.server.binding import build_server
    from tradefair.host.server.wire import SLIM

    kind = market_type("retail")
    episode = await new_episode(kind, scenario, _SEED, plan_seats(kind, scenario), folder)
    async with Client(build_server(episode, "manager", manner=SLIM)) as client:
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
    return _Run(**told)

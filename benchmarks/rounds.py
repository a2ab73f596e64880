"""Does a long episode stay cheap? CPU time per round of the react graph, late rounds over early ones."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from statistics import median

from mcp import Client

from benchmarks.bazaar import FIELD, open_seats
from benchmarks.figures import Figure, pace
from tradefair.contract import Draw, TurnView
from tradefair.contract.kernel.players import Limits, seat_policy
from tradefair.frameworks.base import SeatConnection
from tradefair.frameworks.langgraph import react
from tradefair.frameworks.models import parse_model
from tradefair.host.server.binding import build_server
from tradefair.host.server.wire import SLIM

_SEAT = "B1"
_SPAN = 50


def measure(*, tiny: bool) -> list[Figure]:
    """The agent's seat in a BAZAAR episode, a policy for a model; graph, server, market and log together."""
    rounds = 8 if tiny else 500
    costs, paces = asyncio.run(_costs(rounds))
    span = min(_SPAN, (rounds - 2) // 2)
    steady = [cost / paced for cost, paced in zip(costs, paces, strict=True)]
    ratio = median(steady[-span:]) / median(steady[2 : 2 + span])
    how = f"last {span} rounds over rounds 3–{2 + span}, medians"
    return [
        Figure(f"react graph, {rounds} rounds", ratio, "x", 1.05, how=how),
        Figure("react graph, one round", median(costs) * 1000, "CPU ms", how=f"median of {rounds} rounds"),
    ]


class _Meter:
    """A turn gate (`frameworks.base.TurnGate`) that notes when each turn begins and ends in CPU time, and the pace."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.ended: list[float] = []
        self.paces: list[float] = []

    async def enter(self, view: TurnView) -> None:
        """A turn begins."""
        if self.begun:
            self.ended.append(time.process_time())
        self.paces.append(pace())
        self.begun.append(time.process_time())

    async def leave(self) -> None:
        """A turn is over."""


async def _costs(rounds: int) -> tuple[list[float], list[float]]:
    """CPU seconds of each round, from the seat's turn to its next one, and the pace; the last ends with the episode."""
    meter = _Meter()
    async with open_seats(rounds, _SEAT) as episode:
        core = episode.core
        policy = seat_policy(core.market_type, FIELD, core.market.seats[_SEAT].role, Draw.of(core.manifest.seed, _SEAT))
        async with Client(build_server(episode, _SEAT, manner=SLIM)) as client:
            seat = SeatConnection(client, _SEAT, gate=meter, note=partial(episode.note, _SEAT))
            model = parse_model(f"policy:{FIELD}").with_policy(policy)
            report = await react().play(seat, model, core.market_type.brief(core.scenario, _SEAT), Limits())
        meter.ended.append(time.process_time())
    assert report.rounds == rounds == len(meter.begun)
    return [end - begin for begin, end in zip(meter.begun, meter.ended, strict=True)], meter.paces

"""Marketplace episodes as sealed traces: scripted seats, seats that follow a list of calls, and the free clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue
from tests.evaluation.playing import Player, played_out, store
from tests.sample import sample
from tests.traces import kept

from tradefair.contract import ToolCall, Turns, TurnView
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.markets.marketplace.evaluator import EVALUATOR
from tradefair.evaluation.markets.marketplace.outcomes import MarketplaceOutcome
from tradefair.marketplace import MARKET
from tradefair.marketplace.data.loader import load_folder
from tradefair.marketplace.model import MarketplaceScenario
from tradefair.tracestore import open_trace

C1 = "customer_0001"


def published(name: str) -> dict[str, Any]:
    """The data of a published set, as a part of a scenario; skips where it is not there."""
    catalogue = load_folder(str(sample(f"marketplace/{name}")))
    return {"data": {"source": "folder", "path": f"marketplace/{name}"}, "catalogue": catalogue.model_dump(mode="json")}


@kept
def play(
    path: Path,
    customers: Player = "item_searcher",
    businesses: Player = "honest",
    seats: Mapping[str, Player] | None = None,
    seed: int = 1,
    **given: Any,
) -> Path:
    """A real episode of scripted seats; three generated customers unless `given`, values of the scenario, says else."""
    core = _core(given, seed)
    roles: dict[str, Player] = {"customer": customers, "business": businesses}
    players = {seat: (seats or {}).get(seat, roles[spec.role]) for seat, spec in core.market.seats.items()}
    return played_out(path, core, players)


class Step(NamedTuple):
    """One call of the free clock; without a tool a tick."""

    seat: str = ""
    tool: str = ""
    arguments: Mapping[str, JsonValue] = {}


def play_freely(path: Path, steps: Sequence[Step], seed: int = 1, **given: Any) -> Path:
    """An episode of the free clock in which exactly these calls are made, and then ticks to its end."""
    core = _core({"clock": "free", **given}, seed)
    records: list[Record] = list(core.start().records)
    for step in steps:
        done = core.call(step.seat, step.tool, step.arguments) if step.tool else core.feed("clock_tick", None)
        records += done.records
    while core.ended is None:
        records += core.feed("clock_tick", None).records
    return store(path, core, records)


def by_rounds(calls: Mapping[int, Sequence[ToolCall]]) -> Callable[[TurnView], Turns]:
    """Makes the calls of each round, then ends its turn."""

    def turn(now: TurnView) -> Turns:
        for call in calls.get(now.round, ()):
            yield call
            if call.tool == "finish":
                return
        yield ToolCall("end_turn")

    return turn


def outcome(path: Path) -> MarketplaceOutcome:
    """Of a trace file."""
    with open_trace(path) as trace:
        return EVALUATOR.outcomes(trace)


def _core(given: Mapping[str, Any], seed: int) -> Core:
    content = {"id": "marketplace/test", "data": {"customers": 3}, **given}
    return Core.create(MARKET, build_scenario(MarketplaceScenario, content, source="test"), seed)

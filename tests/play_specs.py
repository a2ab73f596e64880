"""Episodes to be played in process, with their agent made ready; and what a trace of one holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Scenario
from tradefair.contract.kernel.players import seat_roles
from tradefair.host.seats.plans import SeatPlan, plan_seats
from tradefair.runner.play.agent_spec import AgentSpec, ready
from tradefair.runner.play.episode_runner import PlaySpec
from tradefair.tracestore import open_trace


def play_spec(market: str, scenario: Scenario, seed: int, plan: SeatPlan, agent: AgentSpec, folder: Path) -> PlaySpec:
    """An episode whose agent's seats are played by `agent`."""
    kind = market_type(market)
    return PlaySpec(market, scenario, seed, plan, ready(kind, agent, seat_roles(kind, scenario, plan.agents)), folder)


def preset_spec(
    market: str,
    preset: str,
    agent: AgentSpec,
    folder: Path,
    *,
    seed: int = 7,
    settings: Mapping[str, Any] | None = None,
    agents: Sequence[str] | None = None,
    others: str | None = None,
) -> PlaySpec:
    """An episode of a bundled preset; the agent has the preset's own seats unless told which."""
    scenario = load_scenario(market, preset, settings or {})
    plan = plan_seats(market_type(market), scenario, agents=agents, others=others)
    return play_spec(market, scenario, seed, plan, agent, folder)


def events_of(path: Path) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return list(trace.decoded())

"""Episodes to be played in process, with their agent made ready."""

from __future__ import annotations

from pathlib import Path

from tradefair.catalog import market_type
from tradefair.contract import Scenario
from tradefair.contract.players import seat_roles
from tradefair.host.setup import SeatPlan
from tradefair.runner.agent_spec import AgentSpec, ready
from tradefair.runner.episode_runner import PlaySpec


def play_spec(market: str, scenario: Scenario, seed: int, plan: SeatPlan, agent: AgentSpec, folder: Path) -> PlaySpec:
    """An episode whose agent's seats are played by `agent`."""
    kind = market_type(market)
    return PlaySpec(market, scenario, seed, plan, ready(kind, agent, seat_roles(kind, scenario, plan.agents)), folder)

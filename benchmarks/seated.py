"""One scripted policy in the agent's seat of a preset, the seats by turns: what references and planted flaws play."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import SeatId
from tradefair.contract.kernel.players import seat_roles
from tradefair.host.seats.plans import plan_seats, plan_turn
from tradefair.runner.play.agent_spec import NATIVE, AgentSpec, ready
from tradefair.runner.play.episode_runner import PlaySpec, play_episode


def play_seated(
    market: str,
    preset: str,
    policy: str,
    seed: int,
    folder: Path,
    settings: Mapping[str, Any] | None = None,
    *,
    by_turns: bool = True,
) -> tuple[Path, list[SeatId]]:
    """Play an episode whose agent is a bundled policy; the trace, and the seats that it played.

    Without `by_turns` it sits in the scenario's own seat on every seed.
    """
    kind = market_type(market)
    scenario = load_scenario(market, preset, settings)
    plan = plan_turn(kind, scenario, seed) if by_turns else plan_seats(kind, scenario)
    agent = ready(kind, AgentSpec(NATIVE, f"policy:{policy}"), seat_roles(kind, scenario, plan.agents))
    place = Path(tempfile.mkdtemp(dir=folder))
    played = asyncio.run(play_episode(PlaySpec(market, scenario, seed, plan, agent, place)))
    return played.path, list(played.agents)

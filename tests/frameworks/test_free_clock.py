"""Agents of every framework play a market whose clock waits for nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.play_specs import play_spec
from tests.waiting import SOON

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.players import Limits
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.setup import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import open_trace


@pytest.mark.network
@pytest.mark.parametrize("framework", ["policy", "react", "reflection", "plan_and_act", "openai_loop"])
async def test_three_customers_are_served_while_the_clock_goes_on(framework: str, tmp_path: Path) -> None:
    """Long ticks, of which replies need three: on a busy machine each may pass in the midst of a turn."""
    kind = market_type("marketplace")
    free = {"clock": "free", "timing.free_tick_s": 20 * SOON}
    scenario = load_scenario("marketplace", "small_demo", free)
    agent = AgentSpec(framework, "policy:item_searcher", limits=Limits(calls_per_round=200))
    spec = play_spec(
        market=kind.name, scenario=scenario, seed=3, plan=plan_seats(kind, scenario), agent=agent, folder=tmp_path
    )
    played = await play_episode(spec)
    assert verify_file(played.path).verdict == "reproduced"
    with open_trace(played.path) as trace:
        events = list(trace.decoded())
    assert {event["source"] for event in events if event["event"] == "input"} == {"clock_tick"}
    assert [each["purchases"] for each in events[-1]["facts"]["customers"].values()] == [1, 1, 1]

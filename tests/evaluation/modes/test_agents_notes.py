"""What graphs note about themselves is what the diagnostics read: played through the runner, over MCP."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.modes.playing import found
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.players import Limits
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import open_trace


async def played(folder: Path, agent: AgentSpec) -> Path:
    scenario = load_scenario("double_auction", "duel", {"rounds": 3})
    plan = plan_seats(market_type("double_auction"), scenario)
    spec = play_spec(market="double_auction", scenario=scenario, seed=7, plan=plan, agent=agent, folder=folder)
    return (await play_episode(spec)).path


@pytest.mark.parametrize(("framework", "kind"), [("plan_and_act", "plan"), ("reflection", "lesson")])
async def test_plans_and_lessons_of_the_graphs_can_be_read(tmp_path: Path, framework: str, kind: str) -> None:
    path = await played(tmp_path, AgentSpec(framework, "policy:zip"))
    with open_trace(path) as trace:
        assert kind in {note.get("kind") for note in trace.agent_events()}
    finding = found(path, "plan_break", "B1")
    assert not finding.raised
    if kind == "plan":
        assert (finding.checked, finding.of) == (True, 3)


async def test_a_limit_of_the_runner_is_a_budget_that_was_exhausted(tmp_path: Path) -> None:
    path = await played(tmp_path, AgentSpec("react", "policy:zip", limits=Limits(calls_per_round=1)))
    finding = found(path, "budget_exhaustion", "B1")
    assert (finding.raised, finding.seats) == (True, ["B1"])
    assert found(path, "lapse", "B1").status in ("raised", "merged")

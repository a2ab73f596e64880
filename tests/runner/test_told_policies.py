"""Policies that must be told what a scenario hides: in process only, in nobody's place, and marked as such."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import JsonValue
from tests.play_specs import play_spec
from tests.waiting import SOON

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import ScenarioError
from tradefair.contract.players import stand_ins
from tradefair.evaluation.verify import verify_file
from tradefair.host.setup import STAND_IN, plan_seats
from tradefair.runner.agent_spec import AgentSpec, ready
from tradefair.runner.episode_runner import play_episode
from tradefair.runner.replays import Replays
from tradefair.tracestore import open_trace

HIDING = ("hidden_cost", "models")
SHORT = {"rounds": 3}


@pytest.mark.parametrize("preset", HIDING)
def test_what_stands_in_where_a_scenario_hides_something_needs_none_of_it(preset: str) -> None:
    kind = market_type("pricing")
    named = stand_ins(kind, load_scenario("pricing", preset))
    assert named
    assert not any(kind.policies[name].knows_hidden(load_scenario("pricing", preset)) for name in named)
    assert set(named) < set(stand_ins(kind, load_scenario("pricing", "textbook")))


def test_a_stand_in_for_another_agents_seat_is_told_nothing(tmp_path: Path) -> None:
    scenario = load_scenario("pricing", "models", SHORT)
    plan = plan_seats(market_type("pricing"), scenario, agents=["F1"], others=STAND_IN)
    played = asyncio.run(
        play_episode(play_spec("pricing", scenario, 1, plan, AgentSpec("policy", "policy:prober"), tmp_path))
    )
    with open_trace(played.path) as trace:
        assert trace.seating().privileged == frozenset()


@pytest.mark.parametrize("preset", HIDING)
def test_a_policy_that_must_be_told_is_refused_behind_a_models_interface(preset: str, tmp_path: Path) -> None:
    scenario = load_scenario("pricing", preset, SHORT)
    plan = plan_seats(market_type("pricing"), scenario, agents=["F1"], others=STAND_IN)
    kind, roles = market_type("pricing"), {"F1": "firm"}
    with pytest.raises(ScenarioError, match=rf"best_reply has to know what pricing/{preset} hides"):
        ready(kind, AgentSpec("react", "policy:best_reply"), roles, scenario=scenario)
    # Nor where whoever made it ready did not say what it would play.
    spec = play_spec("pricing", scenario, 1, plan, AgentSpec("react", "policy:best_reply"), tmp_path / "runs")
    with pytest.raises(ScenarioError, match="has to know what"):
        asyncio.run(play_episode(spec))


def test_the_same_policy_plays_over_mcp_where_all_is_published(tmp_path: Path) -> None:
    scenario = load_scenario("pricing", "smoke")
    plan = plan_seats(market_type("pricing"), scenario)
    played = asyncio.run(
        play_episode(play_spec("pricing", scenario, 1, plan, AgentSpec("react", "policy:best_reply"), tmp_path))
    )
    assert played.end_reason == "terminated:rounds_completed"


def test_under_the_free_clock_the_book_ticks_while_an_agent_sits_there(tmp_path: Path) -> None:
    timing: dict[str, JsonValue] = {"timing": {"free_tick_s": 2 * SOON}, "periods": 1, "sweeps": 3}
    scenario = load_scenario("order_book", "live", timing)
    plan = plan_seats(market_type("order_book"), scenario)
    played = asyncio.run(
        play_episode(play_spec("order_book", scenario, 1, plan, AgentSpec("react", "policy:zip"), tmp_path))
    )
    assert played.end_reason.startswith("terminated:")


@pytest.mark.parametrize("preset", [*HIDING, "textbook"])
def test_a_trace_with_a_policy_that_was_told_is_reproduced(preset: str, tmp_path: Path) -> None:
    scenario = load_scenario("pricing", preset, SHORT)
    plan = plan_seats(market_type("pricing"), scenario, others="matcher")
    agent = AgentSpec("policy", "policy:best_reply")
    played = asyncio.run(play_episode(play_spec("pricing", scenario, 1, plan, agent, tmp_path)))
    with open_trace(played.path) as trace:
        assert bool(trace.seating().privileged) == (preset in HIDING)
    assert verify_file(played.path).verdict == "reproduced"


def test_a_reference_that_is_told_the_law_of_its_rival_is_told_it_in_replays_too(tmp_path: Path) -> None:
    plan = plan_seats(market_type("pricing"), load_scenario("pricing", "duel"))
    played = asyncio.run(
        play_episode(
            play_spec(
                "pricing", load_scenario("pricing", "duel"), 4, plan, AgentSpec("policy", "policy:planner"), tmp_path
            )
        )
    )
    replays = Replays(played.path)
    assert replays.whole("F1", "planner") == replays.original("F1") > replays.whole("F1", "best_reply")

"""Policies that must be told what a scenario hides: in process only, in nobody's place, and marked as such."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from tests.play_specs import preset_spec
from tests.waiting import SOON

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import ScenarioError
from tradefair.contract.kernel.players import stand_ins
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.setup import STAND_IN
from tradefair.runner.ledger.replays import Replays
from tradefair.runner.play.agent_spec import AgentSpec, ready
from tradefair.runner.play.episode_runner import Played, play_episode
from tradefair.tracestore import open_trace

HIDING = ("hidden_cost", "models")
SHORT = {"rounds": 3}


def play(market: str, preset: str, agent: AgentSpec, folder: Path, **more: Any) -> Played:
    asked: dict[str, Any] = {"seed": 1, **more}
    return asyncio.run(play_episode(preset_spec(market, preset, agent, folder, **asked)))


@pytest.mark.parametrize("preset", HIDING)
def test_what_stands_in_where_a_scenario_hides_something_needs_none_of_it(preset: str) -> None:
    kind = market_type("pricing")
    named = stand_ins(kind, load_scenario("pricing", preset))
    assert named
    assert not any(kind.policies[name].knows_hidden(load_scenario("pricing", preset)) for name in named)
    assert set(named) < set(stand_ins(kind, load_scenario("pricing", "textbook")))


def test_a_stand_in_for_another_agents_seat_is_told_nothing(tmp_path: Path) -> None:
    agent = AgentSpec("policy", "policy:prober")
    played = play("pricing", "models", agent, tmp_path, settings=SHORT, agents=["F1"], others=STAND_IN)
    with open_trace(played.path) as trace:
        assert trace.seating().privileged == frozenset()


@pytest.mark.parametrize("preset", HIDING)
def test_a_policy_that_must_be_told_is_refused_behind_a_models_interface(preset: str, tmp_path: Path) -> None:
    agent, scenario = AgentSpec("react", "policy:best_reply"), load_scenario("pricing", preset, SHORT)
    with pytest.raises(ScenarioError, match=rf"best_reply has to know what pricing/{preset} hides"):
        ready(market_type("pricing"), agent, {"F1": "firm"}, scenario=scenario)
    # Nor where whoever made it ready did not say what it would play.
    with pytest.raises(ScenarioError, match="has to know what"):
        play("pricing", preset, agent, tmp_path / "runs", settings=SHORT, agents=["F1"], others=STAND_IN)


def test_the_same_policy_plays_over_mcp_where_all_is_published(tmp_path: Path) -> None:
    played = play("pricing", "smoke", AgentSpec("react", "policy:best_reply"), tmp_path)
    assert played.end_reason == "terminated:rounds_completed"


def test_under_the_free_clock_the_book_ticks_while_an_agent_sits_there(tmp_path: Path) -> None:
    timing: dict[str, JsonValue] = {"timing": {"free_tick_s": 2 * SOON}, "periods": 1, "sweeps": 3}
    played = play("order_book", "live", AgentSpec("react", "policy:zip"), tmp_path, settings=timing)
    assert played.end_reason.startswith("terminated:")


@pytest.mark.parametrize("preset", [*HIDING, "textbook"])
def test_a_trace_with_a_policy_that_was_told_is_reproduced(preset: str, tmp_path: Path) -> None:
    agent = AgentSpec("policy", "policy:best_reply")
    played = play("pricing", preset, agent, tmp_path, settings=SHORT, others="matcher")
    with open_trace(played.path) as trace:
        assert bool(trace.seating().privileged) == (preset in HIDING)
    assert verify_file(played.path).verdict == "reproduced"


def test_a_reference_that_is_told_the_law_of_its_rival_is_told_it_in_replays_too(tmp_path: Path) -> None:
    played = play("pricing", "duel", AgentSpec("policy", "policy:planner"), tmp_path, seed=4)
    replays = Replays(played.path)
    assert replays.whole("F1", "planner") == replays.original("F1") > replays.whole("F1", "best_reply")

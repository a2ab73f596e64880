"""Trials: one episode played again, opened by what the agent wrote when it ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario
from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.contract.chain import canonical, digest
from tradefair.host.episode.setup import SeatPlan
from tradefair.runner.agent_spec import AgentSpec
from tradefair.runner.episode_runner import PlaySpec, play_episode
from tradefair.runner.summary import Summary, summarise
from tradefair.runner.trials import play_trials, written_after
from tradefair.tracestore import open_trace

WRITTEN = "The policy acts as before: it learns nothing from an episode."


def spec_of(folder: Path, framework: str = "reflection") -> PlaySpec:
    scenario = load_scenario("double_auction", "smoke")
    agent = AgentSpec(framework, "policy:zip")
    plan = SeatPlan({"B1": "agent", "B2": "truthful", "S1": "truthful", "S2": "truthful"})
    return play_spec("double_auction", scenario, 7, plan, agent, folder)


async def test_each_trial_is_opened_by_what_was_written_after_the_earlier_ones(tmp_path: Path) -> None:
    carried: list[tuple[str, ...] | None] = []

    async def play(spec: PlaySpec, number: int) -> Summary:
        carried.append(spec.agent.spec.trials)
        return summarise(await play_episode(spec), {})

    trials = await play_trials(spec_of(tmp_path), 3, play)
    assert carried == [(), (WRITTEN,), (WRITTEN, WRITTEN)]
    assert trials.written == [WRITTEN] * 3
    assert trials.spec.agent.spec.label == "reflection+trials/policy:zip"
    assert trials.exit_code == 0
    assert len({summary.played.path for summary in trials.summaries}) == 3
    with open_trace(trials.summaries[-1].played.path) as trace:
        assert trace.manifest.core.seed == 7
        record = trace.seating().players["B1"].agent
        assert record is not None
        assert record.trials == digest(canonical([WRITTEN, WRITTEN]))
        notes = list(trace.agent_events())
    assert [note["trial"] for note in notes if note["kind"] == "trial_reflection"] == [3]
    report = next(note for note in notes if note["kind"] == "seat_report")
    assert report["replies"] == sum(note["kind"] == "model_call" for note in notes)
    assert trials.to_json()["trials"][0]["written"] == WRITTEN


async def test_an_agent_without_trials_writes_nothing(tmp_path: Path) -> None:
    played = await play_episode(spec_of(tmp_path))
    assert written_after(played.path, "B1") == ""


async def test_trials_are_for_one_reflecting_seat(tmp_path: Path) -> None:
    async def play(spec: PlaySpec, number: int) -> Summary:
        raise AssertionError("nothing may be played")

    with pytest.raises(ScenarioError, match="for --agent reflection, not for react"):
        await play_trials(spec_of(tmp_path, "react"), 2, play)
    two = replace(spec_of(tmp_path), plan=SeatPlan({"B1": "agent", "B2": "agent"}))
    with pytest.raises(ScenarioError, match="one agent's seat"):
        await play_trials(two, 2, play)


async def test_a_failing_provider_ends_the_trials_and_says_which_one(tmp_path: Path) -> None:
    async def play(spec: PlaySpec, number: int) -> Summary:
        raise HarnessFailure("the provider is gone")

    with pytest.raises(HarnessFailure, match="trial 1 of 2: the provider is gone"):
        await play_trials(spec_of(tmp_path), 2, play)

"""Faults of an endpoint, end to end: the openai client over HTTP to the gateway, which disturbs the policy `zip`.

What each fault ends in is written down in docs/how-to/agents.md. Whatever happens, no action is applied twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.waiting import SOON

from tradefair.contract import HarnessFailure
from tradefair.contract.kernel.players import Limits
from tradefair.evaluation.prove.verify import verify_file
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode, resume_episode

ROUNDS = [1, 2, 3]
each_framework = pytest.mark.parametrize("framework", ["react", "openai_loop"])


def disturbed(framework: str, faults: str | None = None, **options: Any) -> AgentSpec:
    return AgentSpec(framework, "policy:zip", faults=faults, **options)


@pytest.fixture
async def calm(duel: Any, told: Any) -> Any:
    """The run that nothing disturbs: a policy in the seat itself."""
    return told((await play_episode(duel(AgentSpec("policy", "policy:zip"), folder="calm"))).path)


@pytest.mark.network
@each_framework
@pytest.mark.parametrize(
    ("faults", "requests"),
    [("429=0.01@2", 1), ("429@2..3", 2), ("500@2", 1), ("drop@2", 1), ("stall=0.02@2", 1), ("500@2,drop@5,429@8", 3)],
)
async def test_a_fault_on_the_way_is_retried_and_changes_no_byte(
    duel: Any, told: Any, calm: Any, framework: str, faults: str, requests: int
) -> None:
    played = await play_episode(duel(disturbed(framework, faults)))
    trace = told(played.path)
    assert trace.events[1:] == calm.events[1:]
    assert [number for number, _ in trace.quotes] == ROUNDS
    assert len(trace.noted("endpoint_fault")) == requests
    assert {note["fault"] for note in trace.noted("endpoint_fault")} <= {"429", "500", "drop", "stall"}
    assert len(trace.noted("model_call")) == 2 * len(ROUNDS)


@pytest.mark.network
@each_framework
async def test_a_reply_that_does_not_come_in_time_is_asked_for_again_and_the_policy_is_asked_once(
    duel: Any, told: Any, calm: Any, framework: str
) -> None:
    played = await play_episode(duel(disturbed(framework, "stall@2", timeout_s=20 * SOON)))
    trace = told(played.path)
    assert trace.events[1:] == calm.events[1:]
    assert [note["fault"] for note in trace.noted("endpoint_fault")][:1] == ["stall"]
    assert len(trace.noted("model_call")) == 2 * len(ROUNDS)


@pytest.mark.network
@each_framework
@pytest.mark.parametrize("fault", ["malformed", "truncated", "unknown_tool", "empty", "refusal"])
async def test_a_reply_that_cannot_be_carried_out_is_answered_and_the_round_goes_on(
    duel: Any, told: Any, calm: Any, framework: str, fault: str
) -> None:
    played = await play_episode(duel(disturbed(framework, f"{fault}@2")))
    trace = told(played.path)
    assert trace.quotes == calm.quotes
    assert trace.about["outcome_digest"] == calm.about["outcome_digest"]
    assert [note["fault"] for note in trace.noted("endpoint_fault")] == [fault]
    odd = trace.noted("model_call")[1]
    assert odd["invalid_calls"] == (fault in ("malformed", "truncated"))
    assert (odd["finish_reason"] == "length") == (fault == "truncated")
    assert (odd["calls"] == []) == (fault != "unknown_tool")
    unknown = [event for event in trace.events if event.get("status") == "denied"]
    assert [event["error"]["code"] for event in unknown] == (["tool_unavailable"] if fault == "unknown_tool" else [])
    assert verify_file(played.path).verdict == "reproduced"


@pytest.mark.network
@each_framework
@pytest.mark.parametrize(
    ("fault", "reason"),
    [("endless", "call_limit"), ("malformed", "call_limit"), ("empty", "no_call"), ("refusal", "no_call")],
)
async def test_a_model_that_never_ends_its_turn_lapses_and_the_others_play_on(
    duel: Any, told: Any, framework: str, fault: str, reason: str
) -> None:
    agent = disturbed(framework, f"{fault}@3..", limits=Limits(calls_per_round=5))
    played = await play_episode(duel(agent))
    trace = told(played.path)
    assert played.end_reason == "terminated:rounds_completed"
    assert [number for number, _ in trace.quotes] == [1]
    assert trace.lapses == [(2, "agent_limit"), (3, "agent_limit")]
    assert [note["reason"] for note in trace.noted("round_given_up")] == [reason, reason]
    assert verify_file(played.path).verdict == "reproduced"


@pytest.mark.network
@each_framework
@pytest.mark.parametrize("faults", ["500@4..", "429@4.."])
async def test_an_endpoint_that_stays_down_is_a_harness_failure_and_the_run_goes_on_later(
    duel: Any, told: Any, calm: Any, framework: str, faults: str
) -> None:
    with pytest.raises(HarnessFailure, match=r"status (500|429)"):
        await play_episode(duel(disturbed(framework, faults), folder="cut"))
    (path,) = Path(duel(disturbed(framework), folder="cut").folder).glob("*.trace")
    before = told(path)
    assert before.events[-1]["event"] != "episode_ended"
    assert before.lapses == []
    # Five requests in all: the first attempt and four retries, each of them noted.
    assert [note["retried"] for note in before.noted("endpoint_fault")] == [False, True, True, True, True]
    await resume_episode(path)
    after = told(path)
    assert after.events[: len(before.events)] == before.events
    assert after.quotes == calm.quotes
    assert after.about["outcome_digest"] == calm.about["outcome_digest"]
    assert verify_file(path).verdict == "reproduced"

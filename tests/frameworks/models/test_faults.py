"""Injected faults: by schedule, retried where a client retries, and never a step further in the policy."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from openai import APIConnectionError, APITimeoutError, InternalServerError, RateLimitError
from tests.waiting import LONG, SOON

from tradefair.contract import HarnessFailure, ScenarioError, ToolCall, Turns, TurnView
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks.models import Faults
from tradefair.frameworks.models.faults import FAULTS, Fault
from tradefair.frameworks.models.gateway import noting
from tradefair.frameworks.models.serving import open_address, open_chat_model, open_client

_TRANSPORT = ["429", "500", "stall", "drop"]
_REPLIES = ["malformed", "truncated", "unknown_tool", "empty", "refusal"]


def test_a_schedule_names_requests_by_number() -> None:
    faults = Faults.parse(" 429=2.5@3, 500@5..6,drop@6..8 ,endless@10..")
    expected = {3: "429", 5: "500", 6: "500", 7: "drop", 8: "drop", 10: "endless", 10**9: "endless"}
    assert {number: fault.kind for number in [*range(12), 10**9] if (fault := faults.at(number))} == {
        **expected,
        11: "endless",
    }
    assert faults.at(3) == Fault("429", 2.5)
    assert Faults.parse("") == Faults()


@pytest.mark.parametrize(
    "text", ["429", "429@", "418@1", "429@0", "500@5..3", "500=1@2", "429=-1@2", "drop@1...2", "drop@x", "429@1;500@2"]
)
def test_a_schedule_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError):
        Faults.parse(text)


@pytest.mark.parametrize("kind", _TRANSPORT)
async def test_a_retry_gets_the_answer_that_was_lost_and_the_policy_takes_one_step(
    desk: Any, diary: Any, diary_endpoint: Any, opened: Any, kind: str
) -> None:
    faults = Faults.parse(f"{kind}@1,{kind}@3..4")
    messages = [opened]
    async with desk(diary_endpoint, faults=faults, timeout_s=20 * SOON if kind == "stall" else LONG) as table:
        for number in (1, 2):
            reply = await table.ask(messages)
            call = reply.choices[0].message.tool_calls[0]
            assert (call.id, json.loads(call.function.arguments)) == (f"call-{number}", {"number": number - 1})
            messages += [reply.choices[0].message.model_dump(exclude_none=True)]
            messages += [{"role": "tool", "tool_call_id": call.id, "content": "{}"}]
    assert len(diary.answers) == 1
    assert table.faults == [kind, None, kind, kind, None]
    assert [call.occurrence for call in table.calls] == [1] * 5
    assert [call.retried for call in table.calls] == [False, True, False, True, True]


async def test_a_client_that_does_not_say_that_it_retries_gets_the_lost_answer_too(
    desk: Any, diary_endpoint: Any, opened: Any
) -> None:
    async with desk(diary_endpoint, faults=Faults.parse("500@1,429@2,drop@3"), max_retries=0) as table:
        for expected in (InternalServerError, RateLimitError, APIConnectionError):
            with pytest.raises(expected):
                await table.ask([opened])
        reply = await table.ask([opened])
    assert reply.choices[0].message.tool_calls[0].id == "call-1"
    assert [call.occurrence for call in table.calls] == [1] * 4


async def test_a_limit_says_when_to_come_again(desk: Any, diary_endpoint: Any, opened: Any) -> None:
    async with desk(diary_endpoint, faults=Faults.parse("429=7@1"), max_retries=0) as table:
        with pytest.raises(RateLimitError) as failure:
            await table.ask([opened])
    assert failure.value.response.headers["retry-after"] == "7"


async def test_a_slow_answer_arrives_and_one_that_never_comes_is_a_time_out(
    desk: Any, diary_endpoint: Any, opened: Any
) -> None:
    options = {"faults": Faults.parse(f"stall={SOON}@1,stall@2"), "timeout_s": 20 * SOON, "max_retries": 0}
    async with desk(diary_endpoint, **options) as table:
        assert (await table.ask([opened])).choices[0].message.tool_calls
        with pytest.raises(APITimeoutError):
            await table.ask([opened, {"role": "user", "content": "and?"}])


async def test_a_stream_can_be_cut_in_its_middle(desk: Any, diary_endpoint: Any, opened: Any) -> None:
    async with desk(diary_endpoint, faults=Faults.parse("drop@1")) as table:
        with pytest.raises(APIConnectionError):
            [chunk async for chunk in await table.ask([opened], stream=True)]
        chunks = [chunk async for chunk in await table.ask([opened], stream=True)]
    assert any(chunk.choices[0].delta.tool_calls for chunk in chunks)


@pytest.mark.parametrize(
    ("kind", "reason", "content", "call"),
    [
        ("malformed", "tool_calls", None, ("fault-1", "act", '{"text": unquoted}')),
        ("truncated", "length", None, ("fault-1", "act", '{"text": "and then I')),
        ("unknown_tool", "tool_calls", None, ("fault-1", "no_such_tool", "{}")),
        ("endless", "tool_calls", None, ("fault-1", "view_turn", "{}")),
        ("empty", "stop", "", None),
        ("refusal", "stop", None, None),
    ],
)
async def test_a_reply_that_stands_in_for_the_models(
    desk: Any, diary: Any, diary_endpoint: Any, opened: Any, kind: str, reason: str, content: Any, call: Any
) -> None:
    needy = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    tools = [
        {"type": "function", "function": {"name": name, "parameters": parameters}}
        for name, parameters in [("act", needy), ("view_log", {}), ("view_turn", {"type": "object"})]
    ]
    async with desk(diary_endpoint, faults=Faults.parse(f"{kind}@1")) as table:
        choice = (await table.ask([opened], tools=tools)).choices[0]
        assert (choice.finish_reason, choice.message.content) == (reason, content)
        assert bool(choice.message.refusal) == (kind == "refusal")
        made = [(one.id, one.function.name, one.function.arguments) for one in choice.message.tool_calls or ()]
        assert made == ([call] if call else [])
        follow = [choice.message.model_dump(exclude_none=True)]
        follow += [{"role": "tool", "tool_call_id": "fault-1", "content": "no"}] if call else []
        reply = await table.ask([opened, *follow], tools=tools)
    assert reply.choices[0].message.tool_calls[0].id == "call-1"
    assert diary.answers == []


# --- agents ---------------------------------------------------------------------------------------------------------


class Steady:
    """Looks, then claims two slices."""

    def turn(self, now: TurnView) -> Turns:
        answer = yield ToolCall("view_my_value")
        assert answer.error is None
        yield ToolCall("claim", {"slices": 2})


async def _played(teaching: Any, spec: str, framework: str = "react", limits: Limits | None = None) -> tuple[Any, Any]:
    """P1 played by a policy behind a gateway with faults: the report, and what the trace says."""
    async with teaching.table() as table:
        seat = table.seat(table.client())
        mine = teaching.around(Steady())
        faults = Faults.parse(spec)
        async with open_address(mine, faults=faults, seat="P1", on_call=noting(seat.note)) as address:
            report = await table.play(framework, address.endpoint(mine), limits)
    return report, teaching.written(table)


@pytest.mark.parametrize("framework", ["react", "openai_loop"])
async def test_an_agent_plays_on_through_every_transport_fault_and_no_action_is_made_twice(
    teaching: Any, framework: str
) -> None:
    inside = await teaching.native(Steady())
    _, written = await _played(teaching, "429@1,500@3,drop@5,429@7..8", framework)
    assert written.calls == inside.calls
    assert (written.outcome, written.head) == (inside.outcome, inside.head)
    noted = [
        (note["request"], note["fault"], note["status"]) for note in written.notes if note["kind"] == "endpoint_fault"
    ]
    assert noted == [(1, "429", 429), (3, "500", 500), (5, "drop", 200), (7, "429", 429), (8, "429", 429)]


@pytest.mark.parametrize("kind", _REPLIES)
async def test_what_a_model_does_wrong_is_answered_shown_or_nudged_and_the_policy_plays_on(
    teaching: Any, kind: str
) -> None:
    inside = await teaching.native(Steady())
    report, written = await _played(teaching, f"{kind}@2")
    faults = [note["fault"] for note in written.notes if note["kind"] == "endpoint_fault"]
    assert faults == [kind]
    accepted = [call for call in written.calls if call[0] in ("view_my_value", "claim")]
    assert accepted == inside.calls
    assert written.outcome == inside.outcome
    assert (report.given_up, report.end_reason) == ({}, "terminated:rounds_completed")
    # The server is asked for a tool that does not exist, so that the trace has it; broken arguments never get there.
    assert ("no_such_tool" in [call[0] for call in written.calls]) == (kind == "unknown_tool")


@pytest.mark.parametrize(
    ("spec", "given_up"),
    [("refusal@1..3", {"no_call": 1}), ("empty@1..3", {"no_call": 1}), ("endless@1..6", {"call_limit": 1})],
)
async def test_a_model_that_never_acts_gives_its_round_up_and_only_that(
    teaching: Any, spec: str, given_up: dict[str, int]
) -> None:
    report, written = await _played(teaching, spec, limits=Limits(calls_per_round=6))
    assert report.given_up == given_up
    assert report.end_reason == "terminated:rounds_completed"
    assert [call for call in written.calls if call[0] == "claim"] == [("claim", {"slices": 2})] * 2
    assert [note["reason"] for note in written.notes if note["kind"] == "round_given_up"] == list(given_up)


async def test_an_endpoint_that_stays_down_is_a_harness_failure_that_names_it(teaching: Any) -> None:
    with pytest.raises(HarnessFailure, match=r"openai:policy:mine at http://127\.0\.0\.1.*500.*injected.*4 retries"):
        await _played(teaching, "500@2..")


async def test_a_time_out_is_retried_and_then_a_harness_failure(diary_endpoint: Any, opened: Any) -> None:
    messages = [HumanMessage(opened["content"])]
    async with open_address(diary_endpoint, faults=Faults.parse("stall@1..2")) as address:
        patient = address.endpoint(diary_endpoint)
        async with open_client("", replace(patient, timeout_s=SOON)) as hasty, open_chat_model(patient) as model:
            hasty.openai.max_retries = 1
            with pytest.raises(HarnessFailure, match=r"APITimeoutError.*after 1 retries"):
                await hasty.ask({"model": hasty.model, "messages": [opened]})
            reply = await model.ainvoke(messages)
    assert reply.tool_calls[0]["id"] == "call-1"


def test_every_kind_of_fault_is_tried_here() -> None:
    assert sorted(FAULTS) == sorted([*_TRANSPORT, *_REPLIES, "endless"])

"""The reference loop: what it asks for, what it makes of odd answers, what it says of itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tradefair.agents.prompt import load_prompt
from tradefair.contract import HarnessFailure

CLAIM = ("claim", '{"slices": 1}')


async def play(teaching: Any, model: Any) -> Any:
    """One round played with a scripted model; the report and what was written."""
    async with teaching.table(rounds=1) as table, model.served() as endpoint:
        report = await table.play("openai_loop", endpoint)
    return report, teaching.written(table)


@pytest.mark.network
async def test_each_round_begins_with_the_prompt_and_the_turn_and_no_other_message(teaching: Any, script: Any) -> None:
    model = script(script.says(CLAIM, text="I take one."), script.says(CLAIM))
    async with teaching.table(rounds=2) as table, model.served() as endpoint:
        await table.play("openai_loop", endpoint)
    first, second = (request["messages"] for request in model.requests)
    assert [message["role"] for message in (*first, *second)] == ["system", "user", "system", "user"]
    assert load_prompt("react").template.partition("\n")[0] in first[0]["content"]
    assert first[1]["content"].startswith("Round 1, phase claim. It is your turn.\n\n```json turn_view\n")
    assert 'round 1, after 0 reads:\n  claim {"slices":1} ->' in second[1]["content"]


@pytest.mark.network
async def test_the_model_is_told_of_every_tool_but_waiting_with_the_servers_own_schema(
    teaching: Any, script: Any
) -> None:
    model = script(script.says(CLAIM))
    async with teaching.table(rounds=1) as table, model.served() as endpoint:
        async with table.client() as client:
            listed = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        await table.play("openai_loop", endpoint)
    shown = {tool["function"]["name"]: tool["function"]["parameters"] for tool in model.requests[0]["tools"]}
    assert shown == {name: schema for name, schema in listed.items() if name != "await_turn"}


@pytest.mark.network
async def test_an_endpoint_may_give_one_id_to_several_calls(teaching: Any, script: Any) -> None:
    model = script(script.says(("view_my_value", ""), ("view_rules", ""), same_id=True), script.says(CLAIM))
    _, written = await play(teaching, model)
    assert [tool for tool, _ in written.calls] == ["view_my_value", "view_rules", "claim"]
    first, second = model.requests[1]["messages"][3:]
    assert "value_per_slice" in json.loads(first["content"])
    assert "objective" in json.loads(second["content"])


@pytest.mark.network
async def test_a_malformed_call_is_answered_and_stands_in_the_history_as_json(teaching: Any, script: Any) -> None:
    model = script(script.says(("claim", '{"slices": 1'), ("claim", "[1]")), script.says(CLAIM))
    _, written = await play(teaching, model)
    sent, first, second = model.requests[1]["messages"][2:]
    arguments = [json.loads(call["function"]["arguments"]) for call in sent["tool_calls"]]
    assert arguments == [{"malformed_arguments": '{"slices": 1'}, {"malformed_arguments": "[1]"}]
    assert {json.loads(message["content"])["code"] for message in (first, second)} == {"invalid_arguments"}
    assert (written.notes[0]["calls"], written.notes[0]["invalid_calls"]) == ([], 2)


@pytest.mark.network
async def test_a_note_says_what_a_reply_cost_and_why_it_ended(teaching: Any, script: Any) -> None:
    report, written = await play(teaching, script(script.says(CLAIM)))
    (note,) = written.notes
    assert 0 < note.pop("latency_s") < 60
    assert note == {
        "seat": "P1",
        "kind": "model_call",
        "round": 1,
        "phase": "claim",
        "reply": "r1.0",
        "role": "actor",
        "model": "scripted",
        "text": "",
        "calls": ["claim"],
        "invalid_calls": 0,
        "input_tokens": 10,
        "output_tokens": 2,
        "usage_estimated": True,
        "finish_reason": "tool_calls",
    }
    assert (report.model, report.prompt, report.usage_estimated) == (
        "openai:scripted",
        load_prompt("react").label,
        True,
    )


_NO_COMPLETIONS: list[dict[str, Any]] = [
    {"choices": []},
    {"choices": [{"message": None}]},
    {"choices": [{"message": {"content": None, "tool_calls": [{"type": "function"}]}}]},
]


@pytest.mark.network
@pytest.mark.parametrize("body", _NO_COMPLETIONS)
async def test_what_is_no_chat_completion_is_a_harness_failure(
    teaching: Any, script: Any, body: dict[str, Any]
) -> None:
    with pytest.raises(
        HarnessFailure, match=r"openai_loop, scripted at http://127\.0\.0\.1:\d+/v1/?: the reply is not understood"
    ):
        await play(teaching, script(body))

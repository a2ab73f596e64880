"""Chat completions against a real HTTP endpoint on the loopback."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from openai import APIStatusError, AsyncOpenAI
from starlette.responses import JSONResponse

from tradefair.agents.rounds import find_view
from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.frameworks.models import open_chat_model, parse_model
from tradefair.frameworks.models.client import ChatClient, make_client, provider_failure
from tradefair.frameworks.models.seat_chat import SeatChat

_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}},
}


async def _ask(
    endpoint: Any, *messages: Any, retries: int | None = None, max_reply: int | None = None, **options: Any
) -> AIMessage:
    client = make_client("", endpoint.endpoint(**options))
    if retries is not None:
        client.openai.max_retries = retries
    model = SeatChat(client.ask, model="tiny", fields=client.fields, max_reply=max_reply)
    async with client.openai:
        return await model.bind_tools([_TOOL]).ainvoke(list(messages) or [HumanMessage("Play.")])


async def test_tool_calls_usage_and_provider_come_back(serving: Any, answers: Any) -> None:
    async with serving(answers.says(None, ("look", '{"at":[1,2]}'), ("look", ""))) as endpoint:
        reply = await _ask(endpoint, SystemMessage("rules"), HumanMessage("Play."), temperature=0)
    assert [(call["id"], call["name"], call["args"]) for call in reply.tool_calls] == [
        ("p0", "look", {"at": [1, 2]}),
        ("p1", "look", {}),
    ]
    assert reply.usage_metadata == {"input_tokens": 11, "output_tokens": 5, "total_tokens": 16} | {
        "input_token_details": {"cache_read": 3}
    }
    assert reply.response_metadata["model_name"] == "tiny-1"
    assert reply.response_metadata["usage_estimated"] is False
    request = endpoint.requests[0]
    assert request["tools"] == [_TOOL]
    assert request["temperature"] == 0
    assert request["messages"] == [{"role": "system", "content": "rules"}, {"role": "user", "content": "Play."}]


@pytest.mark.parametrize("arguments", ["{", "[1]", '{"price": NaN}', '"x"', "[" * 100_000])
async def test_arguments_that_are_no_json_object_are_passed_on_as_invalid_calls(
    arguments: str, serving: Any, answers: Any
) -> None:
    async with serving(answers.says(None, ("look", arguments)), answers.says("sorry")) as endpoint:
        reply = await _ask(endpoint)
        assert reply.tool_calls == []
        assert [(call["id"], call["name"], call["args"]) for call in reply.invalid_tool_calls] == [
            ("p0", "look", arguments)
        ]
        await _ask(endpoint, HumanMessage("Play."), reply, ToolMessage("not an object", tool_call_id="p0"))
    sent = endpoint.requests[1]["messages"]
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == {"malformed_arguments": arguments}
    assert sent[2] == {"role": "tool", "content": "not an object", "tool_call_id": "p0"}


@pytest.mark.parametrize("bound", [None, 64])
async def test_a_reply_is_bounded_where_it_is_asked_for(bound: int | None, serving: Any, answers: Any) -> None:
    async with serving(answers.says("well"), answers.says("well")) as upstream:
        await _ask(upstream, max_reply=bound)
        async with open_chat_model(replace(upstream.endpoint(), max_reply=bound)) as model:
            await model.ainvoke([HumanMessage("Play.")])
    assert [request.get("max_tokens") for request in upstream.requests] == [bound] * 2
    assert not any("max_completion_tokens" in request for request in upstream.requests)


async def test_arguments_that_a_cut_reply_never_began_are_not_taken_for_none(serving: Any, answers: Any) -> None:
    def cut(*calls: tuple[str, str]) -> JSONResponse:
        body = json.loads(answers.says(None, *calls).body)
        body["choices"][0]["finish_reason"] = "length"
        return JSONResponse(body)

    async with serving(cut(("look", ""), ("look", "")), cut(("look", ""), ("look", "{}"))) as endpoint:
        begun, whole = await _ask(endpoint), await _ask(endpoint)
    # The one before the last was written whole, and means what it says.
    assert [call["id"] for call in begun.tool_calls] == ["p0"]
    assert [call["id"] for call in begun.invalid_tool_calls] == ["p1"]
    assert [call["id"] for call in whole.tool_calls] == ["p0", "p1"]


async def test_overload_and_server_errors_are_retried_here(serving: Any, answers: Any) -> None:
    async with serving(answers.fails(429), answers.fails(500), answers.says("well")) as endpoint:
        reply = await _ask(endpoint)
    assert reply.content == "well"
    assert endpoint.retries == ["0", "1", "2"]
    assert reply.response_metadata["finish_reason"] == "stop"


async def test_a_refusal_and_nothing_at_all_are_replies_without_a_call(serving: Any, answers: Any) -> None:
    async with serving(answers.says(None, refusal="I will not."), answers.says("")) as endpoint:
        refused, silent = await _ask(endpoint), await _ask(endpoint)
    assert (refused.text, refused.tool_calls, refused.response_metadata["refusal"]) == (
        "I will not.",
        [],
        "I will not.",
    )
    assert (silent.text, silent.tool_calls, "refusal" in silent.response_metadata) == ("", [], False)


async def test_a_wait_that_is_longer_than_anybody_waits_is_not_waited_for(serving: Any, answers: Any) -> None:
    async with serving(answers.fails(429, **{"retry-after-ms": "900000"})) as endpoint:
        with pytest.raises(HarnessFailure, match="429"):
            await _ask(endpoint)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(("status", "requests"), [(500, 3), (429, 3), (400, 1), (401, 1)])
async def test_what_stays_wrong_is_a_harness_failure(status: int, requests: int, serving: Any, answers: Any) -> None:
    async with serving(*[answers.fails(status) for _ in range(5)]) as endpoint:
        with pytest.raises(HarnessFailure, match=f"tiny.*{status}.*not now"):
            await _ask(endpoint, retries=2)
    assert len(endpoint.requests) == requests


async def test_an_endpoint_that_is_not_there_is_a_harness_failure(serving: Any) -> None:
    async with serving() as endpoint:
        pass
    said = rf"openai:tiny at {endpoint.url}: APIConnectionError.*after 1 retries.*--base-url"
    with pytest.raises(HarnessFailure, match=said):
        await _ask(endpoint, retries=1)


async def test_the_key_comes_from_the_environment_and_shows_nowhere(
    monkeypatch: pytest.MonkeyPatch, serving: Any, answers: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    refused = answers.fails(401, "no such key: sk-of-the-environment")
    async with serving(answers.says("well"), refused) as endpoint, open_chat_model(endpoint.endpoint()) as model:
        reply = await model.ainvoke([HumanMessage("Play.")])
        with pytest.raises(HarnessFailure) as failure:
            await model.ainvoke([HumanMessage("Play.")])
    assert endpoint.keys[0] == "Bearer sk-of-the-environment"
    assert "the key is taken from OPENAI_API_KEY" in str(failure.value)
    assert all("sk-of" not in text for text in (repr(model), repr(reply), str(failure.value)))


@pytest.mark.parametrize(
    "url", [None, "https://api.openai.com/v1", "http://127.0.0.1.example.org/v1", "http://10.0.0.1:1/v1", "nonsense"]
)
async def test_the_switch_refuses_every_endpoint_beyond_this_machine(url: str | None) -> None:
    with pytest.raises(HarnessFailure, match="TRADEFAIR_ALLOW_MODELS=0"):
        async with open_chat_model(parse_model("openai:tiny", base_url=url)):
            pass


async def test_the_switch_looks_at_the_url_of_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example.org/v1")
    with pytest.raises(HarnessFailure, match=r"models\.example\.org"):
        make_client("", parse_model("openai:tiny"))


@pytest.mark.parametrize("url", ["http://me:secret@h/v1", "http://h/v1?key=secret", "http://h/#secret"])
def test_a_url_with_a_secret_is_refused_wherever_it_stands(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with pytest.raises(ScenarioError, match="must not hold a name, password or key; set OPENAI_API_KEY") as refusal:
        make_client("", parse_model("openai:tiny", base_url=url))
    said.append(str(refusal.value))
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ScenarioError) as refusal:
        make_client("", parse_model("openai:tiny"))
    assert "secret" not in "".join([*said, str(refusal.value)])


@pytest.mark.parametrize("length", [150, 195, 1_990, 1_999])
async def test_a_key_at_the_edge_of_what_is_shown_is_not_cut_in_half(length: int) -> None:
    key = "sk-" + "k" * 40
    told = "x" * length + key
    answer = httpx2.Response(400, request=httpx2.Request("POST", "http://h"))
    error = APIStatusError(told, response=answer, body={"message": told})
    failures = [
        provider_failure("place", key, error, retries=0, seconds=0),
        ChatClient("agents", AsyncOpenAI(api_key=key, base_url="http://h"), "tiny").failure(ValueError(told)),
    ]
    assert not any("sk-" in str(failure) for failure in failures)


async def test_without_a_key_the_public_endpoint_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRADEFAIR_ALLOW_MODELS")
    with pytest.raises(HarnessFailure, match="OPENAI_API_KEY"):
        make_client("", parse_model("openai:tiny"))


async def test_a_model_behind_an_endpoint_plays_a_seat_to_the_end(teaching: Any, serving: Any, answers: Any) -> None:
    turn = [answers.says(None, ("claim", '{"slices": 4}'))]
    first = [answers.says("Let me think."), answers.says(None, ("claim", "{"), ("view_my_value", "{}"))]
    async with serving(*first, *turn, *turn, *turn) as endpoint, teaching.table() as table:
        report = await table.play("react", parse_model("openai:tiny", base_url=endpoint.url))
    assert teaching.written(table).calls == [("view_my_value", {}), *[("claim", {"slices": 4})] * 3]
    assert (report.model, report.rounds, report.given_up) == ("openai:tiny", 3, {})
    assert (report.input_tokens, report.usage_estimated) == (55, False)
    tools = [tool["function"]["name"] for tool in endpoint.requests[0]["tools"]]
    assert "claim" in tools
    assert "await_turn" not in tools
    answers = [message for message in endpoint.requests[2]["messages"] if message["role"] == "tool"]
    assert json.loads(answers[1]["content"])["code"] == "invalid_arguments"
    rounds = [request["messages"] for request in endpoint.requests[2:]]
    assert len({messages[0]["content"] for messages in rounds}) == 1
    views = [find_view(messages[1]["content"]) for messages in rounds]
    assert [view and view.round for view in views] == [1, 2, 3]
    assert 'claim {"slices":4} -> ' in rounds[2][1]["content"]

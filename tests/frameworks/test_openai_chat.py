"""Chat completions against a real HTTP endpoint on the loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from fairground.agents.rounds import find_view
from fairground.contract.errors import HarnessFailure
from fairground.frameworks.models import open_chat_model, parse_model
from fairground.frameworks.models.openai_chat import OpenAIChat

_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}},
}


@dataclass
class Endpoint:
    """Answers what it was told to, in order, and keeps the requests."""

    answers: list[Response]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: list[str | None] = field(default_factory=list[str | None])

    async def __call__(self, request: Request) -> Response:
        self.requests.append(await request.json())
        self.keys.append(request.headers.get("authorization"))
        return self.answers.pop(0) if self.answers else PlainTextResponse("no answer is left", 418)


@asynccontextmanager
async def serving(*answers: Response) -> AsyncGenerator[Endpoint]:
    endpoint = Endpoint(list(answers))
    app = Starlette(routes=[Route("/v1/chat/completions", endpoint.__call__, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    listening = uvicorn.Config(app, host="127.0.0.1", port=0).bind_socket()
    task = asyncio.create_task(server.serve(sockets=[listening]))
    endpoint.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    try:
        yield endpoint
    finally:
        server.should_exit = True
        await asyncio.wait_for(task, 30)


def _says(text: str | None = None, *calls: tuple[str, str], **message: Any) -> Response:
    tool_calls = [
        {"id": f"p{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls)
    ]
    body = {"role": "assistant", "content": text, **({"tool_calls": tool_calls} if calls else {}), **message}
    return JSONResponse(
        {
            "id": "cmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "tiny-1",
            "choices": [{"index": 0, "finish_reason": "stop", "message": body}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
        }
    )


def _fails(status: int) -> Response:
    return JSONResponse({"error": {"message": "not now"}}, status, headers={"retry-after-ms": "1"})


async def _ask(endpoint: Endpoint, *messages: Any, **fields: Any) -> AIMessage:
    model = OpenAIChat(model="tiny", base_url=endpoint.url, **fields)
    try:
        return await model.bind_tools([_TOOL]).ainvoke(list(messages) or [HumanMessage("Play.")])
    finally:
        await model.aclose()


async def test_tool_calls_usage_and_provider_come_back() -> None:
    async with serving(_says(None, ("look", '{"at":[1,2]}'), ("look", ""))) as endpoint:
        reply = await _ask(endpoint, SystemMessage("rules"), HumanMessage("Play."), options={"temperature": 0})
    assert [(call["id"], call["name"], call["args"]) for call in reply.tool_calls] == [
        ("p0", "look", {"at": [1, 2]}),
        ("p1", "look", {}),
    ]
    assert reply.usage_metadata == {"input_tokens": 11, "output_tokens": 5, "total_tokens": 16}
    assert reply.response_metadata["model_name"] == "tiny-1"
    assert reply.response_metadata["usage_estimated"] is False
    request = endpoint.requests[0]
    assert request["tools"] == [_TOOL]
    assert request["temperature"] == 0
    assert request["messages"] == [{"role": "system", "content": "rules"}, {"role": "user", "content": "Play."}]


@pytest.mark.parametrize("arguments", ["{", "[1]", '{"price": NaN}', '"x"', "[" * 100_000])
async def test_arguments_that_are_no_json_object_are_passed_on_as_invalid_calls(arguments: str) -> None:
    async with serving(_says(None, ("look", arguments)), _says("sorry")) as endpoint:
        reply = await _ask(endpoint)
        assert reply.tool_calls == []
        assert [(call["id"], call["name"], call["args"]) for call in reply.invalid_tool_calls] == [
            ("p0", "look", arguments)
        ]
        await _ask(endpoint, HumanMessage("Play."), reply, ToolMessage("not an object", tool_call_id="p0"))
    sent = endpoint.requests[1]["messages"]
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == {"malformed_arguments": arguments}
    assert sent[2] == {"role": "tool", "content": "not an object", "tool_call_id": "p0"}


async def test_overload_and_server_errors_are_retried_here() -> None:
    async with serving(_fails(429), _fails(500), _says("well")) as endpoint:
        reply = await _ask(endpoint)
    assert reply.content == "well"
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(("status", "requests"), [(500, 3), (429, 3), (400, 1), (401, 1)])
async def test_what_stays_wrong_is_a_harness_failure(status: int, requests: int) -> None:
    async with serving(*[_fails(status) for _ in range(5)]) as endpoint:
        with pytest.raises(HarnessFailure, match=f"tiny.*{status}.*not now"):
            await _ask(endpoint, max_retries=2)
    assert len(endpoint.requests) == requests


@pytest.mark.parametrize(
    "answer", [PlainTextResponse("hello"), JSONResponse({"choices": []}), JSONResponse({"choices": None})]
)
async def test_an_answer_that_is_no_completion_is_a_harness_failure(answer: Response) -> None:
    async with serving(answer) as endpoint:
        with pytest.raises(HarnessFailure, match="not a chat completion"):
            await _ask(endpoint, max_retries=0)


async def test_an_endpoint_that_is_not_there_is_a_harness_failure() -> None:
    async with serving() as endpoint:
        gone = endpoint.url
    with pytest.raises(HarnessFailure, match="APIConnectionError"):
        await _ask(Endpoint([], gone), max_retries=0)


async def test_the_key_comes_from_the_environment_and_shows_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    async with serving(_says("well"), _fails(401)) as endpoint:
        model = OpenAIChat(model="tiny", base_url=endpoint.url)
        reply = await model.ainvoke([HumanMessage("Play.")])
        with pytest.raises(HarnessFailure) as failure:
            await model.ainvoke([HumanMessage("Play.")])
        await model.aclose()
    assert endpoint.keys[0] == "Bearer sk-of-the-environment"
    assert all("sk-of" not in text for text in (repr(model), repr(reply), str(failure.value)))


@pytest.mark.parametrize(
    "url", [None, "https://api.openai.com/v1", "http://127.0.0.1.example.org/v1", "http://10.0.0.1:1/v1", "nonsense"]
)
async def test_the_switch_refuses_every_endpoint_beyond_this_machine(url: str | None) -> None:
    with pytest.raises(HarnessFailure, match="FAIRGROUND_ALLOW_MODELS=0"):
        async with open_chat_model(parse_model("openai:tiny", base_url=url)):
            pass


async def test_the_switch_looks_at_the_url_of_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://models.example.org/v1")
    with pytest.raises(HarnessFailure, match=r"models\.example\.org"):
        OpenAIChat(model="tiny")


async def test_without_a_key_the_public_endpoint_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRGROUND_ALLOW_MODELS")
    with pytest.raises(HarnessFailure, match="OPENAI_API_KEY"):
        OpenAIChat(model="tiny")


async def test_a_model_behind_an_endpoint_plays_a_seat_to_the_end(teaching: Any) -> None:
    turn = [_says(None, ("claim", '{"slices": 4}'))]
    first = [_says("Let me think."), _says(None, ("claim", "{"), ("view_my_value", "{}"))]
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

"""The wire: the openai package over HTTP to the gateway, and what strangers send there."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
from openai import APIStatusError, AuthenticationError, BadRequestError, NotFoundError
from starlette.responses import PlainTextResponse
from tests.waiting import LONG

from tradefair.agents.rounds import NUDGE
from tradefair.contract import HarnessFailure, ScenarioError, ToolCall, Turns, TurnView
from tradefair.frameworks.models import open_chat_model, parse_model
from tradefair.frameworks.models.serving import open_address
from tradefair.frameworks.models.wire import REQUEST_LIMIT

_TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("look", "view_turn")
]
_TWO_CALLS = (("look", '{"at":[1,2],"words":"Kürbis \\ud83c\\udf83 ' + "x" * 100 + '"}'), ("look", ""))


def _answered(reply: Any, content: str = "{}") -> list[dict[str, Any]]:
    message = reply.choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": content} for call in message.tool_calls]
    return [message.model_dump(exclude_none=True), *results]


async def test_a_policy_answers_the_openai_package_call_by_call(
    desk: Any, diary: Any, diary_endpoint: Any, opened: Any
) -> None:
    messages = [{"role": "system", "content": "rules"}, opened]
    contents = ['{"n":0}', '{"code":"x","message":"m","hint":"h","retryable":true}', '{"code":"x","message":"m"}']
    async with desk(diary_endpoint) as table:
        assert [model.id for model in (await table.client.models.list()).data] == ["policy:diary"]
        reply = await table.ask(messages, tools=_TOOLS)
        for content in contents[:-1]:
            messages += _answered(reply, content)
            reply = await table.ask(messages, tools=_TOOLS)
        messages += _answered(reply, contents[-1])
        last = await table.ask([*messages, {"role": "user", "content": [{"type": "text", "text": NUDGE}]}])
        after = await table.ask([*messages, *_answered(last)])
    assert reply.choices[0].message.tool_calls[0].id == "call-3"
    assert json.loads(reply.choices[0].message.tool_calls[0].function.arguments) == {"number": 2}
    assert (reply.id, reply.created, reply.choices[0].finish_reason) == ("chatcmpl-3", 0, "tool_calls")
    assert reply.usage.model_extra == {"usage_estimated": True}
    assert reply.usage.prompt_tokens > 0
    assert [answer.error and answer.error.code for answer in diary.answers] == [None, "x", None, None]
    assert diary.answers[2].data == {"code": "x", "message": "m"}
    assert (after.choices[0].message.tool_calls, after.choices[0].finish_reason) == (None, "stop")
    assert [(call.status, call.finish_reason) for call in table.calls] == [(200, "tool_calls")] * 4 + [(200, "stop")]


async def test_an_upstreams_parallel_calls_arrive_whole_and_streamed(
    desk: Any, serving: Any, answers: Any, opened: Any
) -> None:
    replies = [answers.says("Two looks.", *_TWO_CALLS) for _ in range(3)]
    async with serving(*replies) as upstream, desk(upstream.endpoint(temperature=0.5)) as table:
        whole = await table.ask([opened], tools=_TOOLS, parallel_tool_calls=True)
        with_usage = [chunk async for chunk in await _stream(table, opened, {"include_usage": True})]
        without = [chunk async for chunk in await _stream(table, opened, None)]
    assert [call.function.name for call in whole.choices[0].message.tool_calls] == ["look", "look"]
    for chunks in (with_usage, without):
        assert _put_together(chunks) == ("Two looks.", [("p0", *_TWO_CALLS[0]), ("p1", *_TWO_CALLS[1])], "tool_calls")
    assert (with_usage[-1].usage.total_tokens, with_usage[-1].choices) == (16, [])
    assert all(chunk.usage is None for chunk in [*with_usage[:-1], *without])
    assert [request["temperature"] for request in upstream.requests] == [0.5] * 3
    assert all("stream" not in request and "stream_options" not in request for request in upstream.requests)
    assert upstream.requests[0]["tools"] == _TOOLS
    assert upstream.requests[0]["parallel_tool_calls"] is True
    assert [(call.input_tokens, call.cached_input_tokens, call.output_tokens) for call in table.calls] == [
        (11, 3, 5)
    ] * 3


async def test_a_policy_answers_over_responses_what_it_answers_over_chat_completions(
    desk: Any, diary: Any, diary_endpoint: Any, opened: Any
) -> None:
    tools: Any = [{"type": "function", **tool["function"]} for tool in _TOOLS]
    said: list[Any] = [opened]
    refused = '{"code":"x","message":"m","hint":"h","retryable":true}'
    async with desk(diary_endpoint) as table:
        asked: dict[str, Any] = {"model": "policy:diary", "instructions": "rules", "tools": tools}
        for content in ('{"n":0}', refused, "{}"):
            reply = await table.client.responses.create(input=said, **asked)
            (call,) = reply.output
            said += [call, {"type": "function_call_output", "call_id": call.call_id, "output": content}]
        stream = await table.client.responses.create(input=said, stream=True, **asked)
        events = [event async for event in stream]
        said += [events[-1].response.output[0], {"type": "function_call_output", "call_id": "call-4", "output": "{}"}]
        last = await table.client.responses.create(input=said, **asked)
    assert (reply.id, call.name, call.call_id, call.arguments) == ("resp_chatcmpl-3", "look", "call-3", '{"number":2}')
    assert [event.type.removeprefix("response.") for event in events] == [
        "created", "in_progress", "output_item.added", "function_call_arguments.delta", "function_call_arguments.done",
        "output_item.done", "completed",
    ]  # fmt: skip
    assert events[-1].response.output[0].arguments == '{"number":3}'
    assert (last.status, last.output_text != "", last.usage.input_tokens > 0) == ("completed", True, True)
    assert [answer.error and answer.error.code for answer in diary.answers] == [None, "x", None, None]
    assert [(call.status, call.finish_reason) for call in table.calls] == [(200, "tool_calls")] * 4 + [(200, "stop")]


async def test_a_recording_answers_the_same_question_over_both_apis(
    desk: Any, serving: Any, answers: Any, opened: Any, tape: Any
) -> None:
    async with serving(answers.says("Two looks.", *_TWO_CALLS)) as upstream:
        async with desk(upstream.endpoint(), record=tape) as table:
            await table.ask([opened], max_tokens=64)
        async with desk(upstream.endpoint(), replay=tape) as table:
            reply = await table.client.responses.create(model="tiny", input=[opened], max_output_tokens=64)
    assert (reply.output_text, reply.usage.input_tokens_details.cached_tokens) == ("Two looks.", 3)
    assert [(call.call_id, call.name) for call in reply.output[1:]] == [("p0", "look"), ("p1", "look")]
    assert reply.output[1].arguments == _TWO_CALLS[0][1]


async def _stream(table: Any, opened: Any, options: dict[str, Any] | None) -> Any:
    more = {"stream_options": options} if options else {}
    return await table.ask([opened], tools=_TOOLS, stream=True, **more)


def _put_together(chunks: list[Any]) -> tuple[str, list[tuple[str, str, str]], str]:
    """A stream's text, calls and reason, as a client adds its pieces up."""
    text, reason = "", ""
    calls: dict[int, list[str]] = {}
    for choice in (chunk.choices[0] for chunk in chunks if chunk.choices):
        text += choice.delta.content or ""
        reason = choice.finish_reason or reason
        for call in choice.delta.tool_calls or ():
            built = calls.setdefault(call.index, ["", "", ""])
            built[0] += call.id or ""
            built[1] += call.function.name or ""
            built[2] += call.function.arguments or ""
    return text, [(call[0], call[1], call[2]) for call in calls.values()], reason


async def test_only_the_key_from_the_environment_goes_upstream_and_errors_come_back_without_it(
    desk: Any, serving: Any, answers: Any, monkeypatch: pytest.MonkeyPatch, tape: Any, opened: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-tests")
    wrong = answers.fails(401, "Incorrect API key: sk-secret-of-tests", **{"retry-after": "sk-secret-of-tests"})
    async with serving(answers.says("well"), wrong) as upstream:
        async with desk(upstream.endpoint(), record=tape) as table:
            await table.ask([opened])
            with pytest.raises(AuthenticationError, match=r"Incorrect API key: \[key\]") as refused:
                await table.ask([opened, opened])
        local = table.address.api_key
    assert refused.value.response.headers["retry-after"] == "[key]"
    assert upstream.keys == ["Bearer sk-secret-of-tests"] * 2
    assert local not in repr(table.address)
    assert not any(secret in tape.read_text() for secret in ("sk-secret-of-tests", local))


async def test_an_upstream_that_is_busy_is_retried_by_the_client_alone(
    desk: Any, serving: Any, answers: Any, opened: Any
) -> None:
    overloaded = [answers.fails(429), answers.fails(503), answers.says("well")]
    async with serving(*overloaded) as upstream, desk(upstream.endpoint()) as table:
        reply = await table.ask([opened])
    assert reply.choices[0].message.content == "well"
    assert [(call.status, call.occurrence, call.retried) for call in table.calls] == [
        (429, 1, False),
        (503, 1, True),
        (200, 1, True),
    ]


async def test_a_client_that_gives_up_too_early_gets_the_answer_that_was_under_way(
    desk: Any, serving: Any, answers: Any, opened: Any
) -> None:
    arrived, go_on = asyncio.Event(), asyncio.Event()

    class Slow(PlainTextResponse):
        async def __call__(self, *given: Any) -> None:
            arrived.set()
            await go_on.wait()
            await answers.says("at last")(*given)

    asked = {"model": "tiny", "messages": [opened]}
    async with serving(Slow()) as upstream, desk(upstream.endpoint()) as table, _raw(table) as http:
        given_up = asyncio.create_task(http.post("/chat/completions", json=asked))
        await asyncio.wait_for(arrived.wait(), LONG)
        given_up.cancel()
        again = http.post("/chat/completions", json=asked, headers={"x-stainless-retry-count": "1"})
        repeated = asyncio.create_task(again)
        go_on.set()
        reply = await asyncio.wait_for(repeated, LONG)
    assert reply.json()["choices"][0]["message"]["content"] == "at last"
    assert len(upstream.requests) == 1
    assert sorted((call.retried, call.occurrence) for call in table.calls) == [(False, 1), (True, 1)]


_DEEP = '{"choices":' + "[" * 500 + "]" * 500 + ', "gone": 1}'


@pytest.mark.parametrize(
    ("page", "stated", "status", "said"),
    [
        ("<html>gone</html>", 200, 422, "not understood: the body is .*gone"),
        ("<html>gone</html>", 503, 503, "gone"),
        (_DEEP, 200, 422, "not understood: choices.0. is"),
    ],
    ids=["page", "error page", "nested"],
)
async def test_an_upstream_that_makes_no_sense_is_quoted(
    desk: Any, serving: Any, page: str, stated: int, status: int, said: str, opened: Any
) -> None:
    async with serving(PlainTextResponse(page, stated)) as upstream, desk(upstream.endpoint(), max_retries=0) as table:
        with pytest.raises(APIStatusError, match=said) as failure:
            await table.ask([opened])
    assert failure.value.status_code == status


async def test_an_upstream_that_is_not_there_is_named(desk: Any, serving: Any, opened: Any) -> None:
    async with serving() as upstream:
        pass
    async with desk(upstream.endpoint(), max_retries=0) as table:
        with pytest.raises(
            APIStatusError, match=rf"no answer from {upstream.url}/chat/completions.*--base-url"
        ) as failure:
            await table.ask([opened])
    assert failure.value.status_code == 502


async def test_the_switch_refuses_an_upstream_beyond_this_machine() -> None:
    secret = parse_model("openai:tiny", base_url="https://me:secret@models.example/v1", options={"seed": 1})
    with pytest.raises(ScenarioError, match="must not hold"):
        async with open_address(secret):
            pass
    with pytest.raises(HarnessFailure, match="TRADEFAIR_ALLOW_MODELS=0"):
        async with open_address(parse_model("openai:tiny", base_url="https://models.example/v1")):
            pass


async def test_an_endpoint_with_nothing_in_between_gives_its_own_address(serving: Any) -> None:
    async with serving() as upstream, open_address(parse_model("openai:tiny", base_url=upstream.url)) as address:
        assert (address.base_url, address.model, address.api_key) == (upstream.url, "tiny", "none")


async def test_requests_that_nobody_can_answer_are_refused_in_openais_shape(desk: Any, diary_endpoint: Any) -> None:
    bodies: list[tuple[bytes, int, str]] = [
        (b"{", 400, "not JSON"),
        (b"[]", 400, "body"),
        (b'{"model":"policy:diary"}', 400, "messages"),
        (b'{"model":"policy:diary","messages":[]}', 400, "messages"),
        (b'{"model":"policy:diary","messages":[{"role":"robot","content":"x"}]}', 400, r"messages.0.role"),
        (b'{"model":"policy:diary","messages":[{"role":"user","content":"x"}],"n":2}', 400, "n:"),
        (b'{"model":"x","messages":[{"role":"user","content":"x"}]}', 404, "there is 'policy:diary'"),
        (b'{"model":"policy:diary","messages":[{"role":"user","content":[{"type":"image_url"}]}]}', 400, "text only"),
        (
            b'{"model":"policy:diary","messages":[{"role":"user","content":"play"}]}',
            400,
            "its messages must show the market's turn",
        ),
        (b'{"messages":' + b"[" * 200_000, 400, "not JSON"),
        (b'{"messages":' + b"[" * 500 + b"]" * 500 + b"}", 400, "nested too deeply"),
        (b" " * (REQUEST_LIMIT + 1), 413, "longer than"),
    ]
    other: list[tuple[bytes, int, str]] = [
        (b"[]", 400, "body"),
        (b'{"model":"policy:diary"}', 400, "input: send a text or a list of items"),
        (b'{"model":"policy:diary","input":"x","previous_response_id":"resp_1"}', 400, "previous_response_id is not"),
        (b'{"model":"policy:diary","input":[{"role":"robot","content":"x"}]}', 400, "messages.0.role"),
        (b'{"model":"x","input":"x"}', 404, "there is 'policy:diary'"),
        (b'{"input":' + b"[" * 500 + b"]" * 500 + b"}", 400, "nested too deeply"),
        (b" " * (REQUEST_LIMIT + 1), 413, "longer than"),
    ]
    asked = [("/chat/completions", *row) for row in bodies] + [("/responses", *row) for row in other]
    async with desk(diary_endpoint) as table, _raw(table) as http:
        for path, body, status, said in asked:
            response = await http.post(path, content=body)
            error = response.json()["error"]
            assert (response.status_code, error.keys()) == (status, {"message", "type", "param", "code"}), body[:90]
            assert said in error["message"]
            assert response.headers["x-should-retry"] == "false"
        nowhere = await http.get("/engines")
        assert (nowhere.status_code, nowhere.json()["error"]["code"]) == (404, "not_found")
        with pytest.raises(NotFoundError):
            await table.client.chat.completions.create(model="other", messages=[{"role": "user", "content": "x"}])


@pytest.mark.parametrize("key", ["none", "wrong", "wröng"])
async def test_without_the_key_nothing_is_answered(desk: Any, diary_endpoint: Any, key: str) -> None:
    async with desk(diary_endpoint) as table, _raw(table, key) as http:
        posted = [await http.post(path, content=b"{}") for path in ("/chat/completions", "/responses")]
        for response in (await http.get("/models"), *posted):
            assert response.status_code == 401
            assert table.address.api_key not in response.text


def _raw(table: Any, key: str | None = None) -> httpx2.AsyncClient:
    """A client that sends what it is told to; `key` instead of the gateway's own."""
    headers = {b"authorization": f"Bearer {table.address.api_key if key is None else key}".encode()}
    return httpx2.AsyncClient(base_url=table.address.base_url, headers=headers, trust_env=False)


async def test_a_policy_that_breaks_is_not_asked_again_and_says_so(desk: Any, opened: Any) -> None:
    class Broken:
        def turn(self, now: TurnView) -> Turns:
            yield ToolCall("look")
            raise ZeroDivisionError("of mine")

    async with desk(parse_model("policy:broken").with_policy(Broken())) as table:
        reply = await table.ask([opened])
        with pytest.raises(BadRequestError, match=r"policy:broken failed.*of mine"):
            await table.ask([opened, *_answered(reply)])
    assert len(table.calls) == 2


@pytest.mark.network
async def test_a_chat_model_behind_a_gateway_is_the_policy_with_its_usage_flagged(
    diary_endpoint: Any, opened: Any
) -> None:
    from langchain_core.messages import HumanMessage

    told: list[Any] = []
    async with open_chat_model(diary_endpoint, on_call=told.append) as model:
        reply = await model.ainvoke([HumanMessage(opened["content"])])
    assert reply.response_metadata["model_name"] == "policy:diary"
    assert reply.response_metadata["usage_estimated"] is True
    assert len(told) == 1


async def test_a_gateway_that_closes_lets_those_who_wait_go(desk: Any, serving: Any, opened: Any) -> None:
    arrived, never = asyncio.Event(), asyncio.Event()

    class Silent(PlainTextResponse):
        async def __call__(self, *given: Any) -> None:
            arrived.set()
            await never.wait()

    async with serving(Silent()) as upstream:
        async with desk(upstream.endpoint()) as table, _raw(table) as http:
            asked = {"model": "tiny", "messages": [opened]}
            waiting = asyncio.create_task(http.post("/chat/completions", json=asked, timeout=LONG))
            await asyncio.wait_for(arrived.wait(), LONG)
            await table.close_gateway()
            response = await waiting
        never.set()
    assert (response.status_code, response.json()["error"]["code"]) == (503, "closing")


@pytest.mark.network
async def test_a_teller_that_fails_ends_the_call_and_is_not_tried_again(diary_endpoint: Any, opened: Any) -> None:
    from langchain_core.messages import HumanMessage

    def on_call(call: Any) -> None:
        raise ValueError("nobody listens")

    async with open_chat_model(diary_endpoint, on_call=on_call) as model:
        with pytest.raises(HarnessFailure, match=r"the gateway failed: nobody listens$"):
            await model.ainvoke([HumanMessage(opened["content"])])

"""Chat completions and the Responses API in each other's words: by the openai package's types, there and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam
from openai.types.responses import FunctionToolParam, Response, ResponseStreamEvent
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter

from tradefair.frameworks.models.responses import (
    chat_request,
    from_responses,
    output_to_keep,
    response_events,
    responses_reply,
    to_responses,
)
from tradefair.frameworks.models.wire import RequestError

Json = dict[str, Any]

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100)
_NAME = st.text("abcdefgh_", min_size=1, max_size=8)
_COUNT = st.integers(0, 2**40)
_SCHEMA: Json = {"type": "object", "properties": {"price": {"type": "number"}}}


def _object(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(fields)


def _typed(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """`{"type": kind, kind: {fields}}`, as chat completions write it."""
    return _object(type=st.just(kind), **{kind: _object(**fields)})


_CALLS = st.lists(
    _object(id=_NAME, type=st.just("function"), function=_object(name=_NAME, arguments=_TEXT)),
    min_size=1,
    max_size=3,
    unique_by=lambda call: call["id"],
)
_IMAGE = _typed("image_url", url=st.just("https://example.org/a.png"), detail=st.just("auto"))
_PARTS = st.tuples(_object(type=st.just("text"), text=_TEXT), _IMAGE).map(list)
_TURN = st.one_of(
    _object(role=st.just("assistant"), content=_TEXT).map(lambda said: [said]),
    st.tuples(st.none() | _TEXT, _CALLS).map(
        lambda made: [
            {"role": "assistant", "content": made[0], "tool_calls": made[1]},
            *({"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in made[1]),
        ]
    ),
)
_OPENING = _object(role=st.sampled_from(["system", "developer", "user"]), content=_TEXT)
_ROUND = st.tuples(_TURN, _object(role=st.just("user"), content=_TEXT | _PARTS)).map(lambda made: [*made[0], made[1]])
_TOOL = _typed("function", name=_NAME, description=_TEXT, parameters=st.just(_SCHEMA), strict=st.booleans())


def _chat(opening: Json, rounds: list[list[Json]], fields: Json) -> Json:
    return {"messages": [opening, *(message for turn in rounds for message in turn)], **fields}


_CHATS = st.builds(
    _chat,
    _OPENING,
    st.lists(_ROUND, max_size=3),
    st.fixed_dictionaries(
        {"model": _NAME},
        optional={
            "tools": st.lists(_TOOL, min_size=1, max_size=3),
            "max_tokens": st.integers(16, 4_096),
            "temperature": st.floats(0, 2),
            "parallel_tool_calls": st.booleans(),
            "reasoning_effort": st.sampled_from(["none", "low", "high"]),
            "verbosity": st.sampled_from(["low", "high"]),
            "response_format": st.one_of(
                st.just({"type": "text"}), _typed("json_schema", name=_NAME, schema=st.just(_SCHEMA))
            ),
            "tool_choice": st.sampled_from(["auto", "required"]) | _typed("function", name=_NAME),
        },
    ),
)
_USAGE = _object(
    prompt_tokens=_COUNT,
    completion_tokens=_COUNT,
    total_tokens=_COUNT,
    prompt_tokens_details=_object(cached_tokens=_COUNT),
    completion_tokens_details=_object(reasoning_tokens=_COUNT),
)
_MESSAGES = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | _TEXT},
    optional={"refusal": _TEXT, "reasoning_content": _TEXT, "tool_calls": _CALLS},
)


def _completion(message: Json, usage: Json | None, cut: str | None) -> Json:
    reason = cut or ("tool_calls" if "tool_calls" in message else "stop")
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "tiny"}
    return {**head, "choices": [choice], "usage": usage}


_COMPLETIONS = st.builds(
    _completion, _MESSAGES, st.none() | _USAGE, st.none() | st.sampled_from(["length", "content_filter"])
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAME, inner, max_size=3),
    max_leaves=8,
)


def _checked(request: Json) -> None:
    TypeAdapter(ResponseCreateParamsNonStreaming).validate_python(request)
    TypeAdapter(list[FunctionToolParam]).validate_python(request.get("tools", []))


@given(_CHATS)
def test_a_chat_request_is_a_responses_request_by_the_packages_types_and_comes_back_the_same(chat: Json) -> None:
    request = to_responses(chat, {})
    _checked(request)
    assert (request["store"], request["include"]) == (False, ["reasoning.encrypted_content"])
    assert chat_request(request) == chat
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(chat["messages"])


@given(_COMPLETIONS)
def test_a_completion_is_a_responses_reply_by_the_packages_types_and_comes_back_the_same(completion: Json) -> None:
    reply = responses_reply(completion)
    Response.model_validate(reply)
    back = from_responses(reply)
    ChatCompletion.model_validate(back)
    (said,), (kept,) = back["choices"], completion["choices"]
    assert (said["message"], said["finish_reason"]) == (kept["message"], kept["finish_reason"])
    assert _counts(back["usage"]) == _counts(completion["usage"])


def _counts(usage: Json | None) -> Json | None:
    details = ("prompt_tokens_details", "cached_tokens"), ("completion_tokens_details", "reasoning_tokens")
    return usage and {
        **{name: count for name, count in usage.items() if not name.endswith("details")},
        **{name: usage[place][name] for place, name in details},
    }


@given(_COMPLETIONS)
def test_the_events_of_a_stream_add_up_to_the_reply(completion: Json) -> None:
    reply = responses_reply(completion)
    frames = [frame.decode().partition("\ndata: ") for frame in response_events(reply)]
    events = [json.loads(data) for _, _, data in frames]
    for number, event in enumerate(events):
        TypeAdapter(ResponseStreamEvent).validate_python(event)
        assert (event["sequence_number"], frames[number][0]) == (number, f"event: {event['type']}")
    names = [event["type"] for event in events]
    assert names[:2] == ["response.created", "response.in_progress"]
    assert names[-1] == f"response.{reply['status']}"
    assert events[-1]["response"] == reply
    assert [event["item"] for event in events if event["type"] == "response.output_item.done"] == reply["output"]
    for kind, whole in (("function_call_arguments", "arguments"), ("output_text", "text"), ("refusal", "refusal")):
        pieces = [event["delta"] for event in events if event["type"] == f"response.{kind}.delta"]
        done = [event[whole] for event in events if event["type"] == f"response.{kind}.done"]
        assert "".join(pieces) == "".join(done)


_LONE: Json = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}", "id": "fc_1"}
_THOUGHTS: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"}
_SAID: list[Json] = [_THOUGHTS, _LONE, _LONE | {"call_id": "c2", "id": "fc_2"}]


def _asked(*calls: tuple[str, str], arguments: str = "{}") -> Json:
    made = [{"id": of, "type": "function", "function": {"name": name, "arguments": arguments}} for of, name in calls]
    return {"model": "tiny", "messages": [{"role": "assistant", "content": None, "tool_calls": made}]}


def test_a_replys_own_output_goes_back_with_the_arguments_of_the_history() -> None:
    kept = output_to_keep({"output": _SAID})
    assert kept == ("c1", _SAID)
    request = to_responses(_asked(("c1", "look"), ("c2", "look"), arguments='{"at":1}'), {"c1": _SAID})
    assert request["input"] == [_SAID[0], *(item | {"arguments": '{"at":1}'} for item in _SAID[1:])]
    _checked(request)


@pytest.mark.parametrize(
    "calls",
    [
        [("c1", "look")],
        [("c2", "look"), ("c1", "look")],
        [("c1", "look"), ("c2", "act")],
        [("c1", "look"), ("c2", "look"), ("c3", "look")],
        [("c2", "look")],
    ],
    ids=["one fewer", "other order", "other tool", "one more", "without the first"],
)
def test_thoughts_never_stand_beside_calls_that_they_did_not_come_with(calls: list[tuple[str, str]]) -> None:
    request = to_responses(_asked(*calls), {"c1": _SAID})
    assert [(item["type"], item["call_id"]) for item in request["input"]] == [("function_call", of) for of, _ in calls]


@pytest.mark.parametrize(
    ("output", "kept"),
    [
        ([_LONE], False),
        ([_THOUGHTS], False),
        ([_THOUGHTS | {"encrypted_content": None}, _LONE], False),
        ([_THOUGHTS, _LONE | {"call_id": 7}], False),
        ([_THOUGHTS | {"encrypted_content": None, "content": [{"type": "reasoning_text"}]}, _LONE], True),
        ("nothing", False),
    ],
    ids=["no thoughts", "no call", "a mere name", "an id that is a number", "thoughts in words", "no output"],
)
def test_only_thoughts_that_can_be_sent_back_are_kept(output: Any, kept: bool) -> None:
    assert (output_to_keep({"output": output}) is not None) is kept


def test_a_tool_is_offered_loosely_unless_the_framework_says_otherwise() -> None:
    tools = [
        {"type": "function", "function": {"name": "a"}},
        {"type": "function", "function": {"name": "b", "strict": True}},
    ]
    offered = to_responses({"model": "tiny", "messages": [], "tools": tools}, {})["tools"]
    assert [tool["strict"] for tool in offered] == [False, True]
    assert offered[0]["parameters"] == {"type": "object", "properties": {}}


def test_fields_of_both_apis_go_under_their_own_names_and_nulls_not_at_all() -> None:
    chat: Json = {"model": "tiny", "messages": [], "n": 1, "stream_options": {}, "seed": None, "top_p": 0.5}
    chat |= {"reasoning_effort": "low", "reasoning": {"summary": "auto"}, "store": True}
    request = to_responses(chat, {})
    assert request == {
        "model": "tiny", "input": [], "store": True, "include": ["reasoning.encrypted_content"], "top_p": 0.5,
        "reasoning": {"summary": "auto", "effort": "low"},
    }  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no"}, "output": []},
        {"status": "failed", "output": []},
        {"output": "nothing"},
        {"output": ["nothing"]},
        {"choices": []},
    ],
)
def test_what_is_no_reply_is_left_for_the_reader_as_it_came(body: Json) -> None:
    assert from_responses(body) is body


def test_what_a_call_holds_is_left_for_the_reader_as_it_came() -> None:
    items = [{"name": "look", "arguments": {"at": 1}, "call_id": 7}, {"type": "tool_call", "name": "look", "id": "x"}]
    calls = from_responses({"output": items})["choices"][0]["message"]["tool_calls"]
    assert [(call["id"], call["function"]["arguments"]) for call in calls] == [(7, {"at": 1}), ("x", None)]


_FIELDS = st.sampled_from([
    "output", "type", "content", "text", "summary", "call_id", "name", "arguments", "status", "usage", "role", "input",
    "input_tokens_details", "incomplete_details", "tools", "messages", "tool_calls", "function", "reasoning", "choices",
])  # fmt: skip
_KINDS = st.sampled_from(["message", "function_call", "function_call_output", "reasoning", "function", "input_image"])
_DAMAGED = st.recursive(
    _JSON | _KINDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=5),
    max_leaves=15,
)


@given(st.dictionaries(_FIELDS, _DAMAGED, max_size=6))
def test_whatever_an_endpoint_sends_is_read_without_an_error(body: Json) -> None:
    from_responses(body)
    output_to_keep(body)
    to_responses(body, {})


@given(st.dictionaries(_FIELDS, _DAMAGED, max_size=6))
def test_whatever_a_client_sends_is_read_or_refused(body: Json) -> None:
    with suppress(RequestError):
        assert isinstance(chat_request(body)["messages"], list)


_ASK: Mapping[str, Any] = {"model": "tiny", "input": "play"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id is not offered.*whole conversation"),
        ({"conversation": {"id": "c"}}, "conversation is not offered"),
        ({"background": True}, "background is not offered"),
        ({"input": None}, "input: send a text or a list"),
        ({"input": [{"type": "item_reference", "id": "m"}]}, "input.0: an item of type 'item_reference'.*message"),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "texts and images"),
        ({"tools": [{"type": "custom", "name": "patch"}]}, "of type 'custom'.*functions only"),
    ],
)
def test_what_would_have_to_be_stored_or_cannot_be_read_is_refused_by_name(more: Json, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        chat_request({**_ASK, **more})


def test_a_clients_conversation_is_read_as_messages_and_its_thoughts_are_left_out() -> None:
    def said(text: str, kind: str) -> Json:
        return {"type": kind, "text": text}

    def call(of: str) -> Json:
        return {"id": of, "type": "function", "function": {"name": "look", "arguments": "{}"}}

    body: Json = {
        "model": "tiny", "instructions": "rules", "store": False, "include": ["reasoning.encrypted_content"],
        "background": False, "max_output_tokens": 64, "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"verbosity": "low"}, "tools": [{"type": "web_search"}, {"type": "function", "name": "look"}],
        "input": [
            {"role": "developer", "content": [said("be ", "input_text"), said("kind", "input_text")]},
            {"role": "user", "content": "play"},
            _THOUGHTS,
            {"type": "message", "role": "assistant", "content": [said("well", "output_text")]},
            *_SAID[1:],
            {"type": "function_call_output", "call_id": "c1", "output": [said("a", "input_text")]},
            {"type": "function_call_output", "call_id": "c2", "output": "b"},
        ],
    }  # fmt: skip
    assert chat_request(body) == {
        "model": "tiny", "max_tokens": 64, "reasoning_effort": "low", "verbosity": "low",
        "tools": [{"type": "function", "function": {"name": "look"}}],
        "messages": [
            {"role": "system", "content": "rules"},
            {"role": "developer", "content": "be kind"},
            {"role": "user", "content": "play"},
            {"role": "assistant", "content": "well", "tool_calls": [call("c1"), call("c2")]},
            {"role": "tool", "tool_call_id": "c1", "content": "a"},
            {"role": "tool", "tool_call_id": "c2", "content": "b"},
        ],
    }  # fmt: skip

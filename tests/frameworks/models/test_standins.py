"""The stand-ins for providers refuse what providers refuse; `test_door` plays them."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import httpx2
import pytest
from tests.frameworks.models.standins import (
    DRESSES,
    INSTEAD,
    NAMES,
    Dress,
    Json,
    Refused,
    StandIn,
    check_items,
    check_messages,
    plain_reply,
)

_ASK: Json = {"model": "tiny", "messages": [{"role": "user", "content": "play"}]}
_TOOLS = [{"type": "function", "function": {"name": "look"}}]
_INPUT: Json = {"model": "tiny", "input": "play", "store": False}


_REFUSALS: list[tuple[str, str, Json, int, str]] = [
    ("newest", "/chat/completions", _ASK | {"tools": _TOOLS}, 400, "use /v1/responses"),
    ("responses_only", "/chat/completions", _ASK, 404, "Not Found"),
    ("no_encryption", "/responses", _INPUT | {"include": ["reasoning.encrypted_content"]}, 400, "Encrypted content"),
    ("picky_fields", "/chat/completions", _ASK | {"max_tokens": 1, "store": False}, 400, "max_completion_tokens"),
    ("picky_fields", "/chat/completions", _ASK | {"temperature": 0}, 400, "does not support 0"),
    ("chat", "/chat/completions", _ASK | {"include": []}, 400, "argument supplied: include"),
    ("chat", "/responses", _INPUT, 404, "Not Found"),
    ("newest", "/responses", _INPUT | {"messages": []}, 400, "Unknown parameter: 'messages'"),
    ("newest", "/responses", _INPUT | {"tools": [{"type": "function", "name": "look"}]}, 400, "Invalid schema"),
]


@pytest.mark.parametrize(("name", "path", "body", "status", "said"), _REFUSALS)
def test_a_stand_in_refuses_in_its_providers_words(
    teaching: Any, name: str, path: str, body: Json, status: int, said: str
) -> None:
    with StandIn(name, teaching.policy("half")).served() as url:
        response = httpx2.post(f"{url}/v1{path}", json=body, trust_env=False)
    assert (response.status_code, said in response.json()["error"]["message"]) == (status, True)
    assert name in NAMES


def _call(of: str) -> Json:
    return {"id": of, "type": "function", "function": {"name": "look", "arguments": "{}"}}


def _item(kind: str, of: str = "a") -> Json:
    more = {"name": "look", "arguments": "{}"} if kind == "function_call" else {"output": "x"}
    return {"type": kind, "call_id": of, **more}


_CALLED: Json = {"role": "assistant", "content": None, "tool_calls": [_call("a"), _call("b")]}
_A: Json = {"role": "tool", "tool_call_id": "a", "content": "x"}


_UNPAIRED: list[tuple[Callable[..., None], list[Json], str]] = [
    (check_messages, [_CALLED, _A], "did not have response messages: b"),
    (check_messages, [_CALLED, _A, {"role": "user", "content": "x"}], "did not have response messages: b"),
    (check_messages, [_A], "must be a response to"),
    (check_messages, [_CALLED | {"tool_calls": [_call("a"), _call("a")]}, _A], "Duplicate"),
    (check_messages, [_CALLED | {"tool_calls": [_call("a") | {"id": 7}]}], "as strings"),
    (check_messages, [_CALLED | {"wire": {}}], "'wire' was unexpected"),
    (check_items, [_item("function_call")], "No tool output found for function call a"),
    (check_items, [_item("function_call_output"), _item("function_call")], "No tool call found"),
    (check_items, [_item("function_call") | {"type": "call"}], "Invalid value: 'call'"),
    (check_items, [_item("function_call") | {"index": 0}], "input\\[0\\].index"),
]


@pytest.mark.parametrize(("check", "said", "sentence"), _UNPAIRED)
def test_a_history_that_does_not_pair_is_refused(check: Callable[..., None], said: list[Json], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        check(said)


@pytest.mark.parametrize("dress", [*DRESSES.values(), *INSTEAD.values()], ids=[*DRESSES, *INSTEAD])
def test_a_dress_is_json_and_another_one_than_the_providers(dress: Dress) -> None:
    plain = plain_reply("tiny", {"role": "assistant", "content": None, "tool_calls": [_call("a")]})
    dressed = dress(deepcopy(plain))
    # As texts: a float equals its whole number.
    written = dressed if isinstance(dressed, str) else json.dumps(dressed)
    assert json.dumps(json.loads(written)) != json.dumps(plain)

"""The stand-ins for providers refuse what providers refuse, and a seat that asks in their words plays to its end."""

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

from tradefair.frameworks.models import ModelEndpoint
from tradefair.frameworks.models.gateway import Gateway
from tradefair.frameworks.models.gateway_app import GatewayApp, serve_app
from tradefair.frameworks.models.responses import from_responses, output_to_keep, to_responses
from tradefair.frameworks.models.wire import Answer, ChatRequest


class Translated:
    """A model behind a gateway that is asked over Responses; `left_out` are fields that its endpoint refuses."""

    model = "tiny"

    def __init__(self, url: str, *left_out: str, remembers: bool = True) -> None:
        self._http = httpx2.AsyncClient(base_url=f"{url}/v1", trust_env=False)
        self._left_out, self._remembers = left_out, remembers
        self._kept: dict[str, list[Json]] = {}

    async def answer(self, request: ChatRequest, asked: Any, occurrence: int) -> Answer:
        said = to_responses(request.raw, self._kept)
        body = {name: value for name, value in said.items() if name not in self._left_out}
        response = await self._http.post("/responses", json=body)
        reply = response.json()
        if kept := output_to_keep(reply):
            self._kept = {**self._kept, kept[0]: kept[1]} if self._remembers else {}
        return Answer(response.status_code, from_responses(reply))

    async def close(self) -> None:
        await self._http.aclose()


async def _played(teaching: Any, standin: StandIn, *left_out: str, remembers: bool = True) -> Any:
    with standin.served() as url:
        backend = Translated(url, *left_out, remembers=remembers)
        async with teaching.table() as table, serve_app(GatewayApp(Gateway(backend), "key")) as address:
            model = ModelEndpoint("openai", "tiny", "openai:tiny", base_url=address, api_key="key")
            await table.play("react", model)
        await backend.close()
    return teaching.written(table)


@pytest.mark.parametrize(
    ("name", "left_out"), [("newest", ()), ("responses_only", ()), ("no_encryption", ("include",))]
)
async def test_a_seat_that_is_asked_over_responses_plays_as_inside_the_episode(
    teaching: Any, name: str, left_out: tuple[str, ...]
) -> None:
    standin = StandIn(name, teaching.policy("random_legal"))
    written = await _played(teaching, standin, "max_output_tokens", *left_out)
    inside = await teaching.native(teaching.policy("random_legal"))
    assert (written.head, standin.refused) == (inside.head, [])
    assert (standin.thoughts > 0) is (name != "no_encryption")


async def test_thoughts_that_are_forgotten_are_not_missed_where_nothing_of_theirs_goes_back(teaching: Any) -> None:
    standin = StandIn("newest", teaching.policy("random_legal"))
    written = await _played(teaching, standin, "max_output_tokens", remembers=False)
    assert (written.head, standin.thoughts) == ((await teaching.native(teaching.policy("random_legal"))).head, 0)


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

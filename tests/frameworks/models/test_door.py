"""Every agent plays every endpoint's model to the same trace: the door says the question, and reads the reply."""

from __future__ import annotations

import asyncio
import gzip
import re
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from tests.calling import blank_view
from tests.frameworks.models.standins import DRESSES, INSTEAD, NAMES, Json, StandIn
from tests.waiting import LONG, SOON, a_moment

from tradefair.agents.rounds import opening
from tradefair.contract import HarnessFailure
from tradefair.files.user_files import MIB
from tradefair.frameworks.models import door, parse_model
from tradefair.frameworks.models.client import make_client
from tradefair.frameworks.models.dialect import THOUGHTS
from tradefair.frameworks.models.prompts import Prompts
from tradefair.frameworks.models.reply import REPLY_LIMIT, text_of


def _filtered(reply: Json) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}
    return reply | {"choices": [choice]}


AGENTS = ("react", "reflection", "plan_and_act", "langchain_agent", "openai_loop", "openai_agents", "pydantic_ai")

_INSTEAD = {**INSTEAD, "stopped by a filter": _filtered}


async def played(teaching: Any, agent: str, standin: StandIn, text: str = "openai:tiny", **options: Any) -> Any:
    """What the trace says of an episode that an agent plays with the stand-in's model."""
    with standin.served() as url:
        async with teaching.table() as table:
            model = parse_model(text, base_url=f"{url}/v1", **options)
            await table.play(agent, model)
    return teaching.written(table)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("name", NAMES)
async def test_every_agent_plays_every_endpoint_to_the_trace_of_the_policy_behind_it(
    teaching: Any, agent: str, name: str
) -> None:
    standin = StandIn(name, teaching.policy("random_legal"))
    written = await played(teaching, agent, standin)
    inside = await teaching.native(teaching.policy("random_legal"))
    assert written.head == inside.head
    assert len(standin.refused) == len({*standin.refused}) <= 6
    assert (standin.thoughts > 0) is (name in ("newest", "responses_only"))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("dress", [*DRESSES, *_INSTEAD])
async def test_a_reply_in_any_dress_is_played_and_counted(teaching: Any, agent: str, dress: str) -> None:
    standin = StandIn("chat", teaching.policy("random_legal"), dress=DRESSES.get(dress), instead=_INSTEAD.get(dress))
    written = await played(teaching, agent, standin)
    notes = [note for note in written.notes if note["kind"] == "model_call"]
    assert [call for note in notes for call in note["calls"]] == [tool for tool, _ in written.calls]
    assert written.head == (await teaching.native(teaching.policy("random_legal"))).head


class Packed(Response):
    """Says how its bytes are packed, whatever they are."""

    def __init__(self, content: bytes, how: str = "gzip") -> None:
        super().__init__(content, media_type="application/json", headers={"content-encoding": how})


async def _spaces(size: int, pause: Callable[[], Awaitable[None]]) -> AsyncIterator[bytes]:
    """Much longer, or much slower, than a reply may be; it ends, so that a client without bounds fails its test."""
    for _ in range(1_000):
        yield b" " * size
        # The server and its client share a loop.
        await pause()


async def asked(upstream: Any, notes: list[Json] | None = None, **fields: Any) -> Json:
    """The clean reply to one question; the client asks once only."""

    async def note(body: Json) -> None:
        (notes if notes is not None else []).append(body)

    endpoint = replace(upstream.endpoint(), note=note, **fields)
    client = make_client("", endpoint)
    client.openai.max_retries = 0
    async with client.openai:
        return await client.ask({"model": "tiny", "messages": [{"role": "user", "content": "play"}], **client.fields})


_LONG = gzip.compress(b'{"choices": "' + b" " * (REPLY_LIMIT + 1) + b'"}')


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            lambda: StreamingResponse(_spaces(65_536, lambda: asyncio.sleep(0))),
            "the body is 'longer than 16777216 bytes'",
        ),
        (lambda: Packed(_LONG), "the body is 'longer than 16777216 bytes'"),
        (lambda: Packed(b"no gzip"), "the reply is not understood: error is"),
        (lambda: Packed(b"{}", "br"), "content-encoding is 'br'"),
        (lambda: StreamingResponse(_spaces(1, a_moment)), "APITimeoutError"),
    ],
    ids=["endless", "packed", "not packed", "unknown packing", "dripping"],
)
async def test_a_reply_is_bounded_in_bytes_and_as_a_whole_in_time(serving: Any, answer: Any, said: str) -> None:
    async with serving(answer()) as upstream:
        with pytest.raises(HarnessFailure, match=re.escape(said)):
            await asked(upstream, timeout_s=SOON if said == "APITimeoutError" else LONG)


async def test_a_packed_reply_is_unpacked_no_further_than_it_may_be_long(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "REPLY_LIMIT", 1_000)
    async with serving(Packed(gzip.compress(bytes(64 * MIB)))) as upstream:
        tracemalloc.start()
        try:
            with pytest.raises(HarnessFailure, match="longer than 1000 bytes"):
                await asked(upstream)
            assert tracemalloc.get_traced_memory()[1] < 32 * MIB
        finally:
            tracemalloc.stop()


async def test_a_packed_reply_is_unpacked_and_a_note_keeps_how_an_unreadable_one_began(
    serving: Any, answers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    notes: list[Json] = []
    plain = bytes(answers.says("well").body)
    packed, page = Packed(gzip.compress(plain)), PlainTextResponse("<html>sk-of-the-environment" * 1_000)
    async with serving(packed, page) as upstream:
        assert text_of(await asked(upstream)) == "well"
        with pytest.raises(HarnessFailure, match=r"openai:tiny at http://.*: the reply is not understood: the body is"):
            await asked(upstream, notes)
    shown = [(note["kind"], len(note["found"]), "sk-" in str(note)) for note in notes]
    assert shown == [("endpoint_reply", 2_000, False)]


@pytest.mark.parametrize("written", [b"sk-of", b"\\u0073k-of"])
async def test_a_key_is_left_out_of_the_reply_in_escapes_too(
    serving: Any, answers: Any, monkeypatch: pytest.MonkeyPatch, written: bytes
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    body = bytes(answers.says("my key: sk-of-the-environment").body).replace(b"sk-of", written)
    async with serving(PlainTextResponse(body)) as upstream:
        assert text_of(await asked(upstream)) == "my key: [key]"


async def test_no_other_address_is_handed_the_key(serving: Any, answers: Any) -> None:
    moved = Response(status_code=307, headers={"location": "/v1/chat/completions"})
    async with serving(moved, answers.says("well")) as upstream:
        with pytest.raises(HarnessFailure, match="status 307"):
            await asked(upstream)
    assert len(upstream.requests) == 1


async def test_thoughts_that_a_window_has_cut_do_not_come_back(diary: Any) -> None:
    standin = StandIn("responses_only", diary)
    with standin.served() as url:
        client = make_client("", parse_model("openai:tiny", base_url=f"{url}/v1", api="responses"))

        async def goes_on(number: int, *history: Json) -> list[Json]:
            """A round's call and its answer, as they go back."""
            opened = {"role": "user", "content": opening(blank_view(round=number))}
            said = (await client.ask({"model": "tiny", "messages": [opened, *history]}))["choices"][0]["message"]
            return [said, {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": "{}"}]

        async with client.openai:
            first = await goes_on(1)
            last = await goes_on(2)
            await goes_on(3, *last)
            assert standin.thoughts == 1
            await goes_on(4, *first)
    assert standin.thoughts == 1


async def test_thoughts_that_were_refused_are_neither_sent_nor_said_to_be_carried(
    diary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    standin = StandIn("responses_only", diary)
    prompts = Prompts()
    with standin.served() as url:
        endpoint = parse_model("openai:tiny", base_url=f"{url}/v1", api="responses")
        client = make_client("", replace(endpoint, prompts=prompts))
        history: list[Json] = [{"role": "user", "content": opening(blank_view())}]
        async with client.openai:
            for _ in range(4):
                said = (await client.ask({"model": "tiny", "messages": history}))["choices"][0]["message"]
                call = said["tool_calls"][0]["id"]
                history = [*history, said, {"role": "tool", "tool_call_id": call, "content": "{}"}]
                # From now on it verifies none of what it gave.
                monkeypatch.setattr(standin, "_sealed", {})
    assert len(standin.refused) == 1
    sent = [sum(item.get("type") == "reasoning" for item in body["input"]) for _, body in standin.asked]
    assert sent == [0, 1, 0, 0, 0]
    wires = [exchange.answer["wire"] for exchange in prompts.take({})]
    assert [("carried" in wire, "thoughts" in wire) for wire in wires] == [(False, True), *[(False, False)] * 3]


def _refused(message: str, param: str | None = None, status: int = 400) -> JSONResponse:
    return JSONResponse({"error": {"message": message, "param": param}}, status)


async def test_where_nothing_was_learnt_the_bytes_go_out_as_they_came(serving: Any, answers: Any) -> None:
    async with serving(answers.says("well")) as upstream:
        await asked(upstream, params={"store": False, "max_tokens": 5})
    assert upstream.requests == [
        {"model": "tiny", "messages": [{"role": "user", "content": "play"}], "store": False, "max_tokens": 5}
    ]


async def test_what_is_learnt_is_noted_once_and_known_to_everybody_who_asks_afterwards(
    serving: Any, answers: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    notes: list[Json] = []
    bound = _refused("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens")
    refusals = [bound, _refused("Unknown field: seed"), _refused("System role not supported")]
    async with serving(*refusals, answers.says("well"), answers.says("well")) as upstream:
        for _ in range(2):
            await asked(upstream, notes, params={"max_tokens": 64, "seed": 7})
    assert upstream.requests[-1] == upstream.requests[-2] != upstream.requests[0]
    assert upstream.requests[-1].keys() == {"model", "messages", "max_completion_tokens"}
    assert upstream.requests[-1]["max_completion_tokens"] == 64 + THOUGHTS
    assert [(note["kind"], note["api"], note["left_out"]) for note in notes] == [
        ("endpoint_dialect", "chat", []),
        ("endpoint_dialect", "chat", ["seed"]),
        ("endpoint_dialect", "chat", ["seed"]),
    ]
    assert capsys.readouterr().err.count("[model] openai:tiny") == 3


@pytest.mark.parametrize(
    ("message", "param", "said"),
    [
        ("'temperature' does not support 0 with this model.", "temperature", "leave `temperature` out of --model"),
        ("Unsupported parameter: 'reasoning.effort'", "reasoning.effort", "leave `reasoning_effort` out of --model"),
        ("tiny does not support tools", None, "an agent needs a model that calls tools"),
        ('"auto" tool choice requires --enable-auto-tool-choice', None, "start the server with --enable-auto"),
        ("This model only supports stream=true", None, "an endpoint must answer without streaming"),
        ("This model's maximum context length is 4096 tokens", None, "show the model less"),
    ],
)
async def test_a_refusal_that_nothing_follows_from_says_what_to_do(
    serving: Any, message: str, param: str | None, said: str
) -> None:
    named = frozenset({"temperature", "reasoning_effort"})
    async with serving(_refused(message, param)) as upstream:
        with pytest.raises(HarnessFailure, match=re.escape(message) + ".*; " + re.escape(said)):
            await asked(upstream, params={"temperature": 0, "reasoning_effort": "low"}, named=named)
    assert len(upstream.requests) == 1


async def test_no_more_than_six_things_are_learnt(serving: Any) -> None:
    names = ("max_tokens", "max_completion_tokens", "store", "stop", "top_p", "seed", "temperature")
    async with serving(*[_refused(f"no {name}", name) for name in names]) as upstream:
        with pytest.raises(HarnessFailure, match="no temperature"):
            await asked(upstream, params=dict.fromkeys(names[2:], 1) | {"max_tokens": 1})
    assert len(upstream.requests) == 7


async def test_an_api_that_was_chosen_is_kept_and_the_error_names_the_other(serving: Any) -> None:
    notes: list[Json] = []
    async with serving(_refused("Function tools are not supported, use /v1/responses")) as upstream:
        with pytest.raises(HarnessFailure, match="--api auto finds the API that it speaks"):
            await asked(upstream, notes, api="chat")
    assert notes == []
    async with serving() as upstream:
        with pytest.raises(HarnessFailure, match=r"status 404.*--api auto"):
            await asked(upstream, api="responses")
        assert upstream.requests == []


async def test_a_model_that_does_not_exist_is_not_looked_for_elsewhere(serving: Any) -> None:
    missing = JSONResponse({"error": {"message": "no such model", "code": "model_not_found"}}, 404)
    async with serving(missing, _refused("nothing here", status=404)) as upstream:
        for said in ("no such model", "nothing here"):
            with pytest.raises(HarnessFailure, match=rf"status 404: {said}"):
                await asked(upstream)

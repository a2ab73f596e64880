"""Recordings: what is written answers again, and nothing else does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai import BadRequestError

from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.frameworks.models import Faults, parse_model
from tradefair.frameworks.models.canonical import canonical
from tradefair.frameworks.models.recording import Recording
from tradefair.frameworks.models.serving import open_address, open_chat_model

_GONE = parse_model("openai:tiny", base_url="http://127.0.0.1:9/v1")
_TOOLS: list[dict[str, Any]] = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]


def _says(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def _lines(tape: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in tape.read_text(encoding="utf-8").splitlines()]


async def _recorded(desk: Any, serving: Any, answers: Any, tape: Path, seat: str | None = "B1") -> list[Any]:
    """Two answers to one question and one to a longer one, of a temperature of 0.5."""
    replies = [answers.says("one"), answers.says("two", ("look", "{}")), answers.says("three")]
    question = [_says("rules", "system"), _says("play")]
    longer = [*question, _says("one", "assistant"), _says("go on")]
    async with serving(*replies) as upstream, desk(upstream.endpoint(temperature=0.5), record=tape, seat=seat) as table:
        return [await table.ask(messages, tools=_TOOLS) for messages in (question, question, longer)]


async def test_a_recording_answers_without_any_endpoint_whole_and_streamed(
    desk: Any, serving: Any, answers: Any, tape: Path
) -> None:
    replies = await _recorded(desk, serving, answers, tape)
    question = [_says("rules", "system"), _says("play")]
    async with desk(parse_model(f"replay:{tape}"), seat="B1") as table:
        assert table.address.model == "tiny"
        assert [await table.ask(question, tools=_TOOLS) for _ in range(2)] == replies[:2]
        with pytest.raises(BadRequestError, match="holds this request 2 times only"):
            await table.ask(question, tools=_TOOLS)
    async with desk(parse_model(f"replay:{tape}"), seat="B1") as table:
        pieces = [piece async for piece in await table.ask(question, tools=_TOOLS, stream=True)]
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == "one"


async def test_a_recording_answers_in_the_name_of_the_endpoint_that_it_is_of(
    desk: Any, serving: Any, answers: Any, tape: Path
) -> None:
    await _recorded(desk, serving, answers, tape)
    question = [_says("rules", "system"), _says("play")]
    gone = "http://127.0.0.1:9/v1"
    same = parse_model("openai:tiny", base_url=gone, options={"temperature": 0.5})
    async with desk(same, replay=tape, seat="B1") as table:
        assert (await table.ask(question, tools=_TOOLS)).choices[0].message.content == "one"
    for other, said in [
        (parse_model("openai:tiny", options={"temperature": 1}), "temperature differs: asked 1, recorded 0.5"),
        (parse_model("openai:tiny"), "temperature differs: asked None, recorded 0.5"),
        (parse_model("openai:huge", options={"temperature": 0.5}), "model differs: asked 'huge', recorded 'tiny'"),
    ]:
        async with desk(other, replay=tape, seat="B1") as table:
            with pytest.raises(BadRequestError, match=f"the messages are equal, {said}"):
                await table.ask(question, tools=_TOOLS)


@pytest.mark.parametrize(
    ("messages", "tools", "said"),
    [
        (
            [_says("rules" * 200 + "!", "system"), _says("play")],
            _TOOLS,
            r"messages\[0\] \(system\) differs: asked 'rulesrules.*…', recorded 'rules'",
        ),
        (
            [_says("rules", "system"), _says("play"), _says("one", "assistant"), _says("go off")],
            _TOOLS,
            r"messages\[3\] \(user\) differs: asked 'go off', recorded 'go on'",
        ),
        (
            [_says("rules", "system"), _says("play", "assistant")],
            _TOOLS,
            r"messages\[1\] \(assistant\) differs: asked '.*\"role\":\"assistant\"}', recorded '.*\"user\"}' \(user\)",
        ),
        ([_says("rules", "system")], _TOOLS, r"the recorded request goes on with messages\[1\] \(user\) 'play'"),
        (
            [_says("rules", "system"), _says("play"), _says("one", "assistant"), _says("go on"), _says("and on")],
            _TOOLS,
            r"messages\[4\] is not in the recorded request: \(user\) 'and on'",
        ),
        (
            [_says("rules", "system"), _says("play")],
            [{**_TOOLS[0], "function": {**_TOOLS[0]["function"], "name": "gaze"}}],
            "the tools differ: asked .*gaze.*recorded .*look",
        ),
    ],
)
async def test_a_miss_names_the_first_thing_that_differs_from_the_nearest_request_and_is_asked_once(
    desk: Any, serving: Any, answers: Any, tape: Path, messages: Any, tools: Any, said: str
) -> None:
    await _recorded(desk, serving, answers, tape)
    async with desk(parse_model(f"replay:{tape}"), seat="B1") as table:
        with pytest.raises(BadRequestError, match=said) as miss:
            await table.ask(messages, tools=tools)
        assert len(table.calls) == 1
    assert miss.value.code == "not_recorded"
    assert "--record" in str(miss.value)
    assert len(str(miss.value)) < 1_000


def test_how_a_request_travels_does_not_change_what_it_asks() -> None:
    request = {"model": "tiny", "messages": [_says("play")], "tools": _TOOLS, "temperature": 0}
    travelling = {"stream": True, "stream_options": {"include_usage": True}, "user": "me", "stop": None, "store": True}
    same = canonical({**travelling, **request, "messages": [{"content": "play", "role": "user", "name": None}]})
    assert same.key == canonical(request).key
    # Two names of one bound: OpenAI is sent one, a gateway in front of it the other.
    bounds = [canonical({**request, name: 64}).key for name in ("max_tokens", "max_completion_tokens")]
    assert bounds[0] == bounds[1] != same.key
    others: list[dict[str, Any]] = [
        {"temperature": 1},
        {"model": "huge"},
        {"tools": []},
        {"messages": [_says("Play")]},
        {"stop": "x"},
    ]
    keys = {canonical({**request, **other}).key for other in others}
    assert len({same.key, *keys}) == 6


async def test_a_recording_holds_every_message_once_with_status_usage_and_latency(
    desk: Any, serving: Any, answers: Any, tape: Path
) -> None:
    await _recorded(desk, serving, answers, tape)
    lines = _lines(tape)
    assert lines[0] == {"kind": "model_calls", "version": 1}
    assert lines[1] == {"kind": "seat", "seat": "B1", "model": "tiny", "options": {"temperature": 0.5}}
    parts = [line["body"] for line in lines if line["kind"] == "part"]
    assert parts == [_says("rules", "system"), _says("play"), _TOOLS, _says("one", "assistant"), _says("go on")]
    calls = [line for line in lines if line["kind"] == "call"]
    assert [(call["status"], call["occurrence"], len(call["messages"])) for call in calls] == [
        (200, 1, 2),
        (200, 2, 2),
        (200, 1, 4),
    ]
    assert calls[0]["usage"] == {"input_tokens": 11, "cached_input_tokens": 3, "output_tokens": 5, "estimated": False}
    assert all(call["latency_s"] >= 0 for call in calls)


async def test_seats_share_a_file_and_keep_apart(desk: Any, serving: Any, answers: Any, tape: Path) -> None:
    question = [_says("play")]
    async with (
        serving(answers.says("to B1"), answers.says("to S1")) as upstream,
        desk(upstream.endpoint(), record=tape, seat="B1") as buyer,
        desk(upstream.endpoint(), record=tape, seat="S1") as seller,
    ):
        for table in (buyer, seller):
            await table.ask(question)
    for seat in ("B1", "S1"):
        async with desk(parse_model(f"replay:{tape}"), seat=seat) as table:
            assert (await table.ask(question)).choices[0].message.content == f"to {seat}"
    for seat in ("B2", None):
        with pytest.raises(ScenarioError, match="recorded seats: B1, S1"):
            async with desk(parse_model(f"replay:{tape}"), seat=seat):
                pass


async def test_the_only_seat_of_a_recording_need_not_be_named(
    desk: Any, serving: Any, answers: Any, tape: Path
) -> None:
    await _recorded(desk, serving, answers, tape)
    async with desk(parse_model(f"replay:{tape}")) as table:
        assert await table.ask([_says("rules", "system"), _says("play")], tools=_TOOLS)


async def test_recording_goes_on_after_a_kill_and_counts_on(desk: Any, serving: Any, answers: Any, tape: Path) -> None:
    await _recorded(desk, serving, answers, tape)
    whole = tape.read_bytes()
    tape.write_bytes(whole[:-40])
    assert len(Recording(tape).seat("B1").calls) == 2
    question = [_says("rules", "system"), _says("play")]
    async with serving(answers.says("more")) as upstream:
        async with desk(upstream.endpoint(temperature=0.5), record=tape, seat="B1") as table:
            await table.ask(question, tools=_TOOLS)
        assert table.calls[0].occurrence == 3
    assert len(tape.read_bytes().splitlines()) == len(whole.splitlines()) - 1 + 2
    async with desk(parse_model(f"replay:{tape}"), seat="B1") as table:
        texts = [(await table.ask(question, tools=_TOOLS)).choices[0].message.content for _ in range(3)]
    assert texts == ["one", "two", "more"]


async def test_a_retried_call_is_replayed_as_it_ended(desk: Any, serving: Any, answers: Any, tape: Path) -> None:
    async with serving(answers.fails(429), answers.says("well"), answers.fails(400, "too long")) as upstream:
        async with desk(upstream.endpoint(), record=tape, faults=Faults.parse("drop@2")) as table:
            assert (await table.ask([_says("play")])).choices[0].message.content == "well"
            with pytest.raises(BadRequestError, match="too long"):
                await table.ask([_says("and?")])
        assert len(upstream.requests) == 3
    async with desk(parse_model(f"replay:{tape}")) as table:
        assert (await table.ask([_says("play")])).choices[0].message.content == "well"
        with pytest.raises(BadRequestError, match="too long"):
            await table.ask([_says("and?")])
    assert [call.status for call in table.calls] == [200, 400]


_OTHER_RULES = _says("other rules", "system")
_DAMAGES: list[tuple[Callable[[list[Any]], list[Any]], str]] = [
    (lambda lines: lines[1:], "line 1: .*first line"),
    (lambda lines: [{**lines[0], "version": 2}, *lines[1:]], "line 1: .*version"),
    (lambda lines: [lines[0], *lines], "line 2: .*first line"),
    (lambda lines: [*lines[:2], {**lines[2], "body": _OTHER_RULES}, *lines[3:]], "line 3: .*digest"),
    (lambda lines: [*lines[:2], *lines[3:]], "line 5: .*part .* is missing"),
    (lambda lines: [*lines[:5], {**lines[5], "params": {}}], "line 6: .*key"),
    (lambda lines: [*lines[:5], {**lines[5], "occurrence": 0}], "line 6: .*occurrence"),
    (lambda lines: [*lines[:5], {**lines[5], "seat": "X"}], "line 6: .*seat X"),
    (lambda lines: [lines[0], {"kind": "trace"}], "line 2: "),
    (lambda lines: [lines[0], [1]], "line 2: "),
]


async def test_a_file_that_is_no_recording_is_refused_with_its_line_and_not_written_to(
    desk: Any, serving: Any, answers: Any, tape: Path
) -> None:
    await _recorded(desk, serving, answers, tape)
    whole = _lines(tape)
    for change, said in _DAMAGES:
        tape.write_text("".join(json.dumps(line) + "\n" for line in change(whole)), encoding="utf-8")
        damaged = tape.read_bytes()
        with pytest.raises(ScenarioError, match=said):
            Recording(tape)
        with pytest.raises(ScenarioError, match=said):
            async with open_address(_GONE, record=tape):
                pass
        assert tape.read_bytes() == damaged
    tape.write_text("", encoding="utf-8")
    with pytest.raises(ScenarioError, match="empty"):
        Recording(tape)


async def test_a_disk_that_is_full_is_a_failure_of_the_harness() -> None:
    with pytest.raises(HarnessFailure, match=r"/dev/full: the recording cannot be written: No space"):
        async with open_address(_GONE, record=Path("/dev/full")):
            pass


async def test_what_cannot_be_recorded_or_replayed_is_said_at_once(tmp_path: Path, tape: Path) -> None:
    options: list[tuple[dict[str, Any], str]] = [
        ({"record": tape, "replay": tape}, "not both"),
        ({"replay": tmp_path / "none"}, "cannot be read"),
        ({"record": tmp_path}, "cannot be"),
    ]
    for given, said in options:
        with pytest.raises(ScenarioError, match=said):
            async with open_chat_model(_GONE, **given):
                pass

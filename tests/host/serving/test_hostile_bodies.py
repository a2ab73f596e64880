"""Bad arguments as bytes on the wire: what no client library would send."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
import pytest
from tests.host.serving.by_hand import HEADERS, Seat
from tests.waiting import LONG

from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.hosting import BODY_LIMIT, Host

INTEGERS = [("claim", "slices"), ("view_history", "first_round"), ("remove_note", "number")]
TEXTS = [("say", "text"), ("add_note", "text"), ("execute_code", "code")]
# Python's JSON reader takes more than JSON has; what it takes must be refused by name.
READABLE = [
    *(b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400", b"0.15e1", b"5.5", b"1e-9", b"true"),
    *(b'"5"', b"[5]", b'{"slices": 5}', b"9" * 19, b"9" * 400, b"-" + b"9" * 4_000, b"[" * 100 + b"]" * 100),
]
# No schema says that the whole is too large, nor what is no Unicode.
UNSAID = [b'"' + b"x" * 70_000 + b'"', b'"' + b"\\u00e9" * 100_000 + b'"', b'"\\ud800"', b'"\xed\xa0\x80"']
UNREADABLE = [
    *(b"", b"05", b"'5'", b"5, 5", b'"\xff\xfe"', b'"\\x"', b"5}", b"9" * 10_000, b"[" * 100_000 + b"]" * 100_000)
]


@asynccontextmanager
async def unmoved(stage: Any) -> AsyncGenerator[Seat]:
    """A hosted seat in whose episode nothing may move; its trace must verify in the end."""
    host = Host(stage.folder)
    episode = await stage.episode(preset="talk")
    host.add(episode)
    await episode.call("P1", "say", {"text": "half?"})
    token, _ = host.invite(episode.id, "P1")
    before = (episode.core.market.digest(), str(episode.core.notes))
    headers = {**HEADERS, "Authorization": f"Bearer {token}"}
    async with stage.hosted(host) as server, httpx2.AsyncClient(headers=headers, timeout=LONG) as http:
        yield Seat(server.url, http)
        assert (episode.core.market.digest(), str(episode.core.notes)) == before
        assert episode.core.awaits("P1")
    assert verify_file(episode.path).verdict == "reproduced"


@pytest.mark.parametrize(("tool", "name"), INTEGERS)
async def test_whatever_can_be_read_is_refused_by_name(stage: Any, tool: str, name: str) -> None:
    async with unmoved(stage) as seat:
        for value in [*READABLE, *UNSAID]:
            error = await seat.refusal(tool, b'{"%b": %b}' % (name.encode(), value))
            assert set(error) == {"code", "message", "hint", "retryable"}
            assert error["code"] == ("bad_value" if value in UNSAID else "invalid_arguments")
            assert tool in error["hint"]


@pytest.mark.parametrize(("tool", "name"), INTEGERS)
async def test_whatever_cannot_be_read_is_a_parse_error(stage: Any, tool: str, name: str) -> None:
    async with unmoved(stage) as seat:
        for value in UNREADABLE:
            answer = await seat.call(tool, b'{"%b": %b}' % (name.encode(), value))
            assert answer.status_code == 400
            assert answer.json()["error"]["code"] == -32700
            assert "Traceback" not in answer.text


@pytest.mark.parametrize(("tool", "name"), TEXTS)
async def test_too_much_text_is_refused_and_a_body_over_the_limit_is_413(stage: Any, tool: str, name: str) -> None:
    async with unmoved(stage) as seat:
        within = await seat.refusal(tool, orjson.dumps({name: "x" * (BODY_LIMIT - 1_000)}))
        assert within["code"] == "bad_value"
        assert "at most 65536 are allowed" in within["message"]
        beyond = await seat.call(tool, orjson.dumps({name: "x" * BODY_LIMIT}))
        assert beyond.status_code == 413


async def test_a_call_key_that_cannot_be_stored_costs_nobody_anything(stage: Any) -> None:
    """A lone surrogate must not look like a lost log, after which everybody's uncommitted calls are thrown away."""
    async with unmoved(stage) as seat:
        for key in (b'"\\ud800"', b'"\\u0000"', b'""', b"NaN", b"[]"):
            error = await seat.refusal("claim", b'{"slices": 5}', key=key)
            assert error["code"] == "invalid_arguments"
            assert "call key" in error["message"]

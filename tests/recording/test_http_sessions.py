"""One session, one trace: by the name that the server gives it, else by who asks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from tests.recording.http_kit import Scripted, call, events, listening, recorded, rows
from tests.waiting import LONG

from tradefair.recording.http import sessions as http_sessions
from tradefair.recording.http.sessions import CLIENT_INFO

BEGIN = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"clientInfo": {"name": "desk", "version": "2"}}}


async def at_once(request: bytes) -> None:
    """Wait for nothing."""


def echoing(headers: Mapping[str, str], before: Callable[[bytes], Awaitable[None]] = at_once) -> Scripted:
    """A server that answers each request with its own parameters and adds `headers` to what begins a session.

    It answers when `before` has returned.
    """

    def size(data: bytes) -> int:
        head, _, body = data.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), 0)
        return len(head) + 4 + length if data and len(body) >= length else 0

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        await before(request)
        said = orjson.loads(request.partition(b"\r\n\r\n")[2] or b"{}")
        body = orjson.dumps(
            {"jsonrpc": "2.0", "id": said.get("id"), "result": {"structuredContent": said.get("params")}}
        )
        lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        if said.get("method") == "initialize":
            lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    return Scripted(answer, size)


def named(message: dict[str, Any], client: str) -> dict[str, Any]:
    """`message` as of the era without sessions, from a client with that name."""
    meta = {CLIENT_INFO: {"name": client, "version": "1"}}
    return {**message, "params": {**message["params"], "_meta": meta}}


def texts(path: Path) -> list[str]:
    return [arguments["text"] for tool, arguments, _ in rows(path) if tool == "echo"]


def label(path: Path) -> str:
    return events(path)[0]["seating"]["players"]["client"]["label"]


async def ask(port: int, message: dict[str, Any], method: str = "POST", **headers: str) -> Any:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    # Thirty at once on a busy machine wait for longer than five seconds.
    async with httpx2.AsyncClient(timeout=LONG) as http:
        answer = await http.request(method, f"http://127.0.0.1:{port}/mcp", json=message, headers=given)
    return orjson.loads(answer.content)


async def test_a_session_that_the_server_names_is_a_trace_and_ends_with_it(tmp_path: Path) -> None:
    server = echoing({"Mcp-Session-Id": "a"})
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        await ask(recording.port, BEGIN)
        await ask(recording.port, call(1, text="first"), mcp_session_id="a")
        await ask(recording.port, call(1, text="elsewhere"), mcp_session_id="b")
        await ask(recording.port, call(2, text="second"), mcp_session_id="a")
        await ask(recording.port, {}, "DELETE", mcp_session_id="a")
        assert events(recording.traces[0])[-1]["event"] == "episode_ended"
        assert events(recording.traces[1])[-1]["event"] == "tool_called"
        await ask(recording.port, call(3, text="behind its end"), mcp_session_id="a")
    assert [texts(path) for path in recording.traces] == [["first", "second"], ["elsewhere"], ["behind its end"]]
    assert label(recording.traces[0]) == "desk 2"


async def test_without_sessions_a_client_is_its_credentials_and_its_name(tmp_path: Path) -> None:
    async with listening(echoing({})) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        for text, client, token in (
            ("1", "desk", "t1"), ("2", "desk", "t2"), ("3", "lamp", "t1"), ("4", "desk", "t1"), ("5", "desk", "t2"),
        ):  # fmt: skip
            await ask(recording.port, named(call(1, text=text), client), authorization=f"Bearer {token}")
    assert [texts(path) for path in recording.traces] == [["1", "4"], ["2", "5"], ["3"]]
    assert [label(path) for path in recording.traces] == ["desk 1", "desk 1", "lamp 1"]
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Bearer" not in written


async def test_a_client_that_begins_again_without_a_session_has_a_new_trace(tmp_path: Path) -> None:
    async with listening(echoing({})) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        for text in ("first", "second"):
            await ask(recording.port, BEGIN)
            await ask(recording.port, call(1, text=text))
            ended = [events(path)[-1]["event"] == "episode_ended" for path in recording.traces]
    assert ended == [True, False]
    assert [texts(path) for path in recording.traces] == [["first"], ["second"]]
    assert events(recording.traces[1])[-1]["event"] == "episode_ended"


async def test_an_answer_behind_the_end_of_its_session_is_in_its_trace(tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()
    late = b'{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"late":true}}}'

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        if request.startswith(b"DELETE"):
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
            ended.set()
            return
        begun.set()
        await ended.wait()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(late)}\r\n\r\n"
        writer.write(head.encode() + late)

    server = Scripted(answer, lambda data: len(data) if data.endswith((b"}}}", b"\r\n\r\n")) else 0)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        url, headers = f"http://127.0.0.1:{recording.port}/mcp", {"Mcp-Session-Id": "a"}
        async with httpx2.AsyncClient() as http, asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(http.post(url, json=call(1, text="x"), headers=headers))
            await begun.wait()
            assert (await http.request("DELETE", url, headers=headers)).status_code == 204
            assert (await asked).content == late
        assert events(recording.traces[0])[-1]["event"] == "episode_ended"
    assert (rows(recording.traces[0]), recording.broken) == ([("echo", {"text": "x"}, {"late": True})], [])


async def test_a_call_of_which_the_server_hangs_up_was_never_answered_and_not_called_off(tmp_path: Path) -> None:
    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    server = Scripted(answer, lambda data: len(data) if data.endswith(b"}}}") else 0)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        with pytest.raises(httpx2.TransportError):
            await ask(recording.port, call(1, text="x"))
    assert rows(recording.traces[0]) == [("echo", {"text": "x"}, "no_answer")]


async def test_equal_ids_of_clients_at_the_same_time_are_kept_apart(tmp_path: Path) -> None:
    async with listening(echoing({})) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        await asyncio.gather(*(ask(recording.port, named(call(1, text=str(number)), "desk")) for number in range(30)))
    found = rows(recording.traces[0])
    assert len(found) == 30
    assert all(answer["arguments"] == arguments for _, arguments, answer in found)


async def test_logs_that_are_open_at_once_are_bounded_and_the_silent_one_is_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_sessions, "MAX_SESSIONS", 3)
    async with listening(echoing({})) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        for number in range(5):
            await ask(recording.port, call(1, text="x"), mcp_session_id=str(number))
            await ask(recording.port, call(2, text="x"), mcp_session_id="0")
        ended = [events(path)[-1]["event"] == "episode_ended" for path in recording.traces]
    assert ended == [False, True, True, False, False]


async def test_whoever_comes_while_every_log_waits_for_an_answer_is_sent_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_sessions, "MAX_SESSIONS", 3)
    going, full = asyncio.Event(), asyncio.Event()
    waits = 0

    async def until_all_wait(request: bytes) -> None:
        nonlocal waits
        if b"wait" in request:
            waits += 1
            if waits == 3:
                full.set()
            await going.wait()

    async with (
        listening(echoing({"Mcp-Session-Id": "new"}, until_all_wait)) as port,
        recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording,
    ):
        calls = [ask(recording.port, call(1, text="wait"), mcp_session_id=str(number)) for number in range(2)]
        # What begins a session opens its log when it is answered; until then it counts as well.
        begun = {**BEGIN, "params": {"clientInfo": {"name": "wait", "version": "1"}}}
        waiting = [asyncio.create_task(one) for one in (*calls, ask(recording.port, begun))]
        await full.wait()
        async with httpx2.AsyncClient() as http:
            url = f"http://127.0.0.1:{recording.port}/mcp"
            refused = await http.post(url, json=call(1, text="x"), headers={"mcp-session-id": "more"})
            # Where the server speaks first, nothing of it is passed on.
            with pytest.raises(httpx2.RemoteProtocolError):
                await http.get(url, headers={"mcp-session-id": "spoken"})
        assert (refused.status_code, b"try again later" in refused.content) == (503, True)
        assert len(recording.traces) == 2
        going.set()
        await asyncio.gather(*waiting)
        await ask(recording.port, call(1, text="x"), mcp_session_id="more")
    assert len(recording.traces) == 4
    assert recording.broken == []


async def test_what_is_no_session_leaves_no_trace(tmp_path: Path) -> None:
    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4000000\r\n\r\n" + bytes(4_000_000))

    server = Scripted(reply, lambda data: len(data) if data.endswith(b"\r\n\r\n") else 0)
    async with (
        listening(server) as port,
        recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording,
        httpx2.AsyncClient() as http,
    ):
        for path in ("large", "mcp"):
            assert len((await http.get(f"http://127.0.0.1:{recording.port}/{path}")).content) == 4_000_000
    assert (recording.traces, recording.broken) == ([], [])


async def test_what_is_too_large_to_be_read_answers_the_one_call_of_its_request(tmp_path: Path) -> None:
    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\nabc")

    server = Scripted(reply, lambda data: len(data) if data.endswith(b"}}}") else 0)
    async with (
        listening(server) as port,
        recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording,
        httpx2.AsyncClient() as http,
        http.stream("POST", f"http://127.0.0.1:{recording.port}/mcp", json=call(1, text="x")) as answer,
    ):
        assert [chunk async for chunk in answer.aiter_raw()] == [b"abc"]
    ((tool, _, answer),) = rows(recording.traces[0])
    assert (tool, answer["size"]) == ("echo", 3)

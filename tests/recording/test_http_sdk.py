"""The official SDK's client and server, both protocol eras, through a recorder over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from tests.recording.http_kit import call, events, recorded, rows
from tests.waiting import LONG, eventually

SERVER = Path(__file__).with_name("sdk_server.py")
LARGE = 1_500_000  # text and structure: 3 MB; the SDK takes no event over 4 MiB


@contextmanager
def sdk_server(kind: str) -> Generator[int]:
    """The port of the server in a process of its own."""
    process = subprocess.Popen([sys.executable, SERVER, kind], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Tap:
    """A wire: bytes pass both ways and are kept, by connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.heard: list[list[bytes]] = []

    def sides(self) -> list[tuple[bytes, bytes]]:
        """What was sent and what came back, by connection, without the line `Host`."""
        return sorted((re.sub(rb"(?im)^host:[^\r\n]*", b"", sent), got) for sent, got in self.heard if sent)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, both directions."""
        kept = [b"", b""]
        self.heard.append(kept)
        onwards = await asyncio.open_connection("127.0.0.1", self._port)

        async def carry(way: int, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            try:
                while data := await source.read(65_536):
                    kept[way] += data
                    target.write(data)
                    await target.drain()
            except OSError:
                pass
            finally:
                target.close()

        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(carry(0, reader, onwards[1]), carry(1, onwards[0], writer))


@asynccontextmanager
async def tapped(port: int) -> AsyncGenerator[tuple[int, Tap]]:
    """A wire to `port`: its own port, and what it keeps."""
    tap = Tap(port)
    listener = await asyncio.start_server(tap.connected, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1], tap
    finally:
        listener.close()


async def chosen(context: Any, params: Any) -> ElicitResult:
    """A person answers."""
    return ElicitResult(action="accept", content={"colour": "red"})


async def session(url: str, mode: str) -> list[str]:
    """One session of all that the server can do; what the client got."""
    async with Client(streamable_http_client(url), mode=mode, elicitation_callback=chosen) as client:
        await client.list_tools()
        got = [str(await client.call_tool("echo", {"text": f"é {number}"})) for number in range(20)]
        at_once = (client.call_tool("echo", {"text": f"at once {number}"}) for number in range(20))
        got += map(str, await asyncio.gather(*at_once))
        for tool, arguments in (("large", {"size": LARGE}), ("refuse", {}), ("report", {}), ("ask", {})):
            try:
                got.append(str(await client.call_tool(tool, arguments)))
            except Exception as error:
                got.append(str(error))
    return got


@pytest.mark.parametrize("kind", ["json", "sse", "stateless"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
async def test_a_session_of_the_sdk_is_the_same_and_a_whole_trace(kind: str, mode: str, tmp_path: Path) -> None:
    with sdk_server(kind) as port:
        direct = await session(f"http://127.0.0.1:{port}/mcp", mode)
        async with (
            tapped(port) as (behind, server_side),
            recorded(f"http://127.0.0.1:{behind}/mcp", tmp_path) as recording,
            tapped(recording.port) as (before, client_side),
        ):
            assert await session(f"http://127.0.0.1:{before}/mcp", mode) == direct
        assert recording.broken == []
    assert len(recording.traces) == 1

    # Every byte of every connection, but for the line `Host`. A client may hang up once it has its answer.
    for (sent, got), (passed, answered) in zip(server_side.sides(), client_side.sides(), strict=True):
        assert sent == passed
        assert got.startswith(answered)
        assert len(got) - len(answered) < 100
    held = rows(recording.traces[0])
    echoed = [(arguments["text"], answer) for tool, arguments, answer in held if tool == "echo"]
    assert len(echoed) == 40
    assert [text for text, _ in echoed[:20]] == [f"é {number}" for number in range(20)]
    assert {answer["result"] == text for text, answer in echoed} == {True}
    rest = [row for row in held if row[0] != "echo"]
    told = [("server", "notifications/message")] if (mode, kind != "json") == ("legacy", True) else []
    asked = [("server", "elicitation/create"), ("client", "elicitation/create")] if told and kind == "sse" else []
    calls: list[tuple[str, Any]] = [
        ("large", {"size": LARGE}),
        ("refuse", {}),
        *told,
        ("report", {}),
        *asked,
        ("ask", {}),
    ]
    assert [row[:2] for row in rest] == [("server", "tools/list"), *calls]
    assert [row[2] for row in rest if row[0] in ("refuse", "report")] == ["tool_error", {"result": "done"}]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_call_that_a_client_gives_up_was_called_off(mode: str, tmp_path: Path) -> None:
    with sdk_server("sse") as port:
        async with (
            recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording,
            Client(streamable_http_client(f"http://127.0.0.1:{recording.port}/mcp"), mode=mode) as client,
        ):
            await client.call_tool("echo", {"text": "a"})
            async with anyio.create_task_group() as calls:
                calls.start_soon(client.call_tool, "slow")
                await eventually(lambda: ("pending", "slow") in rows(recording.traces[0]), "a call under way")
                calls.cancel_scope.cancel()
            await client.call_tool("echo", {"text": "b"})
    found = {row[0]: row[2] for row in rows(recording.traces[0]) if row[0] in ("echo", "slow")}
    # The older era asks the server to give it up, which may say that it has: an answer that comes anyhow counts.
    assert found["slow"] in ({"cancelled", "rpc_-32800"} if mode == "legacy" else {"cancelled"})
    assert found["echo"] == {"result": "b"}
    assert recording.broken == []


HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
BEGIN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}


async def test_a_stream_that_is_taken_up_again_brings_each_answer_once(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        port = stack.enter_context(sdk_server("sse"))
        recording = await stack.enter_async_context(recorded(f"http://127.0.0.1:{port}/mcp", tmp_path))
        url, http = f"http://127.0.0.1:{recording.port}/mcp", await stack.enter_async_context(httpx2.AsyncClient())
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": BEGIN}
        began = await http.post(url, json=body, headers=HEADERS)
        headers = {**HEADERS, "Mcp-Session-Id": began.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
        await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
        async with http.stream("POST", url, json=call(1, "slow"), headers=headers) as stream:
            lines = stream.aiter_lines()
            event = next(line for line in [await anext(lines), await anext(lines)] if line.startswith("id:"))
        assert rows(recording.traces[0]) in ([("pending", "slow")], [("cancelled", "slow")])
        await http.post(url, json=call(2, "go"), headers=headers)
        again = {**headers, "Last-Event-ID": event.removeprefix("id:").strip()}
        for _ in range(2):  # the second time, the server repeats it
            async with asyncio.timeout(LONG), http.stream("GET", url, headers=again) as stream:
                assert "late" in await anext(line async for line in stream.aiter_lines() if '"result"' in line)
            assert [row for row in rows(recording.traces[0]) if row[0] != "go"] == [("slow", {}, {"result": "late"})]
        assert (await http.delete(url, headers=headers)).status_code == 200
        assert events(recording.traces[0])[-1]["event"] == "episode_ended"
    assert (len(recording.traces), recording.broken) == (1, [])

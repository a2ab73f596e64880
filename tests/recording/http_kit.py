"""A recorder over HTTP in this process: a server that answers by script, a log that keeps what it is given."""

from __future__ import annotations

import asyncio
import sqlite3
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from tests.waiting import LONG

from tradefair.recording.exchange import Exchange
from tradefair.recording.http.heads import upstream_of
from tradefair.recording.http.proxy import Recorder, serve
from tradefair.recording.http.sessions import Sessions
from tradefair.tracestore.redaction import Redactor

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


class Recording(NamedTuple):
    """A recorder that runs: its port, the traces that it has begun, and what a log has raised."""

    port: int
    traces: list[Path]
    broken: list[Exception]

    def rows(self) -> list[tuple[Any, ...]]:
        """What all traces hold, in order: calls as (tool, arguments, answer), messages, open calls."""
        return [row for path in self.traces for row in rows(path)]


def events(path: Path) -> list[dict[str, Any]]:
    """The events of a trace that may still be written to."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return [orjson.loads(body) for (body,) in database.execute("SELECT body FROM events ORDER BY seq")]


def rows(path: Path) -> list[tuple[Any, ...]]:
    """What a trace holds beside its first and last event."""
    if not path.exists():
        return []
    found: list[tuple[Any, ...]] = []
    for event in events(path):
        match event["event"]:
            case "tool_called":
                answer = event["error"]["code"] if event["error"] else event["result"]
                found.append((event["tool"], event["arguments"], answer))
            case "message":
                found.append((event["role"], event["name"], event["content"]))
            case _:
                pass
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for body, cancelled in database.execute("SELECT body, cancelled FROM pending ORDER BY id"):
            found.append(("cancelled" if cancelled else "pending", orjson.loads(body)["tool"]))
    return found


class Scripted:
    """A server of raw bytes. `answer` is called with each whole request (head and body as the script frames it)."""

    def __init__(self, answer: Answer, frame: Callable[[bytes], int]) -> None:
        self.heard = b""
        self.closed = asyncio.Event()
        self._answer, self._frame = answer, frame

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = b""
        try:
            while more := await reader.read(65_536):
                self.heard += more
                data += more
                while size := self._frame(data):
                    request, data = data[:size], data[size:]
                    await self._answer(request, writer)
        except OSError:
            pass
        finally:
            self.closed.set()
            writer.close()


@asynccontextmanager
async def listening(server: Scripted, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """The port on which `server` listens."""
    listener = await asyncio.start_server(server.connected, "127.0.0.1", 0, ssl=tls)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()


@asynccontextmanager
async def recorded(url: str, folder: Path, redactor: Redactor | None = None) -> AsyncGenerator[Recording]:
    """A recorder of the server at `url`, with its traces in `folder`."""
    redactor = redactor or Redactor()
    traces: list[Path] = []
    broken: list[Exception] = []

    def opened() -> Exchange:
        traces.append(folder / f"s{len(traces) + 1}.trace")
        return Exchange(traces[-1], redactor, {}, transport="http")

    sessions, ended = Sessions(opened), asyncio.Event()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    recorder = Recorder(upstream_of(url), None, sessions, broken.append)
    task = asyncio.create_task(serve(recorder, 0, address.set_result, ended))
    try:
        yield Recording(int((await address).removesuffix("/mcp").rpartition(":")[2]), traces, broken)
    finally:
        ended.set()
        await task
        sessions.close()


async def exchange(port: int, pieces: Sequence[bytes], until: int | None = None) -> bytes:
    """Send `pieces` to a port one by one and read `until` bytes, or to the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        async with asyncio.timeout(LONG):
            return await (reader.read() if until is None else reader.readexactly(until))
    finally:
        writer.close()


def call(number: int, tool: str = "echo", **arguments: Any) -> dict[str, Any]:
    """A request `tools/call`."""
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def post(body: bytes, *headers: str, host: str = "127.0.0.1") -> bytes:
    """A POST of `body` with a length."""
    lines = ["POST /mcp HTTP/1.1", f"Host: {host}", "Content-Type: application/json", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body

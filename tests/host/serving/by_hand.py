"""Seats that are spoken to in bytes, without the SDK: over HTTP, and on the pipes of a server process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}


class Seat:
    """A hosted seat that is spoken to in bytes, without a session. `token`: where `http` does not send it itself."""

    def __init__(self, url: str, http: httpx2.AsyncClient, token: str | None = None) -> None:
        self._url = url
        self._http = http
        self._known = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def call(self, tool: str, arguments: bytes, key: bytes = b"null") -> httpx2.Response:
        meta = b'{"tradefair/call-key": %b, %b' % (key, orjson.dumps(META)[1:])
        params = b'{"name": "%b", "arguments": %b, "_meta": %b}' % (tool.encode(), arguments, meta)
        body = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": %b}' % params
        said = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
        return await self._http.post(self._url, content=body, headers={**said, **self._known})

    async def refusal(self, tool: str, arguments: bytes, **options: Any) -> Any:
        """The four fields."""
        answer = await self.call(tool, arguments, **options)
        assert answer.status_code == 200
        result = answer.json()["result"]
        assert result["isError"] is True
        assert orjson.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]


class Server:
    """A server process that is spoken to line by line."""

    def __init__(self, process: asyncio.subprocess.Process, stage: Any) -> None:
        self.process = process
        self._within = stage.within
        self._post = stage.post
        self._number = 0

    async def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def line(self) -> Any:
        """The next line of standard output, which must be JSON-RPC."""
        assert self.process.stdout is not None
        return orjson.loads(await self._within(self.process.stdout.readline()))

    async def ask(self, method: str, **params: Any) -> Any:
        self._number += 1
        await self.send(self._post(method, params, number=self._number))
        while (answer := await self.line()).get("id") != self._number:
            assert answer["jsonrpc"] == "2.0"
        return answer

    async def call(self, tool: str, **arguments: Any) -> Any:
        return (await self.ask("tools/call", name=tool, arguments=arguments))["result"]["structuredContent"]

    async def hello(self) -> None:
        assert (await self.ask("initialize", **HELLO))["result"]["serverInfo"]["name"].startswith("tradefair-")
        await self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    async def leave(self) -> str:
        """Close standard input and wait for the end; standard error. Nothing more may have been written."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        if self.process.stdin is not None:
            self.process.stdin.close()
        assert await self._within(self.process.stdout.read()) == b""
        told = (await self._within(self.process.stderr.read())).decode()
        await self._within(self.process.wait())
        return told


@asynccontextmanager
async def started(stage: Any, *arguments: str, command: str = "", **options: Any) -> AsyncGenerator[Server]:
    process = await asyncio.create_subprocess_exec(
        command or stage.tradefair,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        **options,
    )
    try:
        yield Server(process, stage)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

"""One script of calls for every door into an episode: what is asked as bytes, and the code that must come back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import httpx2
from tests.host.serving.by_hand import HEADERS, Seat, Server
from tests.waiting import LONG

from tradefair.host.hosting import Host


class Step(NamedTuple):
    """A call as bytes and what becomes of it: a code of refusal, or ok."""

    seat: str
    tool: str
    arguments: bytes
    expected: str


Door = Callable[[Step], Awaitable[str]]


async def walk(steps: Iterable[Step], door: Door) -> None:
    """Every step has the code that is expected of it."""
    for number, step in enumerate(steps):
        code = await door(step)
        assert code == step.expected, f"step {number}: {step.seat} {step.tool} {step.arguments[:80]!r}: {code}"


def code_of(result: Any) -> str:
    """The code of a refusal on the wire, with its four fields, or ok."""
    if not result.get("isError"):
        return "ok"
    error = result["structuredContent"]
    assert set(error) == {"code", "message", "hint", "retryable"}
    assert len(error["message"]) + len(error["hint"]) < 4_096
    return error["code"]


@asynccontextmanager
async def seats_over_http(url: str, host: Host, episode: str, names: Iterable[str]) -> AsyncGenerator[dict[str, Seat]]:
    """Seats of a hosted episode by name, each with a client and a token of its own."""
    async with AsyncExitStack() as stack:
        seats: dict[str, Seat] = {}
        for name in names:
            headers = {**HEADERS, "Authorization": f"Bearer {host.invite(episode, name)[0]}"}
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=LONG))
            seats[name] = Seat(url, http)
        yield seats


def over_pipes(server: Server) -> Door:
    """The pipes of a server process, which serves one seat."""
    numbers = iter(range(1_000, 2_000))

    async def ask(step: Step) -> str:
        number = next(numbers)
        params = b'{"name": "%b", "arguments": %b}' % (step.tool.encode(), step.arguments)
        await server.send(b'{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": %b}' % (number, params))
        while (answer := await server.line()).get("id") != number:
            assert "error" not in answer, answer
        return code_of(answer["result"])

    return ask


class Clients:
    """Clients in processes of their own, all run from one `source`; none outlives the context."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.processes: list[asyncio.subprocess.Process] = []

    async def __aenter__(self) -> Clients:
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in self.processes:
            if process.returncode is None:
                process.kill()
            await process.wait()

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """One more; its standard output can be read."""
        given = ("-c", self._source, *arguments)
        process = await asyncio.create_subprocess_exec(sys.executable, *given, stdout=asyncio.subprocess.PIPE)
        self.processes.append(process)
        return process

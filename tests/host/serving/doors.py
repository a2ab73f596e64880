"""One script of calls for every door into an episode: what is asked as bytes, and the code that must come back."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import httpx2
from tests.host.serving.by_hand import HEADERS, Seat, Server
from tests.waiting import LONG

from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.hosting import Host


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


@asynccontextmanager
async def door_into(stage: Any, episode: Any, names: Iterable[str], *, over_http: bool) -> AsyncGenerator[Door]:
    """Into an episode in this process, straight or as bytes over HTTP; the episode is closed at the end."""
    host = Host(episode.path.parent)
    host.add(episode)

    async def straight(step: Step) -> str:
        before = episode.core.market.digest()
        result = await episode.call(step.seat, step.tool, json.loads(step.arguments))
        if result.error is None:
            return "ok"
        assert episode.core.market.digest() == before
        return result.error.code

    if not over_http:
        yield straight
        await host.close()
        return
    async with stage.hosted(host) as server, seats_over_http(server.url, host, episode.id, names) as seats:

        async def post(step: Step) -> str:
            answer = await seats[step.seat].call(step.tool, step.arguments)
            assert answer.status_code == 200
            return code_of(answer.json()["result"])

        yield post


async def walk_alike(stage: Any, inside: Any, hosted: Any, names: Sequence[str], steps: Iterable[Step]) -> None:
    """The same steps to the end of two episodes, straight into one and over HTTP into the other: nothing differs."""
    steps = list(steps)
    for episode, over_http in ((inside, False), (hosted, True)):
        async with door_into(stage, episode, names, over_http=over_http) as door:
            await walk(steps, door)
    first, last = (
        [(event["event"], event.get("status")) for event in stage.events(episode.path)] for episode in (inside, hosted)
    )
    assert first == last
    assert hosted.core.ended == inside.core.ended
    assert hosted.core.outcome_digest == inside.core.outcome_digest
    assert [verify_file(episode.path).verdict for episode in (inside, hosted)] == ["reproduced"] * 2
    assert hosted.path.stat().st_size < 1_000_000


async def happened(
    stage: Any, episode: Any, names: Sequence[str], steps: Iterable[Step], *, over_http: bool
) -> tuple[list[Any], list[Any], str]:
    """What an episode of these steps holds: actions by seat, closures, and the end."""
    async with door_into(stage, episode, names, over_http=over_http) as door:
        await walk(steps, door)
    events = stage.events(episode.path)
    acted = [
        [event[name] for name in ("round", "seat", "call", "tool", "arguments")]
        for event in events
        if event["event"] == "tool_called"
    ]
    closed = [
        {name: event.get(name) for name in ("event", "round", "phase", "public", "facts", "state_digest")}
        for event in events
        if event["event"].endswith(("_closed", "_ended"))
    ]
    assert all(event["state_digest"] for event in closed if event["event"] == "round_closed")
    assert verify_file(episode.path).verdict == "reproduced"
    return sorted(acted, key=lambda one: one[:3]), closed, episode.core.outcome_digest


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

"""kill -9 of a served market in mid-episode: nothing acknowledged is lost, nothing happens twice. Real processes.

A call in flight may meet the kill before the server has read it, while it is carried out, or after its commit. Each of
the three is made to happen: a stopped process reads nothing, and the trace shows when a call is committed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson
import pytest
from mcp import Client

from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.verify import verify_file
from tradefair.host.setup import new_episode, plan_seats
from tradefair.tracestore import open_trace

ROUNDS = 10
SEED = 7
GAME = ("double_auction", "--set", f"rounds={ROUNDS}", "--seed", str(SEED), "--others", "truthful")
SEATS = ("B1", "S1")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}

Moment = Literal["before it is read", "at once", "after its commit"]
# Round -> when the server is killed with the quotes of that round in flight.
KILLS: dict[int, Moment] = {2: "before it is read", 5: "at once", 8: "after its commit"}


class Call(NamedTuple):
    """A quote or a note of a seat. It does not name its round: only its key keeps a repeat out of the next one."""

    seat: str
    number: int
    arguments: dict[str, Any]
    tool: str = "submit_quote"

    @property
    def key(self) -> str:
        return f"{self.tool}-{self.seat}-{self.number}"

    @property
    def meta(self) -> Any:
        return {"tradefair/call-key": self.key}


def quote(seat: str, number: int) -> Call:
    """What the client in `seat` quotes in a round: prices that sometimes trade and sometimes do not."""
    price = 30 + (number * 37 + len(seat) * 11 + (5 if seat[0] == "B" else 0)) % 60
    return Call(seat, number, {"price": price})


def calls(seat: str, number: int) -> tuple[Call, Call]:
    """What the client in `seat` sends in a round."""
    return Call(seat, number, {"text": f"round {number}"}, "add_note"), quote(seat, number)


class Process:
    """A tradefair process, and the same one again after a kill."""

    def __init__(self, stage: Any) -> None:
        self.starts = 0
        self.within = stage.within
        self._tradefair = stage.tradefair
        self._running: asyncio.subprocess.Process | None = None

    async def start(self, *arguments: str) -> None:
        pipe = asyncio.subprocess.PIPE
        self._running = await asyncio.create_subprocess_exec(
            self._tradefair, *arguments, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
        )
        self.starts += 1

    @property
    def running(self) -> asyncio.subprocess.Process:
        assert self._running is not None
        return self._running

    async def line(self) -> Any:
        assert self.running.stdout is not None
        return orjson.loads(await self.within(self.running.stdout.readline()))

    async def write(self, line: bytes) -> None:
        assert self.running.stdin is not None
        self.running.stdin.write(line + b"\n")
        await self.running.stdin.drain()

    def stop(self) -> None:
        """SIGSTOP: it reads nothing any more."""
        os.kill(self.running.pid, signal.SIGSTOP)

    async def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.running.returncode is None:
            self.running.send_signal(how)
        await self.within(self.running.wait())


@asynccontextmanager
async def process(stage: Any) -> AsyncGenerator[Process]:
    made = Process(stage)
    try:
        yield made
    finally:
        await made.end()


def events(path: Path) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return list(trace.decoded())


def quotes_in(path: Path, seat: str) -> list[int]:
    """The rounds in which a quote of the seat has been accepted so far, in order."""
    return [
        event["round"]
        for event in events(path)
        if event.get("seat") == seat and event.get("tool") == "submit_quote" and event["status"] == "ok"
    ]


async def committed(path: Path, seats: tuple[str, ...], number: int) -> None:
    """Wait until the trace holds a round's quotes; bounded."""
    for _ in range(1_000):
        if all(number in quotes_in(path, seat) for seat in seats):
            return
        await asyncio.sleep(0.005)  # another process commits
    raise AssertionError(f"the quotes of round {number} never came")


def check_moment(path: Path, seats: tuple[str, ...], number: int, moment: Moment) -> None:
    """The kill came when it was meant to: a round's quotes are all in the trace, or none is."""
    found = [number in quotes_in(path, seat) for seat in seats]
    if moment != "at once":
        assert set(found) == {moment == "after its commit"}


async def uninterrupted(folder: Path, seats: tuple[str, ...]) -> str:
    """The outcome digest of the same game with the same clients, in one process."""
    kind = market_type("double_auction")
    scenario = load_scenario("double_auction", "bazaar", {"rounds": ROUNDS})
    plan = plan_seats(kind, scenario, agents=seats, others="truthful")
    episode = await new_episode(kind, scenario, SEED, plan, folder)
    for number in range(1, ROUNDS + 1):
        for seat in seats:
            assert (await episode.call(seat, "submit_quote", quote(seat, number).arguments)).status == "ok"
    await episode.close()
    return outcome(episode.path)


def outcome(path: Path) -> str:
    """The outcome digest of a finished trace that is what it should be."""
    verdict = verify_file(path)
    assert (verdict.verdict, verdict.sealed) == ("reproduced", True)
    with open_trace(path) as trace:
        assert trace.manifest.about["end_reason"] == "terminated:rounds_completed"
        return trace.manifest.about["outcome_digest"]


def check_once(path: Path, seats: tuple[str, ...]) -> None:
    """Every round has one quote and one note of each seat, and nothing was refused on the way."""
    for seat in seats:
        notes = [event for event in events(path) if (event.get("seat"), event.get("tool")) == (seat, "add_note")]
        assert [event["result"]["number"] for event in notes] == list(range(1, ROUNDS + 1))
        assert Counter(quotes_in(path, seat)) == Counter(range(1, ROUNDS + 1))
    assert not [event for event in events(path) if event.get("error")]


# --- the host -----------------------------------------------------------------------------------------------------


class Hosted:
    """A hosted episode that two clients play over HTTP, each acknowledged answer kept."""

    def __init__(self, stage: Any, server: Process, folder: Path, era: str) -> None:
        self.acknowledged: dict[str, Any] = {}
        self.url = ""
        self.trace = Path()
        self.tokens: dict[str, str] = {}
        self._stage = stage
        self._server = server
        self._folder = folder
        self._era = era

    async def start(self) -> None:
        await self._server.start("host", *GAME, "--seats", ",".join(SEATS), "--json", "--out", str(self._folder))
        ready = await self._server.line()
        (episode,) = ready["episodes"]
        self.url, self.trace = ready["url"], Path(episode["trace"])
        self.tokens = {seat["seat"]: seat["token"] for seat in episode["seats"]}

    async def resume(self, *, same_port: bool) -> None:
        port = self.url.rsplit(":", 1)[1].split("/")[0] if same_port else "0"
        await self._server.start("host", "--resume", str(self._folder), "--port", port, "--json")
        ready = await self._server.line()
        assert [seat["token"] for seat in ready["episodes"][0]["seats"]] == [None, None]
        assert (ready["url"] == self.url) is same_port
        self.url = ready["url"]

    async def play(self, first: int, last: int) -> None:
        """Both clients play some rounds at the same time."""
        await asyncio.gather(*(self._play(seat, first, last) for seat in SEATS))

    async def interrupt(self, number: int, moment: Moment) -> None:
        """The quotes of a round are under way when the server is killed; no answer of theirs is believed."""
        connected, go = asyncio.Barrier(len(SEATS) + 1), asyncio.Event()
        flying = [asyncio.create_task(self._fly(quote(seat, number), connected, go)) for seat in SEATS]
        await self._server.within(connected.wait())
        if moment == "before it is read":
            self._server.stop()
        go.set()
        await (committed(self.trace, SEATS, number) if moment == "after its commit" else asyncio.sleep(0.01))
        await self._server.end()
        await self._server.within(asyncio.gather(*flying, return_exceptions=True))

    async def _fly(self, call: Call, connected: asyncio.Barrier, go: asyncio.Event) -> None:
        async with self._stage.at(self.url, self.tokens[call.seat], self._era) as client:
            await connected.wait()
            await go.wait()
            await client.call_tool("submit_quote", call.arguments, meta=call.meta)

    async def repeat_all(self) -> None:
        """Every acknowledged call again: its answer is the same, whatever has happened since."""
        for seat in SEATS:
            async with self._stage.at(self.url, self.tokens[seat], self._era) as client:
                for call in (call for number in range(1, ROUNDS + 1) for call in calls(seat, number)):
                    if call.key in self.acknowledged:
                        await self._send(client, call)

    async def _play(self, seat: str, first: int, last: int) -> None:
        async with self._stage.at(self.url, self.tokens[seat], self._era) as client:
            for number in range(first, last + 1):
                await client.call_tool("await_turn")
                for call in calls(seat, number):
                    await self._send(client, call)

    async def _send(self, client: Client, call: Call) -> None:
        answer = await client.call_tool(call.tool, call.arguments, meta=call.meta)
        assert not answer.is_error, answer.structured_content
        known = self.acknowledged.setdefault(call.key, answer.structured_content)
        assert answer.structured_content == known


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_killed_host_goes_on_to_the_outcome_of_an_uninterrupted_one(
    stage: Any, tmp_path: Path, mode: str
) -> None:
    async with process(stage) as server:
        game = Hosted(stage, server, tmp_path / "killed", mode)
        await game.start()
        done = 0
        for number, moment in KILLS.items():
            await game.play(done + 1, number - 1)
            await game.interrupt(number, moment)
            check_moment(game.trace, SEATS, number, moment)
            await game.resume(same_port=number % 2 == 0)
            await game.repeat_all()
            done = number - 1
        await game.play(done + 1, ROUNDS)
        assert len(game.acknowledged) == 2 * ROUNDS * len(SEATS)
        await server.end(signal.SIGTERM)
        assert server.starts == len(KILLS) + 1
    check_once(game.trace, SEATS)
    assert outcome(game.trace) == await uninterrupted(tmp_path / "whole", SEATS)


# --- stdio --------------------------------------------------------------------------------------------------------


class Served:
    """A seat served over stdio, spoken to line by line."""

    def __init__(self, server: Process, folder: Path) -> None:
        self.acknowledged: dict[str, Any] = {}
        self._server = server
        self._folder = folder
        self._number = 0

    @property
    def trace(self) -> Path:
        (found,) = self._folder.glob("*.trace")
        return found

    async def start(self, *arguments: str) -> None:
        await self._server.start("serve", *arguments)
        await self._send("initialize", HELLO)
        assert "result" in await self._server.line()
        await self._server.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')

    async def play(self, first: int, last: int) -> None:
        for call in (call for number in range(first, last + 1) for call in calls("B1", number)):
            await self._call(call)

    async def repeat_all(self) -> None:
        """Every acknowledged call again."""
        for call in (call for number in range(1, ROUNDS + 1) for call in calls("B1", number)):
            if call.key in self.acknowledged:
                await self._call(call)

    async def interrupt(self, number: int, moment: Moment) -> None:
        """A quote is under way when the server is killed; its answer is never read."""
        if moment == "before it is read":
            self._server.stop()
        await self._send_call(quote("B1", number))
        if moment == "after its commit":
            await committed(self.trace, ("B1",), number)
        await self._server.end()

    async def _send(self, method: str, params: Mapping[str, Any]) -> None:
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        await self._server.write(orjson.dumps(request))

    async def _send_call(self, call: Call) -> None:
        params = {"name": call.tool, "arguments": call.arguments, "_meta": call.meta}
        await self._send("tools/call", params)

    async def _call(self, call: Call) -> None:
        await self._send_call(call)
        answer = await self._server.line()
        assert (answer["id"], answer["result"]["isError"]) == (self._number, False)
        told = answer["result"]["structuredContent"]
        assert self.acknowledged.setdefault(call.key, told) == told


@pytest.mark.slow
async def test_a_killed_stdio_server_goes_on_to_the_outcome_of_an_uninterrupted_one(stage: Any, tmp_path: Path) -> None:
    async with process(stage) as server:
        game = Served(server, tmp_path / "killed")
        await game.start(*GAME, "--out", str(tmp_path / "killed"))
        done = 0
        for number, moment in KILLS.items():
            await game.play(done + 1, number - 1)
            await game.interrupt(number, moment)
            check_moment(game.trace, ("B1",), number, moment)
            await game.start("--resume", str(game.trace))
            await game.repeat_all()
            done = number - 1
        await game.play(done + 1, ROUNDS)
        assert len(game.acknowledged) == 2 * ROUNDS
        await server.end(signal.SIGTERM)
    check_once(game.trace, ("B1",))
    assert outcome(game.trace) == await uninterrupted(tmp_path / "whole", ("B1",))

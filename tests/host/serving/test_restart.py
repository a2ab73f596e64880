"""kill -9 of a served market in mid-episode: nothing acknowledged is lost, nothing happens twice. Real processes.

A call in flight may meet the kill before the server has read it, while it is carried out, or after its commit. Each of
the three is made to happen: a stopped process reads nothing, and the trace shows when a call is committed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson
import pytest
from mcp import Client
from tests.play_specs import events_of
from tests.waiting import a_moment, eventually

from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.tracestore import open_trace

ROUNDS = 10
SEED = 7
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}

Moment = Literal["before it is read", "at once", "after its commit"]
# Round -> when the server is killed with the acts of that round in flight.
KILLS: dict[int, Moment] = {2: "before it is read", 5: "at once", 8: "after its commit"}


class Call(NamedTuple):
    """An act or a note of a seat. It does not name its round: only its key keeps a repeat out of the next one."""

    seat: str
    number: int
    arguments: dict[str, Any]
    tool: str

    @property
    def key(self) -> str:
        return f"{self.tool}-{self.seat}-{self.number}"

    @property
    def meta(self) -> Any:
        return {"tradefair/call-key": self.key}


@dataclass(frozen=True)
class Game:
    """A market in which each of `seats`, played from outside, acts once a round with `tool`."""

    market: str
    preset: str
    settings: Mapping[str, int]
    others: str
    seats: tuple[str, ...]
    tool: str
    arguments: Callable[[str, int], dict[str, Any]]

    @property
    def words(self) -> tuple[str, ...]:
        """Of a command that begins it."""
        told = [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        return (self.market, "--scenario", self.preset, *told, "--seed", str(SEED), "--others", self.others)

    def act(self, seat: str, number: int) -> Call:
        """What the client in `seat` does in a round."""
        return Call(seat, number, self.arguments(seat, number), self.tool)

    def calls(self, seat: str, number: int) -> tuple[Call, Call]:
        """What the client in `seat` sends in a round."""
        return Call(seat, number, {"text": f"round {number}"}, "add_note"), self.act(seat, number)

    def every_call(self, seat: str) -> Iterator[Call]:
        """Those of all rounds."""
        return (call for number in range(1, ROUNDS + 1) for call in self.calls(seat, number))

    def acted(self, path: Path, seat: str) -> list[int]:
        """The rounds in which an act of the seat has been accepted so far, in order."""
        return [
            event["round"]
            for event in events_of(path)
            if event.get("seat") == seat and event.get("tool") == self.tool and event["status"] == "ok"
        ]


def _quote(seat: str, number: int) -> dict[str, Any]:
    """Prices that sometimes trade and sometimes do not."""
    return {"price": 30 + (number * 37 + len(seat) * 11 + (5 if seat[0] == "B" else 0)) % 60}


GAMES = {
    game.market: game
    for game in (
        Game("double_auction", "bazaar", {"rounds": ROUNDS}, "truthful", ("B1", "S1"), "submit_quote", _quote),
        Game(
            "pricing",
            "hidden_cost",
            {"rounds": ROUNDS},
            "grim",
            ("F1", "F2"),
            "set_price",
            lambda seat, number: {"price": 1_300 + (number * 97 + 40 * int(seat[1])) % 600},
        ),
        # Seats at a book act in turns, not at once: one client, and one step a period.
        Game(
            "order_book",
            "smith",
            {"periods": ROUNDS, "sweeps": 1},
            "zi_c",
            ("B1",),
            "submit_order",
            lambda seat, number: {"side": "buy", "price": 20 + 7 * number % 40},
        ),
    )
}
each_game = pytest.mark.parametrize("game", GAMES.values(), ids=list(GAMES))


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


async def committed(path: Path, game: Game, seats: tuple[str, ...], number: int) -> None:
    """Wait until the trace holds a round's acts; bounded."""
    await eventually(lambda: all(number in game.acted(path, seat) for seat in seats), f"the acts of round {number}")


def check_moment(path: Path, game: Game, seats: tuple[str, ...], number: int, moment: Moment) -> None:
    """The kill came when it was meant to: a round's acts are all in the trace, or none is."""
    found = [number in game.acted(path, seat) for seat in seats]
    if moment != "at once":
        assert set(found) == {moment == "after its commit"}


async def uninterrupted(folder: Path, game: Game, seats: tuple[str, ...]) -> str:
    """The outcome digest of the same game with the same clients, in one process."""
    kind = market_type(game.market)
    scenario = load_scenario(game.market, game.preset, game.settings)
    plan = plan_seats(kind, scenario, agents=seats, others=game.others)
    episode = await new_episode(kind, scenario, SEED, plan, folder)
    for number in range(1, ROUNDS + 1):
        for seat in seats:
            assert (await episode.call(seat, game.tool, game.arguments(seat, number))).status == "ok"
    await episode.close()
    return outcome(episode.path)


def outcome(path: Path) -> str:
    """The outcome digest of a finished trace that is what it should be."""
    verdict = verify_file(path)
    assert (verdict.verdict, verdict.sealed) == ("reproduced", True)
    with open_trace(path) as trace:
        assert trace.manifest.about["end_reason"] == "terminated:rounds_completed"
        return trace.manifest.about["outcome_digest"]


def check_once(path: Path, game: Game, seats: tuple[str, ...]) -> None:
    """Every round has one act and one note of each seat, and nothing was refused on the way."""
    for seat in seats:
        notes = [event for event in events_of(path) if (event.get("seat"), event.get("tool")) == (seat, "add_note")]
        assert [event["result"]["number"] for event in notes] == list(range(1, ROUNDS + 1))
        assert Counter(game.acted(path, seat)) == Counter(range(1, ROUNDS + 1))
    assert not [event for event in events_of(path) if event.get("error")]


# --- the host -----------------------------------------------------------------------------------------------------


class Hosted:
    """A hosted episode that clients play over HTTP, each acknowledged answer kept."""

    def __init__(self, stage: Any, server: Process, game: Game, folder: Path, era: str) -> None:
        self.game = game
        self.acknowledged: dict[str, Any] = {}
        self.url = ""
        self.trace = Path()
        self.tokens: dict[str, str] = {}
        self._stage = stage
        self._server = server
        self._folder = folder
        self._era = era

    async def start(self) -> None:
        await self._server.start(
            "host", *self.game.words, "--seats", ",".join(self.game.seats), "--json", "--out", str(self._folder)
        )
        ready = await self._server.line()
        (episode,) = ready["episodes"]
        self.url, self.trace = ready["url"], Path(episode["trace"])
        self.tokens = {seat["seat"]: seat["token"] for seat in episode["seats"]}

    async def resume(self, *, same_port: bool) -> None:
        port = self.url.rsplit(":", 1)[1].split("/")[0] if same_port else "0"
        await self._server.start("host", "--resume", str(self._folder), "--port", port, "--json")
        ready = await self._server.line()
        assert {seat["token"] for seat in ready["episodes"][0]["seats"]} == {None}
        assert (ready["url"] == self.url) is same_port
        self.url = ready["url"]

    async def play(self, first: int, last: int) -> None:
        """All clients play some rounds at the same time."""
        await asyncio.gather(*(self._play(seat, first, last) for seat in self.game.seats))

    async def interrupt(self, number: int, moment: Moment) -> None:
        """The acts of a round are under way when the server is killed; no answer of theirs is believed."""
        connected, go = asyncio.Barrier(len(self.game.seats) + 1), asyncio.Event()
        flying = [
            asyncio.create_task(self._fly(self.game.act(seat, number), connected, go)) for seat in self.game.seats
        ]
        await self._server.within(connected.wait())
        if moment == "before it is read":
            self._server.stop()
        go.set()
        if moment == "after its commit":
            await committed(self.trace, self.game, self.game.seats, number)
        else:
            await a_moment()
        await self._server.end()
        await self._server.within(asyncio.gather(*flying, return_exceptions=True))

    async def _fly(self, call: Call, connected: asyncio.Barrier, go: asyncio.Event) -> None:
        async with self._stage.at(self.url, self.tokens[call.seat], self._era) as client:
            await connected.wait()
            await go.wait()
            await client.call_tool(call.tool, call.arguments, meta=call.meta)

    async def repeat_all(self) -> None:
        """Every acknowledged call again: its answer is the same, whatever has happened since."""
        for seat in self.game.seats:
            async with self._stage.at(self.url, self.tokens[seat], self._era) as client:
                for call in self.game.every_call(seat):
                    if call.key in self.acknowledged:
                        await self._send(client, call)

    async def _play(self, seat: str, first: int, last: int) -> None:
        async with self._stage.at(self.url, self.tokens[seat], self._era) as client:
            for number in range(first, last + 1):
                await client.call_tool("await_turn")
                for call in self.game.calls(seat, number):
                    await self._send(client, call)

    async def _send(self, client: Client, call: Call) -> None:
        answer = await client.call_tool(call.tool, call.arguments, meta=call.meta)
        assert not answer.is_error, answer.structured_content
        known = self.acknowledged.setdefault(call.key, answer.structured_content)
        assert answer.structured_content == known


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@each_game
async def test_a_killed_host_goes_on_to_the_outcome_of_an_uninterrupted_one(
    stage: Any, tmp_path: Path, game: Game, mode: str
) -> None:
    async with process(stage) as server:
        hosted = Hosted(stage, server, game, tmp_path / "killed", mode)
        await hosted.start()
        done = 0
        for number, moment in KILLS.items():
            await hosted.play(done + 1, number - 1)
            await hosted.interrupt(number, moment)
            check_moment(hosted.trace, game, game.seats, number, moment)
            await hosted.resume(same_port=number % 2 == 0)
            await hosted.repeat_all()
            done = number - 1
        await hosted.play(done + 1, ROUNDS)
        assert len(hosted.acknowledged) == 2 * ROUNDS * len(game.seats)
        await server.end(signal.SIGTERM)
        assert server.starts == len(KILLS) + 1
    check_once(hosted.trace, game, game.seats)
    assert outcome(hosted.trace) == await uninterrupted(tmp_path / "whole", game, game.seats)


# --- stdio --------------------------------------------------------------------------------------------------------


class Served:
    """A seat served over stdio, spoken to line by line."""

    def __init__(self, server: Process, game: Game, folder: Path) -> None:
        self.acknowledged: dict[str, Any] = {}
        self._server = server
        self._game, self.seat = game, game.seats[0]
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
        for call in (call for number in range(first, last + 1) for call in self._game.calls(self.seat, number)):
            await self._call(call)

    async def repeat_all(self) -> None:
        """Every acknowledged call again."""
        for call in self._game.every_call(self.seat):
            if call.key in self.acknowledged:
                await self._call(call)

    async def interrupt(self, number: int, moment: Moment) -> None:
        """An act is under way when the server is killed; its answer is never read."""
        if moment == "before it is read":
            self._server.stop()
        await self._send_call(self._game.act(self.seat, number))
        if moment == "after its commit":
            await committed(self.trace, self._game, (self.seat,), number)
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


@each_game
async def test_a_killed_stdio_server_goes_on_to_the_outcome_of_an_uninterrupted_one(
    stage: Any, tmp_path: Path, game: Game
) -> None:
    async with process(stage) as server:
        served = Served(server, game, tmp_path / "killed")
        seats = (served.seat,)
        await served.start(*game.words, "--seat", served.seat, "--out", str(tmp_path / "killed"))
        done = 0
        for number, moment in KILLS.items():
            await served.play(done + 1, number - 1)
            await served.interrupt(number, moment)
            check_moment(served.trace, game, seats, number, moment)
            await served.start("--resume", str(served.trace))
            await served.repeat_all()
            done = number - 1
        await served.play(done + 1, ROUNDS)
        assert len(served.acknowledged) == 2 * ROUNDS
        await server.end(signal.SIGTERM)
    check_once(served.trace, game, seats)
    assert outcome(served.trace) == await uninterrupted(tmp_path / "whole", game, seats)

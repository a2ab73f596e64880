"""Over every transport and for every market: no byte on the wire depends on what is private to other seats.

`check_market` proves the same of the rules at many places of an episode; here the door is tested, from the first
message of a connection to what the trace's export tells the seat.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import httpx2
import orjson
import pytest
from mcp import Client, MCPError
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from tests.host.serving.by_hand import HEADERS, META, Server, started
from tests.host.serving.conftest import TRADEFAIR
from tests.waiting import LONG

from tradefair.catalog import load_scenario, market_names, market_type
from tradefair.contract import Market, Tool
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
from tradefair.evaluation.store.seat_view import seat_events
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.host.seats.scripted import Scripted
from tradefair.host.server.binding import build_server
from tradefair.host.server.mirror import mirrored, plain_uri
from tradefair.testing.playthrough import policy_maker
from tradefair.testing.questions import hostile_arguments, invent_arguments
from tradefair.tracestore import open_trace

SEED = 11
SALT = 3
EPISODE = "0123456789ab"
PRESETS = {
    "teaching": "pie",
    "double_auction": "smoke",
    "bargaining": "smoke",
    "retail": "smoke",
    "supply_chain": "duel",
    "marketplace": "small_demo",
    "pricing": "hidden_cost",
    "order_book": "smoke",
}
# Random customers of the marketplace write what their own private request is: there the scenario's seats stay.
OTHERS = {"marketplace": None}
LIMIT_OF_HOSTILE = 6
# A client that draws the board; over HTTP each request says so by itself.
APPS = {"mimeTypes": [APP_MIME_TYPE]}
DRAWING = {**META, "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION_ID: APPS}}}

Ask: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Any]]


class Place(NamedTuple):
    """A market's seat, and whether what is private to all but `kept` (itself) differs from what the seed says."""

    market: str
    seat: str
    perturbed: bool
    folder: Path
    kept: str = ""

    @property
    def scenario(self) -> Any:
        return load_scenario(self.market, PRESETS[self.market])


class Perturbed:
    """A market type whose episodes begin with other private data in all seats but one."""

    def __init__(self, kind: Any, seat: str) -> None:
        self._kind = kind
        self._seat = seat

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)

    def create(self, scenario: Any, seed: int) -> Market:
        made = self._kind.create(scenario, seed)
        return self._kind.perturb_private(made, self._seat, SALT) if self._seat in made.seats else made


# The command as it is, but for the market's private data.
LAUNCHER = """#!{python}
import sys
import tradefair.catalog
kind = type(tradefair.catalog.market_type("{market}"))
create = kind.create
kind.create = lambda self, scenario, seed: self.perturb_private(create(self, scenario, seed), "{seat}", {salt})
from tradefair.cli import main
main()
"""


async def _episode(place: Place) -> Any:
    kind: Any = market_type(place.market)
    plan = plan_seats(kind, place.scenario, agents=[place.seat], others=OTHERS.get(place.market, "random_legal"))
    given: Any = Perturbed(kind, place.kept or place.seat) if place.perturbed else kind
    labels = dict.fromkeys(plan.seats, "openai:another") if place.perturbed else None
    episode = await new_episode(given, place.scenario, SEED, plan, place.folder, episode_id=EPISODE, labels=labels)
    if place.perturbed:
        # Who plays the others is private too: other names, policies and keys, and a change of them on the way.
        players = {
            seat: player.model_copy(update={"label": "policy:fixed", "policy": "fixed", "privileged": True})
            for seat, player in episode.seating.players.items()
            if seat != place.seat
        }
        changed = {"players": players, "policy_key": 99, "agent_key": 98, "origin": {"resumed": True}}
        await episode.seat(episode.seating.model_copy(update=changed))
    return episode


@asynccontextmanager
async def _memory(place: Place, stage: Any) -> AsyncGenerator[Ask]:
    episode = await _episode(place)
    try:
        async with Client(build_server(episode, place.seat), extensions=[advertise(EXTENSION_ID, APPS)]) as client:

            async def asked(method: str, params: Mapping[str, Any]) -> Any:
                match method:
                    case "tools/list":
                        return (await client.list_tools()).model_dump(mode="json")
                    case "tools/call":
                        answer = await client.call_tool(params["name"], params["arguments"])
                    case "resources/read":
                        answer = await client.read_resource(params["uri"])
                    case "prompts/get":
                        answer = await client.get_prompt(params["name"], params["arguments"])
                    case _:
                        answer = await client.list_resources()
                return {"result": answer.model_dump(mode="json", by_alias=True)}

            async def ask(method: str, params: Mapping[str, Any]) -> Any:
                try:
                    return await asked(method, params)
                except MCPError as error:
                    return {"error": error.error.model_dump(mode="json")}

            yield ask
    finally:
        await episode.close()


@asynccontextmanager
async def _http(place: Place, stage: Any) -> AsyncGenerator[Ask]:
    episode = await _episode(place)
    host = Host(place.folder)
    host.add(episode)
    token, _ = host.invite(EPISODE, place.seat)
    async with (
        stage.hosted(host) as server,
        httpx2.AsyncClient(headers={**HEADERS, "Authorization": f"Bearer {token}"}, timeout=LONG) as http,
    ):

        async def ask(method: str, params: Mapping[str, Any]) -> Any:
            name = params.get("name", params.get("uri"))
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
            answer = await http.post(
                server.url,
                content=stage.post(method, {"_meta": META, **params}),
                headers=headers if name is None else {**headers, "Mcp-Name": name},
            )
            told = {key: value for key, value in answer.headers.items() if key not in ("date", "mcp-session-id")}
            return {"status": answer.status_code, "headers": told, **answer.json()}

        yield ask


@asynccontextmanager
async def _stdio(place: Place, stage: Any) -> AsyncGenerator[Ask]:
    place.folder.mkdir(parents=True)
    stage.tradefair = TRADEFAIR
    if place.perturbed:
        launcher = place.folder / "tradefair"
        told = {"python": sys.executable, "market": place.market, "seat": place.seat, "salt": SALT}
        launcher.write_text(LAUNCHER.format(**told))
        launcher.chmod(0o700)
        stage.tradefair = launcher
    words = ["--scenario", place.scenario.id, "--seat", place.seat, "--seed", str(SEED), "--out", str(place.folder)]
    others = OTHERS.get(place.market, "random_legal")
    words += [] if others is None else ["--others", others]
    async with started(stage, "serve", place.market, *words) as server:
        yield await _greeted(server)
        await server.leave()


async def _greeted(server: Server) -> Ask:
    await server.hello()

    async def ask(method: str, params: Mapping[str, Any]) -> Any:
        return await server.ask(method, **params)

    return ask


def _requests(place: Place, tools: Mapping[str, Tool]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything that a client can ask before it acts, and then attempts to act."""
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        yield method, {}
    yield "prompts/get", {"name": f"play_{place.market}", "arguments": {"detail": "full"}}
    for tool in mirrored(tools).values():
        if (uri := plain_uri(tool)) is not None:
            yield "resources/read", {"uri": uri}
    kept = [tool for tool in tools.values() if not tool.recorded and tool.name != "await_turn"]
    seats = list(market_type(place.market).create(place.scenario, SEED).seats)
    for tool in kept:
        yield "tools/call", {"name": tool.name, "arguments": {"seat": seats[-1]}}
    yield from _requests_of_a_board(place, kept, seats)
    yield from _calls(place, kept, seats)


def _requests_of_a_board(
    place: Place, kept: Sequence[Tool], seats: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for method in ("tools/list", "resources/list"):
        yield method, {"_meta": DRAWING}
    yield "resources/read", {"uri": "ui://tradefair/board", "_meta": DRAWING}
    yield "tools/call", {"name": "board_state", "arguments": {}, "_meta": DRAWING}
    for tool in [tool for tool in kept if tool.read_only]:
        called: dict[str, Any] = {"tool": tool.name, "arguments": {}}
        yield "tools/call", {"name": "board_call", "arguments": called, "_meta": DRAWING}
        for number in range(3):
            arguments = {} if number == 0 else invent_arguments(tool, (place.seat, number), seats)
            if arguments is not None:
                yield "tools/call", {"name": tool.name, "arguments": arguments}


def _calls(place: Place, kept: Sequence[Tool], seats: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    for tool in kept:
        for odd in islice(filter(_is_object, hostile_arguments(tool)), LIMIT_OF_HOSTILE):
            yield "tools/call", {"name": tool.name, "arguments": odd}
    for tool in kept:
        for number in range(4 if tool.kind == "action" else 0):
            arguments = invent_arguments(tool, (place.seat, "act", number), seats)
            if arguments is not None:
                yield "tools/call", {"name": tool.name, "arguments": arguments}


def _is_object(value: Any) -> bool:
    """Whether every client can send it: objects without null, which one of them leaves out."""
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return text.startswith(b"{") and b"null" not in text and len(text) < 100_000


def _clock(answer: Any) -> Any:
    turn = answer.get("result", {}).get("_meta", {}).get("tradefair/turn")
    return None if turn is None else (turn["round"], turn["phase"], turn["over"])


TRANSPORTS: Mapping[str, Any] = {"memory": _memory, "http": _http, "stdio": _stdio}


async def _told(place: Place, transport: str, stage: Any) -> list[tuple[str, bytes]]:
    """Every answer up to the first closure, with what was asked."""
    kind = market_type(place.market)
    role = kind.create(place.scenario, SEED).seats[place.seat].role
    every = {**KERNEL_TOOLS, **kind.tools}
    tools = {name: tool for name, tool in every.items() if tool.visible(place.scenario, role)}
    heard: list[tuple[str, bytes]] = []
    clock: Any = None
    async with TRANSPORTS[transport](place, stage) as ask:
        for method, params in _requests(place, tools):
            if transport == "memory" and method not in ("tools/list", "tools/call", "resources/read", "prompts/get"):
                continue
            answer = await stage.within(ask(method, params))
            now = _clock(answer)
            clock = clock or now
            if now not in (None, clock):
                break
            heard.append((f"{method} {orjson.dumps(params)!r}", orjson.dumps(answer)))
    return heard


def _exported(place: Place) -> list[dict[str, Any]]:
    """What the seat's export tells of the time before the first closure."""
    (path,) = place.folder.glob("*.trace")
    with open_trace(path) as trace:
        shown = list(seat_events(trace.decoded(), place.seat))
    closed = next((at for at, event in enumerate(shown) if event["event"].endswith("_closed")), len(shown))
    calls = [event for event in shown[:closed] if event["event"] == "tool_called"]
    return calls[:-1]


@pytest.mark.parametrize("market", [name for name in PRESETS if name in market_names()])
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_no_byte_on_the_wire_depends_on_what_is_private_to_others(
    stage: Any, tmp_path: Path, market: str, transport: str
) -> None:
    kind = market_type(market)
    seats = kind.create(load_scenario(market, PRESETS[market]), SEED).seats
    roles = {spec.role: seat for seat, spec in seats.items()}
    if (transport, market) == ("stdio", "marketplace"):
        del roles["business"]  # `serve` plays the customers, and a business sleeps until one tells it what it wants
    for seat in roles.values():
        here = Place(market, seat, False, tmp_path / f"{seat}-here")
        there = Place(market, seat, True, tmp_path / f"{seat}-there")
        one = await _told(here, transport, stage)
        two = await _told(there, transport, stage)
        as_other = [told for asked, told in one if '"arguments":{"seat":' in asked]
        assert len(as_other) >= 5
        refused = (b'"code":"invalid_arguments"', b'"code":"call_limit"')  # so many of them are limited
        assert all(any(code in told for code in refused) for told in as_other)
        assert refused[0] in as_other[0]
        for (asked, told), (again, other) in zip(one, two, strict=True):
            assert (asked, told) == (again, other)
        assert _exported(here) == _exported(there)


async def test_the_comparison_sees_what_is_private_to_the_seat_itself(stage: Any, tmp_path: Path) -> None:
    here = Place("double_auction", "B1", False, tmp_path / "here")
    there = Place("double_auction", "B1", True, tmp_path / "there", kept="S1")
    one, two = await _told(here, "http", stage), await _told(there, "http", stage)
    differing = {asked for (asked, told), (_, other) in zip(one, two, strict=False) if told != other}
    assert any("view_my_value" in asked for asked in differing)


@pytest.mark.parametrize("market", PRESETS)
def test_the_order_in_which_seats_act_leaves_no_mark_on_the_market(market: str) -> None:
    kind, scenario = market_type(market), load_scenario(market, PRESETS[market])

    def played(order: int) -> list[Any]:
        core = Core.create(kind, scenario, SEED)
        core.start()
        seats = list(core.market.seats.values())[::order]
        acting = Scripted({spec.id: policy_maker(kind, spec, "random_legal", SEED) for spec in seats})
        closures: list[Any] = []
        while core.ended is None and core.market.clock.round <= 3:
            closed = [orjson.loads(record.body) for record in acting.run(core) if record.closes]
            closures += [[event.get(part) for part in ("public", "facts", "state_digest")] for event in closed]
        return closures

    assert len(played(1)) >= 3
    assert played(1) == played(-1)


def test_every_installed_market_is_put_to_the_test() -> None:
    assert set(market_names()) <= set(PRESETS)
    for market in market_names():
        kind, preset = market_type(market), PRESETS[market]
        made = kind.create(load_scenario(market, preset), SEED)
        if len(made.seats) > 1:
            seat = next(iter(made.seats))
            assert kind.perturb_private(made, seat, SALT).digest() != made.digest()

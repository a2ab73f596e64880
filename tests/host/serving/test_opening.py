"""The first answers of a server of pipes: given before the SDK is imported, and what the SDK itself would say.

Also here:
- What impatient clients need: progress while they wait, and a session however many others were left open.
- Observers and seats over every transport: nobody acts, reads or follows what is not theirs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import anyio
import httpx2
import orjson
import pytest
from mcp import Client, MCPError, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client
from mcp.server.apps import EXTENSION_ID
from mcp.shared.message import SessionMessage
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from tests.host.serving.by_hand import HEADERS, HELLO, META, Seat, Server, started
from tests.host.serving.planes import Plane, plane
from tests.options_files import options_file
from tests.waiting import LONG, LONGER, SOON

import tradefair.api as tf
from tradefair.catalog import default_scenario, load_scenario, market_names, market_type
from tradefair.cli.options import EpisodeFlags
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.commands.asked import ask
from tradefair.host.commands.serve import unbegun
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.sessions import MAX_SESSIONS, Sessions
from tradefair.host.episode import waiting
from tradefair.host.episode.setup import scripted_seats
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_observer_server, build_server
from tradefair.host.server.observing import public_reads
from tradefair.host.server.opening import APPS, DISCOVER, HANDSHAKE_VERSIONS, MODERN_VERSIONS, seat_opening
from tradefair.host.server.seat_auth import OBSERVER

SERVE = ("serve", "teaching", "--scenario", "pie", "--seat", "P1", "--others", "half", "--seed", "7")
VERSION = "io.modelcontextprotocol/protocolVersion"
REVISIONS = (*HANDSHAKE_VERSIONS, *MODERN_VERSIONS, "2024-01-01", "2099-01-01", "", "zzz")
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    *(("initialize", {**HELLO, "protocolVersion": revision}) for revision in REVISIONS),
    *((DISCOVER, {"_meta": {**META, VERSION: revision}}) for revision in REVISIONS),
    (DISCOVER, {}),
    (DISCOVER, {"_meta": {}}),
    (DISCOVER, {"_meta": {"progressToken": 1}}),
]
ASKED = {"_meta": META}


async def told_by_the_sdk(server: Any, method: str, params: dict[str, Any]) -> Any:
    """Result or error of the first request of a connection."""
    into, reading = anyio.create_memory_object_stream[Any](1)
    writing, out = anyio.create_memory_object_stream[Any](1)
    request = types.JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params)
    answer: Any = None
    async with into, out, anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, reading, writing, server.create_initialization_options())
        await into.send(SessionMessage(request))
        answer = (await out.receive()).message
        tasks.cancel_scope.cancel()
    said = orjson.loads(answer.model_dump_json(by_alias=True, exclude_unset=True))
    return {name: said[name] for name in ("result", "error") if name in said}


@pytest.mark.parametrize("market", market_names())
async def test_the_first_answers_are_those_of_the_sdk(stage: Any, market: str) -> None:
    asked = ask(EpisodeFlags(market, seed=7, out=stage.folder), "", gathered=False)
    opening = seat_opening(asked.kind, asked.scenario, asked.seat)
    server = build_server(await unbegun(asked, stage.sandbox, go_on=False), asked.seat, transport="stdio")
    assert opening.instructions
    for method, params in REQUESTS:
        assert opening.answer(method, params) == await told_by_the_sdk(server, method, params), (method, params)


def test_revisions_and_the_boards_extension_are_those_of_the_sdk() -> None:
    assert (HANDSHAKE_VERSIONS, MODERN_VERSIONS) == (HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS)
    assert APPS == EXTENSION_ID


@pytest.mark.parametrize(
    "params",
    [
        {},
        {**HELLO, "protocolVersion": 5},
        {**HELLO, "capabilities": {"roots": 5}},
        {**HELLO, "capabilities": None},
        {**HELLO, "clientInfo": {"name": "x"}},
    ],
)
async def test_a_handshake_that_is_not_plain_is_left_to_the_sdk(stage: Any, params: dict[str, Any]) -> None:
    episode = await stage.episode()
    opening = seat_opening(episode.core.market_type, episode.core.scenario, "P1")
    assert opening.answer("initialize", params) is None
    assert "error" in await told_by_the_sdk(build_server(episode, "P1"), "initialize", params)


@pytest.mark.parametrize(
    "meta",
    [
        {VERSION: 5},
        {VERSION: "2026-07-28"},
        {**META, "io.modelcontextprotocol/clientCapabilities": 5},
        {**META, "io.modelcontextprotocol/clientInfo": {"name": "x"}},
    ],
)
async def test_a_discovery_that_is_not_plain_is_told_what_to_send(stage: Any, meta: dict[str, Any]) -> None:
    episode = await stage.episode()
    said = seat_opening(episode.core.market_type, episode.core.scenario, "P1").answer(DISCOVER, {"_meta": meta})
    assert said is not None
    assert said["error"]["code"] == types.INVALID_PARAMS
    assert "io.modelcontextprotocol/clientCapabilities (an object)" in said["error"]["message"]
    theirs = await told_by_the_sdk(build_server(episode, "P1"), DISCOVER, {"_meta": meta})
    assert theirs["error"]["code"] == types.INVALID_PARAMS


def test_nothing_that_plays_is_imported_before_the_first_answer(stage: Any, tmp_path: Path) -> None:
    program = """
import os, sys
from tradefair.host.server import opening
real = opening.hear
def hear(told):
    heard = real(told)
    print(*sys.modules, file=sys.stderr)
    os._exit(0)
opening.hear = hear
from tradefair.cli import run
run(sys.argv[1:])
"""
    done = subprocess.run(
        [sys.executable, "-c", program, *SERVE, "--out", str(tmp_path)],
        input=stage.post("initialize", HELLO) + b"\n",
        capture_output=True,
        timeout=LONG,
        check=True,
    )
    assert orjson.loads(done.stdout)["result"]["serverInfo"]["name"] == "tradefair-teaching"
    modules = set(done.stderr.decode().split("\n")[-2].split())
    assert modules & {"mcp", "mcp_types", "asyncio", "anyio", "sqlite3", "tradefair.host.episode"} == set()
    assert "tradefair.teaching" in modules


# --- on the pipes of a process ------------------------------------------------------------------------------------


async def plays(server: Server) -> None:
    """Begin the older era and make a call, on a pipe that may have been asked before."""
    await server.hello()
    assert "claim" in {tool["name"] for tool in (await server.ask("tools/list"))["result"]["tools"]}
    assert (await server.call("claim", slices=5))["sealed"] == "claim"


async def resumable(stage: Any) -> str:
    episode = await stage.episode()
    await episode.close()
    return str(episode.path)


@pytest.mark.parametrize("resumed", [False, True])
async def test_who_has_discovered_may_begin_either_era(stage: Any, tmp_path: Path, resumed: bool) -> None:
    told = ("serve", "teaching", "--resume", await resumable(stage)) if resumed else SERVE
    found: Any = None
    async with started(stage, *told, "--out", str(tmp_path)) as server:
        for _ in range(2):
            found = (await server.ask(DISCOVER, **ASKED))["result"]
            assert found["capabilities"]["extensions"] == {EXTENSION_ID: {}}
            assert found["capabilities"]["tools"] == {"listChanged": False}
        assert (await server.ask(DISCOVER))["error"]["code"] == types.METHOD_NOT_FOUND
        await plays(server)
        # Behind the handshake, too.
        assert (await server.ask(DISCOVER, **ASKED))["result"] == found
        await server.leave()
        assert server.process.returncode == 0
    async with started(stage, *SERVE, "--out", str(tmp_path / "modern")) as server:
        assert (await server.ask(DISCOVER, **ASKED))["result"] == found
        claimed = await server.ask("tools/call", name="claim", arguments={"slices": 5}, **ASKED)
        assert claimed["result"]["structuredContent"]["sealed"] == "claim"
        await server.leave()


async def test_connect_answers_discover_and_then_the_handshake(stage: Any, tmp_path: Path) -> None:
    async with started(stage, "host", "teaching", "--seats", "P1", "--json", "--out", str(tmp_path)) as host:
        ready = await host.line()
        token = ready["episodes"][0]["seats"][0]["token"]
        async with started(stage, "connect", ready["url"], env={"TRADEFAIR_TOKEN": token}) as server:
            found = (await server.ask(DISCOVER, **ASKED))["result"]
            assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "tradefair-teaching"
            assert found["capabilities"]["extensions"] == {EXTENSION_ID: {}}
            await plays(server)


@pytest.mark.parametrize("first", ["initialize", DISCOVER])
async def test_frames_that_come_at_once_are_answered_once_each(stage: Any, tmp_path: Path, first: str) -> None:
    frames = [
        stage.post(first, HELLO if first == "initialize" else ASKED, number="first"),
        stage.post("initialize", HELLO, number=2),
        stage.post("tools/list", {}, number=3),
    ]
    async with started(stage, *SERVE, "--out", str(tmp_path)) as server:
        await server.send(b"\n".join(frames))
        answers = [await server.line() for _ in frames]
        assert [answer["id"] for answer in answers] == ["first", 2, 3]
        assert all("result" in answer for answer in answers)
        await server.leave()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("frames", "answered"),
    [([], 0), ([(DISCOVER, ASKED)], 1), ([("initialize", HELLO)], 1), ([(DISCOVER, ASKED), ("initialize", HELLO)], 2)],
)
@pytest.mark.parametrize("cut", [b"", b'{"jsonrpc": "2.0", "id": 9, "meth'])
async def test_who_goes_after_the_first_answers_leaves_nothing(
    stage: Any, tmp_path: Path, frames: list[tuple[str, dict[str, Any]]], answered: int, cut: bytes
) -> None:
    sent = b"".join(stage.post(*frame, number=index) + b"\n" for index, frame in enumerate(frames)) + cut
    async with started(stage, *SERVE, "--out", str(tmp_path / "out")) as server:
        out, err = await stage.within(server.process.communicate(sent))
        assert [orjson.loads(line)["id"] for line in out.splitlines()] == list(range(answered))
        assert server.process.returncode == 0
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


async def test_a_first_line_that_is_cut_in_two_is_waited_for(stage: Any, tmp_path: Path) -> None:
    line = stage.post("initialize", HELLO)
    async with started(stage, *SERVE, "--out", str(tmp_path)) as server:
        assert server.process.stdin is not None
        assert server.process.stderr is not None
        server.process.stdin.write(line[:20])
        # It has said that it is there before it reads.
        await stage.within(server.process.stderr.readline())
        await server.send(line[20:])
        assert (await server.line())["result"]["protocolVersion"] == HELLO["protocolVersion"]
        assert "result" in await server.ask("tools/list")


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b"\xff\xfe", b'"\\ud800"', b'{"jsonrpc": "2.0", "id": null}', b"7" * 99_999]
)
async def test_a_first_line_that_is_no_request_does_no_harm(stage: Any, tmp_path: Path, line: bytes) -> None:
    async with started(stage, *SERVE, "--out", str(tmp_path)) as server:
        await server.send(line)
        await plays(server)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_before_the_first_line_ends_it_well(stage: Any, tmp_path: Path, number: signal.Signals) -> None:
    async with started(stage, *SERVE, "--out", str(tmp_path / "out")) as server:
        assert server.process.stderr is not None
        await stage.within(server.process.stderr.readline())
        server.process.send_signal(number)
        assert await stage.within(server.process.wait()) == 0
    assert list(tmp_path.iterdir()) == []


CONNECTIONS = 100


# --- sessions ---------------------------------------------------------------------------------------------------------


async def test_a_hundred_connections_that_nobody_closes_are_all_served(stage: Any) -> None:
    # Slim, or the client checks the output schemas of every connection.
    told = (
        "teaching",
        "--seats",
        "P1",
        *options_file(stage.folder, slim_tools=True),
        "--json",
        "--out",
        str(stage.folder),
    )
    async with started(stage, "host", *told) as process:
        ready = await process.line()
        bearer = {"Authorization": f"Bearer {ready['episodes'][0]['seats'][0]['token']}"}
        async with httpx2.AsyncClient(headers=bearer, timeout=LONG) as http:
            for _ in range(CONNECTIONS):
                # Closed without a DELETE, as clients in TypeScript are.
                left = streamable_http_client(ready["url"], http_client=http, terminate_on_close=False)
                client: Any
                async with Client(left, mode="legacy") as client:
                    assert (await client.call_tool("view_turn")).structured_content["awaited"] is True


@asynccontextmanager
async def waited_for(stage: Any) -> AsyncGenerator[tuple[Host, Any, Any, httpx2.AsyncClient]]:
    """A host whose P1 has acted and waits for P2; its episode, its server, and a client with P1's token."""
    host = Host(stage.folder)
    episode = await stage.episode("P1", "P2")
    host.add(episode)
    token, _ = host.invite(episode.id, "P1")
    await episode.call("P1", "claim", {"slices": 4})
    bearer = {**HEADERS, "Authorization": f"Bearer {token}"}
    async with stage.hosted(host) as server, httpx2.AsyncClient(headers=bearer, timeout=LONG) as http:
        yield host, episode, server, http


async def test_the_session_that_was_used_longest_ago_makes_room(stage: Any) -> None:
    async with waited_for(stage) as (_, episode, server, http):

        async def hello() -> str:
            answer = await http.post(server.url, content=stage.post("initialize", HELLO))
            assert answer.status_code == 200
            return answer.headers["mcp-session-id"]

        async def ping(session: str) -> int:
            named = {"mcp-session-id": session}
            return (await http.post(server.url, headers=named, content=stage.post("ping"))).status_code

        async with AsyncExitStack() as streams:
            waits, used, listens, *others = [await hello() for _ in range(MAX_SESSIONS)]
            # A call that waits keeps its session; a stream that only listens does not.
            call = stage.post("tools/call", {"name": "await_turn", "arguments": {"timeout_s": 40}})
            waiter = asyncio.create_task(http.post(server.url, headers={"mcp-session-id": waits}, content=call))
            listener = http.stream("GET", server.url, headers={"mcp-session-id": listens})
            assert (await streams.enter_async_context(listener)).status_code == 200
            assert [await ping(session) for session in (*others, used)] == [200] * (MAX_SESSIONS - 2)
            newest = await hello()
            assert [await ping(session) for session in (listens, newest, used, others[0])] == [404, 200, 200, 200]
            # What is no first request of a client costs nobody a session.
            assert (await http.post(server.url, content=stage.post("tools/list"))).status_code == 400
            assert [await ping(session) for session in (newest, *others)] == [200] * len((newest, *others))
            await episode.call("P2", "claim", {"slices": 4})
            assert b'"awaited":true' in (await waiter).content


async def test_a_session_more_than_have_calls_under_way_is_told_when_to_come_again(stage: Any) -> None:
    async with waited_for(stage) as (host, episode, server, http):

        async def post(body: bytes, **headers: str) -> httpx2.Response:
            return await http.post(server.url, content=body, headers=headers)

        hello = stage.post("initialize", HELLO)
        sessions = [(await post(hello)).headers["mcp-session-id"] for _ in range(MAX_SESSIONS)]
        call = stage.post("tools/call", {"name": "await_turn", "arguments": {"timeout_s": 40}})
        waiters = [asyncio.create_task(post(call, **{"mcp-session-id": session})) for session in sessions]
        while host.gate(episode.id, "P1").open < MAX_SESSIONS:  # noqa: ASYNC110
            await asyncio.sleep(0)
        refused = await post(hello)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        await episode.call("P2", "claim", {"slices": 4})
        assert [(await waiter).status_code for waiter in waiters] == [200] * MAX_SESSIONS
        assert (await post(hello)).status_code == 200


def scope(session: str | None = None, method: str = "POST") -> dict[str, Any]:
    return {"method": method, "headers": [] if session is None else [(b"mcp-session-id", session.encode())]}


def test_a_session_is_refused_only_while_all_have_requests_under_way() -> None:
    sessions = Sessions()
    first = [sessions.begin(scope()) for _ in range(MAX_SESSIONS)]
    assert not sessions.overfull
    for number, request in enumerate(first):
        sessions.answer(request, 200, [(b"mcp-session-id", b"%d" % number)])
    one_more = sessions.begin(scope())
    assert sessions.overfull
    sessions.end(one_more)
    sessions.end(first[3])
    one_more = sessions.begin(scope())
    assert not sessions.overfull
    sessions.answer(one_more, 200, [(b"mcp-session-id", b"new")])
    assert sessions.take_surplus() == "3"
    assert sessions.take_surplus() is None
    # The stateless era has none, and a session that is gone counts no longer.
    stateless = {**scope(), "headers": [(b"mcp-protocol-version", b"2026-07-28")]}
    assert not sessions.begin(stateless).opens
    gone = sessions.begin(scope("new", "DELETE"))
    sessions.answer(gone, 200, [])
    sessions.end(gone)
    assert len(sessions) == MAX_SESSIONS - 1


# --- progress ---------------------------------------------------------------------------------------------------------


async def test_a_client_hears_every_two_seconds_that_its_wait_goes_on(
    stage: Any, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert waiting.PROGRESS_S == 2
    monkeypatch.setattr(waiting, "PROGRESS_S", SOON / 10)
    host = Host(stage.folder, wait_s=10 * SOON)
    episode = await stage.episode("P1", "P2")
    host.add(episode)
    token, _ = host.invite(episode.id, "P1")
    await episode.call("P1", "claim", {"slices": 4})
    async with (
        stage.hosted(host) as server,
        stage.at(server.url, token, era) as remote,
        Client(build_server(episode, "P1"), mode=era) as inside,
    ):
        for client in (remote, inside):
            heard: list[float] = []

            async def hear(progress: float, total: float | None, message: str | None, heard: Any = heard) -> None:
                assert (total, message) == (None, "still waiting")
                heard.append(progress)

            answer = await client.call_tool("await_turn", progress_callback=hear)
            assert answer.structured_content["still_open"] is True
            assert len(heard) >= 2
            assert heard == sorted(set(heard))
            so_far = len(heard)
            # Calls that are answered at once, and those of a client that did not ask, are told nothing.
            await client.call_tool("view_turn", progress_callback=hear)
            assert (await client.call_tool("await_turn")).structured_content["still_open"] is True
            assert len(heard) == so_far


async def test_a_wait_that_names_no_time_is_as_long_as_scenario_or_host_say(stage: Any) -> None:
    episode = await stage.episode("P1", "P2")
    assert episode.wait_s == 4
    Host(wait_s=SOON).add(episode)
    await episode.call("P1", "claim", {"slices": 4})
    answer = await stage.within(episode.call("P1", "await_turn", {"timeout_s": None}))
    assert orjson.loads(answer.body)["still_open"] is True


PRIVATE = ("view_my_value", "read_messages", "view_turn", "view_rules", "view_notes", "await_turn", "execute_code")
ACTIONS: dict[str, dict[str, Any]] = {"claim": {"slices": 5}, "say": {"text": "x"}, "add_note": {"text": "x"}}
WITH_PUBLIC_READS = ("double_auction", "order_book", "pricing", "supply_chain", "teaching")
Open: TypeAlias = Callable[[str], AbstractAsyncContextManager[Any]]


class Arena(NamedTuple):
    """An episode of two seats; `open` gives a client of a seat, or of an observer."""

    episode: Any
    open: Open


@asynccontextmanager
async def _memory(stage: Any) -> AsyncGenerator[Arena]:
    episode = await stage.episode("P1", "P2", preset="talk")

    @asynccontextmanager
    async def opened(who: str) -> AsyncGenerator[Any]:
        server = build_observer_server(episode) if who == OBSERVER else build_server(episode, who)
        async with Client(server) as client:
            yield client

    yield Arena(episode, opened)


@asynccontextmanager
async def _hosted(stage: Any, over: str) -> AsyncGenerator[Arena]:
    host = Host(stage.folder)
    episode = await stage.episode("P1", "P2", preset="talk")
    host.add(episode)
    tokens = {seat: host.invite(episode.id, seat)[0] for seat in ("P1", "P2")}
    tokens[OBSERVER] = host.invite_observer(episode.id)[0]
    async with stage.hosted(host) as server:

        @asynccontextmanager
        async def http(who: str) -> AsyncGenerator[Any]:
            async with stage.at(server.url, tokens[who]) as client:
                yield client

        @asynccontextmanager
        async def stdio(who: str) -> AsyncGenerator[Any]:
            environment = {**os.environ, "TRADEFAIR_TOKEN": tokens[who]}
            shim = StdioServerParameters(command=str(stage.tradefair), args=["connect", server.url], env=environment)
            async with Client(shim) as client:
                yield client

        yield Arena(episode, http if over == "http" else stdio)


@pytest.fixture(params=["memory", "http", "stdio"])
async def arena(request: pytest.FixtureRequest, stage: Any) -> AsyncGenerator[Arena]:
    way = _memory(stage) if request.param == "memory" else _hosted(stage, request.param)
    async with way as made:
        yield made


async def _refused(client: Any, tool: str, arguments: dict[str, Any]) -> None:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    assert answer.structured_content["code"] == "tool_unavailable"


async def test_an_observer_cannot_act_and_reads_only_what_is_public(arena: Arena) -> None:
    await arena.episode.call("P1", "say", {"text": "the secret of P1"})
    await arena.episode.call("P2", "say", {"text": "the secret of P2"})
    events = arena.episode.core.seq
    async with arena.open(OBSERVER) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["view_history"]
        assert [str(one.uri) for one in (await client.list_resources()).resources] == ["market://view_history"]
        assert (await client.list_prompts()).prompts == []
        for tool, arguments in {**ACTIONS, **{name: {} for name in PRIVATE}}.items():
            await _refused(client, tool, arguments)
            for extra in ("seat", "as_seat", "token"):
                await _refused(client, tool, {**arguments, extra: "P1"})
        for uri in ("market://view_my_value", "market://read_messages?after=0", "market://view_turn", "market://claim"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        with pytest.raises(MCPError):
            await client.get_prompt("play_teaching")
        told = await client.call_tool("view_history", {"seat": "P1"})
        assert told.structured_content["code"] == "invalid_arguments"
        told = await client.call_tool("view_history", {})
        assert told.meta is not None
        assert (told.is_error, told.structured_content) == (False, {"rounds": []})
        assert told.meta["tradefair/turn"]["turn_over"] is True
    assert arena.episode.core.seq == events  # whether somebody watched does not show in the trace


async def test_a_seat_cannot_act_as_read_or_follow_another(arena: Arena) -> None:
    await arena.episode.call("P2", "add_note", {"text": "mine"})
    async with arena.open("P1") as client:
        for extra in ("seat", "as_seat", "token", "episode"):
            for tool, arguments in (("say", {"text": "x"}), ("view_my_value", {}), ("view_notes", {})):
                answer = await client.call_tool(tool, {**arguments, extra: "P2"})
                assert answer.structured_content["code"] == "invalid_arguments"
        assert (await client.call_tool("view_notes")).structured_content["notes"] == []
        for uri in ("market://P2/view_my_value", "market://P2@view_my_value", "market://view_my_value?seat=P2"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        await client.call_tool("say", {"text": "from P1"})
        assert not arena.episode.core.awaits("P1")
        assert arena.episode.core.awaits("P2")


@pytest.mark.parametrize("who", ["P1", OBSERVER])
async def test_only_resources_of_ones_own_can_be_followed(stage: Any, who: str) -> None:
    async with _hosted(stage, "http") as arena, arena.open(who) as client:
        wrong = ["market://P2/view_my_value"]
        wrong += ["market://view_turn", "market://view_my_value", "market://read_messages"] if who == OBSERVER else []
        for uri in wrong:
            with pytest.raises(MCPError):
                async with client.listen(resource_subscriptions=[uri]):
                    pass
        async with client.listen(resource_subscriptions=["market://view_history"]) as stream:
            for tool, arguments in (("say", {"text": "x"}), ("claim", {"slices": 5})):
                for seat in ("P1", "P2"):
                    await arena.episode.call(seat, tool, arguments)
            assert (await stage.within(anext(stream))).uri == "market://view_history"


async def test_an_observer_sees_a_round_once_it_has_closed_and_goes_on_seeing_it_after_the_end(stage: Any) -> None:
    episode = await stage.episode("P1", "P2")
    async with Client(build_observer_server(episode)) as client:
        await episode.call("P1", "claim", {"slices": 5})
        assert (await client.call_tool("view_history")).structured_content == {"rounds": []}
        await episode.call("P2", "claim", {"slices": 4})
        seen: Any = (await client.call_tool("view_history")).structured_content
        assert len(seen["rounds"]) == 1
        await episode.end("truncated:cancelled")
        late = await client.call_tool("view_history")
        assert late.meta is not None
        assert late.structured_content == seen
        assert late.meta["tradefair/turn"]["over"] is True


def test_these_markets_have_something_public() -> None:
    assert {name for name in market_names() if any(tool.observer for tool in market_type(name).tools.values())} == {
        *WITH_PUBLIC_READS
    }


@pytest.mark.parametrize("market", WITH_PUBLIC_READS)
def test_what_a_market_calls_public_says_the_same_to_everybody(market: str) -> None:
    kind = market_type(market)
    scenario = load_scenario(market, default_scenario(market))
    core = Core.create(kind, scenario, 7)
    core.start()
    players = scripted_seats(kind, scenario, plan_seats(kind, scenario, agents=[], others="random_legal"), 7)
    while core.ended is None and core.market.clock.round <= 6:
        assert players.run(core)
    live = core.market
    tools = public_reads(kind, scenario)
    assert tools
    assert not set(tools) & set(KERNEL_TOOLS)
    for tool in tools.values():
        given = tool.parameters.model_validate_json("{}").__dict__
        answers = {tool.function(live, seat, **given).model_dump_json() for seat in (*live.seats, OBSERVER)}
        assert len(answers) == 1, tool.name


GAME = ("double_auction", "double_auction/smoke", "B1")
ORDER: dict[str, Any] = {"market": GAME[0], "scenario": GAME[1], "seats": [GAME[2]], "others": "stand_in"}
SCRIPT = (("view_my_value", b"{}"), ("submit_quote", b'{"price": 50}')) * 3
KEYS = range(4)
AT_ONCE = 16


def shuffled(count: int, key: int) -> list[int]:
    """A permutation that is the same on every machine."""
    return sorted(range(count), key=lambda number: blake2b(f"{key}|{number}".encode()).digest())


async def play(url: str, tokens: Sequence[str], keys: Sequence[int], *, odd: int | None = None) -> None:
    """The script in every seat, step by step; step n arrives by the n-th key. Seat `odd` quotes another price."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def step(http: httpx2.AsyncClient, number: int, tool: str, arguments: bytes) -> None:
        async with turn:
            answer = await Seat(url, http, tokens[number]).call(tool, arguments)
            assert answer.json()["result"]["isError"] is False, answer.text

    limits = httpx2.Limits(max_connections=AT_ONCE)
    async with httpx2.AsyncClient(headers=HEADERS, limits=limits, timeout=LONGER) as http:
        for index, (tool, arguments) in enumerate(SCRIPT):
            order = shuffled(len(tokens), keys[index % len(keys)])
            told = {odd: b'{"price": 51}'} if tool == "submit_quote" else {}
            # Tasks run in the order in which they are made.
            await asyncio.gather(*(step(http, number, tool, told.get(number, arguments)) for number in order))


async def group(it: Plane, seed: int, count: int) -> list[Any]:
    """Invitations of `count` episodes on one seed, in groups as large as may be ordered."""
    made: list[Any] = []
    while len(made) < count:
        size = min(64, count - len(made))
        order = {**ORDER, "seed": seed, "count": size, "same_seed": size > 1}
        answer = await it.http.post("/episodes", json=order, timeout=LONGER)
        assert answer.status_code == 201, answer.text
        made += answer.json()["invitations"]
    return made


def expected(tmp_path: Path, seed: int, price: int = 50) -> str:
    """The head of the same episode, stepped in this process without a server."""
    batch = tf.batch(*GAME, [seed])
    for _ in range(3):
        batch.call([tf.ToolCall("view_my_value")])
        batch.call([tf.ToolCall("submit_quote", {"price": price})])
    batch.trace(0, tmp_path / f"{seed}-{price}.trace")
    return heads([tmp_path / f"{seed}-{price}.trace"])[0]


def heads(paths: Sequence[Path]) -> list[str]:
    found: list[str] = []
    for path in paths:
        check = verify_file(path)
        assert (check.verdict, check.sealed) == ("reproduced", True), check.sentence
        found.append(check.head_hash or "")
    return found


async def one_head(stage: Any, elsewhere: Path, count: int, keys: Sequence[int]) -> None:
    async with plane(stage, max_episodes=count + 10) as it:
        made = [*await group(it, 7, count), *await group(it, 8, 1)]
        await play(it.server.url, [one["token"] for one in made], keys, odd=count - 1)
        paths = [it.host.trace_of(one["episode"]) for one in made]
        ends = {episode.core.ended for episode in it.host.episodes.values()}
        assert ends == {"terminated:rounds_completed"}
    *same, odd, other = await asyncio.to_thread(heads, paths)
    assert set(same) == {expected(elsewhere, 7)}
    # Another call, and another seed, leave another trace.
    assert odd == expected(elsewhere, 7, 51) != same[0]
    assert other == expected(elsewhere, 8) not in (odd, same[0])


async def test_64_seats_with_one_seed_and_one_script_leave_one_chain(
    stage: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    await one_head(stage, tmp_path_factory.mktemp("batch"), 64, KEYS)


@pytest.mark.parametrize("key", KEYS)
async def test_the_order_of_arrival_leaves_no_mark_by_any_permutation(
    stage: Any, tmp_path_factory: pytest.TempPathFactory, key: int
) -> None:
    await one_head(stage, tmp_path_factory.mktemp("batch"), 64, [key])


async def test_1000_seats_with_one_seed_and_one_script_leave_one_chain(
    stage: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    await one_head(stage, tmp_path_factory.mktemp("batch"), 1_000, KEYS)

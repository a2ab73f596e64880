"""What impatient clients need: progress while they wait, and a session however many others were left open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import orjson
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.host.serving.by_hand import HEADERS, HELLO, started
from tests.options_files import options_file
from tests.waiting import LONG, SOON

from tradefair.host.doors.hosting import Host
from tradefair.host.doors.sessions import MAX_SESSIONS, Sessions
from tradefair.host.episode import waiting
from tradefair.host.server.binding import build_server

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

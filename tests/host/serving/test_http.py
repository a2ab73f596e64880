"""A host with several seats: what a token opens, and everything that it does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2
import orjson
import pytest
from mcp import Client, MCPError, types
from tests.waiting import LONG, eventually

from tradefair.cli.ports import is_loopback
from tradefair.contract import ScenarioError, SeatError
from tradefair.host.doors.app import HttpServer, SeatApp
from tradefair.host.doors.doors import Door
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.listening import check_origin
from tradefair.host.server.binding import build_server

MODERN = {"MCP-Protocol-Version": "2026-07-28", "Accept": "application/json, text/event-stream"}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}


class Hosted(NamedTuple):
    """A host with one two-seat episode."""

    host: Host
    server: HttpServer
    episode: Any
    p1: str
    p2: str
    grant1: str


@asynccontextmanager
async def two_seats(
    stage: Any, preset: str = "pie", *, origins: Sequence[str] = (), **options: Any
) -> AsyncGenerator[Hosted]:
    host = Host(stage.folder, **options)
    episode = await stage.episode("P1", "P2", preset=preset)
    host.add(episode)
    p1, grant = host.invite(episode.id, "P1")
    p2, _ = host.invite(episode.id, "P2")
    async with stage.hosted(host, origins=origins) as server:
        yield Hosted(host, server, episode, p1, p2, grant.id)


@asynccontextmanager
async def both(stage: Any, it: Hosted, era: str) -> AsyncGenerator[tuple[Any, Any]]:
    """A client in either seat."""
    async with stage.at(it.server.url, it.p1, era) as one, stage.at(it.server.url, it.p2, era) as two:
        yield one, two


def by_hand(token: str | None = None, **headers: str) -> httpx2.AsyncClient:
    bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx2.AsyncClient(headers={**ACCEPT, **bearer, **headers}, timeout=LONG)


# --- whose seat it is ---------------------------------------------------------------------------------------------


async def test_a_token_acts_and_reads_for_its_own_seat_only(stage: Any, era: str) -> None:
    async with two_seats(stage, "talk") as it, both(stage, it, era) as (one, two):
        await one.call_tool("say", {"text": "from P1"})
        views = [(await client.call_tool("view_turn")).structured_content for client in (one, two)]
        assert [(view["seat"], view["awaited"]) for view in views] == [("P1", False), ("P2", True)]
        await two.call_tool("say", {"text": "from P2"})
        await one.call_tool("add_note", {"text": "mine"})
        for client, heard, notes in ((one, "from P2", 1), (two, "from P1", 0)):
            read = await client.read_resource("market://read_messages?after=0")
            _, _, body, _ = read.contents[0].text.split("\n")  # between a fence
            assert [row["text"] for row in orjson.loads(body)["messages"]] == [heard]
            assert len((await client.call_tool("view_notes")).structured_content["notes"]) == notes
    called = [event for event in stage.events(it.episode.path) if event["event"] == "tool_called"]
    assert {event["seat"] for event in called if event["tool"] == "add_note"} == {"P1"}


async def test_no_argument_name_or_uri_reaches_another_seat(stage: Any, era: str) -> None:
    async with two_seats(stage) as it, stage.at(it.server.url, it.p1, era) as client:
        for extra in ("seat", "token", "episode", "as_seat", "seat_id"):
            for tool, arguments in (("claim", {"slices": 3}), ("view_my_value", {}), ("view_turn", {})):
                answer = await client.call_tool(tool, {**arguments, extra: "P2"})
                assert answer.structured_content["code"] == "invalid_arguments"
        wrong = ("P2/claim", "P2.claim", "claim@P2", "P2/view_my_value", "view_my_value?seat=P2", "lapse", "cancel")
        for name in wrong:
            answer = await client.call_tool(name, {"slices": 3} if "claim" in name else {})
            assert answer.structured_content["code"] == "tool_unavailable"
        for uri in ("market://P2/view_my_value", "market://P2@view_my_value", "market://view_my_value/P2"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        assert it.episode.core.awaits("P1")
        assert it.episode.core.awaits("P2")


async def test_a_session_cannot_be_used_with_another_token(stage: Any) -> None:
    async with two_seats(stage) as it:
        async with by_hand(it.p1) as one:
            opened = await one.post(it.server.url, content=stage.post("initialize", INITIALIZE))
            session = opened.headers["mcp-session-id"]
            assert (await one.get(it.server.url.replace("/mcp", "/health"))).json() == {"status": "ok"}
        async with by_hand(it.p2, **{"mcp-session-id": session}) as two:
            for request in (two.post(it.server.url, content=stage.post("tools/list")), two.delete(it.server.url)):
                assert (await request).status_code == 404
        async with by_hand(it.p1, **{"mcp-session-id": session}) as one:
            assert (await one.post(it.server.url, content=stage.post("ping"))).status_code == 200


@pytest.mark.parametrize("token", [None, "tf_wrong", "Bearer", "tf_" + "A" * 5_000])
async def test_without_a_valid_token_there_is_only_401(stage: Any, token: str | None) -> None:
    async with two_seats(stage) as it, by_hand(token) as client:
        for headers in ({}, MODERN):
            for method in ("initialize", "server/discover", "tools/list", "tools/call"):
                answer = await client.post(it.server.url, content=stage.post(method, INITIALIZE), headers=headers)
                assert answer.status_code == 401
        assert (await client.get(it.server.url)).status_code == 401
        query = f"{it.server.url}?token={it.p1}&access_token={it.p1}"
        assert (await client.post(query, content=stage.post("initialize", INITIALIZE))).status_code == 401
        assert it.p1 not in answer.text


async def test_a_revoked_token_ends_its_sessions_and_nobody_elses(stage: Any, era: str) -> None:
    async with two_seats(stage) as it, stage.at(it.server.url, it.p2, era) as other:
        async with by_hand(it.p1) as client:
            opened = await client.post(it.server.url, content=stage.post("initialize", INITIALIZE))
            it.host.revoke(it.grant1)
            headers = {"mcp-session-id": opened.headers["mcp-session-id"]}
            later = await client.post(it.server.url, content=stage.post("tools/list"), headers=headers)
            assert later.status_code == 401
        assert (await other.call_tool("view_turn")).structured_content["seat"] == "P2"
        fresh, _ = it.host.invite(it.episode.id, "P1")
        async with stage.at(it.server.url, fresh, era) as back:
            assert (await back.call_tool("view_turn")).structured_content["seat"] == "P1"


async def test_only_seats_of_hosted_episodes_get_invitations(stage: Any) -> None:
    host = Host()
    episode = await stage.episode()
    host.add(episode)
    for name, seat in ((episode.id, "P9"), ("no such episode", "P1")):
        with pytest.raises(SeatError):
            host.invite(name, seat)


async def test_two_episodes_on_one_host_stay_apart(stage: Any, era: str) -> None:
    host = Host(stage.folder)
    first, second = await stage.episode(), await stage.episode()
    tokens: list[str] = []
    for episode in (first, second):
        host.add(episode)
        tokens.append(host.invite(episode.id, "P1")[0])
    async with stage.hosted(host) as server, stage.at(server.url, tokens[0], era) as client:
        await client.call_tool("claim", {"slices": 5})
        assert (first.core.market.clock.round, second.core.market.clock.round) == (2, 1)


async def test_a_retired_episode_takes_its_tokens_with_it(stage: Any) -> None:
    async with two_seats(stage) as it, by_hand(it.p1) as client:
        assert (await client.post(it.server.url, content=stage.post("initialize", INITIALIZE))).status_code == 200
        await it.host.retire(it.episode.id)
        assert (await client.post(it.server.url, content=stage.post("initialize", INITIALIZE))).status_code == 401
        assert list(it.host.tokens) == []


# --- waiting, cancelling, following -------------------------------------------------------------------------------


async def test_await_turn_answers_when_the_other_seat_has_acted(stage: Any, era: str) -> None:
    async with two_seats(stage) as it, both(stage, it, era) as (one, two):
        await one.call_tool("claim", {"slices": 5})
        short = await one.call_tool("await_turn", {"timeout_s": 0})
        assert short.structured_content["still_open"] is True
        waiting = asyncio.create_task(one.call_tool("await_turn", {"timeout_s": 40}))
        await two.call_tool("claim", {"slices": 5})
        view = (await stage.within(waiting)).structured_content
        assert (view["round"], view["awaited"], view["still_open"]) == (2, True, False)


async def test_a_cancelled_await_turn_leaves_the_episode_as_it_was(stage: Any, era: str) -> None:
    async with two_seats(stage) as it, stage.at(it.server.url, it.p1, era) as client:
        await client.call_tool("claim", {"slices": 5})
        waiting = asyncio.create_task(client.call_tool("await_turn", {"timeout_s": 40}))
        await client.call_tool("view_turn")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await client.call_tool("view_turn")).structured_content["awaited"] is False
        await it.episode.call("P2", "claim", {"slices": 5})
        assert (await client.call_tool("await_turn")).structured_content["round"] == 2


async def test_a_followed_resource_is_announced_when_a_round_closes(stage: Any) -> None:
    async with two_seats(stage) as it, stage.at(it.server.url, it.p1) as client:
        wanted = ["market://view_turn", "market://view_history"]
        async with client.listen(resource_subscriptions=wanted) as stream:
            assert stream.honored.resource_subscriptions == wanted
            await it.episode.call("P2", "claim", {"slices": 5})
            await it.episode.call("P1", "claim", {"slices": 5})
            heard = {(await stage.within(anext(stream))).uri for _ in wanted}
            assert heard == set(wanted)


async def test_what_others_do_in_a_round_is_announced_to_nobody_before_it_closes(stage: Any) -> None:
    async with (
        two_seats(stage) as it,
        stage.at(it.server.url, it.p1) as client,
        client.listen(resource_subscriptions=["market://view_turn"]) as stream,
    ):
        hearing = asyncio.create_task(anext(stream))
        await it.episode.call("P2", "claim", {"slices": 5})
        for _ in range(5):  # news would be here by then
            await client.call_tool("view_turn")
        assert not hearing.done()
        await it.episode.call("P1", "claim", {"slices": 5})
        assert (await stage.within(hearing)).uri == "market://view_turn"


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
async def test_a_followed_resource_is_announced_in_the_handshake_era_too(stage: Any) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def keep(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.put_nowait(message.params.uri)

    episode = await stage.episode("P1", "P2")
    client: Any
    async with Client(build_server(episode, "P1"), mode="legacy", message_handler=keep) as client:
        await client.subscribe_resource("market://view_turn")
        await client.subscribe_resource("market://view_history")
        await client.unsubscribe_resource("market://view_history")
        await episode.call("P2", "claim", {"slices": 5})
        await episode.call("P1", "claim", {"slices": 5})
        assert await stage.within(heard.get()) == "market://view_turn"
        await episode.call("P1", "claim", {"slices": 5})
        await episode.call("P2", "claim", {"slices": 5})
        assert await stage.within(heard.get()) == "market://view_turn"


async def follow(client: Any, era: str, *uris: str) -> None:
    """Follow resources the way the era does it."""
    if era == "auto":
        async with client.listen(resource_subscriptions=uris):
            return
    for uri in uris:
        await client.subscribe_resource(uri)


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("uri", ["market://claim", "market://P2/view_my_value", "market://read_messages", "x"])
async def test_what_is_not_offered_cannot_be_followed(stage: Any, era: str, uri: str) -> None:
    async with two_seats(stage) as it, stage.at(it.server.url, it.p1, era) as client:
        with pytest.raises(MCPError) as refused:
            await follow(client, era, "market://view_turn", uri)
        assert refused.value.code == types.INVALID_PARAMS


async def test_revoking_a_token_ends_its_streams(stage: Any) -> None:
    async with (
        two_seats(stage) as it,
        stage.at(it.server.url, it.p1) as client,
        client.listen(resource_subscriptions=["market://view_turn"]) as stream,
    ):
        it.host.revoke(it.grant1)
        with pytest.raises(StopAsyncIteration):
            await stage.within(anext(stream))


async def test_a_call_that_waits_is_not_answered_after_its_token_is_revoked(stage: Any, era: str) -> None:
    async with two_seats(stage) as it, stage.at(it.server.url, it.p1, era) as client:
        await client.call_tool("claim", {"slices": 5})
        waiting = asyncio.create_task(client.call_tool("await_turn", {"timeout_s": 40}))
        async with asyncio.timeout(LONG):
            while not it.host.gate(it.episode.id, "P1").open:
                await client.call_tool("view_turn")
        it.host.revoke(it.grant1)
        await it.episode.call("P2", "claim", {"slices": 5})  # what it would have been told of
        with pytest.raises(MCPError):
            await stage.within(waiting)


async def test_a_token_that_is_revoked_while_its_request_waits_opens_nothing(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, go_on, run = asyncio.Event(), asyncio.Event(), Door.run

    async def slowly(door: Door, *, task_status: Any) -> None:
        opening.set()
        await go_on.wait()
        await run(door, task_status=task_status)

    opener: Any = SeatApp
    asked, find = 0, opener._door

    async def finding(app: SeatApp, *request: Any) -> Any:
        nonlocal asked
        asked += 1
        return await find(app, *request)

    monkeypatch.setattr(Door, "run", slowly)
    monkeypatch.setattr(SeatApp, "_door", finding)
    async with two_seats(stage) as it, by_hand(it.p1) as one, by_hand(it.p2) as two:
        hello = stage.post("initialize", INITIALIZE)
        first = asyncio.create_task(two.post(it.server.url, content=hello))
        await stage.within(opening.wait())
        waiting = asyncio.create_task(one.post(it.server.url, content=hello))
        await eventually(lambda: asked == 2, "a second request that waits for the first")
        it.host.revoke(it.grant1)
        go_on.set()
        assert (await stage.within(first)).status_code == 200
        assert (await stage.within(waiting)).status_code in (401, 404)
        assert len(it.host.doors) == 1


# --- what arrives broken ------------------------------------------------------------------------------------------


async def test_a_body_over_the_limit_is_413_and_the_seat_goes_on(stage: Any, era: str) -> None:
    async with two_seats(stage, body_limit=100_000) as it, stage.at(it.server.url, it.p1, era) as client:
        call = stage.post("tools/call", {"name": "add_note", "arguments": {"text": "x" * 200_000}})

        async def in_chunks() -> AsyncGenerator[bytes]:  # without a word on its length
            for start in range(0, len(call), 10_000):
                yield call[start : start + 10_000]

        async with by_hand(it.p1) as hand:
            for headers in ({}, MODERN):
                for content in (call, in_chunks()):
                    assert (await hand.post(it.server.url, content=content, headers=headers)).status_code == 413
        within = await client.call_tool("add_note", {"text": "x" * 70_000})
        assert within.structured_content["code"] == "bad_value"
        assert (await client.call_tool("view_turn")).structured_content["seat"] == "P1"


GARBAGE = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"text"',
    b"\xff\xfe",
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
    b"[" * 5_000,
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "claim", "arguments": [1]}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {}}',
]


async def test_garbage_is_an_error_and_never_a_crash(stage: Any, era: str) -> None:
    async with two_seats(stage) as it, stage.at(it.server.url, it.p1, era) as client:
        async with by_hand(it.p1) as hand:
            for body in GARBAGE:
                for headers in ({}, MODERN):
                    answer = await hand.post(it.server.url, content=body, headers=headers)
                    assert 400 <= answer.status_code < 500
                    assert "Traceback" not in answer.text
        assert (await client.call_tool("view_turn")).structured_content["awaited"] is True


async def test_foreign_host_and_origin_headers_are_refused(stage: Any) -> None:
    async with two_seats(stage) as it, by_hand(it.p1) as client:
        call = stage.post("initialize", INITIALIZE)
        for headers in ({}, MODERN):
            rebound = await client.post(it.server.url, content=call, headers={**headers, "Host": "evil.example"})
            assert rebound.status_code == 421
            foreign = await client.post(
                it.server.url, content=call, headers={**headers, "Origin": "http://evil.example"}
            )
            assert foreign.status_code == 403


_PAGE = "https://app.example"
_PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,mcp-method"}


async def test_a_page_of_an_allowed_origin_opens_a_seat_and_every_other_page_none(stage: Any) -> None:
    async with two_seats(stage, origins=[_PAGE]) as it, by_hand(it.p1) as client, by_hand() as nobody:
        call = stage.post("initialize", INITIALIZE)
        for origin, is_allowed in ((_PAGE, True), (f"{_PAGE}:8443", False), ("http://app.example", False)):
            told = _PAGE if is_allowed else None
            answer = await client.post(it.server.url, content=call, headers={"Origin": origin})
            asked = await nobody.options(it.server.url, headers={"Origin": origin, **_PREFLIGHT})
            refused = await nobody.post(it.server.url, content=call, headers={"Origin": origin})
            statuses = (200, 200, 401) if is_allowed else (403, 400, 401)
            assert (answer.status_code, asked.status_code, refused.status_code) == statuses
            for headers in (answer.headers, asked.headers, refused.headers):
                assert headers.get("access-control-allow-origin") == told
                assert "access-control-allow-credentials" not in headers
            assert asked.headers["access-control-allow-headers"] == "authorization,mcp-method"
            assert "www-authenticate" in refused.headers["access-control-expose-headers"]


async def test_a_host_that_names_no_page_answers_no_preflight(stage: Any) -> None:
    async with two_seats(stage) as it, by_hand(it.p1) as client:
        asked = await client.options(it.server.url, headers={"Origin": _PAGE, **_PREFLIGHT})
        assert not [name for name in asked.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        (_PAGE, _PAGE),
        ("HTTPS://App.Example:443", _PAGE),
        ("http://localhost:6274", "http://localhost:6274"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_an_origin_is_read_as_a_browser_writes_it(given: str, origin: str) -> None:
    assert check_origin(given) == origin


@pytest.mark.parametrize(
    "given",
    [
        *("*", "null", "", "https://*", "https://*.example", "http://localhost:*", "app.example", "ftp://app.example"),
        *(f"{_PAGE}/", f"{_PAGE}/seat", f"{_PAGE}?a", f"{_PAGE}#a", f"{_PAGE}:", f"{_PAGE}:x", f"{_PAGE}:0443"),
        *("https://me@app.example", "https://app.example:99999", "https://app.exämple", "https://a b", "https://[::1"),
    ],
)
def test_what_is_more_or_less_than_an_origin_is_refused(given: str) -> None:
    with pytest.raises(ScenarioError, match="allow-origin is scheme, host and port"):
        check_origin(given)


async def test_an_address_in_use_is_said_so(stage: Any) -> None:
    async with two_seats(stage) as it:
        with pytest.raises(ScenarioError, match="is taken; --port 0"):
            HttpServer(Host(), port=it.server.port)


def test_loopback_is_what_only_this_machine_can_reach() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.2", "example.com", "")))


async def test_a_client_without_the_sdk_can_play(stage: Any) -> None:
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    async with two_seats(stage) as it, by_hand(it.p1, **MODERN, **{"Mcp-Method": "tools/call"}) as client:
        params: dict[str, Any] = {"name": "claim", "arguments": {"slices": 4}, "_meta": meta}
        answer = await client.post(
            it.server.url, content=stage.post("tools/call", params), headers={"Mcp-Name": "claim"}
        )
        assert answer.status_code == 200
        assert answer.json()["result"]["structuredContent"] == {"round": 1, "sealed": "claim"}


async def test_twenty_clients_on_one_seat_do_not_disturb_each_other(stage: Any) -> None:
    async with two_seats(stage) as it:

        async def look() -> str:
            async with stage.at(it.server.url, it.p1) as client:
                return (await client.call_tool("view_turn")).structured_content["seat"]

        assert set(await stage.within(asyncio.gather(*(look() for _ in range(20))))) == {"P1"}

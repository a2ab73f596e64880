"""The board: what a client with MCP Apps is told, what it may call, and what every other client never sees."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
import pytest
from mcp import Client, MCPError, types
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp_types.version import LATEST_MODERN_VERSION
from tests.host.serving.by_hand import HEADERS, META, started
from tests.host.serving.test_noninterference import DRAWING, PRESETS
from tests.waiting import LONG

from tradefair.catalog import load_scenario, market_names, market_type
from tradefair.host.commands.connect import forwarding_server, open_remote
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_observer_server, build_server
from tradefair.host.server.board import BOARD_URI
from tradefair.host.server.quotas import Gate, Quotas
from tradefair.tracestore import open_trace

APPS = (advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]}),)
BOARD_TOOLS = {"board_state", "board_call"}


def plain(result: Any) -> dict[str, Any]:
    """A result as it is on the wire, without what differs from server to server."""
    return result.model_dump(mode="json", by_alias=True)


async def test_a_client_with_apps_sees_where_the_board_is_drawn(connect: Any) -> None:
    async with connect(extensions=APPS) as client:
        # Revisions before 2026-07-28 have no place for it: the SDK leaves it out of what `initialize` answers.
        if client.protocol_version == LATEST_MODERN_VERSION:
            assert client.server_capabilities.extensions == {EXTENSION_ID: {}}
        listed: list[Any] = (await client.list_tools()).tools
        ui: dict[str, Any] = {tool.name: tool.meta.get("ui") for tool in listed}
        drawn = {"resourceUri": BOARD_URI}
        assert {name for name, marks in ui.items() if marks == drawn} == {"view_turn", "await_turn", "view_my_value"}
        app_only = {name for name, marks in ui.items() if marks == {**drawn, "visibility": ["app"]}}
        assert app_only == BOARD_TOOLS
        assert BOARD_URI in {str(resource.uri) for resource in (await client.list_resources()).resources}
        (page,) = (await client.read_resource(BOARD_URI)).contents
        assert page.mime_type == APP_MIME_TYPE
        assert page.meta == {"ui": {"csp": {}}}
        assert page.text.startswith("<!doctype html>")


async def test_a_client_without_apps_is_told_of_no_board(connect: Any) -> None:
    for extensions in (None, (advertise(EXTENSION_ID, {}),), (advertise(EXTENSION_ID, {"mimeTypes": ["text/html"]}),)):
        async with connect(extensions=extensions) as client:
            tools = (await client.list_tools()).tools
            assert not BOARD_TOOLS & {tool.name for tool in tools}
            assert not any("ui" in (tool.meta or {}) for tool in tools)
            assert BOARD_URI not in {str(resource.uri) for resource in (await client.list_resources()).resources}
            with pytest.raises(MCPError, match="offered no such resource"):
                await client.read_resource(BOARD_URI)
            for name in BOARD_TOOLS:
                result = plain(await client.call_tool(name, {"tool": "view_turn", "arguments": {}}))
                nonsense = plain(await client.call_tool(name[::-1], {"tool": "view_turn", "arguments": {}}))
                assert orjson.loads(orjson.dumps(result).replace(name.encode(), b"NAME")) == orjson.loads(
                    orjson.dumps(nonsense).replace(name[::-1].encode(), b"NAME")
                )
                assert result["structuredContent"]["code"] == "tool_unavailable"


async def test_the_state_of_the_board_is_the_turn_and_the_tools(connect: Any) -> None:
    async with connect(extensions=APPS) as client:
        state = (await client.call_tool("board_state")).structured_content
        turn = (await client.call_tool("view_turn")).structured_content
        assert state["turn"] == turn
        assert state["open"] is turn["awaited"] is True
        assert [state[name] for name in ("market", "scenario", "seat", "over", "history")] == [
            "teaching", "teaching/pie", "P1", False, 0,
        ]  # fmt: skip
        assert [action["name"] for action in state["actions"]] == ["claim"]
        assert set(state["actions"][0]) == {"name", "title", "description", "inputSchema", "endsTurn", "destructive"}
        assert state["reads"][0]["name"] == "view_my_value"
        before = state["revision"]
        while not (state := (await client.call_tool("board_state")).structured_content)["over"]:
            await client.call_tool("await_turn")
            called = await client.call_tool("board_call", {"tool": "claim", "arguments": {"slices": 5}})
            assert called.structured_content["sealed"] == "claim"
        assert state["revision"] > before
        assert state["history"] == 3


async def hosted_seat(stage: Any, market: str) -> tuple[Host, Any, str]:
    """A host with one episode of a market, and the first agent seat of it."""
    kind, scenario = market_type(market), load_scenario(market, PRESETS[market])
    plan = plan_seats(kind, scenario)
    episode = await new_episode(kind, scenario, 7, plan, stage.folder)
    host = Host(stage.folder)
    host.add(episode)
    return host, episode, plan.agents[0]


def expected_list(core: Any, seat: str) -> list[dict[str, Any]]:
    """`tools/list` as it is without the board: made here from the market's table alone."""
    listed: list[dict[str, Any]] = []
    for tool in core.tools(seat).values():
        hints = types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or tool.read_only,
            open_world_hint=False,
        )
        meta: dict[str, Any] = {"tradefair/kind": tool.kind, "tradefair/ends-turn": tool.ends_turn}
        meta |= {"tradefair/evidence": list(tool.evidence)} if tool.evidence else {}
        made = types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.listed_schema(core.scenario),
            output_schema=tool.output_schema,
            annotations=hints,
            _meta=meta,
        )
        listed.append(made.model_dump(mode="json", by_alias=True, exclude_none=True))
    return listed


@pytest.mark.parametrize("market", market_names())
async def test_the_list_of_tools_has_the_same_bytes_with_and_without_the_board(stage: Any, market: str) -> None:
    host, episode, seat = await hosted_seat(stage, market)
    token, _ = host.invite(episode.id, seat)
    bearer = {**HEADERS, "Authorization": f"Bearer {token}"}
    async with stage.hosted(host) as server, httpx2.AsyncClient(headers=bearer, timeout=LONG) as http:

        async def listed(meta: dict[str, Any]) -> list[dict[str, Any]]:
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
            answer = await http.post(server.url, content=stage.post("tools/list", {"_meta": meta}), headers=headers)
            return answer.json()["result"]["tools"]

        plain_list, drawn = await listed(META), await listed(DRAWING)
        assert plain_list == expected_list(episode.core, seat)
        marked = [tool["name"] for tool in drawn if "ui" in tool["_meta"]]
        assert len(marked) == len({"view_turn", "await_turn"} | BOARD_TOOLS) + 1
        for tool in drawn:
            tool["_meta"].pop("ui", None)
        assert orjson.dumps(drawn[:-2]) == orjson.dumps(plain_list)
        assert {tool["name"] for tool in drawn[-2:]} == BOARD_TOOLS


@pytest.mark.parametrize("market", market_names())
async def test_no_two_things_that_a_server_offers_have_one_name(stage: Any, market: str) -> None:
    host, episode, seat = await hosted_seat(stage, market)
    for server in (build_server(episode, seat), build_observer_server(episode)):
        async with Client(server, extensions=APPS) as client:
            tools, prompts = (await client.list_tools()).tools, (await client.list_prompts()).prompts
            resources = (await client.list_resources()).resources
            templates = (await client.list_resource_templates()).resource_templates
        names = [offered.name for offered in (*tools, *prompts, *resources, *templates)]
        assert sorted(names) == sorted(set(names))
        assert all(offered.name.startswith("market_") for offered in (*resources, *templates))
    await host.close()


@pytest.mark.parametrize("market", market_names())
async def test_the_list_of_tools_has_the_same_bytes_over_stdio(stage: Any, market: str) -> None:
    host, episode, seat = await hosted_seat(stage, market)
    words = ("--scenario", PRESETS[market], "--seat", seat, "--out", str(stage.folder / "stdio"))
    async with started(stage, "serve", market, *words) as server:
        await server.hello()
        answer = await server.ask("tools/list")
        assert answer["result"]["tools"] == expected_list(episode.core, seat)
        await server.leave()
    await host.close()


async def test_a_client_behind_the_shim_sees_the_board_if_it_can_draw_it(stage: Any) -> None:
    host, episode, seat = await hosted_seat(stage, "teaching")
    token, _ = host.invite(episode.id, seat)
    async with stage.hosted(host) as server, open_remote(server.url, token) as remote:
        async with Client(forwarding_server(remote), extensions=APPS) as drawing:
            assert EXTENSION_ID in (drawing.server_capabilities.extensions or {})
            assert {tool.name for tool in (await drawing.list_tools()).tools} > BOARD_TOOLS
            assert (await drawing.read_resource(BOARD_URI)).contents
            called = await drawing.call_tool("board_call", {"tool": "claim", "arguments": {"slices": 5}})
            assert called.structured_content["sealed"] == "claim"
        async with Client(forwarding_server(remote)) as client:
            assert not {tool.name for tool in (await client.list_tools()).tools} & BOARD_TOOLS
            refused = await client.call_tool("board_state")
            assert refused.structured_content["code"] == "tool_unavailable"
    assert clicks(episode.path)[0] == ("claim", "person")


def clicks(path: Any) -> list[tuple[str, str | None]]:
    """Tool and `by` of each call of P1."""
    with open_trace(path) as trace:
        by = {row.seq: row.by for row in trace.side()}
        called = [event for event in trace.decoded() if event["event"] == "tool_called" and event["seat"] == "P1"]
    return [(event["tool"], by[event["seq"]]) for event in called]


@asynccontextmanager
async def drawing(stage: Any, gate: Gate | None = None) -> AsyncGenerator[tuple[Any, Any]]:
    """A client with the board in process, and its episode."""
    episode = await stage.episode()
    async with Client(build_server(episode, "P1", gate=gate), extensions=APPS) as client:
        yield client, episode


async def test_what_somebody_clicks_is_a_call_like_any_other_and_marked(stage: Any) -> None:
    async with drawing(stage) as (client, episode):
        before = episode.core.seq
        for _ in range(3):
            await client.call_tool("board_state")
        assert episode.core.seq == before  # looking at the state leaves no mark
        by_hand = await client.call_tool("view_my_value")
        clicked = await client.call_tool("board_call", {"tool": "view_my_value", "arguments": {}})
        assert plain(clicked) == plain(by_hand)
        call = {"tool": "claim", "arguments": {"slices": 5}, "key": "k"}
        first, again = [await client.call_tool("board_call", call) for _ in range(2)]
        assert plain(first)["structuredContent"] == plain(again)["structuredContent"]
        meta: Any = {"tradefair/call-key": "k"}
        repeated = await client.call_tool("claim", {"slices": 5}, meta=meta)
        assert repeated.structured_content == first.structured_content
    assert clicks(episode.path) == [("view_my_value", None), ("view_my_value", "person"), ("claim", "person")]


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"tool": "no_such_tool", "arguments": {}}, "tool_unavailable"),
    ({"tool": "board_state", "arguments": {}}, "tool_unavailable"),
    ({"tool": "board_call", "arguments": {"tool": "claim", "arguments": {"slices": 1}}}, "tool_unavailable"),
    ({"tool": "claim", "arguments": {"slices": "5", "seat": "P2"}}, "invalid_arguments"),
    ({"tool": "claim", "arguments": {"text": "x" * 10_000_000}}, "bad_value"),
    ({"tool": "claim", "arguments": {"slices": {"a": [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}}}, "invalid_arguments"),
    ({"tool": "claim", "arguments": {"slices": 1}, "key": "\x00"}, "invalid_arguments"),
    ({"tool": "claim", "arguments": {"slices": 1}, "key": "k" * 1_000}, "invalid_arguments"),
    ({"tool": "claim" * 100, "arguments": {}}, "invalid_arguments"),
    ({"tool": "", "arguments": {}}, "invalid_arguments"),
    ({"tool": 5, "arguments": []}, "invalid_arguments"),
    ({"tool": "claim"}, "invalid_arguments"),
    ({"tool": "claim", "arguments": {}, "by": "agent"}, "invalid_arguments"),
    ({}, "invalid_arguments"),
]


@pytest.mark.parametrize(("arguments", "code"), HOSTILE, ids=range(len(HOSTILE)))
async def test_hostile_arguments_of_the_board_are_refused_by_name(
    stage: Any, arguments: dict[str, Any], code: str
) -> None:
    async with drawing(stage) as (client, episode):
        result = await client.call_tool("board_call", arguments)
        assert (result.is_error, result.structured_content["code"]) == (True, code)
        assert set(result.structured_content) == {"code", "message", "hint", "retryable"}
        assert len(orjson.dumps(result.structured_content)) < 2_000
        assert episode.core.market.clock.round == 1


async def test_a_click_costs_what_its_call_costs_and_the_state_nothing(stage: Any) -> None:
    gate = Gate(Quotas(calls=1))
    async with drawing(stage, gate) as (client, _):
        for _ in range(5):
            assert not (await client.call_tool("board_state")).is_error
        assert gate.calls == 0
        look: dict[str, Any] = {"tool": "view_my_value", "arguments": {}}
        answers = [await client.call_tool("board_call", look) for _ in range(2)]
        assert [answer.is_error for answer in answers] == [False, True]
        assert answers[1].structured_content["code"] == "call_limit"
        assert not (await client.call_tool("board_state")).is_error
    async with drawing(stage, Gate(Quotas(calls_per_s=0.01, burst=1))) as (client, _):
        asked = [await client.call_tool("board_state") for _ in range(2)]
        assert [answer.is_error for answer in asked] == [False, True]


async def test_under_the_free_clock_a_seat_may_act_at_any_time(stage: Any) -> None:
    kind, scenario = market_type("marketplace"), load_scenario("marketplace", "small_demo", {"clock": "free"})
    plan = plan_seats(kind, scenario, agents=["customer_0001"])
    episode = await new_episode(kind, scenario, 7, plan, stage.folder)
    stage.opened.append(episode)
    async with Client(build_server(episode, "customer_0001"), extensions=APPS) as client:
        before = (await client.call_tool("board_state")).structured_content
        assert (before["open"], before["turn"]["awaited"]) == (True, False)
        await episode.end("truncated:test")
        after = (await client.call_tool("board_state")).structured_content
        assert (after["open"], after["over"]) == (False, True)
        assert after["revision"] > before["revision"]


async def test_programs_and_observers_know_no_board(stage: Any) -> None:
    async with drawing(stage) as (client, episode):
        for name in BOARD_TOOLS:
            result = await client.call_tool("execute_code", {"code": f"{name}()"})
            assert result.structured_content["code"] == "code_error"
        async with Client(build_observer_server(episode), extensions=APPS) as observer:
            assert observer.server_capabilities.extensions is None
            assert not {tool.name for tool in (await observer.list_tools()).tools} & BOARD_TOOLS
            assert (await observer.call_tool("board_state")).is_error
            with pytest.raises(MCPError):
                await observer.read_resource(BOARD_URI)

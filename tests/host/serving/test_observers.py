"""Observers and seats over every transport: nobody acts, reads or follows what is not theirs.

Also here:
- Many seats of one host at once: what a seat gets and leaves behind depends on its seed and its calls alone.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from tests.host.serving.by_hand import HEADERS, Seat
from tests.host.serving.planes import Plane, plane
from tests.waiting import LONGER

import tradefair.api as tf
from tradefair.catalog import default_scenario, load_scenario, market_names, market_type
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.setup import scripted_seats
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_observer_server, build_server
from tradefair.host.server.observing import public_reads
from tradefair.host.server.seat_auth import OBSERVER

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

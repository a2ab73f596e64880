"""Tool calls in process, over `mcp.Client`, against a no-op tool of a bare `MCPServer` with a result of the same shape.

The no-op tools are what one writes with the SDK: an async function with typed parameters that returns a model. The one
that stands against view_history names the columns and no deeper: so does our output schema, against which the client
checks each result, and a check of every row alone costs several times what our call does. Ours are charged for the
commits of their events too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any, NamedTuple, cast
from uuid import uuid4

from mcp import Client
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

from benchmarks.bazaar import open_seats
from benchmarks.figures import Figure, Stopwatch, ratio_of_medians
from tradefair.contract import HarnessFailure
from tradefair.double_auction import views
from tradefair.double_auction.model import MyValue, QuoteReceipt
from tradefair.double_auction.rules import DoubleAuction
from tradefair.host.episode.episode import Episode
from tradefair.host.server.binding import build_server
from tradefair.host.server.wire import CALL_KEY_META

_CLOSED_ROUNDS = 2
_QUOTE: Mapping[str, Any] = {"price": 50}

_Way = Callable[[Sequence[Client], str, Mapping[str, Any], int], Awaitable[None]]


def measure(*, tiny: bool) -> list[Figure]:
    """Ratios of CPU time per call."""
    return asyncio.run(_measure(2 if tiny else 60, 1 if tiny else 6))


class _Arena(NamedTuple):
    """Clients of every seat and as many of the bare server; `turns` turns of `rounds` calls by each of them."""

    episode: Episode
    seats: Sequence[Client]
    bare: Sequence[Client]
    turns: int
    rounds: int


class _Past(BaseModel):
    """What view_history answers, as deep as its output schema says."""

    rounds: list[dict[str, Any]]
    total: int
    next_cursor: str | None


async def _measure(turns: int, rounds: int) -> list[Figure]:
    async with AsyncExitStack() as stack:
        episode = await stack.enter_async_context(open_seats(_CLOSED_ROUNDS + 2 * (turns + 1) * rounds + 1))
        names = list(episode.core.market.seats)
        seats = [await stack.enter_async_context(Client(build_server(episode, name))) for name in names]
        await _together(seats, "submit_quote", _QUOTE, _CLOSED_ROUNDS)
        server = _bare(episode)
        bare = [await stack.enter_async_context(Client(server)) for _ in names]
        arena = _Arena(episode, seats, bare, turns, rounds)
        return [
            await _figure("read view_my_value", 1.15, arena, _alone, "view_my_value", {}),
            await _figure("read view_history", 1.15, arena, _alone, "view_history", {}),
            await _figure("durable submit_quote, alone", 1.7, arena, _alone, "submit_quote", _QUOTE),
            await _figure("durable submit_quote, eight at once", 1.35, arena, _together, "submit_quote", _QUOTE),
        ]


async def _figure(name: str, goal: float, arena: _Arena, way: _Way, tool: str, arguments: Mapping[str, Any]) -> Figure:
    how = f"no-op tool = 1; medians of {arena.turns} turns of {arena.rounds * len(arena.seats)} calls"
    value = await _ratio(arena, way, tool, arguments)
    # On a crowded machine three commits in a row may lose their processor: the other way is measured then.
    return Figure(name, value, "x", goal, how=how + (", on a slow disk" if arena.episode.slow_disk else ""))


async def _ratio(arena: _Arena, way: _Way, tool: str, arguments: Mapping[str, Any]) -> float:
    """CPU time of our calls over that of the no-op tool, measured turn by turn; the first turn warms up."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(arena.turns + 1):
        for clients, times in ((arena.seats, ours), (arena.bare, theirs)):
            watch = Stopwatch()
            await way(clients, tool, arguments, arena.rounds)
            if clients is arena.seats:
                await arena.episode.await_turn("B1", 0)  # returns once everything queued is committed
            times.append(watch.seconds())
    return ratio_of_medians(ours[1:], theirs[1:])


async def _alone(clients: Sequence[Client], tool: str, arguments: Mapping[str, Any], rounds: int) -> None:
    """One call after another, seat by seat."""
    for _ in range(rounds):
        for client in clients:
            await _call(client, tool, arguments)


async def _together(clients: Sequence[Client], tool: str, arguments: Mapping[str, Any], rounds: int) -> None:
    """All seats at once, round by round."""
    for _ in range(rounds):
        await asyncio.gather(*(_call(client, tool, arguments) for client in clients))


async def _call(client: Client, tool: str, arguments: Mapping[str, Any]) -> None:
    # With a call key, as our agents call; reads have no use for it.
    result = await client.call_tool(tool, dict(arguments), meta={CALL_KEY_META: uuid4().hex})
    if result.is_error:
        raise HarnessFailure(f"{tool} was refused: {result.structured_content}")


def _bare(episode: Episode) -> MCPServer:
    """No-op tools that answer what the episode's seats would see now."""
    state = cast(DoubleAuction, episode.core.market).state
    own = views.my_value(state, "B1")
    past = _Past.model_validate(views.history(state, views.HistoryQuery()).model_dump(mode="json"))
    receipt = QuoteReceipt(round=state.round, price=50, warning=None)
    server = MCPServer("bare")

    @server.tool()
    async def view_my_value() -> MyValue:
        return own

    @server.tool()
    async def view_history(
        first_round: int | None = None,
        last_round: int | None = None,
        trader: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> _Past:
        return past

    @server.tool()
    async def submit_quote(
        price: Annotated[int, Field(ge=0, le=10_000)], round_guard: int | None = None
    ) -> QuoteReceipt:
        return receipt

    return server

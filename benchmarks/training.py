"""What a trainer pays: a reset, many sessions at once, an outcome, and the same episodes without a server.

In process: an `mcp.Client` of each seat, against a no-op tool of a bare `MCPServer`. Over HTTP: requests of the
stateless era to a host in a process of its own, whose CPU time and memory are taken. An episode is the auction of three
rounds: ten calls of one seat, the stand-ins on the others. Wrong answers are no figures: every episode ends by its
rules, and every trace that is scored is reproduced.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import orjson
from mcp import Client
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

from benchmarks.figures import Figure, Stopwatch
from benchmarks.served import HostProcess
from tradefair.contract import HarnessFailure, ToolCall
from tradefair.host.doors.control_bodies import Create, Invitation
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.orders import Order, checked
from tradefair.host.episode.setup import new_episode_id
from tradefair.host.seats.plans import STAND_IN
from tradefair.host.server.binding import build_server
from tradefair.host.server.wire import SLIM
from tradefair.runner.play.batch import batch
from tradefair.runner.tasks.scoring import score_file

_MARKET, _SCENARIO, _SEAT, _ROUNDS = "double_auction", "double_auction/smoke", "B1", 3
_TURN: tuple[tuple[str, dict[str, Any]], ...] = (("view_my_value", {}), ("submit_quote", {"price": 50}))
_ENDED = "terminated:rounds_completed"
_OPTIONS = {"rate": 0, "max_episodes": 1100, "linger": 600, "log_level": "warning"}
_AT_ONCE = 16
_TIDIED_S = 8
_REVISION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _REVISION,
    "io.modelcontextprotocol/clientCapabilities": dict[str, str](),
}


def measure(*, tiny: bool) -> list[Figure]:
    """64 episodes one after another in process; waves of 64 and then 1,000 sessions at once over HTTP."""
    few, many = (2, 8) if tiny else (64, 1_000)
    return [*asyncio.run(_in_process(few)), *asyncio.run(_over_http(few, many))]


# --- in process -------------------------------------------------------------------------------------------------------


class _Receipt(BaseModel):
    price: int


async def _in_process(episodes: int) -> list[Figure]:
    with TemporaryDirectory() as place:
        host = Host(Path(place))
        seeds = range(1, episodes + 1)
        async with _no_op() as bare:
            await _played(host, 0)  # what is loaded once is nobody's reset
            resets, plays, calls = list[float](), list[float](), list[float]()
            for seed in seeds:
                # In turns, so that a slow minute slows both.
                calls += [await _no_op_call(bare) for _ in range(5)]
                reset, whole = await _played(host, seed)
                resets.append(reset)
                plays.append(whole)
        await host.close()
        _stepped(range(2))
        stepped = _stepped(seeds)
        outcomes = [_outcome(path) for path in sorted(Path(place).glob("*.trace"))][1:]
    one = 1_000 * median(calls)
    alike = f"{episodes} episodes of {_SCENARIO}, medians"
    return [
        Figure(
            "training: reset", median(resets) / median(calls), "calls", 30, how=f"no-op MCP call = 1; order, trace, "
            f"server, client and first await_turn; {alike}"
        ),
        Figure("training: reset alone", 1_000 * median(resets), "CPU ms", how=f"the same; a call {one:.3f}"),
        Figure("training: an episode over MCP", 1_000 * median(plays), "CPU ms", how="in process, with reset and end"),
        Figure("training: an episode by batch", 1_000 * stepped, "CPU ms", how="the same calls"),
        Figure("training: batch over MCP", median(plays) / stepped, "x", 5, "at least", how="episodes per CPU second"),
        Figure(
            "training: outcome with verify", median(outcomes) / median(plays), "x", 0.3, how=f"playing it = 1; {alike}"
        ),
    ]  # fmt: skip


@asynccontextmanager
async def _no_op() -> AsyncGenerator[Client]:
    # Its own default would write a line for each request of this process.
    server = MCPServer("bare", log_level="ERROR")

    @server.tool()
    async def quote(price: int) -> _Receipt:
        return _Receipt(price=price)

    async with Client(server) as client:
        yield client


async def _no_op_call(client: Client) -> float:
    begun = time.process_time()
    await client.call_tool("quote", {"price": 50})
    return time.process_time() - begun


async def _played(host: Host, seed: int) -> tuple[float, float]:
    """CPU seconds of a reset, and of the whole episode with it."""
    begun = time.process_time()
    order = Order(market=_MARKET, scenario=_SCENARIO, seed=seed, seats=(_SEAT,), others=STAND_IN)
    name = new_episode_id()
    host.order(checked(order), name)
    episode = await host.start(name)
    # Without output schemas, as trainers order it: the SDK's client compiles and checks those anew for each session.
    server = build_server(episode, _SEAT, gate=host.gate(name, _SEAT), manner=SLIM)
    async with Client(server) as client:
        await client.call_tool("await_turn")
        reset = time.process_time() - begun
        for _ in range(_ROUNDS):
            for tool, arguments in _TURN:
                await client.call_tool(tool, arguments)
            await client.call_tool("await_turn")
    ended = episode.core.ended
    await host.remove(name)
    if ended != _ENDED:
        raise HarnessFailure(f"an episode ended otherwise: {ended}")
    return reset, time.process_time() - begun


def _stepped(seeds: Sequence[int]) -> float:
    """CPU seconds of an episode without server and log, making included."""
    watch = Stopwatch()
    games = batch(_MARKET, _SCENARIO, _SEAT, seeds)
    while any(views := games.views()):
        for tool, arguments in _TURN:
            games.call([view and ToolCall(tool, arguments) for view in views])
    return watch.seconds() / len(seeds)


def _outcome(path: Path) -> float:
    begun = time.process_time()
    score = score_file(path, path.stem, check=True)
    if score.verify is None or score.verify.verdict != "reproduced" or score.seats[_SEAT].reward is None:
        raise HarnessFailure(f"{path.name} cannot be scored: {score}")
    return time.process_time() - begun


# --- over HTTP --------------------------------------------------------------------------------------------------------


async def _over_http(few: int, many: int) -> list[Figure]:
    with TemporaryDirectory() as place:
        host = HostProcess(Path(place) / "host", **_OPTIONS)
        try:
            host.start()
            async with httpx2.AsyncClient(timeout=120, limits=httpx2.Limits(max_connections=_AT_ONCE)) as http:
                # The first wave loads what is loaded once.
                await _wave(host, http, few)
                at_many, kilobytes = await _wave(host, http, many)
                waves = [(await _wave(host, http, few))[0] for _ in range(5)]
        finally:
            host.close()
    at_few = median(waves)
    how = f"CPU of the host's process, HTTP, {len(waves)} waves of {few}"
    return [
        Figure(f"training: an episode, {few} at once", 1_000 * at_few, "CPU ms", how=how),
        Figure(f"training: an episode, {many:,} at once", 1_000 * at_many, "CPU ms", how="the same, one wave"),
        Figure("training: 1,000 sessions over 64", at_many / at_few, "x", 1.25, how="CPU time of an episode"),
        Figure("training: memory of an idle session", kilobytes, "kB", 600, how=f"{many:,} after their reset"),
    ]  # fmt: skip


async def _wave(host: HostProcess, http: httpx2.AsyncClient, count: int) -> tuple[float, float]:
    """CPU seconds of the host per episode, all of them at once; and kilobytes per session after the reset."""
    resting, over = await _resting_mib(host), set[bool]()
    begun = host.usage().cpu_s
    with host.control() as control:
        # One order for each, as the workers of a trainer come.
        made = [
            control.create(Create(market=_MARKET, scenario=_SCENARIO, seed=seed, seats=(_SEAT,), others=STAND_IN))
            for seed in range(count)
        ]
        seats = [created.invitations[0] for created in made]
        await _each(http, host.url, seats, "await_turn", {})
        held = host.usage().resident_mib - resting
        for _ in range(_ROUNDS):
            for tool, arguments in _TURN:
                await _each(http, host.url, seats, tool, arguments)
            views = await _each(http, host.url, seats, "await_turn", {})
            over = {view["structuredContent"]["over"] for view in views}
        ends = {control.delete(seat.episode).end_reason for seat in seats}
    if ends != {_ENDED} or over != {True}:
        raise HarnessFailure(f"episodes ended otherwise: {ends}")
    return (host.usage().cpu_s - begun) / count, held * 2**20 / 1_000 / count


async def _each(
    http: httpx2.AsyncClient, url: str, seats: Sequence[Invitation], tool: str, arguments: dict[str, Any]
) -> list[Any]:
    """The call in every seat, some at a time; the results."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def call(token: str) -> Any:
        async with room:
            return await _call(http, url, token, tool, arguments)

    return await asyncio.gather(*(call(seat.token) for seat in seats))


async def _call(http: httpx2.AsyncClient, url: str, token: str, tool: str, arguments: dict[str, Any]) -> Any:
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    params = {"name": tool, "arguments": arguments, "_meta": _META}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await http.post(url, headers=headers, json=body)
    try:
        result = orjson.loads(answer.content)["result"]
    except (orjson.JSONDecodeError, KeyError):
        # A busy or stopping host answers in words, or with an error of the protocol.
        raise HarnessFailure(f"{tool} was answered {answer.status_code}: {answer.text[:300] or 'nothing'}") from None
    if result["isError"]:
        raise HarnessFailure(f"{tool} was refused: {answer.text[:300]}")
    return result


async def _resting_mib(host: HostProcess) -> float:
    """Memory once the host has given back what earlier episodes took: the least of some seconds."""
    seen: list[float] = []
    until = time.monotonic() + _TIDIED_S
    while time.monotonic() < until:
        seen.append(host.usage().resident_mib)
        await asyncio.sleep(0.25)
    return min(seen)

"""How long one episode holds the event loop of a host: scripted seats that move, and a large market that is made.

In process, CPU seconds of the loop's thread between two of its turns, while 399 scripted traders answer one outside
quote after another; once with slices and once without, which must write the same events. Over a real host, how long
`/health` takes meanwhile and while a marketplace of 10,000 seats is made; wall clock, so a busy machine shows.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import quantiles
from typing import NamedTuple

import httpx2
import orjson
from pydantic import JsonValue

from benchmarks.figures import Figure
from benchmarks.served import HostProcess
from tradefair.catalog import load_scenario, market_type
from tradefair.contract.market import Closure
from tradefair.host.doors.control_bodies import Create
from tradefair.host.episode import moves
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.tracestore import open_trace

_SEED = 7
_GOAL_MS, _ADVANCE_MS = 100.0, 50.0
_WHOLE_S = 3_600.0
_OPTIONS = {"rate": 0, "max_seats": 100000, "linger": 1, "log_level": "warning"}
_REVISION = "2026-07-28"


class _Played(NamedTuple):
    """One episode: CPU milliseconds per turn of the loop, the longest `Market.advance`, all CPU, and its events."""

    turns_ms: list[float]
    advance_ms: float
    cpu_s: float
    bodies: list[bytes]


def measure(*, tiny: bool) -> list[Figure]:
    """400 traders over a few rounds; then a host."""
    traders, rounds, businesses = (20, 2, 30) if tiny else (200, 6, 7_500)
    sliced, whole = _played(traders, rounds, moves.SLICE_S), _played(traders, rounds, _WHOLE_S)
    if sliced.bodies != whole.bodies:
        raise AssertionError("slices write other events")
    how = f"{2 * traders - 1} scripted seats, {rounds} rounds"
    figures = [
        Figure(
            "stall: p50", _share(sliced.turns_ms, 50), "CPU ms", how=f"{how}; before {_share(whole.turns_ms, 50):.1f}"
        ),
        Figure("stall: p99", _share(sliced.turns_ms, 99), "CPU ms", how=f"before {_share(whole.turns_ms, 99):.0f}"),
        Figure("stall: longest", max(sliced.turns_ms), "CPU ms", _GOAL_MS, how=f"before {max(whole.turns_ms):.0f}"),
        Figure("stall: longest over advance", max(sliced.turns_ms) / sliced.advance_ms, "x", how="one phase is whole"),
        Figure(
            "stall: advance", sliced.advance_ms, "CPU ms", _ADVANCE_MS, how="Market.advance of 400 traders, longest"
        ),
        Figure("stall: cost of slices", 100 * (sliced.cpu_s / whole.cpu_s - 1), "%", how="CPU of the whole episode"),
    ]
    return figures + _hosted(traders, rounds, businesses)


def _played(traders: int, rounds: int, slice_s: float) -> _Played:
    before, moves.SLICE_S = moves.SLICE_S, slice_s
    try:
        with tempfile.TemporaryDirectory() as place:
            return asyncio.run(_play(traders, rounds, Path(place)))
    finally:
        moves.SLICE_S = before


async def _play(traders: int, rounds: int, folder: Path) -> _Played:
    kind = market_type("double_auction")
    scenario = load_scenario("double_auction", "large", _overrides(traders, rounds))
    episode = await new_episode(kind, scenario, _SEED, plan_seats(kind, scenario), folder)
    advances: list[float] = []
    market = episode.core.market
    advance: Callable[[], Closure] = market.advance

    def timed() -> Closure:
        begun = time.thread_time()
        closure = advance()
        advances.append(1_000 * (time.thread_time() - begun))
        return closure

    market.advance = timed  # pyright: ignore[reportAttributeAccessIssue]
    turns_ms: list[float] = []
    ticking = asyncio.create_task(_tick(turns_ms))
    begun = time.process_time()
    for number in range(rounds):
        await episode.call("B1", "submit_quote", {"price": 400 + number})
    cpu_s = time.process_time() - begun
    ticking.cancel()
    await episode.close()
    with open_trace(episode.path) as trace:
        return _Played(turns_ms, max(advances), cpu_s, [stored.body for stored in trace.events()])


def _overrides(traders: int, rounds: int) -> dict[str, JsonValue]:
    return {"n_buyers": traders, "n_sellers": traders, "rounds": rounds}


async def _tick(turns_ms: list[float]) -> None:
    """Note the CPU time of every turn of the loop in which something was done."""
    last = time.thread_time()
    while True:
        await asyncio.sleep(0)
        now = time.thread_time()
        if now - last > 0.000_2:
            turns_ms.append(1_000 * (now - last))
        last = now


def _hosted(traders: int, rounds: int, businesses: int) -> list[Figure]:
    """`/health` of a host while its scripted seats move, and while it makes a large market."""
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(1) as pool:
        host = HostProcess(Path(place) / "host", **_OPTIONS)
        try:
            host.start()
            idle = _health_ms(host, lambda: time.sleep(2), pool)
            with host.control() as control:
                auction = Create(
                    market="double_auction",
                    scenario="double_auction/large",
                    overrides=_overrides(traders, rounds),
                    seed=_SEED,
                    seats=("B1",),
                )
                made = control.create(auction)
                token = made.invitations[0].token
                moving = _health_ms(host, lambda: _quote(made.url, token, rounds), pool)
                large = Create(
                    market="marketplace",
                    scenario="marketplace/restaurants_10",
                    overrides={"data.customers": businesses // 3},
                    seed=_SEED,
                    seats=(f"customer_{1:0{max(4, len(str(businesses // 3)))}}",),
                    others=None,
                )
                making = _health_ms(host, lambda: control.create(large), pool)
        finally:
            host.close()
    how = "wall clock over a real host; idle {:.1f}, longest {:.0f}, {} requests".format
    return [
        Figure(
            "stall: /health p99, moving",
            _share(moving, 99),
            "ms",
            _GOAL_MS,
            how=how(_share(idle, 99), max(moving), len(moving)),
        ),
        Figure(
            "stall: /health p99, making",
            _share(making, 99),
            "ms",
            _GOAL_MS,
            how=how(_share(idle, 99), max(making), len(making)),
        ),
    ]


def _health_ms(host: HostProcess, work: Callable[[], object], pool: ThreadPoolExecutor) -> list[float]:
    """How long `/health` takes, again and again, while `work` is done in another thread."""
    over = threading.Event()
    url = host.url.rpartition("/")[0] + "/health"
    working = pool.submit(work)
    working.add_done_callback(lambda _: over.set())
    seen: list[float] = []
    with httpx2.Client(timeout=60) as client:
        while not over.is_set() or len(seen) < 20:
            begun = time.perf_counter()
            client.get(url).raise_for_status()
            seen.append(1_000 * (time.perf_counter() - begun))
            time.sleep(0.002)
    working.result()
    return seen


def _quote(url: str, token: str, rounds: int) -> None:
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "submit_quote",
    }
    meta = {
        "io.modelcontextprotocol/protocolVersion": _REVISION,
        "io.modelcontextprotocol/clientCapabilities": dict[str, str](),
    }
    with httpx2.Client(timeout=120, headers=headers) as client:
        for number in range(rounds):
            params = {"name": "submit_quote", "arguments": {"price": 400 + number}, "_meta": meta}
            answer = client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            assert not orjson.loads(answer.content)["result"]["isError"], answer.text


def _share(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]

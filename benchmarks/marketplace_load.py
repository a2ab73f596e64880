"""A free-running marketplace over streamable HTTP: 20 customers and 60 businesses, each a client with its own token.

Scripted policies decide, in client processes of their own; all they know comes over MCP. What is wrong is no figure: an
HTTP 5xx, a message that was lost, doubled or out of its order, a trace that does not verify are errors.

Then, in a market of 3,000 businesses, the server's CPU for one search, message, inbox and payment beside a no-op tool
that answers the same on a bare `MCPServer` in a process of its own, called in turns within the same run.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple
from uuid import uuid4

import httpx2
import orjson
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.figures import Figure, ratio_of_medians
from benchmarks.served import HostProcess
from tradefair.catalog import market_type
from tradefair.contract import Draw, ErrorInfo, HarnessFailure, Policy, ToolAnswer, TurnView
from tradefair.contract.policy import parse_policy
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.control_bodies import Create, Invitation
from tradefair.host.server.wire import CALL_KEY_META, TURN_META
from tradefair.tracestore import open_trace

_OPTIONS = {"rate": 0, "max_seats": 10000, "linger": 60, "log_level": "warning"}
_PLAYER = "from benchmarks.marketplace_load import play; play()"
_BARE = "from benchmarks.marketplace_load import serve_bare; serve_bare()"
_TICK_S = 5.0
_PATIENCE_S = 600
_OPENING = 16
_GOAL, _GOAL_OF_SEARCH = 2.0, 1.5
_OPEN = 15
"""Proposals of a pair that are open at once; at most 20 may be."""
_POLICIES: Mapping[str, str] = {"customer": "item_searcher", "business": "honest"}


def measure(*, tiny: bool) -> list[Figure]:
    """One marketplace with all its seats played from outside, then calls beside no-op calls."""
    customers, processes = (3, 2) if tiny else (20, 2)
    with tempfile.TemporaryDirectory() as place:
        host = HostProcess(Path(place) / "host", **_OPTIONS)
        try:
            host.start()
            figures = _load(host, customers, processes)
            figures += asyncio.run(_beside(host, *((10, 2, 2) if tiny else (1_000, 9, 40))))
            code = host.stop()
        finally:
            host.close()
        if code:
            raise HarnessFailure(f"the host ended with exit code {code}")
    return figures


def _wanted(customers: int, **overrides: Any) -> Create:
    told = {"clock": "free", "data.customers": customers, "timing.free_tick_s": _TICK_S, **overrides}
    return Create(market="marketplace", scenario="marketplace/restaurants_10", overrides=told, seed=7, seats="all")


# --- the whole marketplace --------------------------------------------------------------------------------------------


def _load(host: HostProcess, customers: int, processes: int) -> list[Figure]:
    idle, begun = host.usage(), time.monotonic()
    with host.control() as control:
        made = control.create(_wanted(customers))
    (summary,) = made.episodes
    reports = _played(made.url, made.invitations, processes)
    seconds, used = time.monotonic() - begun, host.usage()
    with host.control() as control:
        ended = _ended(control.status().episodes, summary.episode)
    if ended != "terminated:completed":
        raise HarnessFailure(f"the episode ended otherwise: {ended}")
    trace = host.folder / f"{summary.episode}.trace"
    found = verify_file(trace)
    if found.verdict != "reproduced":
        raise HarnessFailure(f"the trace is {found.verdict}: {found.sentence}")
    return _figures(_checked(reports, trace), seconds, used.cpu_s - idle.cpu_s, customers, processes)


def _ended(lines: Sequence[Any], episode: str) -> str | None:
    return next((line.end_reason for line in lines if line.episode == episode), None)


class _Load(NamedTuple):
    """What all clients together saw: milliseconds per call by tool, answers by status, messages sent and read."""

    times: Mapping[str, list[float]]
    statuses: Counter[str]
    refusals: Counter[str]
    sent: int
    read: int


def _checked(reports: Sequence[Mapping[str, Any]], trace: Path) -> _Load:
    """What was acknowledged is in the trace, and what was read is what was sent, in order. Raises HarnessFailure."""
    times: dict[str, list[float]] = {}
    statuses, refusals = Counter[str](), Counter[str]()
    for report in reports:
        statuses.update(report["statuses"])
        refusals.update(report["refusals"])
        for tool, spent in report["times"].items():
            times.setdefault(tool, []).extend(spent)
    seats = [seat for report in reports for seat in report["seats"]]
    sent = {(seat["handle"], to): texts for seat in seats for to, texts in seat["sent"].items()}
    if sent != _accepted(trace, {seat["seat"]: seat["handle"] for seat in seats}):
        raise HarnessFailure("what was acknowledged and what is in the trace differ")
    delivered = sum(_read(seat, sent) for seat in seats)
    if errors := sum(count for status, count in statuses.items() if status.startswith("5")):
        raise HarnessFailure(f"{errors} answers were HTTP 5xx: {statuses}")
    return _Load(times, statuses, refusals, sum(map(len, sent.values())), delivered)


def _accepted(trace: Path, handles: Mapping[str, str]) -> dict[tuple[str, str], list[str]]:
    """Accepted messages of the trace by sender and addressee."""
    found: dict[tuple[str, str], list[str]] = {}
    with open_trace(trace) as opened:
        for event in opened.decoded():
            if event.get("tool") == "send_message" and event["status"] == "ok":
                for handle in dict.fromkeys(event["arguments"]["to"]):
                    pair = (handles[event["seat"]], handle)
                    found.setdefault(pair, []).append(event["arguments"]["text"])
    return found


def _read(seat: Mapping[str, Any], sent: Mapping[tuple[str, str], list[str]]) -> int:
    """How many messages a seat read: without gaps, each sender's in its order, none twice. Raises HarnessFailure."""
    numbers = [number for number, _, _ in seat["inbox"]]
    if numbers != list(range(1, len(numbers) + 1)):
        raise HarnessFailure(f"the inbox of {seat['seat']} has gaps: {numbers[:50]}")
    got: dict[str, list[str]] = {}
    for _, counterpart, text in seat["inbox"]:
        if text is not None:
            got.setdefault(counterpart, []).append(text)
    for sender, texts in got.items():
        if texts != sent.get((sender, seat["handle"]), [])[: len(texts)]:
            raise HarnessFailure(f"{seat['seat']} did not read what {sender} sent")
    return sum(map(len, got.values()))


def _figures(load: _Load, seconds: float, server_s: float, customers: int, processes: int) -> list[Figure]:
    calls = sum(map(len, load.times.values()))
    how = f"{customers} customers, {3 * customers} businesses, {processes} client processes, {os.cpu_count()} cores"
    said = ", ".join(f"{count:,} x {status}" for status, count in sorted(load.statuses.items()))
    refused = ", ".join(f"{count} {code}" for code, count in sorted(load.refusals.items())) or "none"
    figures = [
        Figure("marketplace over HTTP: calls", calls, "calls", how=f"{how}; completed, verified"),
        Figure(
            "marketplace over HTTP: messages",
            load.sent,
            "messages",
            how=f"acknowledged and in the trace once each; {load.read:,} read before the end, in order, none twice",
        ),
        Figure("marketplace over HTTP: 5xx", 0, "answers", 0, how=f"{said}; refused calls: {refused}"),
        Figure("marketplace over HTTP: wall clock", seconds, "s", how=f"clients share the cores; ticks of {_TICK_S} s"),
        Figure("marketplace over HTTP: server per call", 1_000 * server_s / calls, "CPU ms", how="waiting included"),
    ]
    for tool, spent in sorted(load.times.items()):
        if len(spent) > 1:
            shares = quantiles(spent, n=100, method="inclusive")
            figures.append(
                Figure(f"{tool}: p99", shares[98], "ms", how=f"{len(spent):,} calls, median {shares[49]:.1f}")
            )
    return figures


def _played(url: str, invitations: Sequence[Invitation], processes: int) -> list[dict[str, Any]]:
    """Share the seats out among client processes and wait for their reports."""
    shares = [list(islice(invitations, number, None, processes)) for number in range(processes)]
    children = [_child(_PLAYER) for _ in shares]
    try:
        for child, share in zip(children, shares, strict=True):
            assert child.stdin is not None
            seats = [{"seat": one.seat, "token": one.token} for one in share]
            child.stdin.write(orjson.dumps({"url": url, "seats": seats}))
            child.stdin.close()
        return [_reported(child) for child in children]
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()


def _child(code: str) -> subprocess.Popen[bytes]:
    pipe, root = subprocess.PIPE, Path(__file__).parents[1]
    return subprocess.Popen([sys.executable, "-c", code], cwd=root, stdin=pipe, stdout=pipe)


def _reported(child: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert child.stdout is not None
    told = child.stdout.read()
    if child.wait(timeout=_PATIENCE_S) or not told:
        raise HarnessFailure("a client process failed; its reason is on standard error")
    return orjson.loads(told)


# --- in a client process ----------------------------------------------------------------------------------------------


def play() -> None:
    """Play the seats that standard input names, all at once; the report goes to standard output."""
    told = orjson.loads(sys.stdin.buffer.read())
    sys.stdout.buffer.write(orjson.dumps(asyncio.run(_play_all(told["url"], told["seats"]))))


class _Seen:
    """What the clients of this process have seen."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = {}
        self.statuses: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()

    async def answered(self, answer: httpx2.Response) -> None:
        self.statuses[str(answer.status_code)] += 1


class _Seat:
    """One seat: its client, its policy, what it sent and what it got."""

    def __init__(self, seat: str, client: Client, seen: _Seen) -> None:
        self.seat = seat
        self.handle = ""
        self.left = False
        self.sent: dict[str, list[str]] = {}
        self.inbox: dict[int, tuple[str, str | None]] = {}
        self._client = client
        self._seen = seen
        name, params = parse_policy(_POLICIES[seat.partition("_")[0]])
        self._policy: Policy = market_type("marketplace").policies[name].make(params, Draw(seat))

    async def play(self) -> None:
        """From the first turn to the end of the episode, or until the seat has left."""
        while not (now := TurnView(**(await self.call("await_turn", {"timeout_s": 40})).data)).over and not self.left:
            turns = self._policy.turn(now)
            call = next(turns, None)
            while call is not None:
                answer = await self.call(call.tool, call.arguments)
                if answer.turn_over:
                    break
                try:
                    call = turns.send(answer)
                except StopIteration:
                    call = None

    def read(self, page: Mapping[str, Any]) -> None:
        """Note the entries of a page; one that was read before must be the same."""
        for entry in page["entries"]:
            told = (entry["counterpart"], entry["text"] if entry["kind"] == "message" else None)
            if self.inbox.setdefault(entry["number"], told) != told:
                raise HarnessFailure(f"entry {entry['number']} of {self.seat} has changed")

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """One call, timed unless it waits."""
        begun = time.perf_counter()
        result = await self._client.call_tool(tool, dict(arguments), meta={CALL_KEY_META: uuid4().hex})
        if tool != "await_turn":
            self._seen.times.setdefault(tool, []).append(1_000 * (time.perf_counter() - begun))
        data: Any = result.structured_content
        over = bool((result.meta or {})[TURN_META]["turn_over"])
        if result.is_error:
            self._seen.refusals[f"{tool}: {data['code']}"] += 1
            return ToolAnswer(None, ErrorInfo(**data), over)
        if tool == "receive_messages":
            self.read(data)
        elif tool == "send_message":
            for handle in data["to"]:
                self.sent.setdefault(handle, []).append(arguments["text"])
        self.left |= tool == "finish"
        return ToolAnswer(orjson.dumps(data), None, over)


async def _play_all(url: str, seats: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    seen, opening = _Seen(), asyncio.Semaphore(_OPENING)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_play_seat(url, one["seat"], one["token"], seen, opening)) for one in seats]
    return {
        "times": seen.times,
        "statuses": seen.statuses,
        "refusals": seen.refusals,
        "seats": [task.result() for task in tasks],
    }


async def _play_seat(url: str, seat: str, token: str, seen: _Seen, opening: asyncio.Semaphore) -> dict[str, Any]:
    async with _client(url, token, seen.answered, opening) as client:
        player = _Seat(seat, client, seen)
        role = seat.partition("_")[0]
        own = "view_my_request" if role == "customer" else "view_my_business"
        player.handle = (await player.call(own, {})).data[role]
        await player.play()
        # The clients keep their connections until the market is over, as people would.
        while not (await player.call("await_turn", {"timeout_s": 40})).data["over"]:
            pass
        inbox = [[number, *told] for number, told in sorted(player.inbox.items())]
        return {"seat": seat, "handle": player.handle, "sent": player.sent, "inbox": inbox}


@asynccontextmanager
async def _client(
    url: str, token: str, answered: Callable[..., Any], opening: asyncio.Semaphore
) -> AsyncGenerator[Client]:
    headers, hooks = {"Authorization": f"Bearer {token}"}, {"response": [answered]}
    async with httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(120), event_hooks=hooks) as http:
        client = Client(streamable_http_client(url, http_client=http))
        async with opening:
            await client.__aenter__()
        try:
            yield client
        finally:
            await client.__aexit__(None, None, None)


# --- beside a no-op tool ----------------------------------------------------------------------------------------------


async def _beside(host: HostProcess, customers: int, turns: int, times: int) -> list[Figure]:
    """CPU of the server per call over that of the bare server, in turns; what the bare one answers is a real answer."""
    never: dict[str, Any] = {"timing.free_tick_s": 3_600, "rounds_max": 1_000, "limits": []}
    with host.control() as control:
        made = control.create(_wanted(customers, **never, proposal_ttl=1_000))
    tokens = {one.seat: one.token for one in made.invitations if one.seat is not None}
    statuses = Counter[str]()

    async def answered(answer: httpx2.Response) -> None:
        statuses[str(answer.status_code)] += 1

    opening = asyncio.Semaphore(_OPENING)
    async with (
        _client(made.url, tokens["customer_0001"], answered, opening) as customer,
        _client(made.url, tokens["business_0001"], answered, opening) as business,
    ):
        pair = await _met(customer, business)
        bare = _child(_BARE)
        try:
            assert bare.stdin is not None
            assert bare.stdout is not None
            bare.stdin.write(orjson.dumps(pair.answers))
            bare.stdin.close()
            url = bare.stdout.readline().decode().strip()
            async with _client(url, "none", answered, opening) as noop:
                figures = [
                    await _ratio(tool, goal, pair, noop, (host.pid, bare.pid), turns, times)
                    for tool, goal in (
                        ("send_message", _GOAL),
                        ("receive_messages", _GOAL),
                        ("pay_proposal", _GOAL),
                        ("search_businesses", _GOAL_OF_SEARCH),
                    )
                ]
        finally:
            bare.kill()
            bare.wait()
    if set(statuses) - {"200", "202"}:
        raise HarnessFailure(f"not every answer was HTTP 200: {statuses}")
    return figures


class _Pair(NamedTuple):
    """A customer and a business who have met; the arguments of their calls, and what these answered once.

    `businesses` is how many there are in their market.
    """

    businesses: int
    customer: Client
    business: Client
    arguments: Mapping[str, dict[str, Any]]
    answers: Mapping[str, Any]
    offer: dict[str, Any]


async def _met(customer: Client, business: Client) -> _Pair:
    """They exchange twenty messages each way; one proposal is paid."""
    own = await _asked(business, "view_my_business", {})
    wanted = await _asked(customer, "view_my_request", {})
    arguments: dict[str, dict[str, Any]] = {
        "send_message": {"to": [own["business"]], "text": "Good day. Could you serve all of this, at which price?"},
        "receive_messages": {"after": 0, "max": 20},
        "search_businesses": {"query": wanted["request"][:300]},
    }
    for _ in range(20):
        await _asked(customer, "send_message", arguments["send_message"])
    for _ in range(20):
        await _asked(business, "send_message", {"to": [wanted["customer"]], "text": "All of it, and gladly."})
    line = {"item": own["menu"][0]["item"], "quantity": 1, "unit_price": 1.25}
    offer = {"to": wanted["customer"], "lines": [line]}
    sold = await _asked(business, "send_proposal", offer)
    arguments["pay_proposal"] = {"proposal": sold["proposal"]}
    answers = {tool: await _asked(customer, tool, given) for tool, given in arguments.items()}
    return _Pair(answers["search_businesses"]["total"], customer, business, arguments, answers, offer)


async def _ratio(
    tool: str, goal: float | None, pair: _Pair, noop: Client, servers: tuple[int, int], turns: int, times: int
) -> Figure:
    ours: list[float] = []
    theirs: list[float] = []
    if tool == "pay_proposal":
        turns, times = turns * -(-times // _OPEN), min(times, _OPEN)
    given = [pair.arguments[tool]] * times
    for _ in range(turns + 1):
        if tool == "pay_proposal":
            given = [
                {"proposal": (await _asked(pair.business, "send_proposal", pair.offer))["proposal"]}
                for _ in range(times)
            ]
        for client, server, costs in ((pair.customer, servers[0], ours), (noop, servers[1], theirs)):
            before = _cpu_s(server)
            for arguments in given:
                await _asked(client, tool, arguments)
            costs.append((_cpu_s(server) - before) / times)
    how = (
        f"server processes, no-op tool that answers the same = 1; {pair.businesses:,} businesses; medians of {turns} "
        f"turns of {times} calls"
    )
    ratio = ratio_of_medians(ours[1:], theirs[1:])
    return Figure(f"{tool} over HTTP", ratio, "x", goal, how=how)


async def _asked(client: Client, tool: str, arguments: Mapping[str, Any]) -> Any:
    result = await client.call_tool(tool, dict(arguments), meta={CALL_KEY_META: uuid4().hex})
    if result.is_error:
        raise HarnessFailure(f"{tool} was refused: {result.structured_content}")
    return result.structured_content


def _cpu_s(process: int) -> float:
    """CPU seconds of a process's threads so far, to the nanosecond; none of them ends meanwhile."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


def serve_bare() -> None:
    """A bare `MCPServer` whose tools take what ours take and answer what standard input holds."""
    import socket

    import uvicorn
    from mcp.server.mcpserver import MCPServer

    answers: dict[str, dict[str, Any]] = orjson.loads(sys.stdin.buffer.read())
    server = MCPServer("bare", log_level="ERROR")

    @server.tool()
    async def send_message(to: list[str], text: str) -> dict[str, Any]:
        return answers["send_message"]

    @server.tool()
    async def receive_messages(after: int | None = None, max: int | None = None) -> dict[str, Any]:  # noqa: A002
        return answers["receive_messages"]

    @server.tool()
    async def pay_proposal(proposal: str, expected_total: float | None = None) -> dict[str, Any]:
        return answers["pay_proposal"]

    @server.tool()
    async def search_businesses(query: str, page: int = 1) -> dict[str, Any]:
        return answers["search_businesses"]

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])

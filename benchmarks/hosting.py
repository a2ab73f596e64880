"""A thousand seats in 125 concurrent auctions over HTTP, played by client processes on the same machine.

Every seat is an `mcp.Client` with a connection and a bearer token of its own; it waits, reads and quotes, round after
round. Two waves on one host: what the second adds to the memory of the first would be a leak. Wrong answers are no
figures: an episode that does not end, a refused call or a trace that does not verify is an error.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple
from uuid import uuid4

import httpx2
import orjson
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.figures import Figure
from benchmarks.served import HostProcess, Usage
from tradefair.contract import HarnessFailure
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.doors.control_bodies import Create, Invitation
from tradefair.host.server.wire import CALL_KEY_META

_SEATS_PER_EPISODE = 8
_PATIENCE_S = 900
_TIDIED_S = 8
_OPENING = 16
"""Clients of one process that connect at the same time."""
_OPTIONS = {"rate": 0, "linger": 10, "max_episodes": 2000, "log_level": "warning"}
_CHILD = "from benchmarks.hosting import play; play()"


def measure(*, tiny: bool) -> list[Figure]:
    """125 auctions of eight seats over three rounds, twice."""
    return measured(2, 2, 2) if tiny else measured(125, 3, max(2, (os.cpu_count() or 2)))


class _Wave(NamedTuple):
    """One wave of episodes: what the clients saw and what the server used."""

    calls: int
    seconds: float
    actions_ms: list[float]
    reads_ms: list[float]
    statuses: Counter[str]
    clients_cpu_s: float
    server: Usage
    resting_mib: float


def measured(episodes: int, rounds: int, processes: int) -> list[Figure]:
    """Host them, play them, verify them."""
    with tempfile.TemporaryDirectory() as place:
        host = HostProcess(Path(place) / "host", **_OPTIONS)
        try:
            host.start()
            idle = host.usage()
            waves = [_wave(host, episodes, rounds, processes, seed) for seed in (1, 1_000_001)]
            peak = host.peak_mib()
            code = host.stop()
        finally:
            host.close()
        if code:
            raise HarnessFailure(f"the host ended with exit code {code}")
        _verify_all(sorted(host.folder.glob("*.trace")), episodes * len(waves))
    return _figures(waves, idle, peak, episodes, rounds, processes)


def _figures(
    waves: Sequence[_Wave], idle: Usage, peak: float, episodes: int, rounds: int, processes: int
) -> list[Figure]:
    first, last = waves[0], waves[-1]
    calls = sum(wave.calls for wave in waves)
    actions = [ms for wave in waves for ms in wave.actions_ms]
    reads = [ms for wave in waves for ms in wave.reads_ms]
    server_s = last.server.cpu_s - idle.cpu_s
    seats = episodes * _SEATS_PER_EPISODE
    how = (
        f"{seats:,} seats, {episodes} auctions of {rounds} rounds, {processes} client processes, {os.cpu_count()} cores"
    )
    statuses = sum((wave.statuses for wave in waves), Counter[str]())
    said = ", ".join(f"{count:,} x {status}" for status, count in sorted(statuses.items()))
    return [
        Figure("hosting: calls", calls, "calls", how=f"two waves of {how}; every episode ended, every trace verified"),
        Figure("hosting: a wave", max(wave.seconds for wave in waves), "s", 240, how="wall clock, the slower wave"),
        Figure("hosting: action, median", _share(actions, 50), "ms", how=f"{len(actions):,} quotes, at the client"),
        Figure("hosting: action, p99", _share(actions, 99), "ms", how="the same; clients and server share the cores"),
        Figure("hosting: read, median", _share(reads, 50), "ms", how=f"{len(reads):,} reads"),
        Figure("hosting: read, p99", _share(reads, 99), "ms", how="the same"),
        Figure(
            "hosting: server per call", 1_000 * server_s / calls, "CPU ms", 10, how="connecting and waiting included"
        ),
        Figure("hosting: clients per call", 1_000 * sum(wave.clients_cpu_s for wave in waves) / calls, "CPU ms"),
        Figure("hosting: HTTP 5xx", _server_errors(statuses), "answers", 0, how=said),
        Figure("hosting: peak memory", peak, "MiB", 1_024, how=f"{idle.resident_mib:.0f} MiB before the first seat"),
        Figure("hosting: after wave 1", first.resting_mib, "MiB", how="all episodes closed"),
        Figure("hosting: after wave 2", last.resting_mib, "MiB", round(1.15 * first.resting_mib + 8), how="the same"),
    ]


def _wave(host: HostProcess, episodes: int, rounds: int, processes: int, seed: int) -> _Wave:
    begun = time.monotonic()
    with host.control() as control:
        wanted = Create(
            market="double_auction",
            scenario="double_auction/bazaar",
            overrides={"rounds": rounds},
            seed=seed,
            count=episodes,
            seats="all",
        )
        made = control.create(wanted)
        names = {line.episode for line in made.episodes}
        reports = _played(made.url, made.invitations, processes)
        _wait_closed(host, names)
        seconds = time.monotonic() - begun
    calls = sum(report["calls"] for report in reports)
    return _Wave(
        calls,
        seconds,
        [ms for report in reports for ms in report["actions_ms"]],
        [ms for report in reports for ms in report["reads_ms"]],
        sum((Counter[str](report["statuses"]) for report in reports), Counter[str]()),
        sum(report["cpu_s"] for report in reports),
        host.usage(),
        _resting_mib(host),
    )


def _played(url: str, invitations: Sequence[Invitation], processes: int) -> list[dict[str, Any]]:
    """Share the seats out among client processes, mixed, and wait for their reports."""
    shares = [list(islice(invitations, number, None, processes)) for number in range(processes)]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", _CHILD], cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in shares
    ]
    try:
        for child, share in zip(children, shares, strict=True):
            assert child.stdin is not None
            child.stdin.write(orjson.dumps({"url": url, "tokens": [one.token for one in share]}))
            child.stdin.close()
        reports: list[dict[str, Any]] = []
        for child in children:
            assert child.stdout is not None
            reports.append(orjson.loads(child.stdout.read() or b"{}"))
            if child.wait(timeout=_PATIENCE_S) or not reports[-1]:
                raise HarnessFailure("a client process failed; its reason is on standard error")
        return reports
    finally:
        for child in children:
            if child.poll() is None:
                child.kill()


def _wait_closed(host: HostProcess, names: set[str]) -> None:
    """Until the host has closed all of them. Raises HarnessFailure for one that did not end as its rules say."""
    until = time.monotonic() + _PATIENCE_S
    with host.control() as control:
        while time.monotonic() < until:
            closed = control.status(state="closed", limit=1_000).episodes
            ends = {line.episode: line.end_reason for line in closed if line.episode in names}
            if ends.keys() == names:
                wrong = {name: end for name, end in ends.items() if end != "terminated:rounds_completed"}
                if wrong:
                    raise HarnessFailure(f"{len(wrong)} episodes ended otherwise: {next(iter(wrong.items()))}")
                return
            time.sleep(0.25)
    raise HarnessFailure("episodes are not over, although all clients are done")


def _resting_mib(host: HostProcess) -> float:
    """Memory once the host has tidied up after the last episode: the least of some seconds."""
    seen: list[float] = []
    until = time.monotonic() + _TIDIED_S
    while time.monotonic() < until:
        seen.append(host.usage().resident_mib)
        time.sleep(0.25)
    return min(seen)


def _verify_all(traces: Sequence[Path], expected: int) -> None:
    with ProcessPoolExecutor() as pool:
        verdicts = Counter(pool.map(_verdict, traces, chunksize=8))
    if verdicts != {"reproduced": expected}:
        raise HarnessFailure(f"of {expected} traces: {dict(verdicts)}")


def _verdict(trace: Path) -> str:
    found = verify_file(trace)
    return found.verdict if found.sealed else "not sealed"


def _share(values: Sequence[float], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def _server_errors(statuses: Counter[str]) -> int:
    return sum(count for status, count in statuses.items() if status.startswith("5"))


# --- in a client process ----------------------------------------------------------------------------------------------


def play() -> None:
    """Play the seats that standard input names, all at once; the report goes to standard output."""
    told = orjson.loads(sys.stdin.buffer.read())
    report = asyncio.run(_play_all(told["url"], told["tokens"]))
    sys.stdout.buffer.write(orjson.dumps(report))


class _Seen:
    """What the clients of this process have seen."""

    def __init__(self) -> None:
        self.calls = 0
        self.actions_ms: list[float] = []
        self.reads_ms: list[float] = []
        self.statuses: Counter[str] = Counter()

    async def answered(self, answer: httpx2.Response) -> None:
        self.statuses[str(answer.status_code)] += 1

    async def call(self, client: Client, tool: str, arguments: dict[str, Any], into: list[float] | None) -> Any:
        begun = time.perf_counter()
        result = await client.call_tool(tool, arguments, meta={CALL_KEY_META: uuid4().hex})
        if into is not None:
            into.append(1_000 * (time.perf_counter() - begun))
        self.calls += 1
        if result.is_error:
            raise HarnessFailure(f"{tool} was refused: {result.structured_content}")
        return result.structured_content


async def _play_all(url: str, tokens: Sequence[str]) -> dict[str, Any]:
    seen, opening = _Seen(), asyncio.Semaphore(_OPENING)
    async with asyncio.TaskGroup() as group:
        for token in tokens:
            group.create_task(_play_seat(url, token, seen, opening))
    return {
        "calls": seen.calls,
        "actions_ms": seen.actions_ms,
        "reads_ms": seen.reads_ms,
        "statuses": seen.statuses,
        "cpu_s": time.process_time(),
    }


async def _play_seat(url: str, token: str, seen: _Seen, opening: asyncio.Semaphore) -> None:
    """One seat from its first turn to the end: wait, read, quote around its own value."""
    headers = {"Authorization": f"Bearer {token}"}
    timeout = httpx2.Timeout(120)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [seen.answered]}) as http:
        client = Client(streamable_http_client(url, http_client=http))
        async with opening:
            await client.__aenter__()
        try:
            while not (turn := await seen.call(client, "await_turn", {"timeout_s": 40}, None))["over"]:
                if turn["awaited"]:
                    own = await seen.call(client, "view_my_value", {}, seen.reads_ms)
                    await seen.call(client, "submit_quote", {"price": own["value"]}, seen.actions_ms)
        finally:
            await client.__aexit__(None, None, None)

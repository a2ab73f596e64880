"""An action over HTTP in a host of 62 episodes over one in a host of a single episode: CPU time of the server process.

Both hosts run side by side and are called in turns, eight calls at once: by the eight seats of the one episode, whose
calls share their commits, or in eight of the 62, whose calls cannot. All seats are played from outside.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx2
import orjson

from benchmarks.figures import Figure
from benchmarks.served import HostProcess
from tradefair.host.doors.control_bodies import Create

_EPISODES, _SEATS = 62, 8
_OPTIONS = {"rate": 0, "max_episodes": 100, "log_level": "warning"}
_REVISION = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _REVISION,
    "io.modelcontextprotocol/clientCapabilities": dict[str, str](),
}


def measure(*, tiny: bool) -> list[Figure]:
    """Turns of as many calls in either host; the first turn opens what a token needs, and counts for nothing."""
    return asyncio.run(_measure(2, 1) if tiny else _measure(_EPISODES, 5))


async def _measure(episodes: int, turns: int) -> list[Figure]:
    async with AsyncExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        one, many = [
            await _Seats.in_host(stack, place / str(count), count, (turns + 1) * episodes // count)
            for count in (1, episodes)
        ]
        calls = episodes * _SEATS
        pairs = [(await one.quote(calls), await many.quote(calls)) for _ in range(turns + 1)][1:]
    alone, among = (median(column) for column in zip(*pairs, strict=True))
    how = f"one episode = 1; server CPU, medians of {turns} turns of {calls} calls"
    return [
        Figure("HTTP action, 62 episodes over 1", among / alone, "x", 1.1, how=how),
        Figure("HTTP action, one episode", 1_000 * alone / calls, "CPU ms", how="server process, per call"),
    ]


class _Seats(NamedTuple):
    """The seats of a host's episodes, over and over, each with its token."""

    host: HostProcess
    http: httpx2.AsyncClient
    url: str
    tokens: Iterator[str]

    @classmethod
    async def in_host(cls, stack: AsyncExitStack, folder: Path, episodes: int, rounds: int) -> _Seats:
        host = HostProcess(folder, **_OPTIONS)
        stack.callback(host.close)
        host.start()
        with host.control() as control:
            wanted = Create(
                market="double_auction",
                scenario="double_auction/bazaar",
                overrides={"rounds": rounds + 1},
                seed=1,
                count=episodes,
                seats="all",
            )
            made = control.create(wanted)
        http = await stack.enter_async_context(httpx2.AsyncClient(timeout=120))
        return cls(host, http, made.url, _over([invitation.token for invitation in made.invitations], episodes))

    async def quote(self, calls: int) -> float:
        """CPU seconds of the server for so many quotes."""
        begun = self.host.usage().cpu_s
        for _ in range(calls // _SEATS):
            tokens = islice(self.tokens, _SEATS)
            await asyncio.gather(*(_quote(self.http, self.url, token) for token in tokens))
        return self.host.usage().cpu_s - begun


def _over(tokens: Sequence[str], episodes: int) -> Iterator[str]:
    """Seat by seat, each in all episodes; for ever. Invitations come episode by episode."""
    while True:
        for seat in range(_SEATS):
            for episode in range(episodes):
                yield tokens[episode * _SEATS + seat]


async def _quote(http: httpx2.AsyncClient, url: str, token: str) -> None:
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _REVISION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "submit_quote",
    }
    params = {"name": "submit_quote", "arguments": {"price": 50}, "_meta": _META}
    answer = await http.post(
        url, headers=headers, json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    )
    assert not orjson.loads(answer.content)["result"]["isError"], answer.text

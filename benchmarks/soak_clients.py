"""The clients of a soak: they speak HTTP by hand, because what they do no well-behaved library would."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import orjson

from benchmarks.soak_audit import ACTION, KEYED, READ, Acknowledged, Told

_PATIENCE_S = 30
_REVISION = "2026-07-28"
_META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": _REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_GARBAGE = (
    b"",
    b"{",
    b"\x00\xff" * 50,
    b"[" * 4_000,
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "tools/call", "params": 5}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "submit_quote", "arguments": [1]}}',
    b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
    b"x" * 1_200_000,
)
_RAW = (
    b"GET / HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\x00",
    b"POST /mcp HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"\n" * 100,
)


class Diary:
    """What all clients were told, kept by the soak's own process: the host's crash cannot touch it."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.draining = False
        self.life = 0
        """Which start of the host it is; counted up just before a kill."""
        self.acknowledged: dict[tuple[str, str, str], Acknowledged] = {}
        self.statuses: Counter[int] = Counter()
        self.noticed: Counter[str] = Counter()
        self.complaints: list[str] = []

    def told(self) -> Told:
        """What was acknowledged."""
        return self.acknowledged

    def episodes(self) -> set[str]:
        """Episodes with acknowledged actions."""
        return {episode for episode, _, _ in self.acknowledged}

    def acknowledge(self, place: tuple[str, str, str], answer: Any, reads_before: int) -> None:
        """An action was answered; again with the same key: the answer must be the same."""
        known = self.acknowledged.setdefault(place, Acknowledged(answer, reads_before))
        if known.answer != answer:
            self.complaints.append(f"{place}: answered {answer}, and before {known.answer}")


class _Quote(NamedTuple):
    """An action, a note or a program, and its key; `round` keeps a late repeat of a quote out of a later round."""

    key: str
    arguments: dict[str, Any]
    tool: str = ACTION


class _Gone(Exception):
    """The seat's episode is over or closed."""


class _Seat:
    """One seat's connection, and what it has been told so far."""

    def __init__(
        self, url: str, token: str, place: tuple[str, str], http: httpx2.AsyncClient, diary: Diary, luck: random.Random
    ) -> None:
        self.diary = diary
        self.luck = luck
        self.http = http
        self.url = url
        self.place = place
        self.reads = 0
        self._safe_reads = 0
        self._life = diary.life
        self.mine: list[_Quote] = []
        self._token = token

    def body(self, tool: str, arguments: dict[str, Any], key: str | None = None) -> bytes:
        """A `tools/call` request."""
        meta = _META if key is None else {**_META, "tradefair/call-key": key}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    def headers(self, tool: str) -> dict[str, str]:
        """What goes with it."""
        return {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": _REVISION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }

    async def once(self, tool: str, arguments: dict[str, Any], key: str | None = None) -> Any | None:
        """One call; its result, or None when no answer came. Raises _Gone."""
        try:
            answer = await self.http.post(self.url, content=self.body(tool, arguments, key), headers=self.headers(tool))
        except httpx2.HTTPError:
            self.diary.noticed["calls without an answer"] += 1
            return None
        if answer.status_code == 503 and self.diary.draining:
            self.diary.noticed["turned away while draining"] += 1
            return None
        self.diary.statuses[answer.status_code] += 1
        if answer.status_code in (401, 404):
            raise _Gone
        if answer.status_code != 200:
            return None
        result = answer.json()["result"]
        if result["_meta"].get("tradefair/turn", {}).get("over") and tool not in KEYED:
            raise _Gone
        return result

    async def call(self, tool: str, arguments: dict[str, Any], key: str | None = None) -> Any:
        """The same call until it is answered. Raises _Gone, also when the soak is over."""
        while not self.diary.over.is_set():
            result = await self.once(tool, arguments, key)
            if result is None:
                await asyncio.sleep(self.luck.uniform(0.05, 0.3))
                continue
            said = result["structuredContent"]
            if result["isError"] and said["code"] in ("busy", "storage_unavailable"):
                self.diary.noticed[f"refused: {said['code']}"] += 1
                await asyncio.sleep(result["_meta"].get("tradefair/retry-after-s") or 0.2)
                continue
            return result
        raise _Gone

    async def turn(self) -> dict[str, Any]:
        """Wait for the next turn. Raises _Gone at the end."""
        while True:
            said = (await self.call("await_turn", {"timeout_s": 5}))["structuredContent"]
            if said.get("awaited"):
                return said

    async def read(self) -> None:
        """One read that is counted, if the host lived on until its answer."""
        life = self.promised_reads()[1]
        result = await self.call(READ, {})
        self.reads += not result["isError"] and life == self.diary.life

    def promised_reads(self) -> tuple[int, int]:
        """How many reads an action that is acknowledged now vouches for, and in which life of the host.

        A read does not wait for its commit: a kill may take those that no acknowledged action came after.
        """
        if self._life != self.diary.life:
            self._life, self.reads = self.diary.life, self._safe_reads
        return self.reads, self._life

    def quote(self, turn: dict[str, Any]) -> _Quote:
        """A fresh quote for the open round."""
        return _Quote(self._key(), {"price": self.luck.randrange(1, 100), "round": turn["round"]})

    def aside(self) -> _Quote:
        """A fresh note, or a program that reads."""
        if self.luck.random() < 0.7:
            return _Quote(self._key(), {"text": f"note {self.luck.randrange(1_000)}"}, "add_note")
        return _Quote(self._key(), {"code": f"view_my_value()['value'] + {self.luck.randrange(9)}"}, "execute_code")

    def _key(self) -> str:
        return str(UUID(int=self.luck.getrandbits(128)))

    def note(self, quote: _Quote, result: Any, promised: tuple[int, int]) -> None:
        """Keep what the host said of an action, and how many reads it vouched for when it was sent."""
        said = result["structuredContent"]
        reads_before = promised[0] if promised[1] == self.diary.life else self._safe_reads
        if not result["isError"]:
            self._safe_reads = max(self._safe_reads, reads_before)
            self.diary.acknowledge((*self.place, quote.key), said, reads_before)
            if quote not in self.mine:
                self.mine.append(quote)
        else:
            self.diary.noticed[f"refused: {said['code']}"] += 1

    async def act(self, quote: _Quote) -> None:
        """Send an action until it is answered."""
        promised = self.promised_reads()
        self.note(quote, await self.call(quote.tool, quote.arguments, quote.key), promised)


# --- sorts of clients -------------------------------------------------------------------------------------------------


async def _steady(seat: _Seat) -> None:
    """Reads, keeps a note or runs a program, then acts."""
    turn = await seat.turn()
    await seat.act(seat.aside())
    for _ in range(seat.luck.randrange(3)):
        await seat.read()
    await seat.act(seat.quote(turn))


async def _repeating(seat: _Seat) -> None:
    """Sends every action, note or program three times at once, and now and then one of long ago."""
    turn = await seat.turn()
    quote = seat.aside() if seat.luck.random() < 0.4 else seat.quote(turn)
    await seat.read()
    promised = seat.promised_reads()
    calls = (seat.call(quote.tool, quote.arguments, quote.key) for _ in range(3))
    for result in await asyncio.gather(*calls):
        seat.note(quote, result, promised)
    if seat.luck.random() < 0.3 and seat.mine:
        old = seat.luck.choice(seat.mine)
        seat.note(old, await seat.call(old.tool, old.arguments, old.key), (0, seat.diary.life))
        seat.diary.noticed["repeats"] += 1


async def _hanging_up(seat: _Seat) -> None:
    """Closes the connection once an action is sent, or in the middle of it; mostly asks later what became of it."""
    quote = seat.quote(await seat.turn())
    await seat.read()
    body = seat.body(ACTION, quote.arguments, quote.key)
    sent = body if seat.luck.random() < 0.7 else body[: seat.luck.randrange(len(body))]
    await _raw(seat, _head(seat, len(body)) + sent, linger_s=seat.luck.choice((0.0, 0.0, 0.01)))
    seat.diary.noticed["hung up"] += 1
    if seat.luck.random() < 0.8:
        await seat.act(quote)


async def _stalling(seat: _Seat) -> None:
    """Sends half a request and waits, or never reads its answers; the deadline decides for it."""
    turn = await seat.turn()
    body = seat.body("view_history", {})
    if seat.luck.random() < 0.5:
        await _raw(seat, _head(seat, len(body)) + body[: len(body) // 2], linger_s=seat.luck.uniform(1, 8))
    else:
        await _raw(seat, (_head(seat, len(body), tool="view_history") + body) * 20, linger_s=seat.luck.uniform(1, 8))
    seat.diary.noticed["stalled"] += 1
    await seat.act(seat.quote(turn))


async def _sending_garbage(seat: _Seat) -> None:
    """Sends what is no request, with its own token and with others, and floods; then plays on as if nothing were."""
    turn = await seat.turn()
    for _ in range(3):
        headers = seat.headers(ACTION)
        if seat.luck.random() < 0.3:
            headers["Authorization"] = f"Bearer tf_{seat.luck.getrandbits(200):x}"
        with suppress(httpx2.HTTPError):
            answer = await seat.http.post(seat.url, content=seat.luck.choice(_GARBAGE), headers=headers)
            seat.diary.statuses[answer.status_code] += 1
    await _raw(seat, seat.luck.choice(_RAW), linger_s=0.05)
    if seat.luck.random() < 0.1:
        flood = await asyncio.gather(*(seat.once("view_rules", {}) for _ in range(300)))
        seat.diary.noticed["flooding calls refused"] += sum(one is not None and one["isError"] for one in flood)
    seat.diary.noticed["garbage"] += 4
    await seat.act(seat.quote(turn))


_SORTS: tuple[Callable[[_Seat], Awaitable[None]], ...] = (
    _steady, _repeating, _hanging_up, _stalling, _steady, _repeating, _hanging_up, _sending_garbage,
)  # fmt: skip


async def play_seat(
    url: str, token: str, place: tuple[str, str], number: int, diary: Diary, luck: random.Random
) -> None:
    """Play one seat to its end in the manner of its number."""
    manner = _SORTS[number % len(_SORTS)]
    async with httpx2.AsyncClient(timeout=_PATIENCE_S) as http:
        seat = _Seat(url, token, place, http, diary, luck)
        with suppress(_Gone):
            while not diary.over.is_set():
                await manner(seat)


def _head(seat: _Seat, length: int, tool: str = ACTION) -> bytes:
    """The head of a request by hand."""
    parts = urlsplit(seat.url)
    headers = {"Host": parts.netloc, **seat.headers(tool), "Content-Length": str(length)}
    lines = [f"POST {parts.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


async def _raw(seat: _Seat, content: bytes, *, linger_s: float) -> None:
    """Send bytes on a connection of their own, read nothing, and hang up after a while."""
    parts = urlsplit(seat.url)
    try:
        _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    except OSError:
        return
    try:
        writer.write(content)
        await writer.drain()
        await asyncio.sleep(linger_s)
    except OSError:
        seat.diary.noticed["the host hung up"] += 1
    finally:
        writer.transport.abort()

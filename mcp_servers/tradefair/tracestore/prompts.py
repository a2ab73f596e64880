"""What models were sent, beside the chain: each message stored once and numbered, and a list of numbers per request.

Writers of a live episode number parts with a `Ledger`; `read_prompts` puts requests together again. A request comes
back byte for byte (`PromptCall.request_bytes`), unless a part of it was cut or held a secret. Rows of a stranger's file
may be anything: they are counted, measured and unpacked within bounds, and every fault is a TraceError.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.files.user_files import MIB
from tradefair.tracestore.redaction import Redactor

PART_LIMIT = 256 * 1024
"""Bytes of JSON beyond which a part or an answer is cut to `{"cut": its bytes, "content": its beginning}`."""

# Bounds of what is read; writers keep far below these.
MAX_PARTS, MAX_CALLS = 200_000, 50_000
# Numbers in the lists of all requests together: a row of a few bytes can take over a list of any length.
_MAX_LISTED = 10_000_000
# Bytes: of the packed parts together, of one that is unpacked, and of all that are unpacked.
_MAX_PACKED, _MAX_PART, _MAX_TEXT = 64 * MIB, 2 * MIB, 128 * MIB

_Part: TypeAlias = tuple[int, bytes, bytes]
_Call: TypeAlias = tuple[SeatId, str, int, bytes, int | None, bytes, bytes]


class Exchange(NamedTuple):
    """A request to a model and what came back, in JSON's types; headers and addresses are in neither.

    `request` has its fields in the order in which they were sent. `answer` is `{"status", "body"}`. `call` is the id
    (`reply`) of the note about it, "" where the reply could not be used and has none.
    """

    request: Mapping[str, Any]
    answer: Mapping[str, Any]
    call: str = ""


class _Last(NamedTuple):
    """What a seat's next call may take over: messages and their numbers, and the other fields as JSON."""

    messages: Sequence[Any] = ()
    numbers: Sequence[int] = ()
    params: bytes = b""


class PromptRows(NamedTuple):
    """Rows of both tables for some exchanges: parts that are new, and the calls; `last` is for the ledger."""

    parts: list[_Part]
    calls: list[_Call]
    last: _Last


class Ledger:
    """The numbers of an episode's parts; `known` are those that are stored, by digest.

    After a resume the first call of a seat takes nothing over from the call before: its list is whole.
    """

    def __init__(self, known: Iterable[tuple[int, bytes]] = ()) -> None:
        self._numbers = {digest: number for number, digest in known}
        self._next = max(self._numbers.values(), default=0) + 1
        self._last: dict[SeatId, _Last] = {}
        self._redactor = Redactor()
        # Most requests repeat the tools of the request before.
        self._tools: tuple[Any, Any] = (None, None)

    def rows(self, seat: SeatId, exchanges: Sequence[Exchange]) -> PromptRows:
        """The rows to store. The ledger is unchanged until `wrote` is told that they are there."""
        added: dict[bytes, _Part] = {}
        calls: list[_Call] = []
        before = self._last.get(seat, _Last())
        for exchange in exchanges:
            request = exchange.request
            messages = cast("list[Any]", request["messages"])
            # Compared before anything is hashed: most of a request is the request before.
            same = _leading(before.messages, messages)
            try:
                listed = [
                    *before.numbers[:same],
                    *(self._number(self._redactor.clean(message), added) for message in messages[same:]),
                ]
                tools = None if request.get("tools") is None else self._number(self._known(request["tools"]), added)
                rest = {name: None if name in _PARTS else value for name, value in request.items()}
                params = orjson.dumps(self._redactor.clean(rest))
                answer = zlib.compress(_bounded(self._redactor.clean(dict(exchange.answer))))
            # Nested more deeply than can be written: such a request is not kept.
            except (orjson.JSONEncodeError, RecursionError):
                continue
            # Fields other than messages and tools hardly ever change: empty stands for those of the call before.
            fields = b"" if params == before.params else params
            calls.append((seat, exchange.call, same, orjson.dumps(listed[same:]), tools, fields, answer))
            before = _Last(messages, listed, params)
        return PromptRows(list(added.values()), calls, before)

    def wrote(self, seat: SeatId, rows: PromptRows) -> None:
        """These rows are stored."""
        self._numbers |= {digest: number for number, digest, _ in rows.parts}
        self._next += len(rows.parts)
        self._last[seat] = rows.last

    def _known(self, tools: Any) -> Any:
        if tools != self._tools[0]:
            self._tools = tools, self._redactor.clean(tools)
        return self._tools[1]

    def _number(self, body: Any, added: dict[bytes, _Part]) -> int:
        digest = hashlib.blake2b(orjson.dumps(body, option=orjson.OPT_SORT_KEYS), digest_size=32).digest()
        if digest not in self._numbers and digest not in added:
            # Its own order of fields, not the digest's: a request is to come back as it was sent.
            added[digest] = (self._next + len(added), digest, zlib.compress(_bounded(body)))
        return self._numbers[digest] if digest in self._numbers else added[digest][0]


_PARTS = ("messages", "tools")


def _bounded(body: Any) -> bytes:
    """The JSON of a part, or of its beginning where it is too long."""
    text = orjson.dumps(body)
    if len(text) <= PART_LIMIT:
        return text
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", body) if isinstance(body, dict) else {}
    content: Any = fields.get("content")
    whole = content.encode(errors="replace") if isinstance(content, str) else text
    names = ("role", "tool_call_id", "status")
    named = {name: fields[name] for name in names if isinstance(fields.get(name), str | int)}
    return orjson.dumps({**named, "content": whole[:PART_LIMIT].decode(errors="ignore"), "cut": len(text)})


def _leading(before: Sequence[Any], messages: Sequence[Any]) -> int:
    """How many equal messages both lists begin with."""
    pairs = enumerate(zip(before, messages, strict=False))
    return next((at for at, (old, new) in pairs if old != new), min(len(before), len(messages)))


@dataclass(frozen=True)
class PromptCall:
    """One request to a model as it was kept. `numbers` are those of its messages, `same` how many were taken over.

    `params` are the other fields of the request, `answer` is `{"status", "body"}`; `call` is the id of the note.
    """

    seat: SeatId
    call: str
    numbers: Sequence[int]
    same: int
    tools: int | None
    params: Mapping[str, Any]
    answer: Mapping[str, Any]
    part: Callable[[int], Any] = field(repr=False, compare=False)
    """A part by its number. Raises TraceError where it is missing or damaged."""

    @property
    def messages(self) -> list[Any]:
        """The messages in order, unpacked at each look. Raises TraceError."""
        return list(map(self.part, self.numbers))

    @property
    def request(self) -> dict[str, Any]:
        """The request's body, its fields in the order in which they were sent. Raises TraceError."""
        kept = dict(self.params)
        kept["messages"] = self.messages
        if self.tools is not None:
            kept["tools"] = self.part(self.tools)
        return kept

    @property
    def request_bytes(self) -> bytes:
        """The body as the clients of our frameworks write it. Raises TraceError."""
        return json.dumps(self.request, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


SideRows: TypeAlias = Iterable[Sequence[object]]


def read_prompts(parts: SideRows, calls: SideRows, seat: SeatId | None) -> Iterator[PromptCall]:
    """The calls of `seat` (None: of all) in the order in which they were made, from the rows of both tables.

    Raises TraceError for rows that no writer writes, and beyond what is read of a trace.
    """
    stored = _Parts(parts)
    before: dict[object, tuple[tuple[int, ...], object]] = {}
    listed = 0
    for number, row in enumerate(calls, 1):
        if number > MAX_CALLS:
            raise TraceError(f"more than {MAX_CALLS:,} requests to models are kept")
        owner, call, same, rest, tools, params, answer = row
        if seat is not None and owner != seat:
            continue
        numbers, known = before.get(owner, ((), b""))
        fresh = _json(rest)
        if (
            not (isinstance(owner, str) and isinstance(call, str) and _are_whole(fresh))
            or not (_is_whole(same) and 0 <= same <= len(numbers))
            or not (tools is None or _is_whole(tools))
        ):
            raise TraceError(f"request {number} to a model is damaged")
        numbers = (*numbers[:same], *fresh)
        params = params or known
        before[owner] = numbers, params
        listed += len(numbers)
        if listed > _MAX_LISTED:
            raise TraceError(f"the requests to models hold more than {_MAX_LISTED:,} messages")
        kept = _fields(_json(params), number), _fields(stored.unpack(answer, f"answer {number}"), number)
        yield PromptCall(owner, call, numbers, same, tools, *kept, stored.part)


class _Parts:
    """The parts of one reading: packed until somebody asks, and unpacked within a budget."""

    def __init__(self, rows: SideRows) -> None:
        self._packed: dict[int, object] = {}
        self._unpacked: set[int] = set()
        self._text = size = 0
        for number, _, body in rows:
            size += len(body) if isinstance(body, bytes) else 0
            if len(self._packed) >= MAX_PARTS or size > _MAX_PACKED:
                raise TraceError(
                    f"more than {MAX_PARTS:,} messages to models, or {_MAX_PACKED:,} bytes of them, are kept"
                )
            if _is_whole(number):
                self._packed[number] = body

    def part(self, number: int) -> Any:
        if number not in self._packed:
            raise TraceError(f"message {number} to a model is missing")
        first = number not in self._unpacked
        self._unpacked.add(number)
        return self.unpack(self._packed[number], f"message {number}", counts=first)

    def unpack(self, packed: object, what: str, counts: bool = True) -> Any:
        """The JSON of packed bytes. Raises TraceError for what is damaged or unpacks to too much."""
        try:
            inflate = zlib.decompressobj()
            # At most one byte more than is allowed: a bomb of a few bytes would otherwise fill the memory.
            text = inflate.decompress(cast("bytes", packed), _MAX_PART + 1)
            if len(text) > _MAX_PART:
                raise TraceError(f"{what} of a model unpacks to more than {_MAX_PART:,} bytes")
            if not inflate.eof:
                raise ValueError
            self._text += len(text) if counts else 0
            if self._text > _MAX_TEXT:
                raise TraceError(f"what models were sent unpacks to more than {_MAX_TEXT:,} bytes")
            return orjson.loads(text)
        except (zlib.error, TypeError, ValueError):
            raise TraceError(f"{what} of a model is damaged") from None


def _json(body: object) -> Any:
    try:
        return orjson.loads(cast("bytes", body))
    except (orjson.JSONDecodeError, TypeError):
        return None


def _fields(value: Any, number: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TraceError(f"request {number} to a model is damaged")
    return cast("dict[str, Any]", value)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_whole(values: object) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(map(_is_whole, cast("list[object]", values)))

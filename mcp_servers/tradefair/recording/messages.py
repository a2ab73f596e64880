"""JSON-RPC messages out of bytes that pass: lines out of chunks, batches taken apart, and what is too large to be read.

Nothing here changes or holds back what is passed on; it works on a copy, in bounded memory.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, TypeAlias, cast

import orjson

from tradefair.contract.chain import HASH_SIZE, digest

# A message is held about ten times while it is written (parsed, cleaned, encoded, in SQLite): 64 MiB in all.
MAX_MESSAGE = 3 * 1024 * 1024
"""Bytes of a message that is read; of a larger one size, digest and, where it can be told, id and method are kept."""

_KEPT = 4_096  # bytes of the beginning and of the end of such a message, where id and method stand
_ID = rb'"id"\s*:\s*(-?\d{1,19}|"[^"\\]{0,200}")\s*'
_VERSION = rb'"jsonrpc"\s*:\s*"2.0"\s*'
# As the first or the second member, or as the last or the last but one: there it belongs to the message itself.
_ID_FIRST = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?" + _ID + rb",")
_ID_LAST = re.compile(rb",\s*" + _ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*$")
_METHOD = re.compile(rb'[{,]\s*"method"\s*:\s*"([^"\\]{1,200})"\s*,')
_TOOL = re.compile(rb'"name"\s*:\s*"([^"\\]{1,200})"')
_ERROR = re.compile(rb'\s*\{\s*(?:"(?:jsonrpc|id)"\s*:\s*[^,{]{1,210},\s*){0,2}"error"\s*:')
_LARGE = 256 * 1024
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of glibc's mallopt
_DEEP = 200  # brackets in a message that may lie deeper than can be written again


class Unread(NamedTuple):
    """A message that was passed on and not read, by size and digest (BLAKE2b-256); `json` says whether it could be."""

    size: int
    digest: str
    json: bool = True
    id: int | str | None = None
    method: str | None = None
    tool: str | None = None
    failed: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """What is kept of it."""
        return {"size": self.size, "digest": self.digest}


Message: TypeAlias = "dict[str, Any] | Unread"


def messages_of(line: bytes | Unread) -> list[Message]:
    """The messages of a line or body: one, those of a batch, or none where it is empty."""
    if isinstance(line, Unread):
        return [line]
    if len(line) > MAX_MESSAGE:
        return [_sketch(line[:_KEPT], line[-_KEPT:], len(line), digest(line))]
    if not line.strip():
        return []
    try:
        content: Any = orjson.loads(line)
        if line.count(b"[") + line.count(b"{") > _DEEP:
            orjson.dumps([[[[content]]]])
    except orjson.JSONDecodeError:
        content = _leniently(line)
    except orjson.JSONEncodeError:
        content = None
    items = cast("list[Any]", content) if isinstance(content, list) else [content]
    # What is no object is no message; a client that sends it gets its error from the server.
    return [item if isinstance(item, dict) else _sketch(line, line, len(line), digest(line)) for item in items]


def key_of(request: object, channel: str) -> tuple[str, object]:
    """What ties an answer to its request: 1 and "1" are two ids, and a hostile one may be of any type."""
    return (channel, request) if type(request) is int else (channel, repr(request))


def mapping(value: object) -> dict[str, Any]:
    """An object as it is, anything else as an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


@cache
def give_back_large_blocks() -> None:
    """Let the C library return memory of large messages to the system, where it can be told to.

    Else it learns from the first of them to keep such blocks, and a session holds several times its largest message.
    """
    # Imported here: most sessions need it never.
    import ctypes

    with suppress(OSError, TypeError, AttributeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)


class Held:
    """One message so far, in constant memory: its bytes, or where it is too large its ends, size and digest."""

    def __init__(self, before: re.Pattern[bytes] | None = None, limit: int = MAX_MESSAGE) -> None:
        """`before`: what stands before the message itself."""
        self._before, self._limit = before, limit
        self._parts: list[bytes] = []
        self._hash: Any = None
        self._head = self._tail = b""
        self.size = 0

    def add(self, part: bytes) -> None:
        """The next bytes."""
        self._parts.append(part)
        self.size += len(part)
        if self.size > _LARGE:
            give_back_large_blocks()
        if self.size <= self._limit:
            return
        if self._hash is None:
            self._hash = hashlib.blake2b(digest_size=HASH_SIZE)
            head = b"".join(self._parts)[:_KEPT]
            self._head = self._before.sub(b"", head, 1) if self._before else head
        for held in self._parts:
            self._hash.update(held)
            self._tail = (self._tail + held[-_KEPT:])[-_KEPT:]
        self._parts.clear()

    def take(self) -> bytes | Unread:
        """The message; what is added from now on is the next one."""
        taken: bytes | Unread = b"".join(self._parts)
        if self._hash is not None:
            taken = _sketch(self._head, self._tail, self.size, self._hash.hexdigest())
        self.__init__(self._before, self._limit)
        return taken


class Lines:
    """Lines out of chunks."""

    def __init__(self) -> None:
        self._held = Held()

    def feed(self, chunk: bytes) -> list[bytes | Unread]:
        """The lines that end in this chunk."""
        *whole, rest = chunk.split(b"\n")
        found: list[bytes | Unread] = []
        for part in whole:
            self._held.add(part)
            found.append(self._held.take())
        if rest:
            self._held.add(rest)
        return found

    def rest(self) -> list[bytes | Unread]:
        """What stands behind the last line break, at the end."""
        return [self._held.take()] if self._held.size else []


def _leniently(line: bytes) -> Any:
    """JSON with what orjson refuses and other parsers read: lone surrogates, NaN; None where it is no JSON."""
    try:
        content = json.loads(line.decode(errors="replace"), parse_constant=str)
        return orjson.loads(json.dumps(content, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def _sketch(head: bytes, tail: bytes, size: int, digest_: str) -> Unread:
    found = _ID_FIRST.match(head) or _ID_LAST.search(tail[-_KEPT:])
    method = _METHOD.search(head[:_KEPT])
    tool = _TOOL.search(head[:_KEPT], method.end()) if method else None
    return Unread(
        size,
        digest_,
        head.lstrip()[:1] in (b"{", b"["),
        orjson.loads(found[1]) if found else None,
        method[1].decode(errors="replace") if method else None,
        tool[1].decode(errors="replace") if tool else None,
        _ERROR.match(head) is not None,
    )

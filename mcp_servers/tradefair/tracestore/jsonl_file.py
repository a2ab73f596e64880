"""A `.jsonl` file as a trace: the lines that `jsonl_lines` writes, read one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import orjson

from tradefair.contract import TraceError
from tradefair.files.folders import lines
from tradefair.files.user_files import regular
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.source import NotATrace, SideRow, StoredEvent

if TYPE_CHECKING:
    import sqlite3

# How lines begin and go on. Events are joined and cut as bytes: encoding one again could change its hash.
EVENT, EVENT_BODY = b'{"hash":"', b'","event":'
SIGNATURE = b'{"signature":'
BLOB, BLOB_BODY = b'{"blob":"', b'","body":'
_ABOUT, _CORE, _CLOSED = b'{"about":', b',"core":', b'{"closed_head":'
# A hash of 32 bytes is 64 characters of hex.
_HEX = 64


class JsonlFile:
    """A `.jsonl` file (protocol `Source`). It holds the chain only: what lies beside it stays in the `.trace` file."""

    incomplete = None
    schema = 2

    def __init__(self, path: Path) -> None:
        """Raises NotATrace for a line that is too long, TraceError for a damaged manifest."""
        self._path = path
        self.manifest()

    def freeze(self) -> None:
        """Exports are not appended to."""

    def manifest(self) -> Manifest:
        """Core and about."""
        _, _, line = next(self._lines(manifest=True), (0, 0, b""))
        try:
            head = orjson.loads(line)
            # The core is the last member: its bytes run from the marker to the closing brace.
            said = orjson.dumps(head["about"])
            # Right behind `about`, because its labels may hold the marker too.
            start = len(_ABOUT) + len(said)
            if not line.startswith(_ABOUT + said + _CORE + b"{"):
                raise ValueError
        except (orjson.JSONDecodeError, orjson.JSONEncodeError, KeyError, TypeError, ValueError):
            raise TraceError(f"{self._path}: the first line is not a manifest") from None
        return Manifest.read(self._path, line[start + len(_CORE) : -1], said)

    def events(self, after: int, *, side: bool = False, tag: bytes = b"") -> Iterator[StoredEvent]:
        """In order, from `after` + 1 on, without what lies beside them."""
        seq = 0
        for number, _, line in self._lines():
            if not line.startswith(EVENT):
                if not line.startswith((_CLOSED, BLOB, SIGNATURE)):
                    raise TraceError(f"{self._path}: line {number} is neither an event nor a blob")
                continue
            # By position: the event's own number is in its body, which is not parsed here.
            seq += 1
            digest, body = self._parted(number, line, EVENT, EVENT_BODY)
            if seq > after:
                yield StoredEvent(seq, body, digest)

    def blob(self, digest: str) -> bytes | None:
        """A large result by its digest; of two under one digest the later one."""
        try:
            at, length = self._blobs[bytes.fromhex(digest)]
        except (KeyError, ValueError):
            return None
        with self._opened() as file:
            file.seek(at)
            return file.read(length)

    def blobs(self, after: int) -> Iterator[tuple[str, bytes]]:
        """Every large result."""
        # They stand behind all events, and a file of lines is whole when it is written.
        del after
        for number, _, line in self._lines():
            if line.startswith(BLOB):
                digest, body = self._parted(number, line, BLOB, BLOB_BODY)
                yield digest.hex(), body

    @cached_property
    def _blobs(self) -> dict[bytes, tuple[int, int]]:
        # Places and not bytes: results may be larger than memory.
        found: dict[bytes, tuple[int, int]] = {}
        for number, at, line in self._lines():
            if line.startswith(BLOB):
                digest, body = self._parted(number, line, BLOB, BLOB_BODY)
                found[digest] = (at + len(line) - 1 - len(body), len(body))
        return found

    def closed_head(self) -> tuple[int, str] | None:
        """(seq, hash) of the last closure."""
        for number, _, line in self._lines():
            if line.startswith(_CLOSED):
                try:
                    match orjson.loads(line)["closed_head"]:
                        case [int(seq), str(digest)]:
                            return seq, digest
                        case _:
                            raise ValueError
                except (orjson.JSONDecodeError, ValueError):
                    raise TraceError(f"{self._path}: line {number} is not a closed head") from None
        return None

    def side(self, by: str | None = None) -> Iterator[SideRow]:
        """None."""
        return iter(())

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """None."""
        return iter(())

    def signature(self) -> bytes | None:
        """What signs the seal."""
        signed = (line for _, _, line in self._lines() if line.startswith(SIGNATURE))
        return next((line[len(SIGNATURE) : -1] for line in signed), None)

    def side_rows(self, name: str) -> None:
        """Left out, whatever the table."""

    def check_structure(self) -> None:
        """Lines have none that could contradict itself."""

    def backup(self, into: sqlite3.Connection) -> None:
        """Raises TraceError: an export is no database."""
        raise TraceError(f"{self._path}: an export, which lacks what lies beside the chain")

    def close(self) -> None:
        """Nothing is open between two readings."""

    def _parted(self, number: int, line: bytes, prefix: bytes, middle: bytes) -> tuple[bytes, bytes]:
        """Digest and body of a line that begins with `prefix`."""
        start = len(prefix) + _HEX
        try:
            digest = bytes.fromhex(line[len(prefix) : start].decode())
        # No hex: reported below, with everything else that the line can lack.
        except ValueError:
            digest = b""
        if len(digest) * 2 != _HEX or line[start : start + len(middle)] != middle or not line.endswith(b"}"):
            kind = "an event" if prefix == EVENT else "a stored result"
            raise TraceError(f"{self._path}: line {number} is not {kind}")
        return digest, line[start + len(middle) : -1]

    def _lines(self, *, manifest: bool = False) -> Iterator[tuple[int, int, bytes]]:
        """Number (from 1), offset in bytes and content of each line; of the first only with `manifest`."""
        at = 0
        with self._opened() as file:
            try:
                for number, line in enumerate(lines(file), 1):
                    if number > 1 or manifest:
                        yield number, at, line.rstrip(b"\n")
                    at += len(line)
            except OSError as error:
                raise NotATrace(f"{self._path}: not a trace: {error.strerror}") from None

    def _opened(self) -> BinaryIO:
        try:
            return regular(self._path)
        except OSError as error:
            raise NotATrace(f"{self._path}: cannot be read: {error.strerror}") from None

"""What a trace is read from: an open file or a row of a store, behind one protocol."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from tradefair.contract import TraceError
from tradefair.tracestore.manifest import Manifest


class NotATrace(TraceError):
    """A file that cannot be opened as a trace at all: there is nothing in it that could be damaged."""


class CutShort(TraceError):
    """A file that was a trace and has lost its end, so that nothing of it can be read."""


class StoredEvent(NamedTuple):
    """One event as it is stored: its number, its exact bytes and the chain's hash after it (32 bytes).

    `side` is its row of the side table `calls`, where a source was asked for it and has one.
    """

    seq: int
    body: bytes
    hash: bytes
    side: tuple[object, ...] | None = None


class SideRow(NamedTuple):
    """What is stored about an event outside the chain; it differs from run to run, events do not.

    `at_ms` is in milliseconds since the epoch, `latency_us` in microseconds.
    """

    seq: int
    seat: str | None
    # A repeated key is answered from the log instead of acting twice.
    call_key: str | None
    # Wall-clock time is kept outside the chain: with it no two runs would have equal hashes.
    at_ms: int | None
    latency_us: int | None
    transport: str | None
    client: str | None
    request_id: str | None
    traceparent: str | None
    # "person" for a call that somebody clicked; None for all others.
    by: str | None


class Source(Protocol):
    """A file or a row of a store that holds one trace. Methods raise TraceError for what cannot be read.

    Implemented by sqlite_file.py, jsonl_file.py and store.py. A source decides nothing about soundness.
    """

    @property
    def schema(self) -> int:
        """Of its tables: 2, or 1 for a file of an earlier release."""
        ...

    @property
    def incomplete(self) -> str | None:
        """Why the last events may be missing, as a sentence; None where nothing says so."""
        ...

    def freeze(self) -> None:
        """Read the state of now until closed."""
        ...

    def manifest(self) -> Manifest:
        """Core and about."""
        ...

    def events(self, after: int, *, side: bool = False, tag: bytes = b"") -> Iterator[StoredEvent]:
        """In order, from `after` + 1 on; `side`: with their rows of `calls`, where that takes no second look.

        `tag`: only the first of all, and those that hold it in their first 48 bytes; a source may give more.
        """
        ...

    def blob(self, digest: str) -> bytes | None:
        """A large result by its digest."""
        ...

    def blobs(self, after: int) -> Iterator[tuple[str, bytes]]:
        """Every large result that came with an event after number `after`, with the digest that it is filed under.

        A source that does not grow may give all of them.
        """
        ...

    def closed_head(self) -> tuple[int, str] | None:
        """(seq, hash) of the last closure."""
        ...

    def side(self, by: str | None = None) -> Iterator[SideRow]:
        """Times, transports and call keys; of calls by `by` only, where it is given, or more than those."""
        ...

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """What was noted about agents: seat and bytes."""
        ...

    def signature(self) -> bytes | None:
        """What signs the seal, unchecked."""
        ...

    def side_rows(self, name: str) -> Iterator[Sequence[object]] | None:
        """The rows of one of `SIDE_TABLES`, in key order; None where this form of a trace leaves them out."""

    def check_structure(self) -> None:
        """Raises TraceError where indexes and tables contradict each other."""
        ...

    def backup(self, into: sqlite3.Connection) -> None:
        """Copy all that is stored now into an empty database. Raises TraceError, sqlite3.Error."""
        ...

    def close(self) -> None:
        """Release file or connection."""
        ...

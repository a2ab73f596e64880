"""Writing a whole trace at once: episodes that have ended, and those that no outside seat can join.

Live episodes are written by the host's log alone (docs/explanation/why/tracestore.md).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cache
from importlib.metadata import version
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract.chain import canonical, first_hash, next_hash
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Record
from tradefair.contract.kernel.event import ManifestCore
from tradefair.files.folders import drafted, write_whole
from tradefair.tracestore.beside import SIDE_TABLES, RowDigest, covering
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.schema import EVENT_COLUMNS, SCHEMA, SCHEMA_SMALL

WRITTEN_BY = f"tradefair {version('tradefair')}"
"""The release that writes a trace, as its first event says: policies are versioned with it."""

# Bytes of all events of a trace that is written in the small form.
_SMALL = 32_768
# By the number of values: to bind a NULL costs as much as to bind a text, and most events of scripted play have only
# what every event has.
_INSERT = {
    count: f"INSERT INTO events ({columns}) VALUES ({', '.join('?' * count)})"
    for count, columns in (
        (5, "seq, body, hash, closes, at_ms"),
        (8, "seq, body, hash, closes, at_ms, seat, latency_us, transport"),
        (10, "seq, body, hash, closes, at_ms, seat, latency_us, transport, blob_digest, blob"),
    )
}
_NOTE = "INSERT INTO agent_events (seat, body) VALUES (?, ?)"
# The columns of `calls` that a written trace leaves empty: call key and request digest, and what a client says.
_NO_KEY, _NO_CLIENT = (None, None), (None, None, None, None)


class Written(NamedTuple):
    """One event and what is stored outside the chain: `at_ms` since the epoch, `latency_us` that the seat took."""

    record: Record
    seat: str | None = None
    at_ms: int | None = None
    latency_us: int | None = None
    transport: str | None = None


def write_trace(
    path: Path,
    core: ManifestCore,
    about: Mapping[str, Any],
    events: Iterable[Written],
    *,
    notes: Iterable[tuple[str, bytes]] = (),
    compact: bool = False,
) -> Manifest:
    """Write and seal a finished episode and return its manifest; the file appears whole or not at all.

    `about` is read behind the last event, so an iterator of events may complete it; `head_seq`, `head_hash`, `beside`
    and `seal` are added. `notes` are seat and JSON of each, in order; they are drawn behind the last event, and there
    are none where `compact` is set. With it events of up to 32 kB without blobs are written as `SCHEMA_SMALL`. An
    existing file is replaced. StorageUnavailable where it cannot be written; what `events` raises passes through.
    """
    core_bytes = canonical(core.model_dump(mode="json"))
    try:
        small, events = _looked_ahead(events) if compact else (False, events)
        # Asked first: a folder of a sweep is made once and written to a thousand times.
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
        if small:
            # In memory: SQLite would look at the file, lock it and write it page by page.
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
                database.deserialize(_template(SCHEMA_SMALL, 512))
                manifest = _fill(database, core_bytes, about, events)
                write_whole(path, database.serialize())
                return manifest
        with drafted(path) as draft:
            draft.write_bytes(_template(SCHEMA, 4096))
            with closing(sqlite3.connect(draft, isolation_level=None)) as database:
                # It is thrown away when it does not get its name. One transaction, one fsync.
                database.execute("PRAGMA journal_mode = OFF")
                return _fill(database, core_bytes, about, events, notes)
    except (OSError, sqlite3.Error) as error:
        raise StorageUnavailable(f"{path}: cannot be written: {error}") from None


def _looked_ahead(events: Iterable[Written]) -> tuple[bool, Iterable[Written]]:
    """Whether these are the events of a small trace; and all of them, of which some have been asked for."""
    coming, ahead, size = iter(events), list[Written](), 0
    for written in coming:
        ahead.append(written)
        size += len(written.record.body)
        if size > _SMALL or written.record.blob is not None:
            return False, chain(ahead, coming)
    return True, ahead


@cache
def _template(schema: str, page_size: int) -> bytes:
    """A trace without rows: to copy it takes a fraction of the time in which SQLite makes its tables."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"PRAGMA page_size = {page_size}")
        database.executescript(schema)
        return database.serialize()


def _fill(
    database: sqlite3.Connection,
    core: bytes,
    about: Mapping[str, Any],
    events: Iterable[Written],
    notes: Iterable[tuple[str, bytes]] | None = None,
) -> Manifest:
    database.execute("BEGIN")
    head, seq, closed = first_hash(core), 0, b""
    beside = {name: RowDigest() for name in SIDE_TABLES}
    count = beside["calls"].add

    # A generator: an imported episode may be larger than memory.
    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal head, seq, closed
        for record, seat, at_ms, latency_us, transport in events:
            seq, head = record.seq, next_hash(head, record.body)
            if record.closes:
                closed = f"{seq}:{head.hex()}".encode()
            # Counted as it goes by, not read back: the seal covers what was given to SQLite.
            count((seat, *_NO_KEY, at_ms, latency_us, transport, *_NO_CLIENT))
            row = (seq, record.body, head, record.closes, at_ms)
            if record.blob is not None:
                yield (*row, seat, latency_us, transport, *record.blob)
            elif seat is latency_us is transport is None:
                yield row
            else:
                yield (*row, seat, latency_us, transport)

    for values, alike in groupby(rows(), key=len):
        database.executemany(_INSERT[values], alike)
    if notes is not None:
        database.executemany(_NOTE, _added(notes, beside["agent_events"]))
    # Last, because it covers the head too.
    covered = covering({**about, "head_seq": seq, "head_hash": head.hex()}, beside)
    meta = {"core": core, "about": orjson.dumps(covered), **({"closed_head": closed} if closed else {})}
    database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
    database.execute("COMMIT")
    return Manifest(core, covered)


def _added(notes: Iterable[tuple[str, bytes]], beside: RowDigest) -> Iterator[tuple[str, bytes]]:
    for note in notes:
        beside.add(note)
        yield note


_KEPT = ", ".join(name for name in EVENT_COLUMNS if not name.startswith("blob"))
_ENLARGE = f"""BEGIN;
ALTER TABLE meta RENAME TO small_meta;
ALTER TABLE events RENAME TO small_events;
{SCHEMA}
INSERT INTO events ({_KEPT}) SELECT {_KEPT} FROM small_events;
INSERT OR REPLACE INTO meta SELECT key, value FROM small_meta;
DROP TABLE small_events;
DROP TABLE small_meta;
COMMIT;
"""


def enlarge(database: sqlite3.Connection) -> None:
    """Give a small trace all tables, in one transaction: whoever opens its log may write to any. sqlite3.Error."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'agent_events'").fetchall():
        database.executescript(_ENLARGE)

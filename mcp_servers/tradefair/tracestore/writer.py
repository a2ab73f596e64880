"""Writing a whole trace at once: for importers, which write episodes that have ended.

Live episodes are written by the host's log alone (docs/decisions/0003).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract.chain import canonical, first_hash, next_hash
from tradefair.contract.core import Record
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.event import ManifestCore
from tradefair.files.folders import drafted
from tradefair.tracestore.beside import sealed, sqlite_rows
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.schema import SCHEMA

WRITTEN_BY = f"tradefair {version('tradefair')}"
"""The release that writes a trace, as its first event says: policies are versioned with it."""

_INSERT = """INSERT INTO events (seq, body, hash, closes, blob_digest, blob, seat, at_ms, latency_us, transport)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class Written(NamedTuple):
    """One event and what is stored outside the chain: `at_ms` since the epoch, `latency_us` that the seat took."""

    record: Record
    seat: str | None = None
    at_ms: int | None = None
    latency_us: int | None = None
    transport: str | None = None


def write_trace(path: Path, core: ManifestCore, about: dict[str, Any], events: Iterable[Written]) -> Manifest:
    """Write and seal a finished episode and return its manifest; the file appears whole or not at all.

    `about` gets `head_seq`, `head_hash`, `beside` and `seal`. An existing file is replaced. StorageUnavailable where it
    cannot be written; what `events` raises passes through.
    """
    core_bytes = canonical(core.model_dump(mode="json"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with drafted(path) as draft, closing(sqlite3.connect(draft)) as database:
            manifest = _fill(database, core_bytes, about, events)
    except (OSError, sqlite3.Error) as error:
        raise StorageUnavailable(f"{path}: cannot be written: {error}") from None
    return manifest


def _fill(database: sqlite3.Connection, core: bytes, about: dict[str, Any], events: Iterable[Written]) -> Manifest:
    # A draft needs no journal: it is thrown away when it does not get its name. One transaction, one fsync.
    database.execute("PRAGMA journal_mode = OFF")
    database.executescript("BEGIN;" + SCHEMA)
    head, seq = first_hash(core), 0

    # A generator: an imported episode may be larger than memory.
    def rows() -> Iterator[tuple[object, ...]]:
        nonlocal head, seq
        for written in events:
            record = written.record
            seq, head = record.seq, next_hash(head, record.body)
            blob_digest, blob = record.blob or (None, None)
            yield (seq, record.body, head, record.closes, blob_digest, blob, *written[1:])

    database.executemany(_INSERT, rows())
    # Last, because it covers the head too.
    covered = sealed({**about, "head_seq": seq, "head_hash": head.hex()}, partial(sqlite_rows, database))
    meta = {"core": core, "about": orjson.dumps(covered)}
    database.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    database.commit()
    return Manifest(core, covered)

"""What lies beside the chain, as the seal covers it: `about["beside"]`, a count and a digest per table.

Writers and verify count alike, here.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson

from tradefair.contract import TraceError
from tradefair.contract.chain import HASH_SIZE, digest, seal
from tradefair.tracestore.schema import EVENT_COLUMNS

SideRows: TypeAlias = Callable[[str], Iterable[Sequence[object]] | None]
"""From a name of `SIDE_TABLES` to its rows in key order; None where this form of a trace leaves them out."""


class SideTable(NamedTuple):
    """Columns of a table in a `.trace` file that the chain of events does not cover; `key` orders its rows."""

    table: str
    key: str
    columns: tuple[str, ...]


# Row ids are no columns here: a store numbers the notes of all episodes together. Prompts name parts by their `n`.
SIDE_TABLES: Mapping[str, SideTable] = {
    "calls": SideTable("events", "seq", EVENT_COLUMNS[EVENT_COLUMNS.index("seat") :]),
    "agent_events": SideTable("agent_events", "id", ("seat", "body")),
    "prompt_parts": SideTable("prompt_parts", "n", ("n", "digest", "body")),
    "prompt_calls": SideTable("prompt_calls", "id", ("seat", "call", "same", "parts", "tools", "params", "answer")),
    "pending": SideTable("pending", "id", ("seat", "request_id", "at_ms", "body", "cancelled")),
}
"""By the name that `about["beside"]` has for it. `calls` has a row per event: times, transport, client and keys."""

_MAX_LINE = 16 << 20  # of JSON, in which a text may take six times its bytes

PROMPTS = frozenset({"prompt_parts", "prompt_calls"})
"""Tables that a copy may lack, both of them, so that a trace can be shown without what models were sent."""


def sealed(about: Mapping[str, Any], rows_of: SideRows) -> dict[str, Any]:
    """`about` with `beside` and `seal`, in constant memory. Raises TraceError for a row that no writer writes."""
    return covering(about, {name: _counted(rows_of(name) or ()) for name in SIDE_TABLES})


def covering(about: Mapping[str, Any], beside: Mapping[str, RowDigest]) -> dict[str, Any]:
    """As `sealed`, of rows that their writer has counted."""
    counts = {name: [rows.count, rows.hexdigest()] for name, rows in beside.items()}
    covered = {**about, "beside": counts}
    return {**covered, "seal": seal(covered)}


class RowDigest:
    """How many rows were added, and the BLAKE2b-256 of the first `most` of them (None: of all).

    A row is hashed as a line of JSON, bytes in it as `{"blob": digest}`.
    """

    def __init__(self, most: int | None = None) -> None:
        self.count = 0
        self._most = most
        self._running = hashlib.blake2b(digest_size=HASH_SIZE)

    def add(self, row: Sequence[object]) -> None:
        """The next row. Raises TraceError for values that no writer writes."""
        self.count += 1
        if self._most is not None and self.count > self._most:
            return
        # JSON has no infinity: it would be written as null and pass for a value that is not there.
        if float in map(type, row):
            raise TraceError("a column beside the events holds a fraction where a whole number belongs")
        line = orjson.dumps(tuple(row), default=_blob)
        if len(line) > _MAX_LINE:
            raise TraceError(f"a row beside the events has {len(line):,} bytes; at most {_MAX_LINE:,} are read")
        self._running.update(line + b"\n")

    def hexdigest(self) -> str:
        """In hex."""
        return self._running.hexdigest()


def row_digest(rows: Iterable[Sequence[object]], most: int | None = None) -> tuple[int, str]:
    """Count and digest of rows, as `RowDigest` gives them. Raises TraceError for values that no writer writes."""
    counted = _counted(rows, most)
    return counted.count, counted.hexdigest()


def _counted(rows: Iterable[Sequence[object]], most: int | None = None) -> RowDigest:
    counted = RowDigest(most)
    for row in rows:
        counted.add(row)
    return counted


def sqlite_rows(database: sqlite3.Connection, name: str) -> Iterator[Sequence[object]]:
    """The rows of a side table of a `.trace` file that is being written. Raises sqlite3.Error while they are read."""
    side = SIDE_TABLES[name]
    return database.execute(f"SELECT {', '.join(side.columns)} FROM {side.table} NOT INDEXED ORDER BY {side.key}")


def _blob(value: object) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"blob": digest(value)}
    raise TypeError

"""A `.trace` file: an SQLite database with exactly the tables, indexes and the trigger of a trace."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from tradefair.contract import TraceError
from tradefair.tracestore.beside import SIDE_TABLES
from tradefair.tracestore.database import Database, SchemaObject
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.schema import SCHEMA, SCHEMA_1, SCHEMA_SMALL
from tradefair.tracestore.source import CutShort, NotATrace, SideRow, StoredEvent

# Below every row's number: what a stranger filed under 0 or less is read with the rest.
_FIRST = -(2**63)
# SQLite itself reads small events alone: `scan` counts the bytes of the others, which may share pages.
_TAGGED = """ AND (seq = 1 OR CASE WHEN typeof(body) = 'blob' AND length(body) < 2000
    THEN instr(substr(body, 1, 48), ?) ELSE 1 END)"""
_META = frozenset({"core", "about", "closed_head", "signature"})
_COPIED_LIVE = (
    "copied while it was written, without its -wal file: the last events are missing; copy both, or use "
    "`tradefair control export`"
)


class SqliteFile(Database):
    """A `.trace` file: the tables of `SCHEMA` (protocol `Source`).

    `schema` is 2, or 1 for a trace of an earlier release. `incomplete` is the sentence for a file that may have been
    copied without its log, None for others.
    """

    def __init__(self, path: Path, header: bytes) -> None:
        """Raises NotATrace, or TraceError for a damaged trace. Nothing is written next to the file."""
        super().__init__(path, header)
        try:
            if self.alone and not self.objects:
                raise CutShort(f"{path}: {_COPIED_LIVE}")
            self._small = self.objects == _objects(SCHEMA_SMALL)
            self.schema = 2 if self._small or any(name == "prompt_parts" for _, name, _, _ in self.objects) else 1
            complaint = _unlike(self.objects, _objects(SCHEMA if self.schema == 2 else SCHEMA_1))
            if complaint and not self._small:
                raise NotATrace(f"{path}: not a trace: {complaint}")
            self.incomplete = _COPIED_LIVE if not self.manifest().sealed and self.alone else None
        except BaseException:
            self.close()
            raise

    def freeze(self) -> None:
        """Read as of now until closed."""
        if not self._db.in_transaction:
            # The snapshot is taken by the first SELECT of the transaction.
            list(self.query("BEGIN"))
            list(self.query("SELECT 1 FROM meta LIMIT 1"))

    def manifest(self) -> Manifest:
        """Core and about."""
        stored = self._stored_meta()
        if "core" not in stored:
            raise TraceError(f"{self._path}: the manifest is missing")
        return Manifest.read(self._path, stored["core"], stored.get("about", b"{}"))

    def events(self, after: int, *, side: bool = False, tag: bytes = b"") -> Iterator[StoredEvent]:
        """In order, from `after` + 1 on. TraceError at the first number that is not the next."""
        due, beside = after, side and self.schema > 1
        more = f", {', '.join(SIDE_TABLES['calls'].columns)}" if beside else ""
        sql = f"SELECT seq, body, hash{more} FROM events NOT INDEXED WHERE seq > ?"
        tags = (tag,) if tag and self._whole(after) else ()
        sql += _TAGGED if tags else ""
        for row in self.scan(sql, after or _FIRST, *tags):
            seq, body, digest = row[:3]
            due = seq if tags else due + 1
            if seq != due:
                raise TraceError(f"{self._path}: event {due} is missing: event {seq} stands in its place")
            if type(body) is not bytes or type(digest) is not bytes:
                body, digest = self._bytes(body), self._bytes(digest)
            yield StoredEvent(seq, body, digest, row[3:] if beside else None)

    def blob(self, digest: str) -> bytes | None:
        """A large result by its digest, as the index finds it."""
        if self._small:
            return None
        row = next(self.query("SELECT blob FROM events WHERE blob_digest = ? LIMIT 1", digest), None)
        return None if row is None else self._bytes(row[0])

    def blobs(self, after: int) -> Iterator[tuple[str, bytes]]:
        """Large results of later events."""
        if self._small:
            return iter(())
        sql = "SELECT seq, blob_digest, blob FROM events NOT INDEXED WHERE seq > ? AND blob_digest IS NOT NULL"
        return ((str(digest), self._bytes(blob)) for _, digest, blob in self.scan(sql, after or _FIRST))

    def closed_head(self) -> tuple[int, str] | None:
        """(seq, hash) of the last closure."""
        value = self._stored_meta().get("closed_head")
        if value is None:
            return None
        seq, _, digest = value.decode(errors="replace").partition(":")
        # Longer numbers would take int() a while, and no trace has so many events. −1 names none: the chain's check
        # then says what is wrong.
        return (int(seq) if seq.isdecimal() and len(seq) < 20 else -1), digest

    def side(self, by: str | None = None) -> Iterator[SideRow]:
        """Times, transports and call keys."""
        # Traces of schema 1 have no `by`.
        columns = ", ".join(name if name != "by" or self.schema > 1 else "NULL" for name in SideRow._fields)
        sql, values = f"SELECT {columns} FROM events NOT INDEXED", () if by is None or self.schema == 1 else (by,)
        return (SideRow(*row) for row in self.scan(f"{sql} WHERE by = ?" if values else sql, *values))

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """What was noted about agents."""
        rows = iter(()) if self._small else self.scan("SELECT id, seat, body FROM agent_events NOT INDEXED")
        return ((str(seat), self._bytes(body)) for _, seat, body in rows)

    def signature(self) -> bytes | None:
        """What signs the seal."""
        return self._stored_meta().get("signature")

    def side_rows(self, name: str) -> Iterator[Sequence[object]] | None:
        """The rows of one of `SIDE_TABLES`; None in traces of schema 1, whose seal covers none of them."""
        if self.schema == 1:
            return None
        side = SIDE_TABLES[name]
        if self._small and side.table != "events":
            return iter(())
        rows = self.scan(f"SELECT {side.key}, {', '.join(side.columns)} FROM {side.table} NOT INDEXED")
        return (row[1:] for row in rows)

    def check_structure(self) -> None:
        """Raises TraceError where pages, trees or indexes contradict each other: look-ups could then lie."""
        for (answer,) in self.query("PRAGMA integrity_check(1)"):
            if answer != "ok":
                raise TraceError(f"{self._path}: its structure is damaged: {str(answer).splitlines()[-1][:200]}")

    def _whole(self, after: int) -> bool:
        """Whether none of the later events is missing; else `events` stops at the gap."""
        sql = "SELECT min(seq), max(seq) - count(*) FROM events NOT INDEXED WHERE seq > ?"
        return next(self.query(sql, after or _FIRST)) == (after + 1, after)

    def _stored_meta(self) -> dict[str, bytes]:
        """The rows of `meta` by key, by one scan. TraceError for a row too many."""
        # By scan: a damaged tree may show another row to a look-up than to a scan.
        stored: dict[str, bytes] = {}
        for key, value in self.scan("SELECT key, value FROM meta NOT INDEXED"):
            if key not in _META:
                raise TraceError(f"{self._path}: `meta` has a row `{str(key)[:80]}`, which no trace has")
            stored[key] = self._bytes(value)
        return stored

    def _bytes(self, value: object) -> bytes:
        """A column's bytes; SQLite accepts any type in any column."""
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode(errors="replace")
        raise TraceError(f"{self._path}: a column holds a {type(value).__name__} where bytes belong")


@cache
def _objects(schema: str) -> frozenset[SchemaObject]:
    """What `sqlite_master` says of an empty trace."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(schema)
        return frozenset(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


def _unlike(found: frozenset[SchemaObject], expected: frozenset[SchemaObject]) -> str | None:
    """What is wrong with a schema, as the rest of a sentence; None where it is the expected one."""
    named = {(kind, name) for kind, name, _, _ in expected}
    for kind, name, _, _ in sorted(found - expected, key=str):
        article = "an" if kind == "index" else "a"
        shown = f"{str(kind)[:20]} `{str(name)[:80]}`"
        if (kind, name) in named:
            return f"its {shown} is not that of a trace"
        return f"it has {article} {shown} that a trace does not have"
    missing = sorted(expected - found, key=str)
    return f"it lacks the {missing[0][0]} `{missing[0][1]}`" if missing else None

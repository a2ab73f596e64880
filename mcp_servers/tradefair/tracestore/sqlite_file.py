"""A `.trace` file as an SQLite database that may have been made to hurt whoever opens it.

The schema must be that of a trace, to the byte: then there is no view, trigger or virtual table that could run. What is
left are damaged structures, and those are bounded: every table is read by one scan in the order of its keys, which must
rise, and a scan that yields more bytes than the file holds goes round in a circle.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tradefair.contract import TraceError
from tradefair.tracestore.beside import SIDE_TABLES
from tradefair.tracestore.files import MAX_FILE, MIB, check_regular
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.schema import SCHEMA, SCHEMA_1
from tradefair.tracestore.source import CutShort, NotATrace, SideRow, StoredEvent

MAGIC = b"SQLite format 3\x00"
"""The first 16 bytes of every SQLite 3 file."""

HEADER = 20
"""Bytes of a file that `SqliteFile` wants to see: the magic, and whether the file is in WAL mode."""

_META = frozenset({"core", "about", "closed_head", "signature"})
# Larger objects than a trace has are not even handed out, and no statement of ours is longer or deeper.
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 16 * MIB,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 32,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 4,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 5_000,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 8,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 32,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_PRAGMAS = ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0", "temp_store = MEMORY")
# Steps of SQLite's machine between two looks at the budget. Reading the schema of a trace takes fewer than 500 steps,
# and each of its rows is parsed, so that a file with a million tables is stopped after the first hundred.
_STEPS, _STEPS_OF_SCHEMA, _TICKS_OF_SCHEMA = 1_000, 100, 10
_WAL = b"\x02\x02"
# How a rollback journal ends that names another file, which SQLite would go and look for.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
_COPIED_LIVE = (
    "copied while it was written, without its -wal file: the last events are missing; copy both, or use "
    "`tradefair control export`"
)

_Object = tuple[str, str, str, str | None]


class SqliteFile:
    """A `.trace` file: the tables of `SCHEMA` (protocol `Source`).

    `schema` is 2, or 1 for a trace of an earlier release. `incomplete` is the sentence for a file that may have been
    copied without its log, None for others.
    """

    def __init__(self, path: Path, header: bytes) -> None:
        """Raises NotATrace, or TraceError for a damaged trace. Nothing is written next to the file."""
        self._path = self._read = path  # `_read`: the private copy, where there is one
        self._copy: TemporaryDirectory[str] | None = None
        self._ticks, self._most, self._known = 0, _TICKS_OF_SCHEMA, 0
        log, index = _size(path, "-wal"), _size(path, "-shm")
        # In WAL mode and without its log: SQLite would make one, `immutable` keeps it from that.
        alone = header[18:20] == _WAL and (log is None or (log == 0 and index is None))
        try:
            if alone:
                self._db = self._connected(path, "immutable=1")
            # A log without its index: to read it where it lies would make the index.
            elif log and index is None:
                self._db = self._copied(path, "-wal")
            else:
                self._db = self._in_place(path)
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise TraceError(f"{path}: not a readable trace: {getattr(error, 'strerror', error)}") from None
        except BaseException:
            self.close()
            raise
        try:
            self.schema = self._schema(alone)
            self._db.set_progress_handler(self._tick, _STEPS)
            held = self._held()
            if held > 2 * MAX_FILE:  # a journal may say that the file was larger
                raise NotATrace(f"{path}: {held:,} bytes with its log; at most {2 * MAX_FILE:,} are read")
            self._most = 5_000 + held // 5_000
            sealed = self.manifest().sealed
        except BaseException:
            self.close()
            raise
        self.incomplete = _COPIED_LIVE if alone and not sealed else None

    # --- opening ----------------------------------------------------------------------------------------------------

    def _in_place(self, path: Path) -> sqlite3.Connection:
        _size(path, "-journal")
        try:
            # readonly_shm: an index that no process has open stays as it is, too.
            return self._connected(path, "mode=ro&readonly_shm=1")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
        return self._copied(path, "-journal")

    def _copied(self, path: Path, suffix: str) -> sqlite3.Connection:
        """A private copy of the file and its journal, in which SQLite takes back what a killed writer left."""
        journal = path.with_name(path.name + suffix)
        with journal.open("rb") as file:
            file.seek(max(0, journal.stat().st_size - len(_NAMES_ANOTHER)))
            if suffix == "-journal" and file.read() == _NAMES_ANOTHER:
                raise NotATrace(f"{path}: not a trace: its journal names another file")
        if path.stat().st_size + journal.stat().st_size > MAX_FILE:
            raise NotATrace(f"{path}: with its {suffix} file larger than {MAX_FILE:,} bytes")
        self._copy = TemporaryDirectory(prefix="tradefair-")
        self._read = copy = Path(self._copy.name, "copy.trace")
        for kind in ("", suffix):
            shutil.copyfile(f"{path}{kind}", f"{copy}{kind}")
        return self._connected(copy, "mode=rw")

    def _connected(self, path: Path, how: str) -> sqlite3.Connection:
        uri = f"{path.absolute().as_uri()}?{how}"
        database = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
        try:
            for category, most in _LIMITS.items():
                database.setlimit(category, most)
            database.set_progress_handler(self._tick, _STEPS_OF_SCHEMA)
            self._ticks = 0
            database.text_factory = _text
            for pragma in _PRAGMAS:
                database.execute(f"PRAGMA {pragma}")
            # `connect` reads nothing: this is what rolls back, or fails.
            database.execute("PRAGMA schema_version").fetchall()
        except BaseException:
            database.close()
            raise
        return database

    def _schema(self, alone: bool) -> int:
        """1 or 2. Raises NotATrace naming the first object that a trace does not have, or that is missing."""
        found = set[_Object](self._query("SELECT type, name, tbl_name, sql FROM sqlite_master"))
        if alone and not found:
            raise CutShort(f"{self._path}: {_COPIED_LIVE}")
        schema = 2 if any(name == "prompt_parts" for _, name, _, _ in found) else 1
        if complaint := _unlike(found, _objects(SCHEMA if schema > 1 else SCHEMA_1)):
            raise NotATrace(f"{self._path}: not a trace: {complaint}")
        return schema

    # --- reading ----------------------------------------------------------------------------------------------------

    def freeze(self) -> None:
        """Read as of now until closed."""
        if not self._db.in_transaction:
            # The snapshot is taken by the first SELECT of the transaction.
            list(self._query("BEGIN"))
            list(self._query("SELECT 1 FROM meta LIMIT 1"))

    def manifest(self) -> Manifest:
        """Core and about."""
        stored = self._stored_meta()
        if "core" not in stored:
            raise TraceError(f"{self._path}: the manifest is missing")
        return Manifest.read(self._path, stored["core"], stored.get("about", b"{}"))

    def events(self, after: int) -> Iterator[StoredEvent]:
        """In order, from `after` + 1 on. TraceError at the first number that is not the next."""
        due = after
        for seq, body, digest in self._scan("SELECT seq, body, hash FROM events NOT INDEXED WHERE seq > ?", after):
            due += 1
            if seq != due:
                raise TraceError(f"{self._path}: event {due} is missing: event {seq} stands in its place")
            yield StoredEvent(seq, self._bytes(body), self._bytes(digest))

    def blob(self, digest: str) -> bytes | None:
        """A large result by its digest, as the index finds it."""
        row = next(self._query("SELECT blob FROM events WHERE blob_digest = ? LIMIT 1", digest), None)
        return None if row is None else self._bytes(row[0])

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """Every large result."""
        sql = "SELECT seq, blob_digest, blob FROM events NOT INDEXED WHERE blob_digest IS NOT NULL"
        return ((str(digest), self._bytes(blob)) for _, digest, blob in self._scan(sql))

    def closed_head(self) -> tuple[int, str] | None:
        """(seq, hash) of the last closure."""
        value = self._stored_meta().get("closed_head")
        if value is None:
            return None
        seq, _, digest = value.decode(errors="replace").partition(":")
        # Longer numbers would take int() a while, and no trace has so many events. −1 names none: the chain's check
        # then says what is wrong.
        return (int(seq) if seq.isdecimal() and len(seq) < 20 else -1), digest

    def side(self) -> Iterator[SideRow]:
        """Times, transports and call keys."""
        # Traces of schema 1 have no `by`.
        columns = ", ".join(name if name != "by" or self.schema > 1 else "NULL" for name in SideRow._fields)
        return (SideRow(*row) for row in self._scan(f"SELECT {columns} FROM events NOT INDEXED"))

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """What was noted about agents."""
        rows = self._scan("SELECT id, seat, body FROM agent_events NOT INDEXED")
        return ((str(seat), self._bytes(body)) for _, seat, body in rows)

    def signature(self) -> bytes | None:
        """What signs the seal."""
        return self._stored_meta().get("signature")

    def side_rows(self, name: str) -> Iterator[Sequence[object]] | None:
        """The rows of one of `SIDE_TABLES`; None in traces of schema 1, whose seal covers none of them."""
        if self.schema == 1:
            return None
        side = SIDE_TABLES[name]
        rows = self._scan(f"SELECT {side.key}, {', '.join(side.columns)} FROM {side.table} NOT INDEXED")
        return (row[1:] for row in rows)

    def check_structure(self) -> None:
        """Raises TraceError where pages, trees or indexes contradict each other: look-ups could then lie."""
        for (answer,) in self._query("PRAGMA integrity_check(1)"):
            if answer != "ok":
                raise TraceError(f"{self._path}: its structure is damaged: {str(answer)[:200]}")

    def backup(self, into: sqlite3.Connection) -> None:
        """Copy what the file holds now into an empty database. Raises sqlite3.Error."""
        self._db.backup(into)

    def close(self) -> None:
        """Close the file; remove the private copy."""
        database: sqlite3.Connection | None = getattr(self, "_db", None)
        if database is not None:
            database.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _stored_meta(self) -> dict[str, bytes]:
        """The rows of `meta` by key, by one scan. TraceError for a row too many."""
        # By scan: a damaged tree may show another row to a look-up than to a scan.
        stored: dict[str, bytes] = {}
        for key, value in self._scan("SELECT key, value FROM meta NOT INDEXED"):
            if key not in _META:
                raise TraceError(f"{self._path}: `meta` has a row `{str(key)[:80]}`, which no trace has")
            stored[key] = self._bytes(value)
        return stored

    def _scan(self, sql: str, *values: object) -> Iterator[Any]:
        """The rows in the order of their first column. TraceError where it does not rise, or the rows never end."""
        last, yielded, held = None, 0, self._held()
        for row in self._query(f"{sql} ORDER BY 1", *values):
            if last is not None and row[0] <= last:
                raise TraceError(f"{self._path}: two rows have the key `{str(row[0])[:80]}`, or one is out of order")
            last = row[0]
            yielded += sum(len(value) for value in row if isinstance(value, bytes | str))
            # A file that is written to may have grown since it was measured.
            if yielded > held and yielded > (held := self._held()):
                raise TraceError(f"{self._path}: its rows hold more than its {held:,} bytes: they share pages")
            yield row

    def _held(self) -> int:
        """Bytes of the file and its log, now."""
        try:
            self._known = self._read.stat().st_size + (_size(self._read, "-wal") or 0)
        except (OSError, NotATrace):
            pass  # removed, or replaced: what is open stays as large as it was
        return self._known

    def _query(self, sql: str, *values: object) -> Iterator[Any]:
        self._ticks = 0
        try:
            # Not `yield from`: that would close the cursor when the reader stops early, after its database.
            for row in self._db.execute(sql, values):  # noqa: UP028
                yield row
        except sqlite3.Error as error:
            reason = "reading it does not end" if self._ticks > self._most else f"cannot be read further: {error}"
            raise TraceError(f"{self._path}: {reason}") from None

    def _tick(self) -> bool:
        # For each statement: how many there are is up to us, how long each takes is up to the file.
        self._ticks += 1
        return self._ticks > self._most

    def _bytes(self, value: object) -> bytes:
        """A column's bytes; SQLite accepts any type in any column."""
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode(errors="replace")
        raise TraceError(f"{self._path}: a column holds a {type(value).__name__} where bytes belong")


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _size(path: Path, suffix: str) -> int | None:
    """Bytes of a file that SQLite keeps next to a database; None without one. NotATrace for a pipe or a link."""
    beside = path.with_name(path.name + suffix)
    try:
        known = os.lstat(beside)
        check_regular(known, beside, MAX_FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotATrace(f"{path}: its {suffix} file: {error.strerror}") from None
    return known.st_size


@cache
def _objects(schema: str) -> frozenset[_Object]:
    """What `sqlite_master` says of an empty trace."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(schema)
        return frozenset(database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


def _unlike(found: set[_Object], expected: frozenset[_Object]) -> str | None:
    """What is wrong with a schema, as the rest of a sentence; None where it is the expected one."""
    named = {(kind, name) for kind, name, _, _ in expected}
    for kind, name, _, _ in sorted(found - expected, key=str):
        shown = f"{str(kind)[:20]} `{str(name)[:80]}`"
        if (kind, name) in named:
            return f"its {shown} is not that of a trace"
        return f"it has a {shown} that a trace does not have"
    missing = sorted(expected - found, key=str)
    return f"it lacks the {missing[0][0]} `{missing[0][1]}`" if missing else None

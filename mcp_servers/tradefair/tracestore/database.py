"""SQLite files that may have been made to hurt whoever opens them: nothing of them runs for long, nothing is written.

Who reads one looks at `objects` first: where these are the expected tables, there is no view, trigger or virtual table
that could run. What is left are damaged structures, and those are bounded, too: `scan` reads a table in the order of
its keys, which must rise, and ends when it yields more bytes than the file holds, as what goes round in a circle does.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from operator import methodcaller
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from tradefair.contract import TraceError
from tradefair.files.user_files import MAX_FILE, MIB, check_regular, regular
from tradefair.tracestore.source import NotATrace

MAGIC = b"SQLite format 3\x00"
"""The first 16 bytes of every SQLite 3 file."""

HEADER = 20
"""Bytes of a file that `Database` wants to see: the magic, and whether the file is in WAL mode."""

# No statement of ours is longer or deeper.
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1 << 16,  # of a text in the schema; `Database` allows more once it has read that
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
_LOG_HEADER = 32  # bytes of a -wal before its first frame
# How a rollback journal ends that names another file, which SQLite would go and look for.
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
# UnicodeDecodeError: a message of SQLite names what stands in the file, which need not be text.
_FAULTS = (sqlite3.Error, UnicodeDecodeError)

SchemaObject: TypeAlias = tuple[str, str, str, str | None]
"""A row of `sqlite_master`: type, name, table, SQL."""


class Database:
    """An SQLite file, open for reading. `objects` are those of its schema.

    `alone`: it says that it has a log, and none lies next to it.
    """

    def __init__(self, path: Path, header: bytes | None = None, most: int = 16 * MIB) -> None:
        """`header`: the first bytes of the file, where they are known; `most`: bytes of the largest value.

        Raises NotATrace for what is no regular file or too large, TraceError for what SQLite cannot read.
        """
        self._path = self._read = path  # `_read`: the private copy, where there is one
        self._copy: TemporaryDirectory[str] | None = None
        self._ticks, self._most, self._known = 0, _TICKS_OF_SCHEMA, 0
        try:
            if header is None:
                with regular(path) as file:
                    header = file.read(HEADER)
            log, index, journal = (_size(path, suffix) for suffix in ("-wal", "-shm", "-journal"))
            lacks_log = header[18:20] == _WAL and (log is None or (log == 0 and index is None))
            self.alone = lacks_log and not journal
            # In WAL mode and without its log: SQLite would make one, `immutable` keeps it from that.
            if self.alone:
                self._db = self._connected(path, "immutable=1")
            # Killed when it changed its mode.
            elif lacks_log:
                self._db = self._copied(path, "-journal")
            # A log without its index: to read it where it lies would make the index. One that ends with its header: its
            # writer was killed before the index knew of it, and SQLite waits ten seconds for that writer.
            elif log and (index is None or log <= _LOG_HEADER):
                self._db = self._copied(path, "-wal")
            else:
                self._db = self._in_place(path)
            self.objects = frozenset[SchemaObject](self.query("SELECT type, name, tbl_name, sql FROM sqlite_master"))
            self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most)
            held = self._held()
            if held > 2 * MAX_FILE:  # a journal may say that the file was larger
                raise NotATrace(f"{path}: {held:,} bytes with its log; at most {2 * MAX_FILE:,} are read")
        except (*_FAULTS, OSError) as error:
            self.close()
            raise TraceError(f"{path}: not a readable trace: {getattr(error, 'strerror', error)}") from None
        except BaseException:
            self.close()
            raise
        self._db.set_progress_handler(self._tick, _STEPS)
        self._most = 5_000 + held // 5_000

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

    def scan(self, sql: str, *values: object) -> Iterator[Any]:
        """The rows of a SELECT in the order of its first column, a key. TraceError where it does not rise.

        Or where the rows hold more bytes than the file.
        """
        last, yielded, held = None, 0, self._known
        with self._reading():
            for row in self._db.execute(f"{sql} ORDER BY 1", values):
                key = row[0]
                # Keys of two types: SQLite puts any value into any column.
                if last is not None and (type(key) is not type(last) or key <= last):
                    raise TraceError(f"{self._path}: two rows have the key `{str(key)[:80]}`, or one is out of order")
                last = key
                # A loop, and no sum of a generator: this runs for each event of each trace.
                for value in row:
                    if value is not None and (type(value) is bytes or type(value) is str):
                        yielded += len(value)
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

    def query(self, sql: str, *values: object) -> Iterator[Any]:
        """The rows of a statement. TraceError where SQLite cannot read them, or is not done within its budget."""
        with self._reading():
            # Not `yield from`: that would close the cursor when the reader stops early, after its database.
            for row in self._db.execute(sql, values):  # noqa: UP028
                yield row

    @contextmanager
    def _reading(self) -> Generator[None]:
        """What goes wrong while one statement is read, as TraceError. Around the loop: `scan` reads each event."""
        self._ticks = 0
        try:
            yield
        except _FAULTS as error:
            reason = "reading it does not end" if self._ticks > self._most else f"cannot be read further: {error}"
            raise TraceError(f"{self._path}: {reason}") from None

    def _tick(self) -> bool:
        # For each statement: how many there are is up to us, how long each takes is up to the file.
        self._ticks += 1
        return self._ticks > self._most

    def _in_place(self, path: Path) -> sqlite3.Connection:
        try:
            # readonly_shm: an index that no process has open stays as it is, too.
            return self._connected(path, "mode=ro&readonly_shm=1")
        except sqlite3.OperationalError as error:
            # The same, where the log was begun again: behind its new header lie old frames.
            if error.sqlite_errorcode == sqlite3.SQLITE_PROTOCOL:
                return self._copied(path, "-wal")
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
            # Not a function of ours: this runs for each text of each row.
            database.text_factory = methodcaller("decode", errors="replace")
            for pragma in _PRAGMAS:
                database.execute(f"PRAGMA {pragma}")
            # `connect` reads nothing: this is what rolls back, or fails.
            database.execute("PRAGMA schema_version").fetchall()
        except BaseException:
            database.close()
            raise
        return database


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

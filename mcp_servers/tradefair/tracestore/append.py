"""A `.trace` file that is written to while what it holds happens: how it begins, goes on and is sealed.

Plain `sqlite3` in WAL mode: a commit survives the death of the process. The host's log of an episode begins its files
here; the recorder, which is to be ready before a client notices it, writes by `TraceLog`. Imports neither pydantic nor
an event loop.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract.chain import canonical, first_hash, next_hash
from tradefair.contract.errors import StorageUnavailable, TraceError
from tradefair.contract.foreign import Stored
from tradefair.files.folders import drafted
from tradefair.tracestore.beside import SIDE_TABLES, RowDigest, covering, sqlite_rows
from tradefair.tracestore.locks import Lease
from tradefair.tracestore.schema import EVENT_COLUMNS, SCHEMA

_SLOTS = "(" + ", ".join("?" * len(EVENT_COLUMNS)) + ")"
_PATIENCE_MS = 5_000  # for a lock that a stranger holds


def begin(path: Path, core: bytes, about: Mapping[str, Any], rows: Iterable[Sequence[object]]) -> None:
    """Write manifest and first events as one file, which gets its name when it is whole.

    `rows` are values of EVENT_COLUMNS. Raises OSError, sqlite3.Error, TraceError where the name is taken.
    """
    with drafted(path) as draft:
        with closing(sqlite3.connect(draft, isolation_level=None)) as database:
            # The mode in which it goes on.
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript("BEGIN;" + SCHEMA)
            database.executemany("INSERT INTO meta VALUES (?, ?)", [("core", core), ("about", orjson.dumps(about))])
            database.executemany(f"INSERT INTO events VALUES {_SLOTS}", rows)
            database.execute("COMMIT")
            # Everything into the file, which alone gets the name. Closing does that too, and hides what fails.
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        # Again, now that the lease is held: another writer may have been faster.
        if path.exists():
            raise TraceError(f"{path}: exists already")


def connect(path: Path, synchronous: str = "NORMAL") -> sqlite3.Connection:
    """A connection that appends; with `FULL` a commit survives the loss of power, too. Raises sqlite3.Error."""
    # Autocommit (`isolation_level=None`): a statement is a transaction, without the module's own BEGIN and COMMIT.
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"PRAGMA synchronous = {'FULL' if synchronous == 'FULL' else 'NORMAL'}")
    except BaseException:
        database.close()
        raise
    return database


@contextmanager
def transaction(database: sqlite3.Connection) -> Generator[None]:
    """All that the body writes, or nothing where it fails."""
    database.execute("BEGIN")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        # A full disk has rolled it back already.
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


class Beside(NamedTuple):
    """The columns of `events` from `seat` on: what is known of an event outside the chain."""

    seat: str | None = None
    call_key: str | None = None
    request_digest: str | None = None
    at_ms: int | None = None
    latency_us: int | None = None
    transport: str | None = None
    client: str | None = None
    request_id: str | None = None
    traceparent: str | None = None
    by: str | None = None


class Pending(NamedTuple):
    """A call that was handed on and not answered; `body` is what its writer has put there."""

    id: int
    seat: str
    request_id: str
    at_ms: int
    body: bytes
    cancelled: bool


class TraceLog:
    """A new trace, open for appending under a lease. Whoever uses it from several threads takes a lock.

    Writes happen within `batch`. Methods raise StorageUnavailable; then nothing of the batch was written.
    """

    def __init__(
        self, path: Path, core: Mapping[str, Any], about: Mapping[str, Any], first: Stored, beside: Beside
    ) -> None:
        """Begin the file with its first event. Raises StorageUnavailable, TraceError where the name is taken."""
        self.path = path
        core_bytes = canonical(core)
        self._about, self._sealed = orjson.dumps(about), False
        self.seq, self._head = 0, first_hash(core_bytes)
        self._calls, self._new = RowDigest(), list[Beside]()
        # Asked before the lease is taken: its lock file would stay next to another writer's trace.
        if path.exists():
            raise TraceError(f"{path}: exists already")
        self._lease = Lease(path)
        try:
            begin(path, core_bytes, about, [self._row(first, beside)])
            self._db = connect(path)
            self._db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            self._calls.add(self._new.pop())
        except (OSError, sqlite3.Error) as error:
            self._lease.release()
            raise StorageUnavailable(f"{path}: {error}") from None
        except BaseException:
            self._lease.release()
            raise

    @contextmanager
    def batch(self) -> Generator[None]:
        """Everything that the body writes is committed at its end, or nothing is."""
        before = self.seq, self._head
        try:
            with transaction(self._db):
                if self._sealed:
                    self._db.execute("INSERT OR REPLACE INTO meta VALUES ('about', ?)", (self._about,))
                yield
            self._sealed = False
            for beside in self._new:
                self._calls.add(beside)
        except BaseException as error:
            self.seq, self._head = before
            if isinstance(error, sqlite3.Error | OSError):
                raise StorageUnavailable(f"{self.path}: {error}") from None
            raise
        finally:
            self._new.clear()

    def append(self, event: Stored, beside: Beside) -> None:
        """One more event."""
        self._db.execute(f"INSERT INTO events VALUES {_SLOTS}", self._row(event, beside))

    def pend(self, seat: str, request_id: str, at_ms: int, body: bytes) -> int:
        """Note a call before it is handed on; its id in the table."""
        values = (seat, request_id, at_ms, body)
        found = self._db.execute(
            "INSERT INTO pending (seat, request_id, at_ms, body, cancelled) VALUES (?, ?, ?, ?, 0)", values
        )
        return found.lastrowid or 0

    def cancel(self, pending: int) -> None:
        """Note that a call was called off; an answer that comes anyhow still counts."""
        self._db.execute("UPDATE pending SET cancelled = 1 WHERE id = ?", (pending,))

    def settle(self, pending: int) -> Pending:
        """Take a call out of the table, because its answer is written in the same batch."""
        row = self._db.execute("SELECT * FROM pending WHERE id = ?", (pending,)).fetchone()
        self._db.execute("DELETE FROM pending WHERE id = ?", (pending,))
        return Pending(*row)

    def unanswered(self) -> list[int]:
        """The ids of all calls in the table, in order."""
        return [row[0] for row in self._db.execute("SELECT id FROM pending ORDER BY id")]

    def seal(self, about: Mapping[str, Any]) -> None:
        """Write `about` with its seal, which covers what lies beside the chain. A later batch takes it off again."""
        try:
            beside = {name: RowDigest() for name in SIDE_TABLES}
            for row in sqlite_rows(self._db, "pending"):
                beside["pending"].add(row)
            # Counted as they went by.
            beside["calls"] = self._calls
            covered = covering({**about, "head_seq": self.seq, "head_hash": self._head.hex()}, beside)
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('about', ?)", (orjson.dumps(covered),))
            self._sealed = True
        except sqlite3.Error as error:
            raise StorageUnavailable(f"{self.path}: {error}") from None

    def close(self) -> None:
        """Leave one plain file behind, without a WAL, and give the lease back; idempotent."""
        # A reader may hold the WAL, which is then a valid part of the trace.
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA journal_mode = DELETE").fetchall()
        self._db.close()
        self._lease.release()

    def _row(self, event: Stored, beside: Beside) -> tuple[object, ...]:
        self._new.append(beside)
        self.seq, self._head = event.seq, next_hash(self._head, event.body)
        return (event.seq, event.body, self._head, event.closes, *(event.blob or (None, None)), *beside)

"""The event log: append atomic batches, keep the chain, hold the manifest. SQLite on aiosqlite by default."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import aiosqlite
import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.contract.chain import next_hash
from tradefair.contract.core import Record
from tradefair.contract.errors import StorageUnavailable
from tradefair.files.folders import drafted
from tradefair.tracestore import (
    EVENT_COLUMNS,
    SCHEMA,
    Exchange,
    Ledger,
    Manifest,
    open_trace,
    sealed,
    sound_head,
    sqlite_rows,
)
from tradefair.tracestore.locks import Lease

_NOTE = "INSERT INTO agent_events (seat, body) VALUES (?, ?)"
_PROMPT = """INSERT INTO prompt_calls (seat, call, same, parts, tools, params, answer)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_COLUMNS = len(EVENT_COLUMNS)
_SLOT = "(" + ", ".join("?" * _COLUMNS) + ")"
# Below the 32,766 parameters that SQLite allows in one statement.
_MAX_ROWS = 32_000 // _COLUMNS
# Hashing so many takes about a millisecond; below that a thread would cost more than it spares.
_MANY_ROWS = 500

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Whose event it is, and its bytes, in SQL; as `Row.charged` and `Row.size` say. A closure is of no seat.
SIZES = "CASE WHEN closes THEN NULL ELSE seat END AS whose, SUM(LENGTH(body) + COALESCE(LENGTH(blob), 0))"


class Head(NamedTuple):
    """The last event of a log: its number (0: none) and the hash of the chain up to it (32 bytes).

    For a log without events the hash is that of the manifest.
    """

    seq: int
    hash: bytes


class Side(NamedTuple):
    """Where a call came from. Kept in columns next to the event, outside the chain: a replay cannot know it.

    Apart from `transport` these are the client's own texts, cut by `binding`; None where it did not say.
    """

    transport: str | None = None
    # The trace context of OpenTelemetry; `telemetry.py` says what is done with it.
    client: str | None = None
    request_id: str | None = None
    traceparent: str | None = None
    # "person" where somebody has clicked.
    by: str | None = None


class Row(NamedTuple):
    """One event to append, with what is stored next to it outside the chain.

    `at_ms` is the wall clock in milliseconds since 1970, `latency_us` how long the call took in microseconds;
    `request_digest` is what a repeated `call_key` must match.
    """

    record: Record
    seat: SeatId | None = None
    call_key: str | None = None
    request_digest: str | None = None
    at_ms: int | None = None
    latency_us: int | None = None
    side: Side = Side()

    @property
    def charged(self) -> SeatId | None:
        """The seat whose call it is; None for closures, which whoever acts last would pay, and what no seat called."""
        return None if self.record.closes else self.seat

    @property
    def size(self) -> int:
        """Bytes of the event, and of the large result that is stored with it."""
        return len(self.record.body) + (len(self.record.blob[1]) if self.record.blob else 0)


class EventLog(Protocol):
    """An append-only log of one episode.

    Opening it for writing takes a lease, so that two processes never continue one episode; readers need none.
    """

    @property
    def manifest(self) -> Manifest:
        """What is known since the episode began: `core` is chained, `about` is sealed at the end."""
        ...

    @property
    def head(self) -> Head:
        """The last committed event."""
        ...

    async def append(self, rows: Sequence[Row]) -> Head:
        """Commit a batch, all or nothing. Raises StorageUnavailable; then nothing was written."""
        ...

    async def call_keys(self) -> dict[tuple[SeatId, str], tuple[int, str]]:
        """Every committed call key: (seat, key) -> (seq, request digest)."""
        ...

    async def sizes(self) -> dict[SeatId | None, int]:
        """Bytes of the committed events, large results included, by the seat whose calls they are; None: all others."""
        ...

    async def event(self, seq: int) -> dict[str, Any]:
        """One committed event, a large result filled in."""
        ...

    async def bodies(self) -> list[bytes]:
        """The stored bytes of all events, in order."""
        ...

    async def note(self, seat: SeatId, body: Mapping[str, Any], prompts: Sequence[Exchange] = ()) -> None:
        """Keep something about the agent of `seat`, such as a model call, outside the chain.

        What its model was sent goes into the same batch; where that cannot be written, the note is written alone.
        """
        ...

    async def seal(self, about: Mapping[str, Any]) -> None:
        """Write the final `about` of the manifest, with its seal. Raises StorageUnavailable."""
        ...

    async def close(self) -> None:
        """Give the lease back."""
        ...


class LogStore(Protocol):
    """Where the logs of episodes lie: a folder, or a shared store.

    `path` names an episode in both; the folder in it means something to files only.
    """

    @property
    def address(self) -> str | None:
        """The address of a shared store, without a password; None where logs are files."""
        ...

    async def create(self, path: Path, manifest: Manifest, first: Sequence[Row]) -> EventLog:
        """A new log that begins with the rows `first`; it appears with them or not at all.

        Raises StorageUnavailable when it cannot be written, TraceError when it exists.
        """
        ...

    async def open(self, path: Path) -> EventLog:
        """An existing log, for going on. Raises TraceError when it is damaged, truncated, or open elsewhere."""
        ...

    def reading(self, path: Path) -> str | Path:
        """What `open_trace` takes to read it."""
        ...

    def shown(self, path: Path) -> str:
        """Where it is, for people; holds no secret."""
        ...

    async def trouble(self) -> str | None:
        """Why the store could not be reached a few seconds ago; None where it could, and for files."""
        ...

    def holds(self, path: Path) -> bool:
        """Whether it is there. Raises StorageUnavailable."""
        ...

    def remove(self, path: Path) -> None:
        """Remove it, for good. Raises StorageUnavailable."""
        ...


class SqliteLog:
    """The log of one episode in one `.trace` file, an SQLite database in WAL mode.

    With `synchronous = NORMAL` a commit survives the death of the process, not the loss of power; `FULL` survives both.
    """

    def __init__(self, path: Path, lease: Lease, db: aiosqlite.Connection, manifest: Manifest, head: Head) -> None:
        self._path = path
        self._lease = lease
        self._db = db
        self._manifest = manifest
        self._head = head
        self._noted = False
        # Made at the first prompt: most logs keep none.
        self._ledger: Ledger | None = None
        self._alone = asyncio.Lock()

    @classmethod
    async def create(
        cls, path: Path, manifest: Manifest, first: Sequence[Row], *, synchronous: str = "NORMAL"
    ) -> SqliteLog:
        """A new log that begins with `first`. Raises StorageUnavailable when it cannot be written, TraceError."""
        # Asked before the lease is taken: its lock file would otherwise stay next to another writer's trace.
        if path.exists():
            # After the test a race is left; the lease decides it.
            raise TraceError(f"{path}: exists already")
        lease = Lease(path)
        db: aiosqlite.Connection | None = None
        try:
            head = await asyncio.to_thread(_begin, path, manifest, first)
            db = await _connect(path, synchronous)
        except (OSError, sqlite3.Error) as error:
            await _give_up(db, lease)
            raise StorageUnavailable(f"{path}: {error}") from None
        # Ctrl-C among them: a connection that nobody closes outlives the event loop.
        except BaseException:
            await _give_up(db, lease)
            raise
        return cls(path, lease, db, manifest, head)

    @classmethod
    async def open(cls, path: Path, *, synchronous: str = "NORMAL") -> SqliteLog:
        """An existing log, for going on. Raises TraceError when it is damaged, truncated, or open elsewhere."""
        # Opened for reading first: what is no trace gets no lock file next to it.
        with open_trace(path):
            lease = Lease(path)
        db: aiosqlite.Connection | None = None
        try:
            # Read again under the lease: the writer that held it before may just have committed.
            with open_trace(path) as trace:
                if trace.schema == 1:
                    raise TraceError(f"{path}: written by an earlier release: it can be read, not continued")
                # Before anything is looked up by an index, and before anything is appended to the pages.
                trace.check_structure()
                manifest, head = trace.manifest, Head(*sound_head(trace))
            db = await _connect(path, synchronous)
        except sqlite3.Error as error:
            await _give_up(db, lease)
            raise TraceError(f"{path}: cannot be opened for writing: {error}") from None
        except BaseException:
            await _give_up(db, lease)
            raise
        return cls(path, lease, db, manifest, head)

    @property
    def manifest(self) -> Manifest:
        """Core and about."""
        return self._manifest

    @property
    def head(self) -> Head:
        """The last committed event."""
        return self._head

    async def append(self, rows: Sequence[Row]) -> Head:
        """Commit a batch, all or nothing; the new head.

        One statement is one transaction and one hop to SQLite's thread: three statements cost three hops (decision
        0007).
        """
        if not self._lease.held:
            await self._regain()
        stored, head = await off_loop(rows, stored_rows, rows, self._head)
        try:
            async with self._alone:
                await self._insert([value for row in stored for value in row], len(rows))
        except (sqlite3.Error, ValueError) as error:  # aiosqlite raises ValueError on a closed connection
            raise StorageUnavailable(f"{self._path.name}: {error}") from None
        # After the commit: a failed batch must leave the head where it was.
        self._head = head
        return head

    async def call_keys(self) -> dict[tuple[SeatId, str], tuple[int, str]]:
        """Every committed call key."""
        sql = "SELECT seat, call_key, seq, request_digest FROM events WHERE call_key IS NOT NULL"
        return {(seat, key): (seq, digest) for seat, key, seq, digest in await self._rows(sql)}

    async def sizes(self) -> dict[SeatId | None, int]:
        """Bytes of the committed events by seat."""
        sql = f"SELECT {SIZES} FROM events GROUP BY whose"
        return dict(await self._rows(sql))

    async def event(self, seq: int) -> dict[str, Any]:
        """One committed event, a large result filled in."""
        event = orjson.loads(await self._value("SELECT body FROM events WHERE seq = ?", seq))
        # A large result is stored once, with the event that had it first (docs/decisions/0007).
        if event.get("result_ref"):
            blob = await self._value("SELECT blob FROM events WHERE blob_digest = ?", event["result_ref"])
            event["result"] = orjson.loads(blob)
        return event

    async def bodies(self) -> list[bytes]:
        """The stored bytes of all events.

        In the order of their numbers, from 1.
        """
        return [_bytes(row[0]) for row in await self._rows("SELECT body FROM events ORDER BY seq")]

    async def note(self, seat: SeatId, body: Mapping[str, Any], prompts: Sequence[Exchange] = ()) -> None:
        """Keep something about an agent, and what its model was sent.

        Raises StorageUnavailable. A note after the seal is allowed and makes another seal due (`close`).
        """
        noted = (seat, orjson.dumps(body))
        try:
            # Shielded: a player that is cancelled between two statements must not leave a transaction open.
            if not (prompts and await asyncio.shield(self._note_with(noted, prompts))):
                await self._db.execute(_NOTE, noted)
        except sqlite3.Error as error:
            raise StorageUnavailable(f"{self._path.name}: {error}") from None
        self._noted = True

    async def _note_with(self, noted: tuple[SeatId, bytes], prompts: Sequence[Exchange]) -> bool:
        """Write the note and what the model was sent, both or neither; whether they are written."""
        # Held over the whole transaction: a batch of events within one that is rolled back would be lost.
        async with self._alone:
            try:
                if self._ledger is None:
                    known = await self._db.execute_fetchall("SELECT n, digest FROM prompt_parts")
                    self._ledger = Ledger((number, digest) for number, digest in known)
                rows = self._ledger.rows(noted[0], prompts)
                await self._db.execute("BEGIN")
                await self._db.execute(_NOTE, noted)
                await self._db.executemany("INSERT INTO prompt_parts VALUES (?, ?, ?)", rows.parts)
                await self._db.executemany(_PROMPT, rows.calls)
                await self._db.execute("COMMIT")
            # Whatever it is, a full disk or a damaged table: it must not stop play.
            except (sqlite3.Error, TypeError, ValueError, OverflowError):
                if self._db.in_transaction:
                    await self._db.execute("ROLLBACK")
                return False
        self._ledger.wrote(noted[0], rows)
        return True

    async def seal(self, about: Mapping[str, Any]) -> None:
        """Write about with its seal, which covers what lies beside the chain so far."""
        # Before the notes are read: what is noted from here on needs another seal.
        self._noted = False
        try:
            covered = await asyncio.to_thread(_covered, self._path, about)
            async with self._alone:
                # A signature that fitted an earlier seal would make the trace a damaged one.
                await self._db.execute("DELETE FROM meta WHERE key = 'signature'")
                await self._db.execute("INSERT OR REPLACE INTO meta VALUES ('about', ?)", (orjson.dumps(covered),))
        except (sqlite3.Error, TraceError) as error:
            raise StorageUnavailable(f"{self._path.name}: {error}") from None
        self._manifest = self._manifest._replace(about=covered)

    async def close(self) -> None:
        """Leave one plain file behind, without a WAL, and give the lease back; idempotent.

        An agent's report comes after the end of its episode: what was noted since the seal is sealed now.
        """
        try:
            # Only where a seal is there already: an episode that is not over gets its own later.
            if self._noted and self._manifest.sealed:
                await self.seal(self._manifest.about)
        except StorageUnavailable:
            pass  # the trace stays readable; `verify` says that there are notes after the seal
        try:
            await self._db.execute("PRAGMA journal_mode = DELETE")
        except (sqlite3.Error, ValueError):
            pass  # a reader holds the WAL, which is then a valid part of the trace; or the log is closed already
        await self._db.close()
        self._lease.release()

    async def _regain(self) -> None:
        """Take the lease again after its lock file was removed.

        Raises StorageUnavailable when another process writes, or wrote meanwhile: then memory and log disagree.
        """
        try:
            self._lease.take()
            head = await _stored_head(self._db, self._manifest)
        except (TraceError, sqlite3.Error) as error:
            raise StorageUnavailable(f"{self._path.name}: the lease is lost: {error}") from None
        # Memory and log disagree now; the caller rebuilds, and then goes on from this head.
        if head != self._head:
            self._head = head
            raise StorageUnavailable(f"{self._path.name}: another process wrote to it")

    async def _insert(self, values: list[object], count: int) -> None:
        # SQLite allows 32,766 parameters in a statement; more rows take several, in one transaction.
        if count <= _MAX_ROWS:
            await self._db.execute("INSERT INTO events VALUES " + ", ".join([_SLOT] * count), values)
            return
        await self._db.execute("BEGIN")
        try:
            step = _MAX_ROWS * _COLUMNS
            for start in range(0, len(values), step):
                part = values[start : start + step]
                await self._db.execute(
                    "INSERT INTO events VALUES " + ", ".join([_SLOT] * (len(part) // _COLUMNS)), part
                )
        # Nothing of the batch may stay: its callers are told that nothing was written.
        except sqlite3.Error:
            await self._db.execute("ROLLBACK")
            raise
        await self._db.execute("COMMIT")

    async def _value(self, sql: str, key: object) -> bytes:
        rows = await self._rows(sql, (key,))
        if not rows:
            raise TraceError(f"{self._path.name}: {key} is not in the log")
        return _bytes(rows[0][0])

    async def _rows(self, sql: str, values: tuple[object, ...] = ()) -> list[Any]:
        try:
            return list(await self._db.execute_fetchall(sql, values))
        except sqlite3.Error as error:
            raise TraceError(f"{self._path.name}: cannot be read: {error}") from None


class _Files:
    """A `.trace` file per episode.

    The default of every command that takes no store.
    """

    address = None

    async def create(self, path: Path, manifest: Manifest, first: Sequence[Row]) -> EventLog:
        return await SqliteLog.create(path, manifest, first)

    async def open(self, path: Path) -> EventLog:
        return await SqliteLog.open(path)

    def reading(self, path: Path) -> str | Path:
        return path

    def shown(self, path: Path) -> str:
        return str(path.absolute())

    async def trouble(self) -> str | None:
        return None

    def holds(self, path: Path) -> bool:
        return path.exists()

    def remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageUnavailable(f"{path}: {error.strerror}") from None


async def off_loop(rows: Sequence[Row], encode: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """`encode(…)`; of a large batch in a thread, so that the event loop need not wait for its hashes."""
    return encode(*args, **kwargs) if len(rows) <= _MANY_ROWS else await asyncio.to_thread(encode, *args, **kwargs)


FILES: LogStore = _Files()
"""The default: `.trace` files."""


def _bytes(value: object) -> bytes:
    """A column's bytes; SQLite lets any type stand in any column.

    Text instead of bytes can only come from an edited file; it then fails as a damaged event.
    """
    if isinstance(value, bytes):
        return value
    return str(value).encode(errors="replace")


def _covered(path: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """About with its seal; blocks for as long as all rows take."""
    # A connection of its own: the log's thread stays free, and its library gives no other code a way into it.
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        return sealed(about, partial(sqlite_rows, database))


def stored_rows(rows: Sequence[Row], head: Head) -> tuple[list[tuple[Any, ...]], Head]:
    """The columns of events that follow `head`, and the head behind them."""
    stored: list[tuple[Any, ...]] = []
    for row in rows:
        record = row.record
        head = Head(record.seq, next_hash(head.hash, record.body))
        digest, blob = record.blob or (None, None)
        event = (record.seq, record.body, head.hash, record.closes, digest, blob)
        stored.append((*event, row.seat, row.call_key, row.request_digest, row.at_ms, row.latency_us, *row.side))
    return stored, head


def _begin(path: Path, manifest: Manifest, first: Sequence[Row]) -> Head:
    """Write a log's manifest and first rows as one file, which gets its name when it is whole; its head.

    Raises OSError, sqlite3.Error, TraceError where the name is taken.
    """
    stored, head = stored_rows(first, Head(0, manifest.first_hash))
    with drafted(path) as draft:
        with closing(sqlite3.connect(draft, isolation_level=None)) as database:
            # The mode in which it goes on.
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript("BEGIN;" + SCHEMA)
            meta = [("core", manifest.core_bytes), ("about", orjson.dumps(manifest.about))]
            database.executemany("INSERT INTO meta VALUES (?, ?)", meta)
            database.executemany(f"INSERT INTO events VALUES {_SLOT}", stored)
            database.execute("COMMIT")
            # Everything into the file, which alone gets the name. Closing does that too, and hides what fails.
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        # Again, now that the lease is held: another writer may have been faster.
        if path.exists():
            raise TraceError(f"{path}: exists already")
    return head


async def _stored_head(db: aiosqlite.Connection, manifest: Manifest) -> Head:
    rows = list(await db.execute_fetchall("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"))
    return Head(rows[0][0], _bytes(rows[0][1])) if rows else Head(0, manifest.first_hash)


async def _give_up(db: aiosqlite.Connection | None, lease: Lease) -> None:
    if db is not None:
        await db.close()
    lease.release()


async def _connect(path: Path, synchronous: str) -> aiosqlite.Connection:
    # Autocommit (`isolation_level=None`): the module's own transactions would need a commit, which is one more hop.
    db = await aiosqlite.connect(path, isolation_level=None)
    try:
        await db.execute("PRAGMA journal_mode = WAL")
        await db.execute(f"PRAGMA synchronous = {'FULL' if synchronous == 'FULL' else 'NORMAL'}")
    except BaseException:
        await db.close()
        raise
    return db

"""The event log: append atomic batches, keep the chain, hold the manifest. SQLite by default."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.contract.chain import next_hash
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Record
from tradefair.host.episode.apart import Apart
from tradefair.host.episode.pace import Pace
from tradefair.tracestore import EVENT_COLUMNS, Exchange, Ledger, Manifest, open_trace, sealed, sound_head, sqlite_rows
from tradefair.tracestore.append import begin, connect, transaction
from tradefair.tracestore.locks import Lease
from tradefair.tracestore.writer import enlarge

_NOTE = "INSERT INTO agent_events (seat, body) VALUES (?, ?)"
_PROMPT = """INSERT INTO prompt_calls (seat, call, same, parts, tools, params, answer)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_COLUMNS = len(EVENT_COLUMNS)
_SLOT = "(" + ", ".join("?" * _COLUMNS) + ")"
# Below the 32,766 parameters that SQLite allows in one statement.
_MAX_ROWS = 32_000 // _COLUMNS
# Hashing so many takes about a millisecond; below that a thread would cost more than it spares.
_MANY_ROWS = 500
# What is written on the event loop: half a millisecond at most, where a thread costs at least 0.04 and its switches.
SMALL_ROWS, _SMALL_BYTES = 64, 64 * 1024
# Bytes of the write-ahead log that are worth a checkpoint: the thousand pages of SQLite's own rule, and what a commit
# adds to it, whatever its size: pages of the table, of an index and of a root.
_CHECKPOINT_BYTES, _TOUCHED_BYTES = 1_000 * 4_096, 3 * 4_096
_PATIENCE_S, _PAUSE_S = 5.0, 0.01  # for a lock that a stranger holds

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

    @property
    def slow(self) -> bool:
        """Whether the disk is too slow at present for commits on the event loop."""
        ...

    async def append(self, rows: Sequence[Row]) -> Head:
        """Commit a batch, all or nothing. Raises StorageUnavailable; then nothing was written."""
        ...

    def append_now(self, rows: Sequence[Row]) -> bool:
        """Commit a small batch before this returns; False where it must be left to `append`. Raises as that does."""
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
    Small commits under `NORMAL` are made on the event loop, where nothing waits for the disk: they only hand pages to
    the system. Whatever syncs is done in a thread: checkpoints, the first commit behind one, all of `FULL`.
    """

    def __init__(self, path: Path, lease: Lease, apart: Apart, manifest: Manifest, head: Head, *, waits: bool) -> None:
        """`waits`: each commit waits for the disk (`FULL`)."""
        self._path = path
        self._lease = lease
        self._apart = apart
        self._db = apart.own
        self._manifest = manifest
        self._head = head
        self._waits = waits
        self._pace = Pace()
        # Bytes of the write-ahead log since the last checkpoint. At first as if one were due: the first commit of all
        # makes that file and syncs its header.
        self._unfolded = _CHECKPOINT_BYTES
        self._noted = False
        # Made at the first prompt: most logs keep none.
        self._ledger: Ledger | None = None
        # Held while a thread uses the connection.
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
        try:
            head = await asyncio.to_thread(_begin, path, manifest, first)
            apart = Apart(partial(_connect, path, synchronous))
            await apart
        except (OSError, sqlite3.Error) as error:
            lease.release()
            raise StorageUnavailable(f"{path}: {error}") from None
        except BaseException:
            lease.release()
            raise
        return cls(path, lease, apart, manifest, head, waits=synchronous == "FULL")

    @classmethod
    async def open(cls, path: Path, *, synchronous: str = "NORMAL") -> SqliteLog:
        """An existing log, for going on. Raises TraceError when it is damaged, truncated, or open elsewhere."""
        # Opened for reading first: what is no trace gets no lock file next to it.
        with open_trace(path):
            lease = Lease(path)
        try:
            # Read again under the lease: the writer that held it before may just have committed.
            with open_trace(path) as trace:
                if trace.schema == 1:
                    raise TraceError(f"{path}: written by an earlier release: it can be read, not continued")
                # Before anything is looked up by an index, and before anything is appended to the pages.
                trace.check_structure()
                manifest, head = trace.manifest, Head(*sound_head(trace))
            apart = Apart(partial(_connect, path, synchronous))
            await apart
        except sqlite3.Error as error:
            lease.release()
            raise TraceError(f"{path}: cannot be opened for writing: {error}") from None
        except BaseException:
            lease.release()
            raise
        return cls(path, lease, apart, manifest, head, waits=synchronous == "FULL")

    @property
    def manifest(self) -> Manifest:
        """Core and about."""
        return self._manifest

    @property
    def head(self) -> Head:
        """The last committed event."""
        return self._head

    @property
    def slow(self) -> bool:
        """Whether the last commits on the event loop were slow, so that for a minute all are made in a thread."""
        return self._pace.slow

    async def append(self, rows: Sequence[Row]) -> Head:
        """Commit a batch in a thread, all or nothing; the new head."""
        if not self._lease.held:
            await self._regain()
        stored, head = await off_loop(rows, stored_rows, rows, self._head)
        try:
            await self._written(sum(row.size for row in rows), partial(self._extend, stored, head))
        except sqlite3.Error as error:
            raise StorageUnavailable(f"{self._path.name}: {error}") from None
        return head

    def append_now(self, rows: Sequence[Row]) -> bool:
        """Commit a small batch on the event loop; False where it is large, or may have to wait."""
        size = sum(row.size for row in rows)
        if (
            len(rows) > SMALL_ROWS
            or size > _SMALL_BYTES
            or self._waits
            or self._unfolded >= _CHECKPOINT_BYTES
            or self._alone.locked()
            or self._pace.slow
            or not self._lease.held
        ):
            return False
        stored, head = stored_rows(rows, self._head)
        try:
            self._pace.timed(self._extend, stored, head)
        except sqlite3.Error as error:
            # A stranger's lock: in a thread there is time to wait for it.
            if _locked(error):
                return False
            raise StorageUnavailable(f"{self._path.name}: {error}") from None
        self._unfolded += _TOUCHED_BYTES + size
        return True

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
        # A large result is stored once, with the event that had it first (docs/explanation/why/tracestore.md).
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
            await self._written(len(noted[1]), partial(self._insert_note, noted, prompts))
        except sqlite3.Error as error:
            raise StorageUnavailable(f"{self._path.name}: {error}") from None

    def _insert_note(self, noted: tuple[SeatId, bytes], prompts: Sequence[Exchange]) -> None:
        if not (prompts and self._insert_prompts(noted, prompts)):
            self._db.execute(_NOTE, noted)
        # Here and not by the caller, who may have been cancelled.
        self._noted = True

    def _insert_prompts(self, noted: tuple[SeatId, bytes], prompts: Sequence[Exchange]) -> bool:
        """Write the note and what the model was sent, both or neither; whether they are written."""
        try:
            if self._ledger is None:
                self._ledger = Ledger(self._db.execute("SELECT n, digest FROM prompt_parts"))
            rows = self._ledger.rows(noted[0], prompts)
            with transaction(self._db):
                self._db.execute(_NOTE, noted)
                self._db.executemany("INSERT INTO prompt_parts VALUES (?, ?, ?)", rows.parts)
                self._db.executemany(_PROMPT, rows.calls)
        # Whatever it is, a full disk or a damaged table: it must not stop play.
        except (sqlite3.Error, TypeError, ValueError, OverflowError):
            return False
        self._ledger.wrote(noted[0], rows)
        self._unfolded += sum(len(part[-1]) for part in rows.parts)
        return True

    async def seal(self, about: Mapping[str, Any]) -> None:
        """Write about with its seal, which covers what lies beside the chain so far."""
        # Before the notes are read: what is noted from here on needs another seal.
        self._noted = False
        try:
            covered = await asyncio.to_thread(_covered, self._path, about)
            written = orjson.dumps(covered)
            await self._written(len(written), partial(self._replace_about, written))
        except (sqlite3.Error, TraceError) as error:
            raise StorageUnavailable(f"{self._path.name}: {error}") from None
        self._manifest = self._manifest._replace(about=covered)

    def _replace_about(self, about: bytes) -> None:
        # A signature that fitted an earlier seal would make the trace a damaged one.
        self._db.execute("DELETE FROM meta WHERE key = 'signature'")
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('about', ?)", (about,))

    async def close(self) -> None:
        """Leave one plain file behind, without a WAL, and give the lease back; idempotent.

        An agent's report comes after the end of its episode: what was noted since the seal is sealed now.
        """
        # A thread may still write for a caller that has gone away.
        async with self._alone:
            noted = self._noted
        try:
            # Only where a seal is there already: an episode that is not over gets its own later.
            if noted and self._manifest.sealed:
                await self.seal(self._manifest.about)
        except StorageUnavailable:
            pass  # the trace stays readable; `verify` says that there are notes after the seal
        try:
            await self._in_thread(lambda: self._db.execute("PRAGMA journal_mode = DELETE").fetchall())
        except sqlite3.Error:
            pass  # a reader holds the WAL, which is then a valid part of the trace; or the log is closed already
        async with self._alone:
            await self._apart.close()
        self._lease.release()

    async def _regain(self) -> None:
        """Take the lease again after its lock file was removed.

        Raises StorageUnavailable when another process writes, or wrote meanwhile: then memory and log disagree.
        """
        try:
            self._lease.take()
            head = await self._in_thread(partial(_stored_head, self._db, self._manifest))
        except (TraceError, sqlite3.Error) as error:
            raise StorageUnavailable(f"{self._path.name}: the lease is lost: {error}") from None
        # Memory and log disagree now; the caller rebuilds, and then goes on from this head.
        if head != self._head:
            self._head = head
            raise StorageUnavailable(f"{self._path.name}: another process wrote to it")

    def _extend(self, stored: Sequence[tuple[object, ...]], head: Head) -> None:
        self._insert(stored)
        # After the commit: a failed batch must leave the head where it was. And where it is made, in a thread, too: the
        # caller may have been cancelled.
        self._head = head

    def _insert(self, stored: Sequence[tuple[object, ...]]) -> None:
        """One statement is one transaction: its events, their keys and the trigger of a closure have one fate."""
        if len(stored) <= _MAX_ROWS:
            self._insert_rows(stored)
            return
        with transaction(self._db):
            for start in range(0, len(stored), _MAX_ROWS):
                self._insert_rows(stored[start : start + _MAX_ROWS])

    def _insert_rows(self, stored: Sequence[tuple[object, ...]]) -> None:
        values = [value for row in stored for value in row]
        self._db.execute("INSERT INTO events VALUES " + ", ".join([_SLOT] * len(stored)), values)

    async def _written(self, size: int, write: Callable[[], None]) -> None:
        """Write so many bytes in a thread, behind a checkpoint where one is due."""
        await self._in_thread(partial(_patiently, partial(self._write, write)))
        self._unfolded += _TOUCHED_BYTES + size

    def _write(self, write: Callable[[], None]) -> None:
        if self._unfolded >= _CHECKPOINT_BYTES:
            # Before the batch: the first write behind a checkpoint begins the file again and syncs its header.
            with suppress(sqlite3.Error):
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            self._unfolded = 0
        write()

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        """What `work` returns, done in a thread while no other work uses the connection."""
        await self._alone.acquire()
        try:
            done = self._apart.run(work)
        except BaseException:
            self._alone.release()
            raise
        # By its end and not by the caller's: who is cancelled leaves a thread at work.
        done.add_done_callback(lambda _: self._alone.release())
        return await asyncio.shield(done)

    async def _value(self, sql: str, key: object) -> bytes:
        rows = await self._rows(sql, (key,))
        if not rows:
            raise TraceError(f"{self._path.name}: {key} is not in the log")
        return _bytes(rows[0][0])

    async def _rows(self, sql: str, values: tuple[object, ...] = ()) -> list[Any]:
        try:
            return await self._in_thread(partial(_patiently, lambda: self._db.execute(sql, values).fetchall()))
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
    begin(path, manifest.core_bytes, manifest.about, stored)
    return head


def _stored_head(db: sqlite3.Connection, manifest: Manifest) -> Head:
    row = db.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    return Head(row[0], _bytes(row[1])) if row else Head(0, manifest.first_hash)


def _patiently(work: Callable[[], _T]) -> _T:
    """What `work` returns, tried again while a stranger has locked the file. Blocks: for threads."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if not _locked(error) or time.monotonic() > until:
                raise
        time.sleep(_PAUSE_S)


def _locked(error: sqlite3.Error) -> bool:
    # The last byte is the kind; what is misused has none.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def _connect(path: Path, synchronous: str) -> sqlite3.Connection:
    db = connect(path, synchronous)
    try:
        # A checkpoint syncs: `_write` makes it, in a thread.
        db.execute("PRAGMA wal_autocheckpoint = 0")
        # The event loop waits for no lock; threads do, in `_patiently`.
        db.execute("PRAGMA busy_timeout = 0")
        enlarge(db)
    except BaseException:
        db.close()
        raise
    return db

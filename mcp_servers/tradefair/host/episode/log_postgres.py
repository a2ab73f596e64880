"""Event logs in a PostgreSQL database that several hosts share: the promises of `SqliteLog`, on another machine.

- A batch is one statement and one transaction, and committed when the server says so (`synchronous_commit`).
- The lease of an episode is an advisory lock of the writer's session; the server drops it with the connection. Even
  without it two writers could not both append: the number of an event is its primary key.
- When a connection breaks during a commit, it is unknown whether the commit was made. The stored hash of the last event
  tells, as soon as the server can be asked; until then nothing else is appended.

The driver is the extra `postgres`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.host.episode.log import SIZES, EventLog, Head, Row, off_loop, stored_rows
from tradefair.tracestore import (
    Exchange,
    Ledger,
    Manifest,
    StorePlace,
    open_trace,
    sealed,
    sound_head,
    without_password,
)
from tradefair.tracestore.store import STORE_SCHEMA, StoreReader, psycopg_of

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.AsyncConnection[tuple[Any, ...]]

_CONNECT_S = 10  # seconds to connect
_DEAD_AFTER_S = 45
"""Seconds after which a session loses its lease when its client's machine has vanished."""
# Seconds; a status page that is renewed every few seconds must not load the store.
_ASK_AGAIN_S = 5.0

_log = logging.getLogger("tradefair.host")

_COLUMNS = (
    ("seq", "bigint"),
    ("body", "bytea"),
    ("hash", "bytea"),
    ("closes", "boolean"),
    ("blob_digest", "text"),
    ("blob", "bytea"),
    ("seat", "text"),
    ("call_key", "text"),
    ("request_digest", "text"),
    ("at_ms", "bigint"),
    ("latency_us", "bigint"),
    ("transport", "text"),
    ("client", "text"),
    ("request_id", "text"),
    ("traceparent", "text"),
    ("by", "text"),
)
_NAMES = ", ".join(name for name, _ in _COLUMNS)
# One array per column: the number of parameters does not depend on the number of rows.
_ARRAYS = ", ".join(f"%s::{kind}[]" for _, kind in _COLUMNS)
_APPEND = f"INSERT INTO tradefair_events (episode, {_NAMES}) SELECT %s, * FROM unnest({_ARRAYS})"
# Event and head of the last closure in one statement, as the trigger does it in SQLite
# (docs/explanation/why/tracestore.md).
_APPEND_AND_CLOSE = f"""WITH added AS ({_APPEND})
UPDATE tradefair_episodes SET closed_seq = %s, closed_hash = %s WHERE episode = %s"""
_NOTE = "INSERT INTO tradefair_notes (episode, seat, body) VALUES (%s, %s, %s)"
_NOTE_WITH = f"""WITH parts AS (
    INSERT INTO tradefair_prompt_parts (episode, n, digest, body)
    SELECT %s, * FROM unnest(%s::bigint[], %s::bytea[], %s::bytea[])
), calls AS (
    INSERT INTO tradefair_prompt_calls (episode, seat, call, same, parts, tools, params, answer)
    SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bytea[], %s::bigint[], %s::bytea[], %s::bytea[])
) {_NOTE}"""


class PostgresStore:
    """The logs of one database; an episode is named by the stem of its path."""

    def __init__(self, dsn: str) -> None:
        # Imported now, so that a missing driver is named before a host starts.
        psycopg_of()
        self._dsn = dsn
        self._asking = asyncio.Lock()
        self._ask_at = 0.0
        self._trouble: str | None = None

    @property
    def address(self) -> str:
        """The database, without a password."""
        return without_password(self._dsn)

    async def create(self, path: Path, manifest: Manifest, first: Sequence[Row]) -> EventLog:
        """A new log that begins with `first`. Raises StorageUnavailable, TraceError when it exists."""
        return await PostgresLog.create(self.place(path), manifest, first)

    async def open(self, path: Path) -> EventLog:
        """An existing log, for going on. Raises TraceError when it is damaged, truncated, or open elsewhere."""
        return await PostgresLog.open(self.place(path))

    def reading(self, path: Path) -> str | Path:
        """The address of the log of this path."""
        return self.place(path).url

    def shown(self, path: Path) -> str:
        """The address without user, password and options, for people."""
        return str(self.place(path))

    async def trouble(self) -> str | None:
        """Why the store cannot be reached, or None. It is asked at most every five seconds; changes are logged.

        The first answer is not logged: `launch` raises it.
        """
        # One at a time: many requests for the state are one question to the store.
        async with self._asking:
            if time.monotonic() >= self._ask_at:
                first, before = self._ask_at == 0.0, self._trouble
                # In a thread: the driver's synchronous connection would stop the loop.
                self._trouble = await asyncio.to_thread(self._asked_for_trouble)
                self._ask_at = time.monotonic() + _ASK_AGAIN_S
                if self._trouble != before and not first:
                    _log.warning(self._trouble or "the store can be reached again")
            return self._trouble

    def _asked_for_trouble(self) -> str | None:
        try:
            # Any question will do; this one needs no episode to exist.
            self.holds(Path())
        except StorageUnavailable as error:
            return str(error)
        return None

    def holds(self, path: Path) -> bool:
        """Whether it is there. Raises StorageUnavailable."""
        return bool(self._asked(path, "SELECT 1 FROM tradefair_episodes WHERE episode = %s"))

    def remove(self, path: Path) -> None:
        """Remove it with all of its events. Raises StorageUnavailable."""
        self._asked(path, "DELETE FROM tradefair_episodes WHERE episode = %s")

    def place(self, path: Path) -> StorePlace:
        """Where the log of this path lies."""
        return StorePlace(self._dsn, path.stem)

    def _asked(self, path: Path, sql: str) -> list[tuple[Any, ...]]:
        place, driver = self.place(path), psycopg_of()
        try:
            with driver.connect(place.dsn, autocommit=True, connect_timeout=_CONNECT_S) as connection:
                cursor = connection.execute(sql, (place.episode,))
                return cursor.fetchall() if cursor.description is not None else []
        except driver.errors.UndefinedTable:
            return []  # the tables are made by the first writer
        except driver.Error as error:
            raise StorageUnavailable(f"{place}: {_said(error)}") from None


class PostgresLog:
    """The log of one stored episode, and the lease on it.

    The columns of an event are those of `SqliteLog`, with the episode's name before them.
    """

    def __init__(self, place: StorePlace, connection: Connection, manifest: Manifest, head: Head) -> None:
        self._place = place
        self._driver = psycopg_of()
        self._connection = connection
        self._manifest = manifest
        self._head = head
        self._noted = False
        self._ledger: Ledger | None = None
        self._closed = False
        self._mending = asyncio.Lock()
        # Random: the session that is ended in `_regain` must be this log's own.
        self._name = f"tradefair {secrets.token_hex(8)}"

    @classmethod
    async def create(cls, place: StorePlace, manifest: Manifest, first: Sequence[Row]) -> PostgresLog:
        """A new log that begins with `first`; the tables are made if need be.

        Raises StorageUnavailable, TraceError when it exists.
        """
        driver = psycopg_of()
        try:
            connection = await _connected(place)
        except driver.Error as error:
            raise StorageUnavailable(f"{place}: {_said(error)}") from None
        try:
            await _make_tables(connection)
            await _take_lease(connection, place)
            sql = "INSERT INTO tradefair_episodes (episode, core, about) VALUES (%s, %s, %s)"
            statement, values, head = _appending(place, first, Head(0, manifest.first_hash))
            async with connection.transaction():
                await connection.execute(sql, (place.episode, manifest.core_bytes, orjson.dumps(manifest.about)))
                await connection.execute(statement.encode(), values)
        # The episode's name is the primary key: another host has made it.
        except driver.errors.UniqueViolation:
            await _leave(connection)
            raise TraceError(f"{place}: exists already") from None
        except (driver.Error, ValueError) as error:
            await _leave(connection)
            raise StorageUnavailable(f"{place}: {_said(error)}") from None
        except TraceError:
            await _leave(connection)
            raise
        return await cls(place, connection, manifest, head)._named()

    @classmethod
    async def open(cls, place: StorePlace) -> PostgresLog:
        """An existing log. Raises TraceError when it is damaged, truncated, or open elsewhere."""
        driver = psycopg_of()
        try:
            connection = await _connected(place)
        except driver.Error as error:
            raise TraceError(f"{place}: cannot be opened for writing: {_said(error)}") from None
        try:
            await _take_lease(connection, place)
            # In a thread, because reading the log blocks.
            manifest, head = await asyncio.to_thread(_sound, place)
        except driver.Error as error:
            await _leave(connection)
            raise TraceError(f"{place}: cannot be opened for writing: {_said(error)}") from None
        except TraceError:
            await _leave(connection)
            raise
        return await cls(place, connection, manifest, head)._named()

    async def _named(self) -> PostgresLog:
        """Give the session a name of its own, so that a later session can end it (`_regain`).

        The name is the session's `application_name`, which other sessions of the same user can see.
        """
        await _call(self._connection, self._name)
        return self

    @property
    def manifest(self) -> Manifest:
        """Core and about."""
        return self._manifest

    @property
    def head(self) -> Head:
        """The last committed event."""
        return self._head

    slow = False

    def append_now(self, rows: Sequence[Row]) -> bool:
        """False: a commit on another machine is always waited for."""
        return False

    async def append(self, rows: Sequence[Row]) -> Head:
        """Commit a batch in one statement; the new head.

        Raises StorageUnavailable. Then nothing was written, unless the server could no longer be asked: a caller that
        goes on reads the log first.
        """
        await self._ready()
        sql, values, head = await off_loop(rows, _appending, self._place, rows, self._head)
        await self._insert(sql, values, head)
        self._head = head
        return head

    async def _insert(self, sql: str, values: Sequence[object], head: Head) -> None:
        """Carry out the statement that leads to `head`, and repeat it where the connection broke before the commit.

        Raises StorageUnavailable where the server cannot be asked, or another process has written.
        """
        before = self._head
        try:
            await self._connection.execute(sql.encode(), values)
        except (self._driver.Error, ValueError) as error:
            # The connection lives: the statement itself was refused, and nothing was written.
            if not self._connection.broken:
                self._fail(error)
            await self._regain()
            # The stored head says which of three things happened: no commit, ours, or another writer's.
            if self._head == before:
                await self._write(sql, *values)
            elif self._head != head:
                raise StorageUnavailable(f"{self._place}: another process wrote to it") from None

    async def call_keys(self) -> dict[tuple[SeatId, str], tuple[int, str]]:
        """Every committed call key."""
        sql = """SELECT seat, call_key, seq, request_digest FROM tradefair_events
        WHERE episode = %s AND call_key IS NOT NULL"""
        return {(seat, key): (seq, digest) for seat, key, seq, digest in await self._rows(sql)}

    async def sizes(self) -> dict[SeatId | None, int]:
        """Bytes of the committed events by seat."""
        sql = f"SELECT {SIZES} FROM tradefair_events WHERE episode = %s GROUP BY whose"
        return {seat: int(size) for seat, size in await self._rows(sql)}

    async def event(self, seq: int) -> dict[str, Any]:
        """One committed event, a large result filled in."""
        sql = "SELECT body FROM tradefair_events WHERE episode = %s AND seq = %s"
        event = orjson.loads(await self._value(sql, seq))
        if event.get("result_ref"):
            sql = "SELECT blob FROM tradefair_events WHERE episode = %s AND blob_digest = %s"
            event["result"] = orjson.loads(await self._value(sql, event["result_ref"]))
        return event

    async def bodies(self) -> list[bytes]:
        """The stored bytes of all events."""
        sql = "SELECT body FROM tradefair_events WHERE episode = %s ORDER BY seq"
        return [body for (body,) in await self._rows(sql)]

    async def note(self, seat: SeatId, body: Mapping[str, Any], prompts: Sequence[Exchange] = ()) -> None:
        """Keep something about an agent, and what its model was sent."""
        noted = (self._place.episode, seat, orjson.dumps(body))
        if not (prompts and await self._note_with(noted, prompts)):
            await self._write(_NOTE, *noted)
        self._noted = True

    async def _note_with(self, noted: tuple[str, SeatId, bytes], prompts: Sequence[Exchange]) -> bool:
        """Write the note and what the model was sent, both or neither, in one statement; whether they are written."""
        episode, seat, _ = noted
        try:
            if self._ledger is None:
                sql = "SELECT n, digest FROM tradefair_prompt_parts WHERE episode = %s"
                self._ledger = Ledger(await self._rows(sql))
            rows = self._ledger.rows(seat, prompts)
            # One array per column; without rows each is empty.
            parts = [[row[at] for row in rows.parts] for at in range(3)]
            calls = [[_storable(row[at]) for row in rows.calls] for at in range(7)]
            await self._write(_NOTE_WITH, episode, *parts, episode, *calls, *noted)
        except (StorageUnavailable, TraceError, TypeError, ValueError, OverflowError):
            return False
        self._ledger.wrote(seat, rows)
        return True

    async def seal(self, about: Mapping[str, Any]) -> None:
        """Write about with its seal, which covers what lies beside the chain so far."""
        self._noted = False
        try:
            # In a thread, because reading the log blocks.
            covered = await asyncio.to_thread(_covered, self._place, about)
        except TraceError as error:
            raise StorageUnavailable(str(error)) from None
        sql = "UPDATE tradefair_episodes SET about = %s WHERE episode = %s"
        await self._write(sql, orjson.dumps(covered), self._place.episode)
        self._manifest = self._manifest._replace(about=covered)

    async def close(self) -> None:
        """Give the lease back; idempotent. What was noted after the seal is sealed now."""
        try:
            if self._noted and self._manifest.sealed and not self._closed:
                await self.seal(self._manifest.about)
        except StorageUnavailable:
            pass  # verify says that there are later notes
        self._closed = True
        await _leave(self._connection)

    # --- a connection that broke ------------------------------------------------------------------------------------

    async def _ready(self) -> None:
        """A living connection that holds the lease. Raises StorageUnavailable.

        Without a break of the connection this asks the server nothing.
        """
        if not self._connection.broken and not self._connection.closed:
            return
        before = self._head
        await self._regain()
        if self._head != before:
            raise StorageUnavailable(f"{self._place}: the log was written to while the connection was gone")

    async def _regain(self) -> None:
        """Connect and take the lease again, and read the head from the store. Raises StorageUnavailable."""
        # One at a time: two tasks that find the connection broken must not make two.
        async with self._mending:
            if self._closed:
                raise StorageUnavailable(f"{self._place}: is closed")
            if not self._connection.broken and not self._connection.closed:
                return
            try:
                connection = await _connected(self._place)
            except self._driver.Error as error:
                self._fail(error)
            try:
                # The server may not know yet that the old session is dead: after this no statement of it is running.
                old = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s"
                await connection.execute(old, (self._name,))
                await _take_lease(connection, self._place)
                await _call(connection, self._name)
                # Read under the lease, so that no other writer can move it.
                sql = "SELECT seq, hash FROM tradefair_events WHERE episode = %s ORDER BY seq DESC LIMIT 1"
                rows = await (await connection.execute(sql, (self._place.episode,))).fetchall()
            except (TraceError, self._driver.Error) as error:
                await _leave(connection)
                raise StorageUnavailable(f"{self._place}: the lease is lost: {_said(error)}") from None
            self._head = Head(*rows[0]) if rows else Head(0, self._manifest.first_hash)
            self._connection = connection

    async def _write(self, sql: str, *values: object) -> None:
        await self._ready()
        try:
            await self._connection.execute(sql.encode(), values)
        except (self._driver.Error, ValueError) as error:
            self._fail(error)

    async def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            if self._connection.broken:
                await self._regain()
            return await (await self._connection.execute(sql.encode(), (self._place.episode, *values))).fetchall()
        except (self._driver.Error, StorageUnavailable) as error:
            raise TraceError(f"{self._place}: cannot be read: {_said(error)}") from None

    async def _value(self, sql: str, key: object) -> bytes:
        rows = await self._rows(sql, key)
        if not rows:
            raise TraceError(f"{self._place}: {key} is not in the log")
        return rows[0][0]

    def _fail(self, error: Exception) -> NoReturn:
        raise StorageUnavailable(f"{self._place}: {_said(error)}") from None


async def _connected(place: StorePlace) -> Connection:
    driver = psycopg_of()
    # When the store's machine has vanished, TCP alone would hold up a call for many minutes.
    patience: dict[str, Any] = {
        "tcp_user_timeout": 1_000 * _DEAD_AFTER_S,
        "keepalives_idle": _DEAD_AFTER_S // 3,
        "keepalives_interval": _DEAD_AFTER_S // 3,
        "keepalives_count": 2,
    }
    connection = await driver.AsyncConnection.connect(
        place.dsn, autocommit=True, connect_timeout=_CONNECT_S, **patience
    )
    # The same on the server's side: a client that has vanished must not keep the lease of an episode for hours.
    await connection.execute(f"SET tcp_keepalives_idle = {_DEAD_AFTER_S // 3}")
    await connection.execute(f"SET tcp_keepalives_interval = {_DEAD_AFTER_S // 3}")
    await connection.execute("SET tcp_keepalives_count = 2")
    return connection


async def _call(connection: Connection, name: str) -> None:
    await connection.execute("SELECT set_config('application_name', %s, false)", (name,))


async def _make_tables(connection: Connection) -> None:
    # The youngest table: where it is there, everything is.
    youngest = "SELECT 1 WHERE to_regclass('tradefair_prompt_calls') IS NOT NULL"
    if await (await connection.execute(youngest)).fetchall():
        return
    async with connection.transaction():
        # CREATE TABLE IF NOT EXISTS fails when two sessions run it at once.
        # The lock's key is of no episode, and is held until the transaction ends.
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_lock_key(""),))
        await connection.execute(STORE_SCHEMA.encode())


async def _take_lease(connection: Connection, place: StorePlace) -> None:
    # `try`: a lease that is held elsewhere is an error to report, not something to wait for.
    rows = await (await connection.execute("SELECT pg_try_advisory_lock(%s)", (_lock_key(place.episode),))).fetchall()
    if not rows[0][0]:
        raise TraceError(f"{place} is open for writing in another process")


async def _leave(connection: Connection) -> None:
    # Given back by a statement, because the server alone notices the end of a session a moment after it:
    # whoever opened the episode within that moment was told that it is open elsewhere.
    with suppress(psycopg_of().Error):
        await connection.execute("SELECT pg_advisory_unlock_all()")
    await connection.close()


def _lock_key(episode: str) -> int:
    # PostgreSQL's locks are named by 64-bit integers; two episodes share one by chance only.
    digest = hashlib.blake2b(f"tradefair:{episode}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _sound(place: StorePlace) -> tuple[Manifest, Head]:
    with open_trace(place.url) as trace:
        return trace.manifest, Head(*sound_head(trace))


def _covered(place: StorePlace, about: Mapping[str, Any]) -> dict[str, Any]:
    with closing(StoreReader(place)) as stored:
        stored.freeze()
        return sealed(about, stored.side_rows)


def _appending(place: StorePlace, rows: Sequence[Row], head: Head) -> tuple[str, Sequence[object], Head]:
    """The statement that appends rows behind `head`, its values, and the head behind them."""
    stored, after = stored_rows(rows, head)
    # The first six columns are ours; the others may hold a client's text.
    known = [(*row[:6], *map(_storable, row[6:])) for row in stored]
    columns = [[row[at] for row in known] for at in range(len(_COLUMNS))]
    # The last closure of the batch; earlier ones are passed by it.
    closing = next((row for row in reversed(stored) if row[3]), None)
    if closing is None:
        return _APPEND, (place.episode, *columns), after
    return _APPEND_AND_CLOSE, (place.episode, *columns, closing[0], closing[2], place.episode), after


def _storable(value: object) -> object:
    """Text as PostgreSQL takes it, without NUL and lone surrogates.

    Only what a client says about itself may hold them.
    """
    if isinstance(value, str):
        return value.encode(errors="replace").decode().replace("\x00", "\ufffd")
    return value


def _said(error: Exception) -> str:
    # The first line: the driver adds hints and positions below it.
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]

"""Traces in a shared store, a PostgreSQL database: their addresses, their tables, and the reader of one of them.

An address is the database's URL, and behind a `#` the episode: `postgresql://host/markets#0f3a…`. The driver is the
extra `postgres`; it is imported when a store is opened.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from tradefair.contract import TraceError
from tradefair.contract.errors import needs_extra
from tradefair.tracestore.beside import PROMPTS, SIDE_TABLES, SideTable
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.schema import EVENT_COLUMNS, SCHEMA
from tradefair.tracestore.source import NotATrace, SideRow, StoredEvent

if TYPE_CHECKING:
    import psycopg

_SCHEMES = ("postgresql://", "postgres://")
_SECRETS = frozenset({"password", "sslpassword"})
# Rows per query: memory holds the bodies of one chunk.
_CHUNK = 1_000

STORE_SCHEMA = """
CREATE TABLE IF NOT EXISTS tradefair_episodes (
    episode text PRIMARY KEY,
    core bytea NOT NULL,
    about bytea NOT NULL,
    closed_seq bigint,
    closed_hash bytea
);
CREATE TABLE IF NOT EXISTS tradefair_events (
    episode text NOT NULL REFERENCES tradefair_episodes ON DELETE CASCADE,
    seq bigint NOT NULL,
    body bytea NOT NULL,
    hash bytea NOT NULL,
    closes boolean NOT NULL,
    blob_digest text,
    blob bytea,
    seat text,
    call_key text,
    request_digest text,
    at_ms bigint,
    latency_us bigint,
    transport text,
    client text,
    request_id text,
    traceparent text,
    by text,
    PRIMARY KEY (episode, seq)
);
-- Tables that were made before it lack it.
ALTER TABLE tradefair_events ADD COLUMN IF NOT EXISTS by text;
CREATE UNIQUE INDEX IF NOT EXISTS tradefair_blobs
    ON tradefair_events (episode, blob_digest) WHERE blob_digest IS NOT NULL;
CREATE UNIQUE INDEX IF NOT EXISTS tradefair_call_keys
    ON tradefair_events (episode, seat, call_key) WHERE call_key IS NOT NULL;
CREATE TABLE IF NOT EXISTS tradefair_notes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    episode text NOT NULL REFERENCES tradefair_episodes ON DELETE CASCADE,
    seat text NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS tradefair_notes_of ON tradefair_notes (episode, id);
CREATE TABLE IF NOT EXISTS tradefair_prompt_parts (
    episode text NOT NULL REFERENCES tradefair_episodes ON DELETE CASCADE,
    n bigint NOT NULL,
    digest bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (episode, n),
    UNIQUE (episode, digest)
);
CREATE TABLE IF NOT EXISTS tradefair_prompt_calls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    episode text NOT NULL REFERENCES tradefair_episodes ON DELETE CASCADE,
    seat text NOT NULL,
    call text NOT NULL,
    same bigint NOT NULL,
    parts bytea NOT NULL,
    tools bigint,
    params bytea NOT NULL,
    answer bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS tradefair_prompt_calls_of ON tradefair_prompt_calls (episode, id);
"""
"""The format of a store. The head of the last closure moves in the statement that appends the closure."""


class StorePlace(NamedTuple):
    """One episode of a store. `dsn` may contain a password: `str()` leaves it out, and messages use that."""

    dsn: str
    episode: str

    @classmethod
    def of(cls, url: str) -> StorePlace:
        """The parts of an address; `episode` is empty where it names a whole store."""
        dsn, _, episode = url.partition("#")
        return cls(dsn, episode)

    @property
    def url(self) -> str:
        """The address, with its password."""
        return f"{self.dsn}#{self.episode}"

    def __str__(self) -> str:
        parts = urlsplit(self.dsn)
        # Only what is behind the last @: a password may hold that character too.
        store = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return f"{store}#{self.episode}" if self.episode else store


def is_store(text: str) -> bool:
    """Whether this is the address of a store, or of a trace in one.

    By its scheme, so that it can be asked of any text that may also be a path.
    """
    return text.startswith(_SCHEMES)


def is_whole_store(text: str) -> bool:
    """Whether this is the address of a store and names no episode of it."""
    return is_store(text) and "#" not in text


def without_password(dsn: str) -> str:
    """The address of a store as it may be kept in a file: user and options, no password."""
    parts = urlsplit(dsn)
    user, at, hosts = parts.netloc.rpartition("@")
    # libpq takes a password as an option too, and its name may be percent-encoded.
    kept = (option for option in parts.query.split("&") if unquote(option.partition("=")[0]) not in _SECRETS)
    options = "&".join(kept)
    # The user stays: without it the driver would take the one of the operating system.
    return f"{parts.scheme}://{user.partition(':')[0]}{at}{hosts}{parts.path}" + (f"?{options}" if options else "")


def psycopg_of() -> Any:
    """The driver. Raises TraceError where it is not installed.

    Imported late: reading files needs no driver.
    """
    try:
        import psycopg
    except ImportError:
        raise TraceError(needs_extra("a PostgreSQL store", "postgres")) from None
    return psycopg


def stored_episodes(dsn: str) -> list[StorePlace]:
    """The episodes of a store, by name. Raises TraceError."""
    driver = psycopg_of()
    try:
        with driver.connect(dsn, autocommit=True) as connection:
            rows = connection.execute("SELECT episode FROM tradefair_episodes ORDER BY episode").fetchall()
    except driver.Error as error:
        raise TraceError(f"{StorePlace(dsn, '')}: {_said(error)}") from None
    return [StorePlace(dsn, episode) for (episode,) in rows]


def stored_states(dsn: str) -> dict[str, str]:
    """Episode -> a text that changes with its events and its seal; empty before anything is stored.

    Raises TraceError.
    """
    driver = psycopg_of()
    # The newest event of each by the index on (episode, seq): the events themselves are not read.
    query = """
        SELECT episode, md5(about) || ' ' || coalesce((
            SELECT max(seq) FROM tradefair_events WHERE tradefair_events.episode = tradefair_episodes.episode
        ), 0) FROM tradefair_episodes
    """
    try:
        with driver.connect(dsn, autocommit=True) as connection:
            return dict(connection.execute(query).fetchall())
    # Whoever writes first makes the tables.
    except driver.errors.UndefinedTable:
        return {}
    except driver.Error as error:
        raise TraceError(f"{StorePlace(dsn, '')}: {_said(error)}") from None


class StoreReader:
    """The trace of one stored episode (protocol `Source`). Rows are read in chunks, so that memory stays small."""

    incomplete = None
    schema = 2

    def __init__(self, place: StorePlace) -> None:
        """Raises NotATrace where the store cannot be reached or does not hold it."""
        self._place = place
        self._driver = psycopg_of()
        self._frozen = False
        try:
            # Autocommit: else the first query would leave a transaction open for as long as the trace is read.
            self._connection: psycopg.Connection[tuple[Any, ...]] = self._driver.connect(place.dsn, autocommit=True)
        except self._driver.Error as error:
            raise NotATrace(f"{place}: cannot be reached: {_said(error)}") from None
        try:
            # Now and not at the first reading: an address without an episode is no trace at all.
            self._row()
        except TraceError as error:
            self._connection.close()
            raise NotATrace(str(error)) from None

    def freeze(self) -> None:
        """Read as of now until closed."""
        if not self._frozen:
            self._query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            # The snapshot is taken by the first query of the transaction, not by BEGIN.
            self._row()
            self._frozen = True

    def manifest(self) -> Manifest:
        """Core and about; TraceError for a damaged about."""
        core, raw, _, _ = self._row()
        return Manifest.read(self._place, core, raw)

    def events(self, after: int, *, side: bool = False, tag: bytes = b"") -> Iterator[StoredEvent]:
        """In order, from `after` + 1 on, without what lies beside them."""
        sql = "SELECT seq, body, hash FROM tradefair_events WHERE episode = %s AND seq > %s ORDER BY seq LIMIT %s"
        # By number and not by OFFSET, which would make the server count all earlier rows again for every chunk.
        while rows := self._query(sql, self._place.episode, after, _CHUNK):
            yield from (StoredEvent(*row) for row in rows)
            after = rows[-1][0]

    def blob(self, digest: str) -> bytes | None:
        """A large result by its digest."""
        sql = "SELECT blob FROM tradefair_events WHERE episode = %s AND blob_digest = %s"
        rows = self._query(sql, self._place.episode, digest)
        return rows[0][0] if rows else None

    def blobs(self, after: int) -> Iterator[tuple[str, bytes]]:
        """Large results of later events."""
        sql = """SELECT seq, blob_digest, blob FROM tradefair_events
        WHERE episode = %s AND seq > %s AND blob_digest IS NOT NULL ORDER BY seq LIMIT %s"""
        while rows := self._query(sql, self._place.episode, after, _CHUNK):
            # A digest without bytes is damage; as empty bytes it fails the check against its digest.
            yield from ((digest, blob or b"") for _, digest, blob in rows)
            after = rows[-1][0]

    def closed_head(self) -> tuple[int, str] | None:
        """(seq, hash) of the last closure."""
        _, _, seq, digest = self._row()
        return None if seq is None else (seq, (digest or b"").hex())

    def side(self, by: str | None = None) -> Iterator[SideRow]:
        """Times, transports and call keys."""
        columns = ", ".join(SideRow._fields)
        sql = f"SELECT {columns} FROM tradefair_events WHERE episode = %s AND seq > %s ORDER BY seq LIMIT %s"
        after = 0
        while rows := self._query(sql, self._place.episode, after, _CHUNK):
            yield from (SideRow(*row) for row in rows)
            after = rows[-1][0]

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """What was noted about agents."""
        sql = "SELECT id, seat, body FROM tradefair_notes WHERE episode = %s AND id > %s ORDER BY id LIMIT %s"
        after = 0
        while rows := self._query(sql, self._place.episode, after, _CHUNK):
            yield from ((seat, body) for _, seat, body in rows)
            after = rows[-1][0]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Everything that is stored about each event, in the order of a `.trace` file's columns."""
        columns = ", ".join(EVENT_COLUMNS)
        sql = f"SELECT {columns} FROM tradefair_events WHERE episode = %s AND seq > %s ORDER BY seq LIMIT %s"
        after = 0
        while rows := self._query(sql, self._place.episode, after, _CHUNK):
            yield from rows
            after = rows[-1][0]

    def signature(self) -> None:
        """None: files are signed."""
        return None

    def side_rows(self, name: str) -> Iterator[Sequence[object]]:
        """The rows of one of `SIDE_TABLES`; none of pending calls, for which a store has no table."""
        if name == "calls":
            first = EVENT_COLUMNS.index("seat")
            return (row[first:] for row in self.rows())
        if name in PROMPTS:
            return self._prompts(SIDE_TABLES[name])
        return self.notes() if name == "agent_events" else iter(())

    def _prompts(self, side: SideTable) -> Iterator[Sequence[object]]:
        # A store that no writer has opened since an earlier release lacks these tables.
        if not self._query("SELECT 1 WHERE to_regclass('tradefair_prompt_calls') IS NOT NULL"):
            return
        columns = ", ".join((side.key, *side.columns))
        sql = f"SELECT {columns} FROM tradefair_{side.table} WHERE episode = %s AND {side.key} > %s"
        after = 0
        while rows := self._query(f"{sql} ORDER BY {side.key} LIMIT %s", self._place.episode, after, _CHUNK):
            yield from (row[1:] for row in rows)
            after = rows[-1][0]

    def check_structure(self) -> None:
        """The server keeps its tables sound."""

    def backup(self, into: sqlite3.Connection) -> None:
        """Write everything that is stored about the episode into an empty database."""
        # One snapshot for events, notes and head, while the episode may go on.
        self.freeze()
        into.execute("PRAGMA journal_mode = OFF")
        into.executescript("BEGIN;" + SCHEMA)
        core, about, seq, digest = self._row()
        # The head is written after the events: the schema's trigger sets it at each closure, the store's own counts.
        into.executemany(f"INSERT INTO events VALUES ({', '.join('?' * len(EVENT_COLUMNS))})", self.rows())
        into.executemany("INSERT INTO agent_events (seat, body) VALUES (?, ?)", self.notes())
        for side in map(SIDE_TABLES.__getitem__, sorted(PROMPTS)):
            slots = ", ".join("?" * len(side.columns))
            sql = f"INSERT INTO {side.table} ({', '.join(side.columns)}) VALUES ({slots})"
            into.executemany(sql, self._prompts(side))
        meta = {"core": core, "about": about}
        if seq is not None:
            meta["closed_head"] = f"{seq}:{(digest or b'').hex()}".encode()
        into.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
        into.commit()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _row(self) -> tuple[bytes, bytes, int | None, bytes | None]:
        """Core, about, and number and hash of the last closure; TraceError where the episode is gone."""
        sql = "SELECT core, about, closed_seq, closed_hash FROM tradefair_episodes WHERE episode = %s"
        rows = self._query(sql, self._place.episode)
        if not rows:
            raise TraceError(f"{self._place}: there is no such episode")
        core, about, seq, digest = rows[0]
        return core, about, seq, digest

    def _query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        try:
            # As bytes, because the driver's types take text only as a literal. Without values it must not look for
            # placeholders.
            cursor = self._connection.execute(sql.encode(), values or None)
            return cursor.fetchall() if cursor.description is not None else []
        except self._driver.Error as error:
            raise TraceError(f"{self._place}: cannot be read: {_said(error)}") from None


def _said(error: Exception) -> str:
    """The first line of the driver's message; it quotes no password."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]

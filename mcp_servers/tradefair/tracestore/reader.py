"""`open_trace(path)` reads a trace whatever its format.

Nothing here decides whether a trace is sound; verify does. Files may be damaged or hostile: every fault is a TraceError
that names the file, and no content is executed or trusted to have the right type.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from tradefair.contract import TraceError
from tradefair.contract.event import OLD_SCHEMAS
from tradefair.contract.players import Seating
from tradefair.tracestore.beside import side_query
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.source import NotATrace, SideRow, Source, StoredEvent
from tradefair.tracestore.store import StorePlace, StoreReader, is_store

# The first 16 bytes of every SQLite 3 file.
_MAGIC = b"SQLite format 3\x00"
# How lines of a .jsonl trace begin. Events are joined and cut as bytes: encoding one again could change its hash.
_SEATED = b',"event":"seated",'
_PREFIX = b'{"hash":"'
_BODY = b'","event":'
_CLOSED = b'{"closed_head":'
_BLOB = b'{"blob":"'


class Trace:
    """An opened trace, whatever its format. Use it as a context manager; `events()` may be iterated again and again.

    Methods raise TraceError for what cannot be read.
    """

    def __init__(self, path: Path, source: Source) -> None:
        self.path = path
        self._source = source

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()

    def freeze(self) -> None:
        """Read the state of now until closed: several readings of a live episode then fit together."""
        self._source.freeze()

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest; TraceError when the file has none."""
        return self._source.manifest()

    @cached_property
    def _seatings(self) -> list[tuple[int, Seating]]:
        core = self.manifest.core
        if core.trace_schema in OLD_SCHEMAS:
            return [(1, Seating.of_about(self.manifest.about, [seat.id for seat in core.seats]))]
        # By its first bytes: Core writes number and tag first, and verify refuses another order.
        said = (stored for stored in self.events() if stored.seq == 1 or _SEATED in stored.body[:48])
        try:
            return [(stored.seq, Seating.model_validate(orjson.loads(stored.body)["seating"])) for stored in said]
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            raise TraceError(f"{self.path}: an event does not say who plays; run tradefair verify") from None

    def seatings(self) -> list[tuple[int, Seating]]:
        """Who plays, as the first event and later ones say it: (number of the event, its seating). TraceError.

        Of an old trace, what it says beside its chain.
        """
        return self._seatings

    def seating(self, at: int | None = None) -> Seating:
        """Who plays at event `at` (None: at the end), every seat. TraceError where the trace does not say."""
        if not self._seatings:
            raise TraceError(f"{self.path}: it holds no event, which would say who plays")
        (_, seating), *changes = self._seatings
        for seq, change in changes:
            if at is None or seq <= at:
                seating = seating.later(change)
        return seating

    def events(self, after: int = 0) -> Iterator[StoredEvent]:
        """Stored events in order, from number `after` + 1 on."""
        return self._source.events(after)

    def decoded(self) -> Iterator[dict[str, Any]]:
        """Events as plain data, with large results under `result`. TraceError for what is not a JSON object.

        A large result is None where the file has lost it.
        """
        for stored in self.events():
            try:
                event = orjson.loads(stored.body)
                if event.get("result_ref"):
                    body = self.blob(event["result_ref"])
                    event["result"] = None if body is None else orjson.loads(body)
            # AttributeError: JSON that is no object has no `get`.
            except (orjson.JSONDecodeError, AttributeError):
                raise TraceError(f"{self.path.name}: event {stored.seq} or its result is damaged") from None
            yield event

    def blob(self, digest: str) -> bytes | None:
        """A large result by its digest; None when the file does not hold it."""
        return self._source.blob(digest)

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        """Every stored blob with the digest that it is filed under; a damaged file may have two under the same."""
        return self._source.blobs()

    def closed_head(self) -> tuple[int, str] | None:
        """(seq, hash) of the last closure, as noted outside the chain; None before the first."""
        return self._source.closed_head()

    def side(self) -> Iterator[SideRow]:
        """Times, transports and call keys of all events, in order; none in JSONL."""
        return self._source.side()

    def agent_events(self) -> Iterator[dict[str, Any]]:
        """Model calls, plans and stop reasons, as the runner noted them. TraceError where a note is damaged."""
        for seat, body in self.notes():
            try:
                yield {"seat": seat, **orjson.loads(body)}
            except (orjson.JSONDecodeError, TypeError):
                raise TraceError(f"{self.path}: what is noted about {seat[:80]} is damaged") from None

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """The same notes as they are stored: (seat, JSON bytes), in order of writing; none in JSONL."""
        return self._source.notes()

    def side_rows(self, name: str) -> Iterator[Sequence[object]] | None:
        """The rows of one of `SIDE_TABLES`, in key order; None in JSONL, which leaves them out."""
        return self._source.side_rows(name)


def open_trace(path: str | Path) -> Trace:
    """Open a trace for reading: a `.trace` file (SQLite), a `.jsonl` file, or the address of a stored one.

    NotATrace when it is none of them, TraceError when it is damaged. The format is told by the first bytes, not by the
    name.
    """
    if is_store(str(path)):
        stored = StorePlace.of(str(path))
        return Trace(Path(stored.episode), StoreReader(stored))
    place = Path(path)
    try:
        with place.open("rb") as file:
            # Enough for either format: nothing more of a foreign file is read.
            head = file.read(16)
    except OSError as error:
        raise NotATrace(f"{place}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have, such as one with a null character
        raise NotATrace(f"{str(place)!r}: {error}") from None
    if head == _MAGIC:
        return Trace(place, _Sqlite(place))
    if head.startswith(b'{"about":'):
        return Trace(place, _Jsonl(place))
    # A frequent mistake, which deserves a better sentence than "not a trace".
    if head.startswith(b'{"seat_view":'):
        raise NotATrace(f"{place}: a seat's view: it has no chain of its own, verify or evaluate the whole trace")
    raise NotATrace(f"{place}: not a trace (neither SQLite nor JSONL of tradefair)")


def find_traces(path: str | Path) -> list[Path]:
    """The traces at any depth of a folder, in name order, or the file itself. TraceError when there is none."""
    place = Path(path)
    # A named file is a trace by its bytes, not by its name.
    if place.is_file():
        return [place]
    found = sorted([*place.rglob("*.trace"), *place.rglob("*.trace.jsonl")])
    if not found:
        raise TraceError(f"{place}: no trace here (*.trace or *.trace.jsonl)")
    return found


def jsonl_lines(trace: Trace) -> Iterator[bytes]:
    """A trace as JSONL: the manifest, then each event with its hash and exact bytes, then the blobs."""
    trace.freeze()
    yield trace.manifest.to_json()
    for stored in trace.events():
        yield _PREFIX + stored.hash.hex().encode() + _BODY + stored.body + b"}"
    closed = trace.closed_head()
    if closed is not None:
        yield orjson.dumps({"closed_head": list(closed)})
    for digest, body in trace.blobs():
        yield _BLOB + digest.encode() + b'","body":' + body + b"}"


def _about(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        about: Any = orjson.loads(raw)
        orjson.dumps(about)  # deeper than can be written again is damage too
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        about = None
    if not isinstance(about, dict):
        raise TraceError(f"{path}: the manifest's about is damaged")
    return about  # pyright: ignore[reportUnknownVariableType]


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a `.trace` file for reading. A transaction that a killed writer left unfinished is rolled back first.

    Raises sqlite3.Error when it is not a trace, or when the rollback would need a folder that can be written.
    """
    # Read-only first: looking at a trace must not change its folder, unless SQLite cannot read it otherwise.
    try:
        return _connected(path, "ro")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_READONLY_ROLLBACK:
            raise
    try:
        # Opening it for writing is what makes SQLite roll the cut write back.
        _connected(path, "rw").close()
    except sqlite3.OperationalError as error:
        told = f"its last write was cut off, and taking it back needs a folder that can be written ({error})"
        raise sqlite3.OperationalError(told) from None
    return _connected(path, "ro")


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    """Open a file in a mode of SQLite's URIs (`ro`, `rw`), and read from it once. Raises sqlite3.Error."""
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, check_same_thread=False)
    try:
        # `connect` reads nothing: only a first query says whether this is a database with our tables.
        database.execute("SELECT count(*) FROM meta")
    except sqlite3.Error:
        database.close()
        raise
    except UnicodeDecodeError as error:  # a damaged name in the file, which SQLite's own message would have shown
        database.close()
        raise sqlite3.DatabaseError(str(error)) from None
    return database


class _Sqlite:
    """A `.trace` file: the tables of `SCHEMA` (protocol `Source`)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._db = connect_to_read(path)
        except sqlite3.Error as error:
            raise TraceError(f"{path}: not a readable trace: {error}") from None

    def freeze(self) -> None:
        if not self._db.in_transaction:
            # The snapshot is taken by the first SELECT of the transaction.
            next(self._query("BEGIN"), None)
            next(self._query("SELECT count(*) FROM meta"), None)

    def manifest(self) -> Manifest:
        core, about = self._meta("core"), self._meta("about")
        if core is None:
            raise TraceError(f"{self._path}: the manifest is missing")
        return Manifest(self._bytes(core), _about(self._path, b"{}" if about is None else self._bytes(about)))

    def events(self, after: int) -> Iterator[StoredEvent]:
        rows = self._query("SELECT seq, body, hash FROM events WHERE seq > ? ORDER BY seq", (after,))
        return (StoredEvent(seq, self._bytes(body), self._bytes(digest)) for seq, body, digest in rows)

    def blob(self, digest: str) -> bytes | None:
        row = next(self._query("SELECT blob FROM events WHERE blob_digest = ?", (digest,)), None)
        return None if row is None else self._bytes(row[0])

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        rows = self._query("SELECT blob_digest, blob FROM events WHERE blob_digest IS NOT NULL ORDER BY seq")
        return ((str(digest), self._bytes(blob)) for digest, blob in rows)

    def closed_head(self) -> tuple[int, str] | None:
        value = self._meta("closed_head")
        if value is None:
            return None
        seq, _, digest = self._bytes(value).decode(errors="replace").partition(":")
        # Longer numbers would take int() a while, and no trace has so many events. −1 names none: the chain's check
        # then says what is wrong.
        return (int(seq) if seq.isdecimal() and len(seq) < 20 else -1), digest

    def side(self) -> Iterator[SideRow]:
        known = {name for _, name, *_ in self._query("PRAGMA table_info(events)")}
        # Traces of schema 1 have no `by`.
        columns = ", ".join(name if name in known else "NULL" for name in SideRow._fields)
        return (SideRow(*row) for row in self._query(f"SELECT {columns} FROM events ORDER BY seq"))

    def notes(self) -> Iterator[tuple[str, bytes]]:
        rows = self._query("SELECT seat, body FROM agent_events ORDER BY id")
        return ((str(seat), self._bytes(body)) for seat, body in rows)

    def side_rows(self, name: str) -> Iterator[Sequence[object]]:
        return self._query(side_query(name))

    def close(self) -> None:
        self._db.close()

    def _meta(self, key: str) -> Any:
        row = next(self._query("SELECT value FROM meta WHERE key = ?", (key,)), None)
        return None if row is None else row[0]

    def _bytes(self, value: object) -> bytes:
        """A column's bytes; SQLite accepts any type in any column."""
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode(errors="replace")
        raise TraceError(f"{self._path}: a column holds a {type(value).__name__} where bytes belong")

    def _query(self, sql: str, values: tuple[object, ...] = ()) -> Iterator[Any]:
        try:
            # Not `yield from`: that would close the cursor when the reader stops early, after its database.
            for row in self._db.execute(sql, values):  # noqa: UP028
                yield row
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise TraceError(f"{self._path}: cannot be read further: {error}") from None


class _Jsonl:
    """A `.jsonl` file: the lines of `jsonl_lines` (protocol `Source`)."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def freeze(self) -> None:
        # Exports are not appended to.
        pass

    def manifest(self) -> Manifest:
        with self._path.open("rb") as file:
            line = file.readline().rstrip(b"\n")
        marker = b',"core":'
        try:
            head = orjson.loads(line)
            # The core is the last member: its bytes run from the marker to the closing brace.
            said = orjson.dumps(head["about"])
            # Behind `about`, because its labels may hold the marker too.
            start = line.index(marker + b"{", len(b'{"about":') + len(said))
        except (orjson.JSONDecodeError, orjson.JSONEncodeError, KeyError, TypeError, ValueError):
            raise TraceError(f"{self._path}: the first line is not a manifest") from None
        return Manifest(line[start + len(marker) : -1], _about(self._path, said))

    def events(self, after: int) -> Iterator[StoredEvent]:
        seq = 0
        for number, line in self._lines():
            if not line.startswith(_PREFIX):
                if not line.startswith((_CLOSED, _BLOB)):
                    raise TraceError(f"{self._path}: line {number} is neither an event nor a blob")
                continue
            # By position: the event's own number is in its body, which is not parsed here.
            seq += 1
            # A hash of 32 bytes is 64 characters of hex.
            start = len(_PREFIX) + 64
            try:
                digest = bytes.fromhex(line[len(_PREFIX) : start].decode())
            # No hex: reported below, with everything else that an event's line can lack.
            except ValueError:
                digest = b""
            if line[start : start + len(_BODY)] != _BODY or not line.endswith(b"}") or not digest:
                raise TraceError(f"{self._path}: line {number} is not an event")
            if seq > after:
                yield StoredEvent(seq, line[start + len(_BODY) : -1], digest)

    def blob(self, digest: str) -> bytes | None:
        return self._blobs.get(digest)

    def blobs(self) -> Iterator[tuple[str, bytes]]:
        for _, line in self._lines():
            if line.startswith(_BLOB):
                digest, _, rest = line[len(_BLOB) :].partition(b'","body":')
                yield digest.decode(errors="replace"), rest[:-1]

    @cached_property
    def _blobs(self) -> dict[str, bytes]:
        # Of two under one digest the later one; `blobs` gives both, for verify.
        return dict(self.blobs())

    def closed_head(self) -> tuple[int, str] | None:
        for number, line in self._lines():
            if line.startswith(_CLOSED):
                try:
                    seq, digest = orjson.loads(line)["closed_head"]
                    return int(seq), str(digest)
                except (orjson.JSONDecodeError, TypeError, ValueError):
                    raise TraceError(f"{self._path}: line {number} is not a closed head") from None
        return None

    def side(self) -> Iterator[SideRow]:
        # An export has the chain only: what is noted outside it stays in the `.trace` file.
        return iter(())

    def notes(self) -> Iterator[tuple[str, bytes]]:
        return iter(())

    def side_rows(self, name: str) -> None:
        return None

    def close(self) -> None:
        pass

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        with self._path.open("rb") as file:
            for number, line in enumerate(file, 1):
                # The first line is the manifest.
                if number > 1:
                    yield number, line.rstrip(b"\n")

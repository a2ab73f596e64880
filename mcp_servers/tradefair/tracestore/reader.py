"""`open_trace(path)` reads a trace whatever its format.

Nothing here decides whether a trace is sound; verify does. Files may be damaged or hostile: every fault is a TraceError
that names the file, and no content is executed or trusted to have the right type.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.contract.chain import digest as digest_of
from tradefair.contract.foreign import CANCELLED, NO_ANSWER, RECORDED
from tradefair.contract.kernel.event import OLD_SCHEMAS
from tradefair.contract.kernel.players import MAX_SEATINGS, Seating
from tradefair.files.folders import entries_below
from tradefair.files.user_files import MIB, regular
from tradefair.tracestore import database, jsonl_file
from tradefair.tracestore.beside import SIDE_TABLES
from tradefair.tracestore.locks import held
from tradefair.tracestore.manifest import Manifest
from tradefair.tracestore.prompts import PromptCall, read_prompts
from tradefair.tracestore.source import NotATrace, SideRow, Source, StoredEvent
from tradefair.tracestore.sqlite_file import SqliteFile
from tradefair.tracestore.store import StorePlace, StoreReader, is_store

# Bytes of what a trace may hold, and how many large results; writers keep far below these.
MAX_EVENT, MAX_BLOB, MAX_NOTE, MAX_BLOBS = 8 * MIB, MIB, 4 * MIB, 1_000_000
MAX_TRACES = 100_000
"""How many traces a folder may hold that is named as a whole."""

TRACE_SUFFIXES = (".trace", ".trace.jsonl")
REFERENCES = "references"
"""The folder next to a trace in which runners put what it is measured against."""
"""How names of traces end, where a folder of them is named."""

# How compressed files begin, and what unpacks them.
_PACKED = {
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"\x1f\x8b": "gunzip",
    b"\xfd7zXZ": "unxz",
    b"BZh": "bunzip2",
    b"PK\x03": "unzip",
}
_SEATED = b',"event":"seated",'
# The columns of `SideRow` in a row of the table `calls`.
_SIDE: Callable[[Any], tuple[Any, ...]] = itemgetter(
    *(SIDE_TABLES["calls"].columns.index(name) for name in SideRow._fields[1:])
)

_Sized = TypeVar("_Sized", bound=bytes | str)


class Trace:
    """An opened trace, whatever its format. Use it as a context manager; `events()` may be iterated again and again.

    Methods raise TraceError for what cannot be read.
    """

    def __init__(self, path: Path, source: Source) -> None:
        self.path = path
        self._source = source
        self._held: list[StoredEvent] | None = None

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()

    def freeze(self) -> None:
        """Read the state of now until closed: several readings of a live episode then fit together."""
        self._source.freeze()

    def hold(self, most: int = 64 * MIB) -> bool:
        """Freeze, and keep the events in memory, so that several readings of an opened trace read its file once.

        Not where they have more than `most` bytes, or cannot be read to the end; whether they are held now.
        """
        self.freeze()
        size, held = 0, list[StoredEvent]()
        try:
            for stored in self.events(side=True) if self._held is None else ():
                size += len(stored.body)
                if size > most:
                    return False
                held.append(stored)
        except TraceError:
            return False
        self._held = self._held or held
        return True

    @property
    def held(self) -> bool:
        """Whether the events are in memory."""
        return self._held is not None

    @property
    def is_file(self) -> bool:
        """Whether it lies in a file, not in a shared store."""
        return not isinstance(self._source, StoreReader)

    @cached_property
    def manifest(self) -> Manifest:
        """The manifest; TraceError when the file has none."""
        return self._source.manifest()

    @cached_property
    def _seatings(self) -> list[tuple[int, Seating]]:
        core = self.manifest.core
        if core.trace_schema in OLD_SCHEMAS:
            return [(1, Seating.of_about(self.manifest.about, [seat.id for seat in core.seats]))]
        try:
            found: list[tuple[int, Seating]] = []
            known = {seat.id for seat in core.seats}
            # One by one: a file of a million lines that are no events is refused at the first.
            for stored in self._said():
                seating = Seating.model_validate(orjson.loads(stored.body)["seating"])
                # Readers look seats up: the first event names all of them, and no event names others.
                named = {*seating.players, *seating.compared}
                if named - known or (not found and seating.players.keys() != known):
                    raise ValueError("seats")
                found.append((stored.seq, seating))
                if len(found) > MAX_SEATINGS:
                    raise TraceError(f"{self.path}: seats change hands more than {MAX_SEATINGS:,} times")
            return found
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            raise TraceError(f"{self.path}: an event does not say who plays; run tradefair verify") from None

    def seatings(self) -> list[tuple[int, Seating]]:
        """Who plays, as the first event and later ones say it: (number of the event, its seating). TraceError.

        Of an old trace, what it says beside its chain.
        """
        return self._seatings

    def seated(self, after: int) -> bool:
        """Whether an event after number `after` says who plays from then on. TraceError where they cannot be read."""
        return any(stored.seq > 1 for stored in self._said(after))

    def _said(self, after: int = 0) -> Iterator[StoredEvent]:
        """The first event, and those that say who plays; later than number `after`."""
        events = self._source.events(after, tag=_SEATED) if self._held is None else self._held[after:]
        for stored in events:
            # By its first bytes: Core writes number and tag first, and verify refuses another order.
            if stored.seq == 1 or _SEATED in stored.body[:48]:
                self._bounded(f"event {stored.seq}", stored.body, MAX_EVENT)
                yield stored

    def seating(self, at: int | None = None) -> Seating:
        """Who plays at event `at` (None: at the end), every seat. TraceError where the trace does not say."""
        if not self._seatings:
            raise TraceError(f"{self.path}: it holds no event, which would say who plays")
        (_, seating), *changes = self._seatings
        for seq, change in changes:
            if at is None or seq <= at:
                seating = seating.later(change)
        return seating

    def events(self, after: int = 0, *, side: bool = False) -> Iterator[StoredEvent]:
        """Stored events in order, from number `after` + 1 on. TraceError at a number that is not the next.

        `side`: with their rows of the side table `calls`, where the form of the trace has them next to the events.
        """
        if self._held is not None:
            yield from self._held[after:]
            return
        for stored in self._source.events(after, side=side):
            if len(stored.body) > MAX_EVENT:
                self._bounded(f"event {stored.seq}", stored.body, MAX_EVENT)
            yield stored

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
            # AttributeError: JSON that is no object has no `get`. TraceError: the result has changed.
            except (orjson.JSONDecodeError, AttributeError, TraceError):
                raise TraceError(f"{self.path.name}: event {stored.seq} or its result is damaged") from None
            yield event

    def blob(self, digest: str) -> bytes | None:
        """A large result by its digest; None when the file does not hold it. TraceError where it has changed."""
        found = self._source.blob(digest)
        # An index may name any row: only the hash says that this is the result that was asked for.
        if found is not None and digest_of(self._bounded("a stored result", found, MAX_BLOB)) != digest:
            raise TraceError(f"{self.path}: the stored result {digest[:16]} has changed")
        return found

    def blobs(self, after: int = 0) -> Iterator[tuple[str, bytes]]:
        """Every stored blob with the digest that it is filed under; a damaged file may have two under the same.

        Of a trace that is still written only those of events after number `after`.
        """
        for number, (digest, body) in enumerate(self._source.blobs(after), 1):
            if number > MAX_BLOBS:
                raise TraceError(f"{self.path}: more than {MAX_BLOBS:,} stored results")
            yield digest, self._bounded("a stored result", body, MAX_BLOB)

    def closed_head(self) -> tuple[int, str] | None:
        """(seq, hash) of the last closure, as noted outside the chain; None before the first."""
        return self._source.closed_head()

    def side(self, by: str | None = None) -> Iterator[SideRow]:
        """Times, transports and call keys of all events, in order; none in JSONL. `by`: of calls by it only."""
        if self._held and self._held[0].side is not None:
            rows = (SideRow(stored.seq, *_SIDE(stored.side)) for stored in self._held)
        else:
            rows = self._source.side(by)
        return rows if by is None else (row for row in rows if row.by == by)

    def agent_events(self) -> Iterator[dict[str, Any]]:
        """Model calls, plans and stop reasons, as the runner noted them. TraceError where a note is damaged."""
        for seat, body in self.notes():
            try:
                yield {"seat": seat, **orjson.loads(body)}
            except (orjson.JSONDecodeError, TypeError):
                raise TraceError(f"{self.path}: what is noted about {seat[:80]} is damaged") from None

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """The same notes as they are stored: (seat, JSON bytes), in order of writing; none in JSONL."""
        for number, (seat, body) in enumerate(self._source.notes(), 1):
            yield seat, self._bounded(f"note {number}", body, MAX_NOTE)

    def left_open(self) -> Iterator[dict[str, Any]]:
        """Calls that a recorder handed on and never saw answered, decoded as events; none while it is at work.

        They have no number, because nothing of them is in the chain.
        """
        rows = () if self.manifest.core.rules_version != RECORDED or held(self.path) else self.side_rows("pending")
        for seat, _, _, body, cancelled in rows or ():
            try:
                call: dict[str, Any] = orjson.loads(cast("bytes", body))
                asked = {"tool": str(call["tool"]), "arguments": call["arguments"], "step": call.get("step")}
            except (orjson.JSONDecodeError, KeyError, TypeError):
                raise TraceError(f"{self.path.name}: a call in `pending` is damaged") from None
            error = CANCELLED if cancelled else NO_ANSWER
            known = {"seq": 0, "event": "tool_called", "round": 1, "seat": seat, "kind": None, "result": None}
            yield {**known, **asked, "status": "failed", "error": error}

    def prompts(self, seat: SeatId | None = None) -> Iterator[PromptCall]:
        """What the model of `seat` (None: of any seat) was sent and answered, call by call in order of writing.

        None where nothing is kept: `prompts = false`, a stripped copy, JSONL, a client from outside. TraceError where a
        row is damaged, and beyond what is read of a trace.
        """
        try:
            yield from read_prompts(self.side_rows("prompt_parts") or (), self.side_rows("prompt_calls") or (), seat)
        except TraceError as error:
            raise TraceError(f"{self.path.name}: {str(error).removeprefix(f'{self.path}: ')}") from None

    @property
    def schema(self) -> int:
        """Of its tables: 2, or 1 for a file of an earlier release, which can be read and not continued."""
        return self._source.schema

    @property
    def incomplete(self) -> str | None:
        """Why the last events may be missing although nothing is damaged, as a sentence; None where nothing says so."""
        return self._source.incomplete

    def check_structure(self) -> None:
        """Look at every page of a database; TraceError where they contradict each other.

        What follows a trace event by event, or continues it, asks this first: 4 ms of CPU per MB.
        """
        self._source.check_structure()

    def backup(self, into: sqlite3.Connection) -> None:
        """Copy all that is stored now into an empty database. Raises TraceError, sqlite3.Error."""
        self._source.backup(into)

    def _bounded_rows(self, name: str, rows: Iterator[Sequence[object]]) -> Iterator[Sequence[object]]:
        # A call in flight becomes an event.
        most = MAX_EVENT if name == "pending" else MAX_NOTE
        for row in rows:
            for value in row:
                # Not isinstance: this runs for each column of each event.
                if (type(value) is str or type(value) is bytes) and len(value) > most:
                    self._bounded(f"a row of {name}", value, most)
            yield row

    def _bounded(self, what: str, body: _Sized, most: int) -> _Sized:
        # Before it is decoded: JSON may take 24 times its size.
        if len(body) > most:
            raise TraceError(f"{self.path}: {what} has {len(body):,} bytes; at most {most:,} are read")
        return body

    def signature(self) -> bytes | None:
        """What signs the seal, as JSON that nobody has checked (`signing.py`); None without one."""
        return self._source.signature()

    def side_rows(self, name: str) -> Iterator[Sequence[object]] | None:
        """The rows of one of `SIDE_TABLES`, in key order; None in JSONL, which leaves them out."""
        rows = self._source.side_rows(name)
        return None if rows is None else self._bounded_rows(name, rows)


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
        with regular(place) as file:
            # Enough for either format: nothing more of a foreign file is read.
            head = file.read(database.HEADER)
    except OSError as error:
        raise NotATrace(f"{place}: cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have, such as one with a null character
        raise NotATrace(f"{str(place)!r}: {error}") from None
    if head.startswith(database.MAGIC):
        return Trace(place, SqliteFile(place, head))
    if head.startswith(b'{"about":'):
        return Trace(place, jsonl_file.JsonlFile(place))
    # Frequent mistakes, which deserve a better sentence than "not a trace".
    if head.startswith(b'{"seat_view":'):
        raise NotATrace(f"{place}: a seat's view: it has no chain of its own, verify or evaluate the whole trace")
    for magic, unpack in _PACKED.items():
        if head.startswith(magic):
            raise NotATrace(f"{place}: compressed; unpack it first: {unpack} {place.name}")
    raise NotATrace(f"{place}: not a trace (neither SQLite nor JSONL of tradefair)")


def find_traces(path: str | Path) -> list[Path]:
    """The traces at any depth of a folder, in name order, or the file itself. TraceError when there is none.

    Regular files only; links count where they lead to a file within the folder. At most `MAX_TRACES`.
    """
    place = Path(path)
    # A named file is a trace by its bytes, not by its name.
    if not place.is_dir():
        if place.exists():
            return [place]
        raise TraceError(f"{place}: no trace here (*.trace or *.trace.jsonl)")
    found = sorted(_traces_below(place))
    if not found:
        raise TraceError(f"{place}: no trace here (*.trace or *.trace.jsonl)")
    return found


def is_reference(file: Path, folder: Path) -> bool:
    """Whether a file lies in a folder of references below `folder`, which may be one itself, or the file."""
    return REFERENCES in file.relative_to(folder).parts[:-1]


def _traces_below(root: Path) -> Iterator[Path]:
    """Raises TraceError at the trace after the last one that is listed."""
    files = (entry.path for entry in entries_below(root, TRACE_SUFFIXES) if not entry.skipped)
    for found, path in enumerate(files):
        if found == MAX_TRACES:
            raise TraceError(f"{root}: more than {MAX_TRACES:,} traces; name folders within it")
        yield path


def jsonl_lines(trace: Trace) -> Iterator[bytes]:
    """A trace as JSONL: the manifest, each event with its hash and exact bytes, the blobs, and what signs the seal."""
    trace.freeze()
    yield trace.manifest.to_json()
    for stored in trace.events():
        yield jsonl_file.EVENT + stored.hash.hex().encode() + jsonl_file.EVENT_BODY + stored.body + b"}"
    closed = trace.closed_head()
    if closed is not None:
        yield orjson.dumps({"closed_head": list(closed)})
    for digest, body in trace.blobs():
        yield jsonl_file.BLOB + digest.encode() + jsonl_file.BLOB_BODY + body + b"}"
    signature = trace.signature()
    if signature is not None:
        # Unchecked bytes: a line break in them would begin a line of their own.
        yield jsonl_file.SIGNATURE + signature.replace(b"\n", b"") + b"}"

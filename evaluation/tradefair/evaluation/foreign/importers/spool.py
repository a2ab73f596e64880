"""Items of foreign files, on disk until they are written in order: nothing keeps a run in memory.

The rows of a run are put in the order of their times, then of their file; where all came in that order anyhow, as most
logs do, nothing is sorted.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import orjson

MAX_RUNS = 50_000
"""Runs of one file."""

MAX_SCHEMAS = 1 << 20
"""Bytes of the definitions of tools that a run keeps."""

CALL, ANSWER, SAID, ROUND = range(4)

_CACHED_RUNS = 256
_BATCH, _BATCH_BYTES = 1_000, 2 << 20
_SCHEMA = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -16000;
CREATE TABLE runs (id INTEGER PRIMARY KEY, name TEXT UNIQUE, state BLOB);
CREATE TABLE items (
    id INTEGER PRIMARY KEY, run INTEGER, at INTEGER, timed INTEGER, type INTEGER, file INTEGER, step INTEGER,
    seat TEXT, key TEXT, name TEXT, extra BLOB, body BLOB
);
CREATE TABLE notes (id INTEGER PRIMARY KEY, run INTEGER, seat TEXT, body BLOB);
CREATE TABLE marks (mark INTEGER PRIMARY KEY);
CREATE TABLE counted (
    file INTEGER, kind TEXT, run TEXT, tool TEXT, telling TEXT, number INTEGER,
    PRIMARY KEY (file, kind, run, tool, telling)
) WITHOUT ROWID;
"""
_COUNT = "INSERT INTO counted VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE SET number = number + excluded.number"
# Prompts repeat what was said, and ids of several tellings may name the same: they say what there may be at most.
_BOUNDS = """
SELECT tool, sum(least), sum(most) FROM (
    SELECT tool, max(CASE WHEN telling = '' OR telling LIKE 'prompt%' THEN 0 ELSE number END) AS least,
        max(number) AS most
    FROM counted WHERE file = ? AND kind = ? GROUP BY run, tool
) GROUP BY tool
"""
_INSERT = (
    "INSERT INTO items (run, at, timed, type, file, step, seat, key, name, extra, body) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
)


class Row(NamedTuple):
    """An item as it is kept. `at` orders it, in ns; `timed` says that the source has that time. `body` is JSON.

    A call: `name` the tool, `extra` its kind, parent and whether its arguments are no object. An answer: `name` the
    status. A message: `name` the speaker, `extra` role and part. A round: `step` its number.
    """

    run: int
    at: int
    timed: bool
    type: int
    file: int
    step: int
    seat: str | None = None
    key: str | None = None
    name: str | None = None
    extra: bytes | None = None
    body: bytes | None = None


class Run:
    """What is known of a run while its items go by; small, since a file may have 50,000."""

    __slots__ = ("at", "facts", "files", "id", "loose", "name", "notes", "room", "round", "schemas", "seats", "tools")

    def __init__(self, number: int, name: str) -> None:
        self.id = number
        self.name = name
        self.at = 0
        self.seats: dict[str, dict[str, Any]] = {}
        self.tools: dict[str, dict[str, Any]] = {}
        self.schemas: dict[str, Any] = {}
        """Definitions of tools, as far as they fit."""
        self.facts: dict[str, Any] = {}
        self.files: list[int] = []
        self.round: int | None = None
        self.notes = 0
        self.room = MAX_SCHEMAS
        self.loose: dict[str, dict[str, Any]] = {}
        """By seat: the note that is being made."""

    @property
    def source_id(self) -> str:
        """The source's own name of the run; `name` begins with its file, where it is not joined."""
        return self.name.partition("\0")[2]

    def kept(self) -> bytes:
        """As JSON."""
        return orjson.dumps([getattr(self, name) for name in Run.__slots__])

    @classmethod
    def of(cls, raw: bytes) -> Run:
        """From what `kept` gave."""
        run = cls(0, "")
        for name, value in zip(Run.__slots__, orjson.loads(raw), strict=True):
            setattr(run, name, value)
        return run


class Spool:
    """A SQLite file in `folder` that has no name once it is open."""

    def __init__(self, folder: Path) -> None:
        self._place = tempfile.mkdtemp(prefix=".import-", dir=folder)
        path = Path(self._place) / "spool"
        self._database = sqlite3.connect(path, isolation_level=None, cached_statements=32)
        self._database.executescript(_SCHEMA)
        self._database.execute("BEGIN")
        # A process that is killed leaves nothing. Windows keeps the name until it is closed.
        with suppress(OSError):
            path.unlink()
            Path(self._place).rmdir()
        self._rows: list[Row] = []
        self._size = 0
        self._count = 0
        self._last = (0, 0)
        self._sorted = True
        self._runs: OrderedDict[str, Run] = OrderedDict()

    def close(self) -> None:
        """Let go of it."""
        self._database.close()
        with suppress(OSError):
            (Path(self._place) / "spool").unlink(missing_ok=True)
            Path(self._place).rmdir()

    def run(self, name: str, new: bool) -> Run | None:
        """The run of this name; None where there is none yet and no `new` one may be made."""
        run = self._runs.get(name)
        if run is not None:
            self._runs.move_to_end(name)
            return run
        found = self._database.execute("SELECT state FROM runs WHERE name = ?", (name,)).fetchone()
        if found is None and not new:
            return None
        if found is None:
            self._count += 1
            run = Run(self._count, name)
            self._database.execute("INSERT INTO runs VALUES (?, ?, ?)", (run.id, name, b""))
        else:
            run = Run.of(found[0])
        self._runs[name] = run
        if len(self._runs) > _CACHED_RUNS:
            self._keep(self._runs.popitem(last=False)[1])
        return run

    def add(self, row: Row) -> None:
        """The next row."""
        place = row.run, row.at
        if place < self._last:
            self._sorted = False
        self._last = place
        self._rows.append(row)
        self._size += len(row.body or b"")
        if len(self._rows) >= _BATCH or self._size >= _BATCH_BYTES:
            self._flush()

    def note(self, run: Run, seat: str, body: bytes) -> None:
        """A note about a seat."""
        run.notes += 1
        self._database.execute("INSERT INTO notes (run, seat, body) VALUES (?, ?, ?)", (run.id, seat, body))

    def met(self, mark: int, *, keep: bool = True) -> bool:
        """Whether this mark (64 bits) was met before; from now on it was, unless it is not to be kept."""
        if not keep:
            return self._database.execute("SELECT 1 FROM marks WHERE mark = ?", (mark,)).fetchone() is not None
        return self._database.execute("INSERT OR IGNORE INTO marks VALUES (?)", (mark,)).rowcount == 0

    def counted(self, file: int, numbers: Mapping[tuple[str, str, str, str], int]) -> None:
        """Add to the numbers of raw calls and answers of a file, by kind, run, tool and telling."""
        # Lone surrogates are none that a database takes.
        rows = ((file, *(name.encode(errors="replace").decode() for name in names), n) for names, n in numbers.items())
        self._database.executemany(_COUNT, rows)

    def bounds(self, file: int, kind: str) -> dict[str, tuple[int, int]]:
        """By tool: how many of a kind the file holds, at least and at most, as `counting` explains it."""
        return {tool: (least, most) for tool, least, most in self._database.execute(_BOUNDS, (file, kind))}

    def runs(self) -> Iterator[tuple[Run, Iterator[tuple[int, Row]]]]:
        """Every run that has items, with its rows in order, each with the number that `body` takes."""
        self._flush()
        while self._runs:
            self._keep(self._runs.popitem()[1])
        order = "id"
        if not self._sorted:
            self._database.execute("CREATE INDEX ordered ON items (run, at, id)")
            order = "run, at, id"
        self._database.execute("CREATE INDEX noted ON notes (run)")
        rows = self._database.execute(
            "SELECT id, run, at, timed, type, file, step, seat, key, name, extra, body FROM items ORDER BY " + order
        )
        for number, group in groupby(rows, key=lambda row: row[1]):
            state = self._database.execute("SELECT state FROM runs WHERE id = ?", (number,)).fetchone()[0]
            yield Run.of(state), ((row[0], Row(*row[1:])) for row in group)

    def body(self, number: int) -> bytes:
        """The body of a row by its number."""
        return self._database.execute("SELECT body FROM items WHERE id = ?", (number,)).fetchone()[0]

    def notes(self, run: Run) -> Iterator[tuple[str, bytes]]:
        """Seat and body of the notes of a run, in the order in which they came."""
        return self._database.execute("SELECT seat, body FROM notes WHERE run = ? ORDER BY id", (run.id,))

    def _keep(self, run: Run) -> None:
        self._database.execute("UPDATE runs SET state = ? WHERE id = ?", (run.kept(), run.id))

    def _flush(self) -> None:
        self._database.executemany(_INSERT, self._rows)
        self._rows, self._size = [], 0

"""Hostile trace files, first part: tables and pages that no trace has. Made by raw SQL and by edits of bytes."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import orjson
from tests.corpus.bases import Bases
from tests.corpus.cases import Make, add, case, copied
from tests.corpus.forge import Forge

_META = "CREATE TABLE kept AS SELECT * FROM meta; DROP TABLE meta;"
_EVENTS = "ALTER TABLE events RENAME TO kept;"
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
_FORGED_SQL = "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, {!r}, {!r}) WHERE name = {!r};"
_NEW_ROW = "INSERT INTO sqlite_master VALUES ('table', {!r}, {!r}, 0, {!r});"

SCHEMAS: Mapping[str, str] = {
    "view_for_meta": f"{_META} CREATE VIEW meta AS SELECT key, value FROM kept;",
    "view_for_events": f"{_EVENTS} CREATE VIEW events AS SELECT * FROM kept;",
    "view_without_end": f"DROP TABLE meta; CREATE VIEW meta AS {_ENDLESS} SELECT i AS key, '' AS value FROM n;",
    "view_that_changes_its_mind": f"""{_META} CREATE VIEW meta AS SELECT key,
        CASE WHEN key = 'about' AND abs(random()) % 2 THEN '{{}}' ELSE value END AS value FROM kept;""",
    "view_of_gigabytes": f"""DROP TABLE agent_events; CREATE VIEW agent_events AS {_ENDLESS}
        SELECT i AS id, 'S1' AS seat, zeroblob(1000000000) AS body FROM n LIMIT 100;""",
    "trigger_more": """CREATE TRIGGER another AFTER UPDATE ON meta BEGIN DELETE FROM agent_events; END;""",
    "trigger_changed": """DROP TRIGGER keep_sealed_head; CREATE TRIGGER keep_sealed_head AFTER INSERT ON events
        BEGIN DELETE FROM meta; END;""",
    "trigger_missing": "DROP TRIGGER keep_sealed_head;",
    "virtual_table": "PRAGMA writable_schema = ON;"
    + _NEW_ROW.format("pages", "pages", "CREATE VIRTUAL TABLE pages USING dbstat"),
    "virtual_table_for_notes": "DROP TABLE agent_events; PRAGMA writable_schema = ON;"
    + _NEW_ROW.format("agent_events", "agent_events", "CREATE VIRTUAL TABLE agent_events USING fts5(id, seat, body)"),
    "meta_with_row_numbers": f"{_META} CREATE TABLE meta (key TEXT, value BLOB NOT NULL); "
    "INSERT INTO meta SELECT * FROM kept; INSERT INTO meta SELECT * FROM kept; DROP TABLE kept;",
    "events_without_row_numbers": f"""{_EVENTS} CREATE TABLE events (seq INTEGER PRIMARY KEY, body BLOB, hash BLOB)
        WITHOUT ROWID; INSERT INTO events SELECT seq, body, hash FROM kept; DROP TABLE kept;""",
    "generated_column": """ALTER TABLE events ADD COLUMN later TEXT AS (zeroblob(1000000)) VIRTUAL;""",
    "column_more": "ALTER TABLE events ADD COLUMN verdict TEXT DEFAULT 'reproduced';",
    "index_more": "CREATE INDEX another ON events (at_ms);",
    "index_over_an_expression": "CREATE INDEX another ON events (abs(seq));",
    "other_collation": _FORGED_SQL.format("key TEXT PRIMARY", "key TEXT COLLATE NOCASE PRIMARY", "meta"),
    "table_more": "CREATE TABLE verdicts (name TEXT);",
    "table_missing": "DROP TABLE agent_events;",
    "table_in_capitals": "ALTER TABLE agent_events RENAME TO x; ALTER TABLE x RENAME TO Agent_Events;",
    "statistics": "ANALYZE;",
}
"""Name of a case -> the SQL that makes a trace hostile whose chain, heads and seal hold."""


def _made_by(sql: str) -> Make:
    def make(bases: Bases, folder: Path) -> Path:
        path = copied(bases.auction, folder)
        with closing(sqlite3.connect(path)) as database:
            database.executescript(sql)
            database.commit()
        return path

    return make


for _name, _sql in SCHEMAS.items():
    add("schema", _name, _made_by(_sql))


# --- pages ----------------------------------------------------------------------------------------------------------


class Pages:
    """A database as bytes. Pages are counted from 1; a leaf of a table holds rows, an inner page its children."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw = bytearray(path.read_bytes())
        self.size = int.from_bytes(self.raw[16:18], "big")
        with closing(sqlite3.connect(path)) as database:
            self._roots = dict(database.execute("SELECT name, rootpage FROM sqlite_master").fetchall())

    def save(self) -> Path:
        """Write the bytes back."""
        self.path.write_bytes(self.raw)
        return self.path

    def root(self, name: str) -> int:
        """The root page of a table or index."""
        return self._roots[name]

    def start(self, page: int) -> int:
        """Where the header of a page's tree begins."""
        return (page - 1) * self.size + (100 if page == 1 else 0)

    def leaves(self, page: int) -> Iterator[int]:
        """The leaves below a page, in order."""
        at = self.start(page)
        # 2 and 5 are the inner pages of indices and tables.
        if self.raw[at] not in (2, 5):
            yield page
            return
        for cell in self.cells(page):
            yield from self.leaves(self.number(cell))
        yield from self.leaves(self.number(at + 8))

    def cells(self, page: int) -> list[int]:
        """Where the cells of a page begin."""
        at, base = self.start(page), (page - 1) * self.size
        first = at + (12 if self.raw[at] in (2, 5) else 8)
        count = int.from_bytes(self.raw[at + 3 : at + 5], "big")
        pointers = struct.unpack_from(f">{count}H", self.raw, first)
        return [base + pointer for pointer in pointers]

    def number(self, at: int) -> int:
        """Four bytes as a number."""
        return int.from_bytes(self.raw[at : at + 4], "big")

    def put(self, at: int, value: int, width: int = 4) -> None:
        """Write a number."""
        self.raw[at : at + width] = value.to_bytes(width, "big")

    def varint(self, at: int) -> tuple[int, int]:
        """(value, where the next field begins)."""
        value = 0
        for place in range(at, at + 9):
            value = value << 7 | self.raw[place] & 127
            if self.raw[place] < 128:
                return value, place + 1
        return value, at + 9

    def rows(self, name: str) -> list[tuple[int, int]]:
        """(where it begins, where the number of its first overflow page stands) of each row of a table."""
        found: list[tuple[int, int]] = []
        for leaf in self.leaves(self.root(name)):
            for cell in self.cells(leaf):
                payload, at = self.varint(cell)
                _, at = self.varint(at)
                found.append((cell, at + self.kept(payload)))
        return found

    def kept(self, payload: int) -> int:
        """How many bytes of a row that overflows stay on its page: SQLite's file format, section 1.6."""
        least = (self.size - 12) * 32 // 255 - 23
        most = least + (payload - least) % (self.size - 4)
        return most if most <= self.size - 35 else least


def _pages(bases: Bases, folder: Path) -> Pages:
    return Pages(copied(bases.auction, folder))


def _with_long_notes(bases: Bases, folder: Path, count: int = 2, length: int = 20_000) -> Pages:
    """An honest trace with long notes, whose rows run over several pages."""
    forge = Forge.load(bases.auction)
    plans = ({"kind": "plan", "text": chr(ord("a") + number % 26) * length} for number in range(count))
    forge.notes = [("S1", orjson.dumps(plan)) for plan in plans]
    return Pages(forge.save(folder / "case.trace"))


def _run(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute(sql, values)
        database.commit()


@case("structure")
def meta_key_twice(bases: Bases, folder: Path) -> Path:
    path = copied(bases.auction, folder)
    about = {**Forge.load(path).about, "end_reason": "truncated:operator"}
    _run(path, "INSERT INTO meta VALUES ('abouu', ?)", orjson.dumps(about))
    pages = Pages(path)
    assert pages.raw.count(b"abouu") == 1
    pages.raw[:] = pages.raw.replace(b"abouu", b"about")
    return pages.save()


@case("structure")
def event_number_twice(bases: Bases, folder: Path) -> Path:
    path = copied(bases.auction, folder)
    columns = "(seq, body, hash, closes)"
    _run(path, f"INSERT INTO events {columns} SELECT seq + 1, body, hash, 0 FROM events ORDER BY seq DESC LIMIT 1")
    pages = Pages(path)
    *_, leaf = pages.leaves(pages.root("events"))
    _, at = pages.varint(pages.cells(leaf)[-1])
    assert pages.raw[at] < 127
    pages.raw[at] -= 1
    return pages.save()


@case("structure")
def rows_in_another_order(bases: Bases, folder: Path) -> Path:
    pages = _pages(bases, folder)
    leaf = next(pages.leaves(pages.root("events")))
    first = pages.start(leaf) + 8
    pages.raw[first : first + 4] = pages.raw[first + 2 : first + 4] + pages.raw[first : first + 2]
    return pages.save()


@case("structure")
def index_names_another_row(bases: Bases, folder: Path) -> Path:
    """A look-up by digest finds the result of another program."""
    pages = _pages(bases, folder)
    first, second, *_ = pages.cells(next(pages.leaves(pages.root("blobs"))))
    ends = [pages.varint(cell)[1] + pages.varint(cell)[0] - 1 for cell in (first, second)]
    pages.raw[ends[0]], pages.raw[ends[1]] = pages.raw[ends[1]], pages.raw[ends[0]]
    return pages.save()


@case("structure")
def index_lost_an_entry(bases: Bases, folder: Path) -> Path:
    pages = _pages(bases, folder)
    count = pages.start(next(pages.leaves(pages.root("call_keys")))) + 3
    pages.put(count, int.from_bytes(pages.raw[count : count + 2], "big") - 1, 2)
    return pages.save()


@case("structure")
def overflow_in_a_circle(bases: Bases, folder: Path) -> Path:
    pages = _with_long_notes(bases, folder)
    first = pages.number(pages.rows("agent_events")[0][1])
    pages.put(pages.start(first), first)
    return pages.save()


@case("structure")
def overflow_shared(bases: Bases, folder: Path) -> Path:
    pages = _with_long_notes(bases, folder)
    (_, first), (_, second) = pages.rows("agent_events")
    pages.put(second, pages.number(first))
    return pages.save()


@case("structure")
def rows_longer_than_the_file(bases: Bases, folder: Path) -> Path:
    """A hundred rows of 1 MB each in a file of 2 MB: every chain of overflow pages is a circle."""
    pages = _with_long_notes(bases, folder, 100)
    claimed = 1_000_000
    for cell, overflow in pages.rows("agent_events"):
        first = pages.number(overflow)
        _, at = pages.varint(cell)
        _, at = pages.varint(at)
        header, _ = pages.varint(at)
        # The size of the row, and the type of its last column: a blob of n bytes is 2 n + 12.
        pages.raw[cell : cell + 3] = _varint(claimed)
        pages.raw[at + header - 3 : at + header] = _varint(2 * (claimed - header - 2) + 12)
        pages.put(at + pages.kept(claimed), first)
        pages.put(pages.start(first), first)
    return pages.save()


def _varint(value: int) -> bytes:
    """Three bytes, as for numbers from 16,384 to 2,097,151."""
    return bytes([value >> 14 | 128, value >> 7 & 127 | 128, value & 127])


@case("structure")
def page_in_a_circle(bases: Bases, folder: Path) -> Path:
    pages = _pages(bases, folder)
    root = pages.root("events")
    assert pages.raw[pages.start(root)] == 5
    pages.put(pages.cells(root)[1], root)
    return pages.save()


def _schema_row(change: str) -> Make:
    return _made_by(f"PRAGMA writable_schema = ON; UPDATE sqlite_master SET {change} WHERE name = 'agent_events'")


add(
    "structure",
    "tables_share_a_root",
    _schema_row("rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'prompt_calls')"),
)
add("structure", "root_beyond_the_file", _schema_row("rootpage = 999999"))


def _header(name: str, at: int, value: int, width: int) -> None:
    """A case that differs from an honest trace in one field of the file's header."""

    def make(bases: Bases, folder: Path) -> Path:
        pages = _pages(bases, folder)
        pages.put(at, value, width)
        return pages.save()

    add("structure", name, make)


_header("page_size_of_three", 16, 3, 2)
_header("unknown_file_format", 18, 0x0909, 2)
_header("reserved_bytes", 20, 255, 1)
_header("text_in_utf_16", 56, 2, 4)
_header("schema_format_unknown", 44, 9, 4)
_header("page_count_too_small", 28, 5, 4)


@case("structure")
def half_of_the_file(bases: Bases, folder: Path) -> Path:
    pages = _pages(bases, folder)
    del pages.raw[len(pages.raw) // 2 :]
    return pages.save()


@case("structure")
def freelist_in_use(bases: Bases, folder: Path) -> Path:
    """A writer would take the events' first page for a new one."""
    pages = _pages(bases, folder)
    pages.put(32, next(pages.leaves(pages.root("events"))))
    pages.put(36, 1)
    return pages.save()

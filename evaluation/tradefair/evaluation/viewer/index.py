"""Rows of a folder, remembered: in memory, and in the user's cache so that the next start evaluates nothing again.

Never next to the traces: a stranger's folder could bring rows of its own.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from pydantic import ValidationError

from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.prove.verify import Check, verify_file
from tradefair.evaluation.viewer.folder import Folder, Place
from tradefair.evaluation.viewer.row import Row, State, changed_text, judged, listed, state_of, versions_of
from tradefair.tracestore import REFERENCES

# Of the table, and of what its rows mean; another one is begun anew.
_FORMAT = 3
_TABLE = "CREATE TABLE rows (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, versions TEXT NOT NULL, row BLOB NOT NULL)"
# Folders that are remembered; a row takes one or two kilobytes.
_MOST_FOLDERS = 64
# Checks that are kept for pages of the same traces; each takes a few kilobytes.
_MOST_CHECKS = 2_000

T = TypeVar("T")


class Remembered(Generic[T]):
    """Values by trace, valid while its file has not changed; the oldest are dropped when there are too many.

    `most` is the number of values. Not locked: a lost update costs one computation.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[str, tuple[tuple[int, ...], T]] = {}

    def get(self, place: Place) -> T | None:
        """The value for this state of the file."""
        known = self._values.get(place.id)
        return known[1] if known is not None and known[0] == place.stamp else None

    def put(self, place: Place, value: T) -> T:
        """Keep a value for this state of the file; returns the value."""
        # Removed first, so that a renewed value moves to the end of the order and is not the next one dropped.
        self._values.pop(place.id, None)
        self._values[place.id] = (place.stamp, value)
        while len(self._values) > self._most:
            del self._values[next(iter(self._values))]
        return value


class Index:
    """The rows of one folder of traces. Methods may be called from several threads.

    `cache` is the folder of the user's cache; None: rows are kept in memory only.
    """

    def __init__(self, folder: Folder, cache: Path | None = None) -> None:
        self.folder = folder
        self._lock = Lock()
        self._rows: dict[str, tuple[str, str, Row]] = {}
        self._checks: Remembered[Check] = Remembered(_MOST_CHECKS)
        self._references: dict[str, str] | None = None
        self._file = _opened(folder.root, cache)
        with suppress(sqlite3.Error):
            for path, stamp, versions, row in self._file.execute("SELECT path, stamp, versions, row FROM rows"):
                # A row of another release, or of a damaged file, is made again.
                with suppress(ValidationError):
                    self._rows[path] = (stamp, versions, Row.model_validate_json(row))

    def rows(self) -> list[Row]:
        """Every trace of the folder now, in order of their paths; evaluates nothing.

        Only new and changed files are opened. Rows that nobody has judged yet have `judged` null.
        """
        return [row for _, row in self.listed_rows(references=True)]

    def judge(self, place: Place) -> Row:
        """The row of a trace with its verdict, made now where it is not known."""
        # A verdict names the references next to its trace.
        if self._references is None:
            self.rows()
        row = self._row(place)
        if row.judged is None and row.problem is None:
            row = self._keep(
                place, row.model_copy(update={"judged": judged(place.path, self.check(place), self.folder.foreign)})
            )
        return row

    def check(self, place: Place) -> Check:
        """What re-execution says of a trace; made once for a row and what else shows this state of the file."""
        return self._checks.get(place) or self._checks.put(place, verify_file(place.path))

    def judged_rows(self, progress: Progress | None = None) -> list[tuple[Place, Row]]:
        """Every episode of the folder with its verdict; what is not known is evaluated now."""
        listed = watched(self.listed_rows(), progress, lambda one: one[0].path.name)
        return [(place, self.judge(place)) for place, _ in listed]

    def listed_rows(self, *, references: bool = False) -> list[tuple[Place, Row]]:
        """Every episode of the folder as it is known now, and `references` too; evaluates nothing."""
        places = self.folder.scan()
        # References first: what verdicts name is a part of their versions.
        known = [(place.shown, self._row(place)) for place in places if _kind(place) == "reference"]
        self._references = _references(known)
        rows = [(place, self._row(place)) for place in places if references or _kind(place) == "episode"]
        self._forget(places)
        return rows

    def known(self, places: Sequence[Place]) -> list[Row]:
        """The rows of these traces, in their order; evaluates nothing."""
        return [self._row(place) for place in places]

    def beside(self, place: Place) -> str:
        """A digest of the references next to a trace; "" where there are none."""
        return (self._references or {}).get(os.path.dirname(place.shown), "")

    def _row(self, place: Place) -> Row:
        """The row as it is known, without a verdict that is out of date."""
        stamp, (was, versions, row) = _stamp(place), self._rows.get(place.shown) or ("", "", None)
        if row is None or was != stamp:
            fresh = self._listed(place)
            # A verdict of an unfinished trace is renewed when a round closes, not with every event.
            same = row is not None and not row.sealed and not fresh.sealed and row.events == fresh.events
            kept = row.judged if row is not None and same and versions == self._versions(place, fresh) else None
            return self._keep(place, fresh.model_copy(update={"judged": kept}))
        if row.judged is not None and versions != self._versions(place, row):
            row = row.model_copy(update={"judged": None})
        # A lock leaves no trace in the file: it is asked each time.
        return row if row.sealed else row.model_copy(update={"state": self._state(place, row)})

    def _listed(self, place: Place) -> Row:
        changed = changed_text(place.changed_ns)
        row = listed(place.path, id=place.id, path=place.shown, bytes=place.bytes, changed=changed, kind=_kind(place))
        return row.model_copy(update={"state": self._state(place, row)})

    def _state(self, place: Place, row: Row) -> State:
        return state_of(place.path if self.folder.leases else str(place.path), row)

    def _keep(self, place: Place, row: Row) -> Row:
        entry = (_stamp(place), self._versions(place, row), row)
        with self._lock:
            self._rows[place.shown] = entry
            # A file that the user has deleted or filled the disk of costs the memory of it, nothing else.
            with suppress(sqlite3.Error):
                written = (place.shown, *entry[:2], row.model_dump_json().encode())
                self._file.execute("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", written)
        return row

    def _versions(self, place: Place, row: Row) -> str:
        """What a verdict depends on beside its trace: releases, the references next to it, and a map."""
        held = self.folder.foreign.evidence_version if self.folder.foreign and row.source else ""
        return f"{_release()} {versions_of(row.market) if row.market else ''} {self.beside(place)} {held}".rstrip()

    def _forget(self, places: Sequence[Place]) -> None:
        with self._lock:
            gone = self._rows.keys() - {place.shown for place in places}
            for path in gone:
                del self._rows[path]
            with suppress(sqlite3.Error):
                self._file.executemany("DELETE FROM rows WHERE path = ?", [(path,) for path in gone])


def _opened(root: Path, cache: Path | None) -> sqlite3.Connection:
    """The folder's file in the cache, begun anew where it is of no use; in memory where there can be none."""
    try:
        if cache is None:
            return _connected(":memory:")
        lists = cache / "lists"
        lists.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = lists / f"{_digest(os.fsencode(root))}.sqlite"
        _make_room(lists, path)
        try:
            return _connected(str(path))
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)
            return _connected(str(path))
    except (OSError, sqlite3.Error):
        return _connected(":memory:")


def _connected(path: str) -> sqlite3.Connection:
    # Rows are written at once and never waited for: two viewers of one folder would only do the same work.
    file = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1)
    try:
        file.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY")
        if file.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
            file.execute("DROP TABLE IF EXISTS rows")
            file.execute(_TABLE)
            file.execute(f"PRAGMA user_version = {_FORMAT}")
        with closing(file.execute("SELECT path, stamp, versions, row FROM rows LIMIT 1")) as first:
            first.fetchone()
    except BaseException:
        file.close()
        raise
    return file


def _make_room(lists: Path, own: Path) -> None:
    """Delete the lists of the folders that were looked at longest ago."""
    known = sorted((path for path in lists.glob("*.sqlite") if path != own), key=lambda path: path.stat().st_mtime)
    for path in known[: max(0, len(known) + 1 - _MOST_FOLDERS)]:
        path.unlink(missing_ok=True)


@cache
def _release() -> str:
    # Once: it is read from the package's metadata, and a folder may have ten thousand rows.
    return version("tradefair")


def _stamp(place: Place) -> str:
    return ":".join(map(str, place.stamp))


def _kind(place: Place) -> str:
    return "reference" if REFERENCES in Path(place.shown).parts[:-1] else "episode"


def _references(references: Sequence[tuple[str, Row]]) -> dict[str, str]:
    """Per folder, a digest of the references in it, by their seals: a copy of the folder has the same."""
    found: dict[str, list[str]] = {}
    for path, row in references:
        folder = os.path.dirname(path)
        if os.path.basename(folder) == REFERENCES:
            found.setdefault(os.path.dirname(folder), []).append(f"{path} {row.seal or row.changed}")
    return {folder: _digest("\n".join(lines).encode(errors="replace")) for folder, lines in found.items()}


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]

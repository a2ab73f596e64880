"""The traces of one folder, by ids that are no paths: nothing outside can be named, whatever a browser asks for."""

from __future__ import annotations

import os
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tradefair.evaluation.evaluator import Evaluator
from tradefair.files.folders import Entry, entries_below, entry_within
from tradefair.tracestore import MAX_TRACES, TRACE_SUFFIXES

# 64 bits of the hash. The ids need no secrecy, they only must not collide within a folder.
_ID_LENGTH = 16


class Place(NamedTuple):
    """A trace file. `stamp` changes with its content: times and sizes of the file and of its write-ahead log.

    `id` is a digest of the path below the folder, `shown` that path as text, `changed_ns` in
    nanoseconds since 1970.
    """

    id: str
    path: Path
    shown: str
    bytes: int
    changed_ns: int
    stamp: tuple[int, ...]


class Folder:
    """Finds trace files below `root`; links that lead out of it, and what is no plain file, are none."""

    leases = True
    """Whether a lock beside a file tells that somebody writes it."""
    foreign: Evaluator | None = None
    """What diagnoses the runs in it that no rules have made, such as a map; None: the general modes."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve(strict=True)
        self.skipped: list[tuple[str, str]] = []
        """Of the last scan: (path, why it is not opened), at most 20."""
        self._known: dict[str, Path] = {}

    def scan(self) -> list[Place]:
        """All traces now, in order of their paths; of more than `MAX_TRACES` some are left out.

        So are folders and files that cannot be read.
        """
        entries = list(islice(entries_below(self.root, TRACE_SUFFIXES), MAX_TRACES))
        self.skipped = sorted((self._shown(entry.path), entry.skipped) for entry in entries if entry.skipped)[:20]
        places = [place for entry in entries if (place := self._placed(entry)) is not None]
        self._known = {place.id: place.path for place in places}
        return sorted(places, key=lambda place: place.shown)

    def find(self, trace_id: str) -> Place | None:
        """The trace of this id, checked again now; None when there is none, or no longer."""
        # A file that was written after the list was made is found too: a new scan only for ids not met yet.
        if trace_id not in self._known:
            self.scan()
        path = self._known.get(trace_id)
        # A path may have become a link, or lead through one, since it was found.
        return None if path is None else self._placed(entry_within(path, self.root))

    def _shown(self, path: Path) -> str:
        return self._relative(path).decode(errors="replace")

    def _relative(self, path: Path) -> bytes:
        return os.fsencode(path)[len(os.fsencode(self.root)) :].lstrip(b"/")

    def _placed(self, entry: Entry) -> Place | None:
        """The place of a file; None for what is skipped."""
        known = entry.known
        if known is None:
            return None
        return Place(
            id=sha256(self._relative(entry.path)).hexdigest()[:_ID_LENGTH],
            path=entry.path,
            shown=self._shown(entry.path),
            bytes=known.st_size,
            changed_ns=known.st_mtime_ns,
            stamp=(known.st_mtime_ns, known.st_size, *_write_ahead(entry.path)),
        )


def _write_ahead(path: Path) -> tuple[int, ...]:
    """Time and size of the write-ahead log: a running episode grows there, while its file stays as it was."""
    try:
        log = os.stat(os.fsencode(path) + b"-wal")
    except OSError:
        return ()
    return log.st_mtime_ns, log.st_size

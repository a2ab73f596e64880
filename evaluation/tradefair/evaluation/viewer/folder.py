"""The traces of one folder, by ids that are no paths: nothing outside can be named, whatever a browser asks for."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tradefair.tracestore import MAX_TRACES

_SUFFIXES = (b".trace", b".trace.jsonl")
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

    def __init__(self, root: Path) -> None:
        self.root = root.resolve(strict=True)
        self._known: dict[str, Path] = {}

    def scan(self) -> list[Place]:
        """All traces now, in order of their paths; of more than `MAX_TRACES` some are left out.

        So are folders and files that cannot be read.
        """
        places = list(islice(self._walk(), MAX_TRACES))
        self._known = {place.id: place.path for place in places}
        return sorted(places, key=lambda place: place.shown)

    def find(self, trace_id: str) -> Place | None:
        """The trace of this id, checked again now; None when there is none, or no longer."""
        # A file that was written after the list was made is found too: a new scan only for ids not met yet.
        if trace_id not in self._known:
            self.scan()
        path = self._known.get(trace_id)
        return None if path is None else self._checked(path)

    def _walk(self) -> Iterator[Place]:
        """Folders are entered only where they are no links, so that what is no link itself lies inside."""
        # As bytes: file names need not be valid text. A list and no recursion: folders may lie in each other very deep.
        folders = [os.fsencode(self.root)]
        while folders:
            try:
                entries = list(os.scandir(folders.pop()))
            except OSError:
                continue
            for entry in entries:
                # A linked folder could lead outside, or in a circle.
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(_SUFFIXES) and (place := self._listed(entry)) is not None:
                    yield place

    def _listed(self, entry: os.DirEntry[bytes]) -> Place | None:
        path = Path(os.fsdecode(entry.path))
        try:
            # The full check resolves every part of the path, which is slow. Only links need it here: no folder on the
            # way is a link.
            return self._checked(path) if entry.is_symlink() else self._placed(path, entry.stat(follow_symlinks=False))
        except OSError:
            return None

    def _checked(self, path: Path) -> Place | None:
        """The place of a path that may have become a link, or lead through one, since it was found."""
        try:
            found = path.resolve(strict=True)
            known = found.stat()
        # Gone since the scan, unreadable, or links in a circle (a RuntimeError before Python 3.13).
        except (OSError, RuntimeError):
            return None
        return self._placed(path, known) if found.is_relative_to(self.root) else None

    def _placed(self, path: Path, known: os.stat_result) -> Place | None:
        """The place of a plain file; None for a pipe, device or folder of that name."""
        # Opening a named pipe would block a thread until someone writes to it.
        if not stat.S_ISREG(known.st_mode):
            return None
        relative = os.fsencode(path)[len(os.fsencode(self.root)) :].lstrip(b"/")
        return Place(
            id=sha256(relative).hexdigest()[:_ID_LENGTH],
            path=path,
            shown=relative.decode(errors="replace"),
            bytes=known.st_size,
            changed_ns=known.st_mtime_ns,
            stamp=(known.st_mtime_ns, known.st_size, *_write_ahead(path)),
        )


def _write_ahead(path: Path) -> tuple[int, ...]:
    """Time and size of the write-ahead log: a running episode grows there, while its file stays as it was."""
    try:
        log = os.stat(os.fsencode(path) + b"-wal")
    except OSError:
        return ()
    return log.st_mtime_ns, log.st_size

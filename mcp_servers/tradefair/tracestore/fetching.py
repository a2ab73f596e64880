"""Copies of a trace as one `.trace` file: the same bytes, and all that is kept outside the chain.

A copy is taken from one snapshot, so that it fits together even while the episode goes on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tradefair.contract import TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.files.folders import drafted
from tradefair.tracestore.reader import find_traces, open_trace
from tradefair.tracestore.store import StorePlace, StoreReader, is_store, stored_episodes

# Where the header of a database says that it keeps a log, and what it says of one that does not.
_LOGGED, _PLAIN = slice(18, 20), b"\x01\x01"


def stored_traces(url: str) -> list[StorePlace]:
    """The episode that an address names, or all episodes of a store, by name. TraceError where there is none."""
    place = StorePlace.of(url)
    if place.episode:
        return [place]
    found = stored_episodes(place.dsn)
    if not found:
        raise TraceError(f"{place}: no episode is stored here")
    return found


def fetch_trace(place: StorePlace, folder: Path) -> Path:
    """Write a stored trace into `folder`, as it is now, and return its path; the file appears whole or not at all.

    An existing file is replaced. TraceError where the trace cannot be read, StorageUnavailable where the file cannot
    be written.
    """
    # An episode's name comes from a store that others write to: it must not lead out of the folder.
    if place.episode in ("", ".", "..") or "/" in place.episode or "\\" in place.episode:
        raise TraceError(f"{place}: the episode's name is none for a file")
    path = folder / f"{place.episode}.trace"
    with closing(StoreReader(place)) as stored:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with drafted(path) as draft, closing(sqlite3.connect(draft)) as database:
                stored.backup(database)
        except (OSError, sqlite3.Error) as error:
            raise StorageUnavailable(f"{path}: cannot be written: {error}") from None
    return path


def trace_copy(place: str | Path, without: Iterable[str] = ()) -> bytes:
    """The bytes of a `.trace` file with what a trace holds now, whatever is written to it in the meantime.

    `place` is a `.trace` file or the address of a stored one; `without` names tables whose rows stay behind. Raises
    StorageUnavailable where it cannot be read.
    """
    try:
        with open_trace(place) as trace, closing(sqlite3.connect(":memory:")) as copy:
            # SQLite's backup, and not a copy of the file: half of a page that is being written would be damage.
            trace.backup(copy)
            there = {name for (name,) in copy.execute("SELECT name FROM sqlite_master")}
            for table in there.intersection(without):
                copy.execute(f"DELETE FROM {table}")
            copy.commit()
            if without:
                # Deleted rows would stay legible on the pages that they leave free.
                copy.execute("VACUUM")
            # In memory: the caller gets bytes, and no file is left behind.
            raw = bytearray(copy.serialize())
    except sqlite3.Error as error:
        raise StorageUnavailable(f"{Path(place).name}: cannot be read: {error}") from None
    except TraceError as error:
        raise StorageUnavailable(str(error)) from None
    # A running episode's header names a log, and this copy has none: all that it held is in here.
    raw[_LOGGED] = _PLAIN
    return bytes(raw)


@contextmanager
def fetched(places: Iterable[str | Path]) -> Generator[list[Path]]:
    """The trace files of paths, folders and addresses; stored traces are fetched into a folder that goes afterwards."""
    with TemporaryDirectory(prefix="tradefair-") as folder:
        files: list[Path] = []
        for number, place in enumerate(places):
            if is_store(str(place)):
                # A folder per address: two stores may have an episode of one name.
                into = Path(folder) / str(number)
                files += [fetch_trace(stored, into) for stored in stored_traces(str(place))]
            else:
                files += find_traces(place)
        yield files

"""Folders of files, and their lines: those of others are bounded; our own files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tradefair.files.user_files import MAX_LINE, kind_of

# A reader on Windows keeps a file from being replaced while it looks; seconds.
_PATIENCE_S, _PAUSE_S = 1.0, 0.02


class Entry(NamedTuple):
    """A file below a folder: what the system says of it, or in `skipped` why it is not to be opened."""

    path: Path
    known: os.stat_result | None
    skipped: str = ""


def entries_below(root: Path, suffixes: tuple[str, ...]) -> Iterator[Entry]:
    """What has one of these endings at any depth, in no order. Folders that cannot be read or are links are left out.

    Names that are no text come as Python keeps them, with lone surrogates.
    """
    top = root.resolve()
    # A list and no recursion: folders may lie in each other very deep.
    folders = [os.fspath(root)]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            # A linked folder could lead outside, or in a circle.
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.name.endswith(suffixes):
                path = Path(entry.path)
                # Resolving every part of a path is slow, and no folder on the way here is a link.
                yield entry_within(path, top) if entry.is_symlink() else _entry(path)


def entry_within(path: Path, top: Path) -> Entry:
    """One file, which may be a link or lie behind one; `top` is a resolved folder that it must not lead out of."""
    try:
        inside = path.resolve(strict=True).is_relative_to(top)
    # RuntimeError: how Python before 3.13 reports links that lead round in a circle.
    except (OSError, RuntimeError):
        return Entry(path, None, "gone, or a link to nothing")
    return _entry(path) if inside else Entry(path, None, "a link out of the folder")


def _entry(path: Path) -> Entry:
    try:
        known = path.stat()
    except OSError as error:
        return Entry(path, None, error.strerror or "cannot be read")
    # Opening a FIFO would block until somebody writes into it.
    return Entry(path, known) if stat.S_ISREG(known.st_mode) else Entry(path, None, kind_of(known))


def lines(file: BinaryIO, most: int = MAX_LINE) -> Iterator[bytes]:
    """The lines of an open file, with their line breaks. Raises OSError at one that is longer than `most` bytes."""
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most and not line.endswith(b"\n"):
            raise OSError(errno.EFBIG, f"line {number} is longer than {most:,} bytes")
        yield line


def cache_folder() -> Path | None:
    """The user's cache folder, TRADEFAIR_CACHE where it is set; None where there is none."""
    given, shared = os.environ.get("TRADEFAIR_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given)
    try:
        return (Path(shared) if shared else Path.home() / ".cache") / "tradefair"
    # Some accounts have no home.
    except RuntimeError:
        return None


@contextmanager
def drafted(path: Path) -> Generator[Path]:
    """The path of a draft beside `path`, which gets that name when the block ends well and goes when it does not.

    An existing file is replaced; the folder must be there. Raises OSError where the draft cannot be named.
    """
    draft = _draft_of(path)
    # Left by a process of the same number that was killed.
    draft.unlink(missing_ok=True)
    try:
        yield draft
        move_onto(draft, path)
    finally:
        # What SQLite keeps beside a database goes too.
        for left in ("", "-wal", "-shm"):
            with suppress(OSError):
                draft.with_name(draft.name + left).unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears with all of its content or not at all, also when the power fails.

    An existing file is replaced; the folder must be there. Raises OSError.
    """
    draft = _draft_of(path)
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            # Before it has its name: a name may reach the disk before the content does.
            os.fsync(file.fileno())
        move_onto(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _draft_of(path: Path) -> Path:
    # In the same folder, since a rename is atomic within one file system only; the process id keeps two writers apart.
    return path.with_name(f".{path.name}.{os.getpid()}.draft")


def move_onto(path: Path, target: Path) -> Path:
    """Rename a file or folder, in the place of a file that is there; the target.

    Windows refuses it while a reader has either open: tried again for a second. Raises OSError.
    """
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return path.replace(target)
        except PermissionError:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)


def new_private(path: Path) -> BinaryIO:
    """A new file for writing bytes, which only its owner may read (on Windows: whoever may read its folder).

    Raises OSError, FileExistsError for a name that is taken.
    """
    # By an opener, so that Python adds the system's own flags: Windows would write text otherwise.
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))

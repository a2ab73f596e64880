"""Folders of files, and their lines: those of others are bounded; our own files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from tradefair.files.user_files import MAX_LINE, kind_of


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


@contextmanager
def drafted(path: Path) -> Generator[Path]:
    """The path of a draft beside `path`, which gets that name when the block ends well and goes when it does not.

    An existing file is replaced; the folder must be there. Raises OSError where the draft cannot be named.
    """
    # In the same folder, since a rename is atomic within one file system only; the process id keeps two writers apart.
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    # Left by a process of the same number that was killed.
    draft.unlink(missing_ok=True)
    try:
        yield draft
        draft.replace(path)
    finally:
        # What SQLite keeps beside a database goes too.
        for left in ("", "-wal", "-shm"):
            with suppress(OSError):
                draft.with_name(draft.name + left).unlink(missing_ok=True)

"""Files: those of others are regular, of a bounded size, read in bounded lines; our own appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

MIB = 1 << 20
MAX_FILE = 4 << 30
"""Bytes of the largest trace or log that is opened."""

MAX_LINE = 16 * MIB
"""Bytes of the longest line that is read, without its line break."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a link"),
)


def regular(path: Path, most: int = MAX_FILE) -> BinaryIO:
    """The file, open for reading. Links are followed.

    Raises OSError for what is no regular file or larger than `most` bytes; `strerror` is the sentence. Never waits.
    """
    # O_NONBLOCK: without it, opening a FIFO waits until somebody writes into it.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        check_regular(os.fstat(fd), path, most)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def check_regular(known: os.stat_result, path: Path, most: int) -> None:
    """Raises OSError, as `regular` does, by what the system says of a file."""
    if not stat.S_ISREG(known.st_mode):
        raise OSError(errno.EINVAL, f"{_kind(known)}, not a file", str(path))
    if known.st_size > most:
        raise OSError(errno.EFBIG, f"{known.st_size:,} bytes; at most {most:,} are read", str(path))


def _kind(known: os.stat_result) -> str:
    return next((name for is_kind, name in _KINDS if is_kind(known.st_mode)), "something else")


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
    return Entry(path, known) if stat.S_ISREG(known.st_mode) else Entry(path, None, _kind(known))


def read_regular(path: Path, most: int = MAX_LINE) -> bytes:
    """The content of a regular file of at most `most` bytes. Raises OSError as `regular` does."""
    with regular(path, most) as file:
        content = file.read(most + 1)
    # It may have grown since its size was looked at.
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most:,} bytes; at most {most:,} are read", str(path))
    return content


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

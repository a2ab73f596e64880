"""Files that a user names, or a stranger sent: regular ones of a bounded size, text in UTF-8, TOML without traps."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from tradefair.contract.errors import ScenarioError
from tradefair.contract.text import clean_line

MIB = 1 << 20
MAX_FILE = 4 << 30
"""Bytes of the largest trace or log that is opened."""

MAX_LINE = 16 * MIB
"""Bytes of the longest line that is read, without its line break."""

# O_NONBLOCK: without it, opening a FIFO waits until somebody writes into it. O_BINARY: without it, Windows reads text.
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
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
    fd = os.open(path, _FLAGS)
    try:
        check_regular(os.fstat(fd), path, most)
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def check_regular(known: os.stat_result, path: Path, most: int) -> None:
    """Raises OSError, as `regular` does, by what the system says of a file."""
    if not stat.S_ISREG(known.st_mode):
        raise OSError(errno.EINVAL, f"{kind_of(known)}, not a file", str(path))
    if known.st_size > most:
        raise OSError(errno.EFBIG, f"{known.st_size:,} bytes; at most {most:,} are read", str(path))


def kind_of(known: os.stat_result) -> str:
    """What the system says a file is: "a folder", "a FIFO"; "something else" for a regular one."""
    return next((name for is_kind, name in _KINDS if is_kind(known.st_mode)), "something else")


def read_regular(path: Path, most: int = MAX_LINE) -> bytes:
    """The content of a regular file of at most `most` bytes. Raises OSError as `regular` does."""
    with regular(path, most) as file:
        content = file.read(most + 1)
    # It may have grown since its size was looked at.
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most:,} bytes; at most {most:,} are read", str(path))
    return content


class Unreadable(Exception):
    """Why a file cannot be taken, as the rest of a sentence that begins with its name."""


def bytes_within(folder: Path, path: Path, most: int, *, called: str) -> bytes:
    """The bytes of a file of `folder`, links within it followed; no more than `most` and one are ever read.

    `called` is what complaints call the folder. Raises Unreadable: a link out of it, not a regular file, too large, not
    readable.
    """
    try:
        # Followed before it is opened: a link out of the folder could name any file of the machine.
        real = path.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            raise Unreadable(f"is a link out of {called}")
        return read_regular(real, most)
    # RuntimeError: how Python before 3.13 reports links that lead round in a circle.
    except (OSError, RuntimeError) as error:
        told = error.strerror if isinstance(error, OSError) else "links in a circle"
        raise Unreadable(f"cannot be read: {told}") from None


def text_of(raw: bytes, *, source: str) -> str:
    """Bytes of a file as text, without the byte order mark and CRLF of editors on Windows. Raises ScenarioError."""
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ScenarioError(f"{source}: not text in UTF-8") from None


def text_file(path: Path) -> str:
    """The text of a file that a user names, of at most 1 MiB. ScenarioError names the path as it was given."""
    try:
        return text_of(read_regular(path, MIB), source=str(path))
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None


# tomllib takes time and memory with the square of a key's parts; 40 is more than any text has in words parted so.
_LONG_KEY = re.compile(
    r"""(?:(?:[A-Za-z0-9_-]{1,80}|"(?:[^"\\\n]|\\.){0,80}"|'[^'\n]{0,80}')[ \t]{0,80}\.[ \t]{0,80}){40}"""
)


def parse_toml(text: str, *, source: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """The content of a TOML file, which may be a stranger's. ScenarioError begins with `source` and names the line."""
    # Before the parser sees it: the parser itself is what such a key attacks.
    if long := _LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise ScenarioError(f"{source}: line {line}: a key of 40 parts or more, or a text of words parted by dots")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of thousands of digits
        told = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "a number or a nesting without end"
        raise ScenarioError(f"{source}: not valid TOML: {clean_line(told[:200])}") from None

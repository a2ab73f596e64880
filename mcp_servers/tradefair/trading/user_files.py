"""Reading a user's file, whatever it is: one that belongs to its folder, no device, no larger than is allowed."""

from __future__ import annotations

import stat
from pathlib import Path


class Unreadable(Exception):
    """Why a file cannot be taken, as the rest of a sentence that begins with its name."""


def bytes_within(folder: Path, path: Path, limit: int, *, called: str) -> bytes:
    """The bytes of a file of `folder`, links within it followed; no more than `limit` and one are ever read.

    `called` is what complaints call the folder. Raises Unreadable: a link out of it, not a regular file, too large, not
    readable.
    """
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            raise Unreadable(f"is a link out of {called}")
        if not stat.S_ISREG(real.stat().st_mode):
            raise Unreadable("is not a file")
        with real.open("rb") as file:
            raw = file.read(limit + 1)
    except (OSError, RuntimeError) as error:
        raise Unreadable(f"cannot be read: {error.__class__.__name__}") from None
    if len(raw) > limit:
        raise Unreadable(f"is larger than {limit} bytes")
    return raw

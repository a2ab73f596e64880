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
        # Followed before it is opened: a link out of the folder could name any file of the machine.
        real = path.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            raise Unreadable(f"is a link out of {called}")
        # A pipe would block the reader, and a device may never end.
        if not stat.S_ISREG(real.stat().st_mode):
            raise Unreadable("is not a file")
        with real.open("rb") as file:
            # One byte more than allowed tells too large a file from one that just fits; no file is read further than
            # that.
            raw = file.read(limit + 1)
    # RuntimeError: how Python before 3.13 reports links that lead round in a circle.
    except (OSError, RuntimeError) as error:
        raise Unreadable(f"cannot be read: {error.__class__.__name__}") from None
    if len(raw) > limit:
        raise Unreadable(f"is larger than {limit} bytes")
    return raw

"""Files that appear whole under their name or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tradefair.contract.errors import StorageUnavailable
from tradefair.files.folders import drafted


class WholeFile(NamedTuple):
    """A file that was written: its size in bytes, and whether its folder had to be made."""

    path: Path
    size: int
    new_folder: bool

    def __str__(self) -> str:
        """Size and new folder in words."""
        return f"{self.size:,} bytes" + (f"; made the folder {self.path.parent}" if self.new_folder else "")


def write_whole(path: Path, pieces: Iterable[bytes]) -> WholeFile:
    """Write a draft next to `path`, then rename it: a failure leaves no half file.

    Missing folders are made. Raises StorageUnavailable with the system's reason.
    """
    new_folder = not path.parent.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with drafted(path) as draft, draft.open("wb") as file:
            size = sum(file.write(piece) for piece in pieces)
    except OSError as error:
        raise StorageUnavailable(f"{path}: cannot be written: {error.strerror}") from None
    return WholeFile(path, size, new_folder)

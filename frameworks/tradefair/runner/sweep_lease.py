"""Leases of sweep commands: a locked file per command, which its workers hold too.

The system drops a lock with the last process that holds it, however that ends. So a lease needs no clock: it is alive
as long as its command or one of its workers is, and whoever finds it dead may take what it held.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path

from tradefair.contract.errors import StorageUnavailable

_PREFIX, _SUFFIX = "sweep.", ".lease"


class Lease:
    """The lease of one command in one folder. Take, check and give back leases in a write transaction of the table."""

    def __init__(self, folder: Path) -> None:
        """Takes a fresh one. Raises StorageUnavailable."""
        self.name = secrets.token_hex(6)
        self.path = _path(folder, self.name)
        try:
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(self.fd, fcntl.LOCK_SH)
        except OSError as error:
            raise StorageUnavailable(f"{self.path}: {error.strerror}") from None

    def release(self) -> None:
        """Give it back."""
        self.path.unlink(missing_ok=True)
        os.close(self.fd)


def join_lease(path: Path) -> int:
    """Hold a living lease too, from another process: a file descriptor. StorageUnavailable when it is dead."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError as error:
        raise StorageUnavailable(
            f"{path}: the sweep has ended, or its folder is not shared: {error.strerror}"
        ) from None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise StorageUnavailable(f"{path}: the sweep has ended") from None
    return fd


def lease_names(folder: Path) -> list[str]:
    """The leases that were not given back, dead ones too."""
    return [path.name[len(_PREFIX) : -len(_SUFFIX)] for path in folder.glob(f"{_PREFIX}*{_SUFFIX}")]


def is_alive(folder: Path, name: str) -> bool:
    """Whether some process holds it; the file of a dead one is removed."""
    path = _path(folder, name)
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    else:
        path.unlink(missing_ok=True)
        return False
    finally:
        os.close(fd)


def _path(folder: Path, name: str) -> Path:
    return folder / f"{_PREFIX}{name}{_SUFFIX}"

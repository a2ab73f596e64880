"""Leases of sweep commands: a locked file per command, which its workers hold too.

The system drops a lock with the last process that holds it, however that process ends. So a lease needs no clock: it is
alive as long as its command or one of its workers is, and a command that finds it dead may take what it held.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from tradefair.contract.errors import StorageUnavailable
from tradefair.tracestore.locks import close_and_remove, is_named, take

_PREFIX, _SUFFIX = "sweep.", ".lease"


class Lease:
    """The lease of one command in one folder.

    Leases are taken, checked and given back in a write transaction of the table only: a command that makes its file and
    has not locked it yet would look dead to another one.
    """

    def __init__(self, folder: Path) -> None:
        """Take a new lease. Raises StorageUnavailable where its file cannot be made or locked."""
        # Random: a process id comes back, and would make the episodes of a dead command look held.
        self.name = secrets.token_hex(6)
        self.path = _path(folder, self.name)
        try:
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            # Shared, because the command's workers hold the same lease. New under its name, so the lock is free.
            take(self.fd, shared=True)
        except OSError as error:
            raise StorageUnavailable(f"{self.path}: {error.strerror}") from None

    def release(self) -> None:
        """Give it back.

        Workers that still hold the file keep it alive for themselves; no new command sees it.
        """
        close_and_remove(self.fd, self.path)


def join_lease(path: Path) -> int:
    """Hold a living lease too, from another process: a file descriptor. StorageUnavailable when it is dead."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError as error:
        raise StorageUnavailable(
            f"{path}: the sweep has ended, or its folder is not shared: {error.strerror}"
        ) from None
    try:
        # A command that finds this lease dead holds it exclusively for a moment, and then removes it.
        if take(fd, shared=True) and is_named(fd, path):
            return fd
    except OSError:
        pass
    os.close(fd)
    raise StorageUnavailable(f"{path}: the sweep has ended")


def lease_names(folder: Path) -> list[str]:
    """The names of all leases that were not given back; dead ones are among them."""
    return [path.name[len(_PREFIX) : -len(_SUFFIX)] for path in folder.glob(f"{_PREFIX}*{_SUFFIX}")]


def is_alive(folder: Path, name: str) -> bool:
    """Whether some process holds a lease; the file of a dead lease is removed.

    Asked in a write transaction of the table only, as all of `Lease`.
    """
    path = _path(folder, name)
    try:
        fd = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        # A file that cannot be opened may be held: taking its episodes could play them twice.
        return True
    # An exclusive lock is to be had only where no process holds the shared one.
    if _to_be_had(fd):
        close_and_remove(fd, path)
        return False
    os.close(fd)
    return True


def _to_be_had(fd: int) -> bool:
    try:
        return take(fd)
    except OSError:
        return False


def _path(folder: Path, name: str) -> Path:
    return folder / f"{_PREFIX}{name}{_SUFFIX}"

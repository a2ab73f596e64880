"""Who writes a trace: an advisory lock next to it, which readers may ask about and never hold.

A lock and not an age: a model may think for an hour, and a killed process leaves a fresh file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from pathlib import Path

from tradefair.contract import TraceError
from tradefair.contract.errors import StorageUnavailable

# A probe holds the lock for microseconds, another writer for minutes. Many short pauses: readers that ask without a
# break hold it a third of the time.
_ATTEMPTS, _PAUSE_S = 25, 0.004
_REFUSED = (errno.EWOULDBLOCK, errno.EACCES)


def held(path: str | Path) -> bool | None:
    """Whether a process has the trace open for writing; None where the file system cannot say.

    Never waits and never creates a file. A trace without a lock file is open in no process of this machine.
    """
    try:
        # What a stranger put under that name may be a FIFO, or a link to a file that somebody else locks.
        lock = os.open(_lock_of(Path(path)), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(lock).st_mode):
            return None
        # Shared: two probes at once do not take each other for a writer. Closing lets go.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return True if error.errno in _REFUSED else None
    finally:
        os.close(lock)
    return False


class Lease:
    """The lock of a writer on `<trace>.lock`, taken when it is made.

    The system drops it when the process dies, so no lease outlives its holder.
    """

    def __init__(self, path: Path) -> None:
        self._path = _lock_of(path)
        self._fd = -1
        self.take()

    def take(self) -> None:
        """Take the lease, or take it again. Raises TraceError when another process has it, StorageUnavailable."""
        # A loop: between opening the file and locking it, its last holder may remove it under its name.
        while not self.held:
            try:
                lock = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise StorageUnavailable(f"{self._path}: {error.strerror}") from None
            if not _locked(lock):
                os.close(lock)
                raise TraceError(f"{self._path.stem} is open for writing in another process") from None
            # Taken again after the lock file was removed: the old descriptor locks a file without a name.
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = lock

    @property
    def held(self) -> bool:
        """Whether the locked file is still the one under its name.

        A lock on a removed file keeps no other process out.
        """
        if self._fd < 0:
            return False
        try:
            return os.path.samestat(os.fstat(self._fd), self._path.stat())
        except OSError:
            return False

    def release(self) -> None:
        """Give the lease back; idempotent."""
        if self._fd >= 0:
            # Only its own file: another process may have made a new one under the name.
            if self.held:
                self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _locked(lock: int) -> bool:
    """Lock for writing; tried again, because a reader may be asking just now."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        return True
    return False

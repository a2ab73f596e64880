"""Locks on files, the only module that takes them; and who writes a trace, which readers may ask and never hold.

A lock and not an age: a model may think for an hour, and a killed process leaves a fresh file. The system drops a lock
with the last process that has the file open. POSIX locks the file as a whole (flock). Windows locks bytes, keeps all
others from reading them, and knows no shared locks: there an exclusive lock is a whole range of bytes far behind the
content, and a shared one is any free byte of that range. A Python that has neither keeps nobody out, and `held` says
that it does not know.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from tradefair.contract import TraceError
from tradefair.contract.errors import StorageUnavailable

# A probe holds the lock for microseconds, another writer for minutes. Many short pauses: readers that ask without a
# break hold it a third of the time.
_ATTEMPTS, _PAUSE_S = 25, 0.004
_REFUSED = (errno.EWOULDBLOCK, errno.EACCES)
# Where Windows locks: behind whatever a lock file holds, with room for a sweep's workers and probes at once.
_FAR, _PLACES = 1 << 30, 256
# A stranger's FIFO must not make an open wait, nor a link lead elsewhere. Windows has neither these flags nor the need.
_CAREFULLY = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC"))


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


# By what this Python has, not by the system's name: the tests run the way of Windows on other systems.
_fcntl, _msvcrt = _module("fcntl"), _module("msvcrt")
_CAN_LOCK = (_fcntl or _msvcrt) is not None


def take(file: int, *, shared: bool = False) -> bool:
    """Lock an open file without waiting; whether the lock was free. Closing the file gives it back.

    Shared locks go together with each other and with no exclusive one. Raises OSError where the file system has no
    locks.
    """
    try:
        if _fcntl is not None:
            _fcntl.flock(file, (_fcntl.LOCK_SH if shared else _fcntl.LOCK_EX) | _fcntl.LOCK_NB)
        elif _msvcrt is not None:
            return any(_take_bytes(file, _FAR + place, 1) for place in range(_PLACES)) if shared else _take_bytes(file)
    except OSError as error:
        if error.errno in _REFUSED:
            return False
        raise
    return True


def _take_bytes(file: int, first: int = _FAR, count: int = _PLACES) -> bool:
    os.lseek(file, first, os.SEEK_SET)
    try:
        _msvcrt.locking(file, _msvcrt.LK_NBLCK, count)
    except OSError as error:
        if error.errno in _REFUSED:
            return False
        raise
    return True


def is_named(file: int, path: Path) -> bool:
    """Whether an open file is still the one under its name: a lock on a removed file keeps no process out."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def close_and_remove(file: int, path: Path) -> None:
    """Give a lock back together with its file."""
    try:
        # While it is locked: afterwards the file may be another process's.
        path.unlink(missing_ok=True)
    except PermissionError:
        os.close(file)
        # Windows removes no file that a process has open, so neither ours before it is closed, nor that of the next.
        with suppress(OSError):
            path.unlink(missing_ok=True)
    else:
        os.close(file)


def held(path: str | Path) -> bool | None:
    """Whether a process has the trace open for writing; None where the system cannot say.

    Never waits and never creates a file. A trace without a lock file is open in no process of this machine.
    """
    try:
        # What a stranger put under that name may be a FIFO, or a link to a file that somebody else locks.
        lock = os.open(_lock_of(Path(path)), _CAREFULLY)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return None
    try:
        if not (_CAN_LOCK and stat.S_ISREG(os.fstat(lock).st_mode)):
            return None
        # Shared: two probes at once do not take each other for a writer. Closing lets go.
        return not take(lock, shared=True)
    except OSError:
        return None
    finally:
        os.close(lock)


class Lease:
    """The lock of a writer on `<trace>.lock`, taken when it is made.

    The system drops it when the process dies, so no lease outlives its holder.
    """

    def __init__(self, path: Path) -> None:
        self._path = _lock_of(path)
        self._fd = -1
        self._file: os.stat_result | None = None  # what is locked
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
            self._fd, self._file = lock, os.fstat(lock)

    @property
    def held(self) -> bool:
        """Whether the locked file is still the one under its name."""
        try:
            return self._file is not None and os.path.samestat(self._file, os.stat(self._path))
        except OSError:
            return False

    def release(self) -> None:
        """Give the lease back; idempotent."""
        if self._fd >= 0:
            # Only its own file: another process may have made a new one under the name.
            if self.held:
                close_and_remove(self._fd, self._path)
            else:
                os.close(self._fd)
            self._fd, self._file = -1, None


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _locked(lock: int) -> bool:
    """Lock for writing; tried again, because a reader may be asking just now."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        with suppress(OSError):
            if take(lock):
                return True
    return False

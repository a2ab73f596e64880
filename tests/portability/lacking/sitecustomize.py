"""Makes this Python lack what Windows' lacks, as far as tradefair sees: found by `PYTHONPATH`, run at every start.

Modules and functions are hidden from tradefair alone, because packages of others choose by the system's name.
`LACKING=locks` gives no `msvcrt` either: a Python that cannot lock at all.
"""

# Frames and the loop of this system are what it looks into.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio.unix_events
import builtins
import errno
import fcntl
import importlib
import os
import signal
import struct
import subprocess
import sys
import types
from collections.abc import Iterable
from typing import Any

_HIDDEN = {"fcntl", "resource", "termios", "pty", "pwd", "grp"}
_FUNCTIONS = (
    "fork",
    "sysconf",
    "statvfs",
    "getuid",
    "geteuid",
    "fchmod",
    "mkfifo",
    "killpg",
    "setsid",
    "wait4",
    "tcgetpgrp",
    "getpgrp",
    "uname",
)
_FLAGS = ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_DIRECTORY")
_SIGNALS = ("setitimer", "SIGVTALRM", "SIGALRM", "SIGKILL", "SIGHUP", "alarm", "pthread_sigmask")
# Who takes a lock by `msvcrt` below: of the kernel, and of the open file, so that two opens of one process disagree.
_TAKE = fcntl.F_OFD_SETLK


def _locking(file: int, mode: int, count: int) -> None:
    """As Windows does: `count` bytes from where the file stands; EACCES where another open file has one of them."""
    assert mode == _MSVCRT.LK_NBLCK
    first = os.lseek(file, 0, os.SEEK_CUR)
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, first, count, 0)
    try:
        fcntl.fcntl(file, _TAKE, wanted)
    except OSError as refused:
        if refused.errno != errno.EBADF:
            raise PermissionError(errno.EACCES, "Permission denied") from None
        # Open for reading only, which Windows locks too: asked by a second open, whose lock goes at once.
        other = os.open(f"/proc/self/fd/{file}", os.O_RDWR)
        try:
            os.lseek(other, first, os.SEEK_SET)
            _locking(other, mode, count)
        finally:
            os.close(other)


_MSVCRT = types.SimpleNamespace(LK_NBLCK=2, locking=_locking)


def _of_tradefair(depth: int) -> bool:
    try:
        name = sys._getframe(depth).f_globals.get("__name__", "")
    except ValueError:  # Python itself, at its start
        return False
    return name == "tradefair" or name.startswith("tradefair.")


def _found(name: str) -> Any:
    if name in _HIDDEN or (name == "msvcrt" and os.environ.get("LACKING") == "locks"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return _MSVCRT if name == "msvcrt" else None


_import, _import_module = builtins.__import__, importlib.import_module


def _importing(name: str, *rest: Any, **named: Any) -> Any:
    return (_of_tradefair(2) and _found(name)) or _import(name, *rest, **named)


def _importing_module(name: str, package: str | None = None) -> Any:
    return (_of_tradefair(2) and _found(name)) or _import_module(name, package)


builtins.__import__, importlib.import_module = _importing, _importing_module


def _hide(module: types.ModuleType, names: Iterable[str]) -> None:
    """Take names out of a module; what is not of tradefair still finds them."""
    hidden = {name: vars(module).pop(name) for name in names}

    def found(name: str) -> Any:
        if name in hidden and not _of_tradefair(2):
            return hidden[name]
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = found


_hide(os, (*_FUNCTIONS, *_FLAGS))
_hide(signal, _SIGNALS)


def _not_there(self: object, *given: object) -> Any:
    raise NotImplementedError


for _name in ("add_signal_handler", "remove_signal_handler", "add_reader", "add_writer"):
    setattr(asyncio.unix_events._UnixSelectorEventLoop, _name, _not_there)

_start = subprocess.Popen.__init__


def _started(self: Any, *given: Any, **options: Any) -> None:
    for option in ("pass_fds", "preexec_fn"):
        if options.get(option):
            raise ValueError(f"{option} is not supported on Windows")
    _start(self, *given, **options)


subprocess.Popen.__init__ = _started

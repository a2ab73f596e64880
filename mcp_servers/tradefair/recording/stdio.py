"""A recorder between a client and a server that speak over standard input and output: two threads that pass bytes on.

There is no queue: the thread that reads a chunk logs it and writes it on, so a slow disk or reader stops the reading
and the kernel's buffers do the rest. The server is a child with this process's environment and standard error.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import BinaryIO, cast

from tradefair.cli.terminal import say
from tradefair.contract.errors import ScenarioError, StorageUnavailable, TraceError, TradefairError
from tradefair.recording.exchange import CLIENT, SERVER, Exchange, Side
from tradefair.recording.messages import Lines, Unread

_CHUNK = 1 << 16
# A client that has sent SIGTERM waits two seconds before it kills.
_SEAL_AFTER_S, _LINGER_S, _KILL_AFTER_S = 1.0, 0.5, 2.0
_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


class Recorder:
    """One server, started for one client."""

    def __init__(self, command: Sequence[str], exchange: Exchange, *, lossy: bool = False) -> None:
        """`lossy`: go on unrecorded when the log cannot be written."""
        self._command = command
        self._exchange = exchange
        self._lossy = lossy
        self._lock = threading.Lock()
        self._trouble = ""
        self._lost = 0
        self._chunks = 0
        self._timer: threading.Timer | None = None

    def run(self, not_recorded: int) -> int:
        """Pass everything on until the server has ended; its exit code, or `not_recorded` where the log failed.

        Raises ScenarioError where it cannot be started.
        """
        program = shutil.which(self._command[0]) or self._command[0]
        pipe = subprocess.PIPE
        try:
            # By its path: Windows finds no `npx.cmd` under the name that everybody uses.
            server = subprocess.Popen([program, *self._command[1:]], stdin=pipe, stdout=pipe, bufsize=0)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ScenarioError(f"{self._command[0]}: cannot be started: {reason}") from None
        self._hand_on_signals(server)
        into, out_of = cast("BinaryIO", server.stdin), cast("BinaryIO", server.stdout)
        up = threading.Thread(target=self._up, args=(server, into), daemon=True)
        down = threading.Thread(target=self._down, args=(server, out_of), daemon=True)
        up.start()
        down.start()
        code = server.wait()
        self._drain(up, down)
        if self._timer is not None:
            self._timer.cancel()
        # 128 and the signal, as shells say it, where one has ended the server.
        return not_recorded if self._end() else 128 - code if code < 0 else code

    def _up(self, server: subprocess.Popen[bytes], into: BinaryIO) -> None:
        if not self._carry(CLIENT, 0, into.fileno(), server):
            # The server no longer listens; the client is to notice, as it would without a recorder.
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        with suppress(OSError):
            into.close()

    def _down(self, server: subprocess.Popen[bytes], out_of: BinaryIO) -> None:
        self._carry(SERVER, out_of.fileno(), 1, server)
        with suppress(OSError):
            out_of.close()

    def _carry(self, side: Side, source: int, target: int, server: subprocess.Popen[bytes]) -> bool:
        """Log and write on what can be read; whether the target took all of it."""
        lines = Lines()
        try:
            while chunk := os.read(source, _CHUNK):
                self._log(side, lines.feed(chunk))
                left = memoryview(chunk)
                while left:
                    left = left[os.write(target, left) :]
                self._chunks += 1
            self._log(side, lines.rest())
        except StorageUnavailable:
            self._stop(server)
        except OSError:
            return False
        return True

    def _log(self, side: Side, lines: Sequence[bytes | Unread]) -> None:
        count = len(lines)
        if not count:
            return
        with self._lock:
            if not self._trouble:
                try:
                    return self._exchange.seen(side, lines)
                # A fault of ours, too: a thread that dies would leave the client waiting.
                except Exception as error:
                    self._trouble = (
                        str(error) if isinstance(error, TradefairError) else f"a fault: {type(error).__name__}"
                    )
                    _tell(f"{self._trouble}; " + ("going on unrecorded" if self._lossy else "the session ends"))
            self._lost += count
            if not self._lossy:
                raise StorageUnavailable(self._trouble)

    def _stop(self, server: subprocess.Popen[bytes]) -> None:
        server.terminate()
        timer = threading.Timer(_KILL_AFTER_S, server.kill)
        timer.daemon = True
        timer.start()

    def _drain(self, up: threading.Thread, down: threading.Thread) -> None:
        """Wait for what the server has left in its pipe.

        A child of the server may hold the pipe for ever: that ends with the client, and with a signal.
        """
        seen = -1
        while down.is_alive() and (
            seen != self._chunks or (up.is_alive() and self._timer is None and not self._trouble)
        ):
            seen = self._chunks
            down.join(_LINGER_S)

    def _end(self) -> bool:
        """Seal the log; whether the session counts as not recorded."""
        note = {"unrecorded": self._trouble, "lines": self._lost} if self._trouble else None
        with self._lock:
            try:
                self._exchange.end(note=note)
            except (StorageUnavailable, TraceError) as error:
                if not self._trouble:
                    _tell(f"the trace is not sealed: {error}")
                    self._trouble = str(error)
        return bool(self._trouble) and not self._lossy

    def _hand_on_signals(self, server: subprocess.Popen[bytes]) -> None:
        def hand_on(number: int, frame: FrameType | None) -> None:
            if not (number == signal.SIGINT and _from_terminal()):
                with suppress(OSError, ValueError):
                    server.send_signal(number)
            if self._timer is None:
                # The server may take longer than the client's patience lasts.
                self._timer = threading.Timer(_SEAL_AFTER_S, self._seal)
                self._timer.daemon = True
                self._timer.start()

        for number in _SIGNALS:
            # Of a shell that has put us into the background, and of `nohup`.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, hand_on)

    def _seal(self) -> None:
        with self._lock, suppress(StorageUnavailable):
            self._exchange.seal()


def _from_terminal() -> bool:
    """Whether a Ctrl-C has reached the server already, because both stand in the terminal's foreground."""
    # Windows sends it to all processes of a console.
    if sys.platform == "win32" or not hasattr(os, "tcgetpgrp"):
        return True
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _tell(text: str) -> None:
    with suppress(OSError, ValueError):
        say(f"tradefair record: {text}")

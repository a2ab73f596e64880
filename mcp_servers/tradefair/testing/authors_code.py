"""Runs code of a market's author: what it raises, and a loop that never returns, becomes one line of text."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tradefair.contract import TradefairError

# Seconds of computing time per check and playthrough. 600 seats take 40 s on a slow machine; `--slow` plays whole.
PATIENCE_S = 120.0
SLOW_PATIENCE_S = 600.0
# Frames of these packages are skipped: the author wants to know the last line of the market's own code.
_OURS = ("tradefair.contract.", "tradefair.testing.", "tradefair.host.", "pydantic.", "pydantic_core.")

_T = TypeVar("_T")


class Stopped(BaseException):
    """The kit stops code of the market. Not an `Exception`: Core would answer it as a fault of one call.

    The author's own `except Exception` does not swallow it either.
    """


class TookTooLong(Stopped):
    """A loop that never returns."""


class NoEnd(Stopped):
    """A game that never ends."""


def collected(work: Callable[[], Iterable[_T]], *, slow: bool = False) -> tuple[list[_T], str | None]:
    """What `work` yields, and one line about how it failed (None when it did not).

    Everything that author's code can raise is caught, SystemExit and endless recursion included; KeyboardInterrupt is
    not, because it comes from the person who runs the kit. What was yielded before the failure is kept.
    """
    found: list[_T] = []
    try:
        with _patience(SLOW_PATIENCE_S if slow else PATIENCE_S):
            # One by one: `list(...)` would lose what came before the failure.
            for item in work():
                found.append(item)
    # Ctrl-C must end the kit, not become a finding about the market.
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return found, described(error)
    return found, None


def described(error: BaseException) -> str:
    """One line: the message, then file, line and function where the market's own code was last.

    The kit's own errors are given by their message alone, all others with the name of their class.
    """
    # HarnessFailure wraps what a tool raised; the author needs the first cause.
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    if isinstance(error, TradefairError | Stopped):
        text = str(error)
    else:
        text = "raised " + traceback.format_exception_only(root)[-1].strip()
    place = _last_place(root)
    return f"{text} ({place})" if place else text


def _last_place(error: BaseException) -> str:
    """File, line and function of the last frame that is the author's; "" where there is none."""
    frames = [
        (frame.f_globals.get("__name__", ""), frame, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    # pydantic calls the author's validators, so its frames may lie below the author's own.
    theirs = [(frame, line) for module, frame, line in frames if not module.startswith(_OURS)]
    if not theirs:
        return ""
    frame, line = theirs[-1]
    return f"{Path(frame.f_code.co_filename).name}, line {line}, in {frame.f_code.co_name}"


@contextmanager
def _patience(seconds: float) -> Generator[None]:
    """Raise TookTooLong in the block after `seconds` of this process's own computing time.

    Only where there are such timers (not on Windows) and in the main thread: elsewhere an endless loop hangs.
    """
    here = threading.current_thread() is threading.main_thread()
    if sys.platform == "win32" or not (here and hasattr(signal, "setitimer")):
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise TookTooLong(f"did not return within {seconds:g} s of computing time")

    # Computing time, not time on the wall: a busy machine must not make a sound market fail.
    before = signal.signal(signal.SIGVTALRM, stop)
    outer = signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        # Blocks may be nested (a check plays episodes): the outer timer goes on with what it had left.
        signal.setitimer(signal.ITIMER_VIRTUAL, *outer)
        signal.signal(signal.SIGVTALRM, before)

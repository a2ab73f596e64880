"""Signals of a process that runs an event loop, on every system.

A handler of the loop runs between two of its steps, so it may start tasks, and no exception comes up in the middle of
a commit. Windows' loops have none: there Python's own handler asks the loop to react.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name))
"""What a terminal and process supervisors send; every other signal keeps its default. SIGBREAK is Windows' alone."""


def on_signals(react: Callable[[], None]) -> Callable[[], None]:
    """Call `react` in the running loop at each of SIGNALS from now on; the function that ends this.

    To be called in the main thread, as Python asks for.
    """
    # Here: a server answers first requests before there is a loop.
    import asyncio

    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}

    def ask(number: int, frame: object) -> None:
        # Not `call_soon`: the loop sleeps, and has to be woken up.
        loop.call_soon_threadsafe(react)

    for number in SIGNALS:
        try:
            loop.add_signal_handler(number, react)
        except NotImplementedError:
            before[number] = signal.signal(number, ask)

    def end() -> None:
        for number in SIGNALS:
            if number in before:
                signal.signal(number, before[number])
            else:
                loop.remove_signal_handler(number)

    return end

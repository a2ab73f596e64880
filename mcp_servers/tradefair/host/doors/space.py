"""How much room the traces of a host have left."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

_FRESH_FOR_S = 1.0  # every call asks, and a network file system may take milliseconds to say


class Space:
    """Whether the file system of `folder` is nearly full: fewer than `keep_free` bytes are free. 0 never says so.

    `clock` gives seconds and never goes back.
    """

    def __init__(self, folder: Path | None, keep_free: int = 0, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder if keep_free else None
        self._keep_free = keep_free
        self._clock = clock
        self._asked_at = float("-inf")
        self._low = False

    def low(self) -> bool:
        """Whether there is too little room for what can wait; asked of the system once a second at most."""
        now = self._clock()
        if self._folder is not None and now - self._asked_at >= _FRESH_FOR_S:
            self._asked_at = now
            try:
                free = shutil.disk_usage(self._folder).free
            except OSError:
                self._low = False  # not a matter of room; `readiness` says what is wrong
            else:
                self._low = free < self._keep_free
        return self._low

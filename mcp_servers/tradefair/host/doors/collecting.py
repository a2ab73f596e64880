"""When Python looks for garbage in cycles: not while a market is made, and not among what lives on.

A pass goes through all objects that hold others and stops every thread: half a second for a market of 10,000 seats, and
a dozen passes while it is made. Objects without cycles are freed at once, with or without passes.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

_lock = threading.Lock()
_making = 0


@contextmanager
def without_passes() -> Generator[None]:
    """No pass while the body makes something large, in whatever thread; later ones leave out what is there by then."""
    global _making
    with _lock:
        _making += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _making -= 1
            # Frozen first: the first pass afterwards would go through all that was made meanwhile.
            gc.freeze()
            if not _making:
                gc.enable()


def collect() -> None:
    """Free everything that nothing refers to, whatever was left out; what lives on is left out from now on."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()

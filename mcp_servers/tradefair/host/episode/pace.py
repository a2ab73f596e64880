"""How fast a disk is: small commits are made on the event loop, but not for a minute after slow ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ParamSpec

_P = ParamSpec("_P")

SLOW_S = 0.005
_REST_S = 60.0
# One alone may have lost its processor: on a machine with more to do than it can, that happens every second.
_IN_A_ROW = 3


class Pace:
    """Whether the commits of one log may hold up the event loop. `clock` gives seconds and never goes back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._slow_ones = 0
        self._rests_until = float("-inf")

    @property
    def slow(self) -> bool:
        """Whether the last three commits took over 5 ms each; stays so for a minute, in which none is timed."""
        return self._clock() < self._rests_until

    def timed(self, commit: Callable[_P, object], *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Make a commit and note how long it took."""
        begun = self._clock()
        commit(*args, **kwargs)
        self._slow_ones = self._slow_ones + 1 if self._clock() - begun > SLOW_S else 0
        if self._slow_ones == _IN_A_ROW:
            self._slow_ones, self._rests_until = 0, self._clock() + _REST_S

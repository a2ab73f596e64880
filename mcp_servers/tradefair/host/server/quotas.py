"""What one seat may ask of a host: calls per second, calls and bytes in an episode, calls at a time.

These guard the host, not the market: they depend on the wall clock, so what they refuse never reaches the episode and
is no event. Limits that are rules of a game are its scenario's (`contract/scenario.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from tradefair.contract import ErrorInfo
from tradefair.contract.kernel.kernel_tools import AWAIT_TURN, EXECUTE_CODE, add_note
from tradefair.host.server.bounds import MAX_BYTES

MAX_OPEN_CALLS = 32
_SPACIOUS = (EXECUTE_CODE, add_note.name)  # what may store much and can wait while the disk is nearly full
_SOON_S = 30.0  # seconds; somebody has to make room
_DOWN_S = 5.0  # seconds; a guess at how long a restart takes


class Quotas(NamedTuple):
    """What each seat may use; None means without bound.

    `calls_per_s` holds on average; `burst` calls may come at once before it applies. `calls` is the budget of a whole
    episode, without `await_turn`, so that a patient agent does not pay for waiting. `open_calls` are unanswered at a
    time. `bytes` is what the events of its calls may take in the log of a whole episode: a program of 140 bytes can
    store 237 kB.
    """

    calls_per_s: float | None = None
    burst: int = 100
    calls: int | None = None
    open_calls: int = MAX_OPEN_CALLS
    bytes: int | None = MAX_BYTES


class Refusal(NamedTuple):
    """Why a call does not pass; `retry_after_s` is None when no waiting helps."""

    error: ErrorInfo
    retry_after_s: float | None


class Gate:
    """How much of its quotas one seat has used. All its tokens and connections share one gate.

    While `closed()` is true no call passes; while `low()` is true, none that stores much and can wait. `stored()` is
    how many bytes the seat's calls take in the log; `on_left` hears of each answer. The rate is the generic cell rate
    algorithm (ITU-T I.371): a call is due `1 / calls_per_s` after the one before, and may come up to `burst - 1` such
    intervals early. `used` is the number of calls from before a restart; `clock` gives seconds and never goes back.
    """

    def __init__(
        self,
        quotas: Quotas | None = None,
        *,
        used: int = 0,
        on_spent: Callable[[], object] | None = None,
        closed: Callable[[], bool] | None = None,
        low: Callable[[], bool] | None = None,
        stored: Callable[[], int] | None = None,
        on_left: Callable[[], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quotas = quotas or Quotas()
        self._on_spent = on_spent
        self._closed = closed
        self._low = low
        self._stored = stored
        self._on_left = on_left
        self._told = False
        self._clock = clock
        self._due = 0.0
        self.open = 0
        """Calls that are being answered."""
        self.calls = used
        """Calls that have passed, `await_turn` not counted."""
        self.refused = 0
        """Calls that have not."""
        self.last_at: float | None = None
        """When the last call came, by the gate's clock."""
        self._left_at: float | None = None

    @property
    def spent(self) -> bool:
        """Whether a budget of the episode, of calls or of bytes, is used up."""
        return self._spent() is not None

    def _spent(self) -> str | None:
        """Which budget is used up; None: none is."""
        calls, most = self._quotas.calls, self._quotas.bytes
        if calls is not None and self.calls >= calls:
            return f"allows {calls} calls"
        if most is not None and self._stored is not None and self._stored() >= most:
            return f"keeps {most} bytes of calls"
        return None

    def enter(self, tool: str) -> Refusal | None:
        """Let one call in and return None, or say why not.

        A call that was let in must call `leave` when it is answered.
        """
        self.last_at = now = self._clock()
        # In this order: an episode that rests answers so even to a seat that is out of calls.
        refusal = self._going_down() or self._too_many(tool) or self._no_room(tool) or self._too_fast(now)
        self.say_if_spent()
        if refusal is not None:
            self.refused += 1
            return refusal
        self.open += 1
        # Waiting is free: a patient agent must not pay for a slow one.
        if tool != AWAIT_TURN:
            self.calls += 1
            self.say_if_spent()
        return None

    def leave(self) -> None:
        """Count one call as answered."""
        self.open -= 1
        self._left_at = self._clock()
        self.say_if_spent()
        if self._on_left is not None:
            self._on_left()

    def idle_s(self) -> float | None:
        """Seconds since the last call; None before the first."""
        return None if self.last_at is None else self._clock() - self.last_at

    def quiet_s(self) -> float | None:
        """Seconds since a call came or was answered: 0 while one is open; None before the first."""
        if self.open:
            return 0.0
        heard = [at for at in (self.last_at, self._left_at) if at is not None]
        return self._clock() - max(heard) if heard else None

    def say_if_spent(self) -> None:
        """Call `on_spent`, once, where a budget is used up."""
        # Also where no call is let in: reads are in the log, and so in the sum, a moment after their answer.
        if not self._told and self.spent:
            self._told = True
            if self._on_spent is not None:
                self._on_spent()

    def _no_room(self, tool: str) -> Refusal | None:
        if tool not in _SPACIOUS or self._low is None or not self._low():
            return None
        error = ErrorInfo(
            "storage_unavailable",
            "the host's disk is nearly full: it runs no programs and keeps no notes now; nothing has changed",
            "read and act as usual, and try this again later",
            True,
        )
        return Refusal(error, _SOON_S)

    def _going_down(self) -> Refusal | None:
        if self._closed is None or not self._closed():
            return None
        error = ErrorInfo("busy", "the host is going down; the episode rests", "call again when the host is back", True)
        return Refusal(error, _DOWN_S)

    def _too_many(self, tool: str) -> Refusal | None:
        spent = None if tool == AWAIT_TURN else self._spent()
        # `await_turn` still passes, so that a seat without calls learns of the end.
        if spent is not None:
            error = ErrorInfo(
                "call_limit",
                f"this host {spent} per seat and episode, and all are used up",
                "the host takes the default action for you from now on; await_turn says when it is over",
                False,
            )
            return Refusal(error, None)
        if self.open >= self._quotas.open_calls:
            error = ErrorInfo(
                "busy", f"{self.open} calls of this seat are open; no more are taken", "wait for their answers", True
            )
            return Refusal(error, 1.0)
        return None

    def _too_fast(self, now: float) -> Refusal | None:
        rate = self._quotas.calls_per_s
        if rate is None:
            return None
        # Never before now: time without calls gives no credit beyond the burst.
        due = max(self._due, now)
        wait = due - now - (self._quotas.burst - 1) / rate
        if wait > 0:
            # Rounded up: a client that waits exactly as long as it was told must pass.
            wait = round(wait + 0.05, 1)
            error = ErrorInfo(
                "busy", f"this host takes {rate:g} calls per second of a seat", f"wait {wait:g} s and call again", True
            )
            return Refusal(error, wait)
        self._due = due + 1 / rate
        return None

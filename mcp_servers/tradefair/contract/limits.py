"""Limits on a seat's calls: declared by the scenario, kept by Core, shown in `view_turn`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tradefair.contract.seats import SeatId

Counted = Literal["read", "analysis", "action", "rejected", "inner", "accepted"]


class Limit(BaseModel):
    """At most `max` calls of the counted sorts per seat and phase or round; `then` says what one call more does.

    `rejected` counts refused arguments too; `inner` counts calls made by `execute_code`, which count as nothing else;
    `accepted` counts calls that were carried out. `refuse` answers `call_limit`; `lapse` also lapses the seat for the
    rest of the round; `end_turn` lapses it in the open phase only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    counts: tuple[Counted, ...] = Field(min_length=1, max_length=20)
    max: int = Field(ge=1, le=1_000_000)
    per: Literal["phase", "round"] = "round"
    then: Literal["refuse", "lapse", "end_turn"] = "refuse"


class LimitState(BaseModel):
    """How far a seat has used one limit up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    counts: tuple[Counted, ...]
    used: int
    max: int
    per: Literal["phase", "round"]
    then: Literal["refuse", "lapse", "end_turn"]


class LimitBook:
    """Counts the calls of every seat against the scenario's limits."""

    def __init__(self, limits: tuple[Limit, ...]) -> None:
        self._limits = limits
        self._counts = [frozenset(limit.counts) for limit in limits]
        # (index of the limit, seat) -> (window in which it was counted, calls); a later window overwrites it
        self._used: dict[tuple[int, SeatId], tuple[object, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._limits)

    def exceeded(self, seat: SeatId, sorts: tuple[str, ...], window: tuple[int, str]) -> Limit | None:
        """The first limit that one more call of `sorts` would break; `window` is (round, phase)."""
        for index, limit in enumerate(self._limits):
            # Whether a call will be rejected is not known yet, so a limit on rejections watches every call.
            counts = self._counts[index]
            if ("rejected" in counts or not counts.isdisjoint(sorts)) and self._count(index, seat, window) >= limit.max:
                return limit
        return None

    def add(self, seat: SeatId, sorts: tuple[str, ...], window: tuple[int, str]) -> None:
        """Count one call of `sorts`, at most once per limit; `window` is (round, phase)."""
        for index, limit in enumerate(self._limits):
            # At most once per limit, though a call has two sorts: a limit on reads and accepted calls counts an
            # accepted read once.
            if not self._counts[index].isdisjoint(sorts):
                key = self._window(limit, window)
                self._used[index, seat] = (key, self._count(index, seat, window) + 1)

    def states(self, seat: SeatId, window: tuple[int, str]) -> list[LimitState]:
        """What `view_turn` shows: each limit with the calls used in the open window."""
        return [
            LimitState(
                counts=limit.counts,
                used=self._count(index, seat, window),
                max=limit.max,
                per=limit.per,
                then=limit.then,
            )
            for index, limit in enumerate(self._limits)
        ]

    def _count(self, index: int, seat: SeatId, window: tuple[int, str]) -> int:
        key, used = self._used.get((index, seat), (None, 0))
        # A count of an earlier window is 0 now; it is overwritten at the next call.
        return used if key == self._window(self._limits[index], window) else 0

    @staticmethod
    def _window(limit: Limit, window: tuple[int, str]) -> object:
        # The round alone: a limit per round goes on counting when a phase closes.
        return window[0] if limit.per == "round" else window

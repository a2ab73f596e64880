"""Units and bounds of all answers: quotes, rates, ranges of visible days, and how many rows one answer may have."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import NamedTuple

from tradefair.contract.errors import IllegalAction
from tradefair.retail.state import State

MAX_ROWS = 3_000
EXPLICIT_BYTES = 255_000
_RATE_DECIMALS = 4


class Days(NamedTuple):
    """A clipped range of day indices, both included, with its dates."""

    first: int
    last: int
    first_date: str
    last_date: str

    @property
    def length(self) -> int:
        """Days in it."""
        return self.last - self.first + 1


def quote(e4: int) -> float:
    """A quote or unit cost in currency units: the double next to the exact four decimals."""
    return e4 / 10_000


def rate(part: float, whole: float) -> float | None:
    """part/whole, null without a whole."""
    return round(part / whole, _RATE_DECIMALS) if whole else None


def require_rows(rows: int, asked: str, narrower: str) -> None:
    """IllegalAction too_many_rows when an answer would have more than 3,000 rows."""
    if rows > MAX_ROWS:
        raise IllegalAction(
            "too_many_rows", f"{asked} make {rows} rows; at most {MAX_ROWS} are answered at once", hint=narrower
        )


def days_between(state: State, start: str, end: str, *, with_today: bool = False) -> Days:
    """The visible days of a range of dates. IllegalAction: bad_date_range when it is reversed or holds none."""
    scenario, latest = state.scenario, state.index if with_today else state.index - 1
    origin = scenario.first_date
    first, last = (date.fromisoformat(start) - origin).days, (date.fromisoformat(end) - origin).days
    if first > last:
        raise IllegalAction(
            "bad_date_range", "start_date lies after end_date", hint="call again with the two dates exchanged"
        )
    first, last = max(first, 0), min(last, latest)
    if first > last:
        seen = f"{origin.isoformat()}..{scenario.date_at(latest).isoformat()}"
        raise IllegalAction(
            "bad_date_range", f"the range holds none of the visible days {seen}", hint=f"ask for days of {seen}"
        )
    return Days(first, last, scenario.date_at(first).isoformat(), scenario.date_at(last).isoformat())


def dates(state: State, days: Days) -> list[str]:
    """The dates of a range, oldest first."""
    return [state.scenario.date_at(index).isoformat() for index in range(days.first, days.last + 1)]


def currencies(cents: Iterable[int]) -> list[float]:
    """Amounts in currency units: the double next to the exact two decimals."""
    return [value / 100 for value in cents]

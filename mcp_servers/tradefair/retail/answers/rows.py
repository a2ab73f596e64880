"""Units and bounds of all answers: quotes, rates, ranges of visible days, and how many rows one answer may have."""

from __future__ import annotations

from datetime import date
from typing import NamedTuple

from tradefair.contract import IllegalAction
from tradefair.retail.state import State

MAX_ROWS = 3_000
"""Rows that one answer may have, products times days times suppliers (section 5)."""
EXPLICIT_BYTES = 255_000
"""Just below the kernel's 256 kB for an answer to explicit arguments; the envelope needs the rest."""
_RATE_DECIMALS = 4


class Days(NamedTuple):
    """A range of day indices, both included, clipped to the visible days, with its dates as YYYY-MM-DD."""

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
    """part/whole in four decimals, None when the whole is 0."""
    return round(part / whole, _RATE_DECIMALS) if whole else None


def require_rows(rows: int, asked: str, narrower: str) -> None:
    """Raise IllegalAction too_many_rows when an answer would have more than 3,000 rows.

    `asked` says what makes the rows, `narrower` which request would be answered.
    """
    if rows > MAX_ROWS:
        raise IllegalAction(
            "too_many_rows", f"{asked} make {rows} rows; at most {MAX_ROWS} are answered at once", hint=narrower
        )


def days_between(state: State, start: str, end: str, *, with_today: bool = False) -> Days:
    """The visible days of a range of dates; the last one is yesterday, or today under `with_today`.

    Raises IllegalAction bad_date_range when the range is reversed or holds no visible day.
    """
    scenario, latest = state.scenario, state.index if with_today else state.index - 1
    origin = scenario.first_date
    # The pattern and the calendar were checked when the arguments were read.
    first, last = (date.fromisoformat(start) - origin).days, (date.fromisoformat(end) - origin).days
    if first > last:
        raise IllegalAction(
            "bad_date_range", "start_date lies after end_date", hint="call again with the two dates exchanged"
        )
    # Clipped, not refused: a manager who asks for "the last 30 days" on day 5 gets the days that there are.
    first, last = max(first, 0), min(last, latest)
    if first > last:
        seen = f"{origin.isoformat()}..{scenario.date_at(latest).isoformat()}"
        raise IllegalAction(
            "bad_date_range", f"the range holds none of the visible days {seen}", hint=f"ask for days of {seen}"
        )
    return Days(first, last, scenario.date_at(first).isoformat(), scenario.date_at(last).isoformat())


def dates(state: State, days: Days) -> list[str]:
    """The dates of a range, oldest first."""
    first = state.scenario.first_date.toordinal()
    return [date.fromordinal(first + index).isoformat() for index in range(days.first, days.last + 1)]

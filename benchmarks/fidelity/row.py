"""A published number beside ours, and what may be said about the two; makers of ours, by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks.fidelity.published import Table
from tradefair.evaluation.statistics.paired import interval

NO_FIGURE = "no figure of ours"


class Ours(NamedTuple):
    """Our number with its 95 % interval, None where no chance enters or there is one episode."""

    value: float
    low: float | None = None
    high: float | None = None


Made = Mapping[tuple[str, str], Ours]
"""Our numbers by (row, column) of the published table."""


class Asked(NamedTuple):
    """What a maker gets: the table, and the traces of its market from RUNS and from the imported LOGS."""

    table: Table
    runs: Sequence[Path]
    logs: Sequence[Path]


class Figure(NamedTuple):
    """How a published table is made here.

    `columns`: which columns `make` knows, as names of our figures; another one has no figure of ours. `needs` says what
    the rows that it leaves out need. `within`: tolerances agreed before, relative, by column; the interval decides the
    others. `differs` by column, or of "" for all: why ours is another number. `draws`: the charts that `command` makes.
    """

    command: str
    needs: str = ""
    columns: Mapping[str, str] = {}
    within: Mapping[str, float] = {}
    differs: Mapping[str, str] = {}
    draws: Sequence[str] = ()
    make: Callable[[Asked], Made] | None = None


FIGURES: dict[tuple[str, str], Figure] = {}
"""By source and table."""


def figure(source: str, *tables: str, of: Figure) -> Callable[[Callable[[Asked], Made]], Callable[[Asked], Made]]:
    """Say of a maker which tables it makes."""

    def registered(make: Callable[[Asked], Made]) -> Callable[[Asked], Made]:
        FIGURES.update({(source, table): of._replace(make=make) for table in tables})
        return make

    return registered


def draws(source: str, command: str, **charts: str) -> None:
    """Say of pictures, by id, which charts of `command` draw each."""
    FIGURES.update({(source, table): Figure(command, draws=chart.split()) for table, chart in charts.items()})


class Verdict(NamedTuple):
    """What the last column says; `met` is None where there is nothing to compare."""

    text: str
    met: bool | None = None


class Row(NamedTuple):
    """A published cell beside ours."""

    name: str
    column: str
    published: float
    ours: Ours | None
    verdict: Verdict
    decimals: int = 0

    @property
    def cells(self) -> Sequence[str]:
        """As text: row, column, published, ours, interval, verdict."""
        ends = (self.ours.low, self.ours.high) if self.ours else (None, None)
        bounds = "–" if None in ends else " to ".join(map(self._text, ends))
        ours = self._text(self.ours.value if self.ours else None)
        return (self.name, self.column, self._text(self.published), ours, bounds, self.verdict.text)

    def _text(self, value: float | None) -> str:
        # Adding 0 takes the sign off −0.
        return "–" if value is None else f"{round(value, self.decimals) + 0:.{self.decimals}f}"


def rows_of(table: Table, of: Figure | None, asked: Asked) -> list[Row]:
    """A row for each number of the table. ValueError: a row differs, and its maker does not say why."""
    made: Made = of.make(asked) if of and of.make else {}
    rows: list[Row] = []
    for (name, column), published in table.values.items():
        ours, decimals = made.get((name, column)), table.decimals(column)
        if ours is not None and of is not None:
            why = of.differs.get(column, of.differs.get(""))
            verdict = compared(published, ours, decimals, of.within.get(column), why)
        elif of is not None and of.make and column in of.columns:
            verdict = Verdict(of.needs or NO_FIGURE)
        else:
            verdict = Verdict(NO_FIGURE)
        rows.append(Row(name, column, published, ours, verdict, decimals))
    return rows


def compared(published: float, ours: Ours, decimals: int, within: float | None, differs: str | None) -> Verdict:
    """Whether ours is the published number: to its last digit, within the tolerance, or else by the interval.

    ValueError: it is none of these, and `differs` does not say why.
    """
    if round(ours.value, decimals) == round(published, decimals):
        return Verdict("equal", met=True)
    if within is not None:
        if abs(ours.value - published) <= within * abs(published):
            return Verdict(f"within {100 * within:g} %", met=True)
    elif ours.low is not None and ours.high is not None and ours.low <= published <= ours.high:
        return Verdict("in the interval", met=True)
    if not differs:
        raise ValueError(f"{ours.value} for {published}, and nothing says what differs")
    return Verdict(f"differs: {differs}", met=False)


def mean_of(values: Sequence[float]) -> Ours:
    """Mean with Student's 95 % interval."""
    low, high = interval(values) or (None, None)
    return Ours(fmean(values), low, high)

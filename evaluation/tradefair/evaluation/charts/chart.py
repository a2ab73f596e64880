"""What a chart is made of: title, axes with units, and one of seven shapes. Nothing here draws.

The method `charts` of an evaluator gives its market charts in every report:

    def charts(self, trace: Trace) -> list[Chart]:
        prices = Line(name="price", x=[1, 2, 3], y=[41, 43, 42])
        return [XYChart(id="prices", title="Prices", x=Axis(label="round"), y=Axis(label="price", unit="points"),
                        lines=[prices])]

All texts may come from a trace: whoever draws shows them as text.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

MAX_POINTS = 20_000
"""Points of one line at most."""
MAX_CELLS = 200_000
"""Cells of one heat chart at most."""


class _Record(BaseModel):
    # JSON has no NaN: it would become null on the way, and a wrong formula would look like a missing value.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Axis(_Record):
    """What an axis measures. `unit` is empty for counts and names."""

    label: str
    unit: str = ""


# Columns instead of pairs: a line of 20,000 points is two lists in the page's JSON.
class Line(_Record):
    """One series; `y` is null where there is no value. Lines of the same `panel` share one of the small multiples.

    `mark`: a line, a step that holds until the next x (`step`), dots, or bars from 0, which stand in a picture of their
    own below the others, with a scale of their own. `faint` lines are context, not the subject. `labels` are texts at
    single bars, empty for the others. `shade_to` names a line of the chart at the same positions: the area between
    both is shaded.
    """

    name: str
    x: list[float] = Field(max_length=MAX_POINTS)
    y: list[float | None] = Field(max_length=MAX_POINTS)
    mark: Literal["line", "step", "dots", "bars"] = "line"
    panel: str | None = None
    faint: bool = False
    # Left out where there is none: the bytes of pages that shade nothing stay as they are.
    shade_to: str | None = Field(default=None, exclude_if=lambda name: name is None)
    labels: list[str] = Field(default=[], exclude_if=lambda labels: not labels)

    @model_validator(mode="after")
    def _as_long(self) -> Line:
        # Checked here, where the evaluator's author meets the error, and not a reader of the page.
        if len(self.x) != len(self.y):
            raise ValueError(f"line {self.name[:40]!r}: {len(self.x)} x and {len(self.y)} y; there must be as many")
        if len(self.labels) not in (0, len(self.x)):
            raise ValueError(f"line {self.name[:40]!r}: {len(self.labels)} labels for {len(self.x)} bars")
        return self


class Band(_Record):
    """A range of the y axis that means something, such as the equilibrium prices; a line where low equals high."""

    label: str
    low: float
    high: float


class _Chart(_Record):
    """`id` is unique within a report; `note` says in a sentence how to read the picture.

    `accent` is the name of the line, panel, bar or row that is the seat under test: drawn large and in the accent.
    """

    id: str
    title: str
    note: str = ""
    accent: str | None = None
    x: Axis
    y: Axis


class XYChart(_Chart):
    """Lines, steps and dots over a numeric axis."""

    shape: Literal["xy"] = "xy"
    lines: list[Line]
    bands: list[Band] = []

    @model_validator(mode="after")
    def _shaded_where_both_are(self) -> XYChart:
        for line in self.lines:
            if line.shade_to is not None and not any(
                other.name == line.shade_to and other.panel == line.panel and other.x == line.x for other in self.lines
            ):
                raise ValueError(f"line {line.name[:40]!r}: no line {line.shade_to[:40]!r} has the same positions")
        return self


class Bars(_Record):
    """One value per name of the chart; null where there is none."""

    name: str
    values: list[float | None]


class BarChart(_Chart):
    """Horizontal bars by name, and next to each bar a mark to compare with. `x` measures, `y` names."""

    shape: Literal["bars"] = "bars"
    names: list[str]
    bars: Bars
    marks: Bars | None = None

    @model_validator(mode="after")
    def _as_many(self) -> BarChart:
        for group in (self.bars, self.marks):
            # Marks are optional; where they are given, each name has one, null included.
            if group is not None and len(group.values) != len(self.names):
                raise ValueError(f"bars {group.name[:40]!r}: {len(group.values)} values for {len(self.names)} names")
        return self


class HeatChart(_Chart):
    """Cells by row and column, a calendar for instance; what is not listed is empty.

    `cells` are (row from 0, column, value). With `levels`, v means `levels[v - 1]`, mildest first, or, if they are
    not `ordered`, one kind among others; without, values are magnitudes. `groups` names a group per row; rows of a
    group stand together.
    """

    shape: Literal["heat"] = "heat"
    rows: list[str]
    groups: list[str] = []
    # A range and not a list, because columns without any cell are drawn too.
    first_column: int
    last_column: int
    cells: list[tuple[int, int, float]] = Field(max_length=MAX_CELLS)
    levels: list[str] = []
    ordered: bool = True


class IntervalChart(_Chart):
    """A value by name with the range that it may lie in, null where nothing says; `x` measures, `y` names."""

    shape: Literal["intervals"] = "intervals"
    names: list[str]
    values: list[float]
    lows: list[float | None]
    highs: list[float | None]

    @model_validator(mode="after")
    def _as_many(self) -> IntervalChart:
        # All four are read by index in the page.
        if not len(self.names) == len(self.values) == len(self.lows) == len(self.highs):
            raise ValueError(f"intervals {self.id[:40]!r}: names, values, lows and highs must be as many")
        return self


class MatrixCell(_Record):
    """One cell by the places of its row and column; `note` says more of it."""

    row: int
    column: int
    value: float
    note: str = ""


class MatrixChart(_Chart):
    """What each name did against each other: cells by row and column of one list of names.

    0 is neutral, both signs mean something. What is not listed is empty.
    """

    shape: Literal["matrix"] = "matrix"
    names: list[str]
    cells: list[MatrixCell] = Field(max_length=MAX_CELLS)


class PairChart(_Chart):
    """Differences of pairs, their mean and its interval, sorted by difference; `x` measures, `y` names a pair.

    `muted` pairs could not differ, whoever plays: they are shown hollow. `ties` counts pairs without a difference.
    `mean` is null without pairs, `low` and `high` where the interval is not known.
    """

    shape: Literal["pairs"] = "pairs"
    names: list[str] = Field(max_length=MAX_POINTS)
    differences: list[float]
    muted: list[bool]
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    ties: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _as_many(self) -> PairChart:
        # All three are read by index in the page.
        if not len(self.names) == len(self.differences) == len(self.muted):
            raise ValueError(f"pairs {self.id[:40]!r}: names, differences and muted must be as many")
        return self

    @property
    def order(self) -> list[int]:
        """Indices of the pairs, the largest difference first; equal ones in the order in which they came."""
        return sorted(range(len(self.names)), key=lambda place: -self.differences[place])


class Strip(_Record):
    """Values of one name, ascending: all, or a sample of `of` values; `mean` is that of all, null of none."""

    name: str
    values: list[float] = Field(max_length=MAX_POINTS)
    of: int = Field(ge=0)
    mean: float | None = None


class StripChart(_Chart):
    """Single values by name, one dot each, spread across the row by place so that equal ones do not cover each other.

    `x` measures, `y` names.
    """

    shape: Literal["strips"] = "strips"
    strips: list[Strip]

    @property
    def names(self) -> list[str]:
        """The names of the rows, in their order."""
        return [strip.name for strip in self.strips]


# With a discriminator an invalid chart is refused with the errors of its own shape, not of all seven.
Chart: TypeAlias = Annotated[
    XYChart | BarChart | HeatChart | IntervalChart | MatrixChart | PairChart | StripChart, Field(discriminator="shape")
]


def with_accent(chart: Chart, seat: str) -> Chart:
    """The chart with the line, panel, bar or row of this seat as its accent, where it has one and names no other.

    A name is the seat's if it is its id, or begins with it and a blank: "B1 · value 90".
    """
    match chart:
        case XYChart():
            names = [name for line in chart.lines for name in (line.panel, line.name) if name is not None]
        case HeatChart():
            names = chart.rows
        case _:
            names = chart.names
    found = next((name for name in names if name.partition(" ")[0] == seat), None)
    return chart if chart.accent or found is None else chart.model_copy(update={"accent": found})

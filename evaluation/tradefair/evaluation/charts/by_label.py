"""Charts over the games of a leaderboard: single values, means and courses by round, each by label.

Any market can use them: it names fields of its outcomes and says what they mean.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from tradefair.evaluation.charts.chart import Axis, Chart, IntervalChart, Line, Strip, StripChart, XYChart
from tradefair.evaluation.outcome import PlayedSeat
from tradefair.evaluation.read.arithmetic import mean

# Dots that a page draws at once without delay; each label gets as many as any other.
MAX_DOTS = 4_000
# More rows, and more small panels, than these are not read.
_MOST_ROWS = 60
_MOST_PANELS = 24
# As many as the page has colours for series.
_MOST_LINES = 6
_DECIMALS = 3
_ROUND = Axis(label="round")
_ALL = "all labels"

T = TypeVar("T")
Values = Callable[[PlayedSeat], Iterable[float]]
"""What a chart takes of one seat: none, one or many numbers."""


class Words(NamedTuple):
    """What a chart says of itself: its id, its title, how it is read, and what it measures with the unit."""

    id: str
    title: str
    note: str
    axis: Axis


def number(name: str) -> Values:
    """The seat's number of this name, nothing where it is null."""
    return lambda seat: [] if (value := seat.numbers.get(name)) is None else [value]


def rounds(name: str) -> Values:
    """All values of a series, without the rounds that have none."""
    return lambda seat: [value for value in seat.series[name] if value is not None]


def average(name: str) -> Values:
    """The mean of a series over the seat's rounds, nothing where it is empty."""
    return lambda seat: [] if (value := mean(rounds(name)(seat))) is None else [value]


class ByLabel:
    """The seats of a leaderboard's games by label, in the order of the ranking."""

    def __init__(self, seats: Sequence[PlayedSeat], labels: Sequence[str]) -> None:
        """`labels` without a seat are left out."""
        found: dict[str, list[PlayedSeat]] = {label: [] for label in labels}
        for seat in seats:
            if seat.label in found:
                found[seat.label].append(seat)
        self._seats = {label: played for label, played in found.items() if played}
        games = len({seat.game for seat in seats})
        self._from = f"From {games:,} game{'s' * (games != 1)}."

    def strip(self, words: Words, of: Values) -> StripChart:
        """Every value as a dot; of more than fit, as many per label, evenly spaced from the smallest to the largest."""
        labels = list(self._seats)[:_MOST_ROWS]
        most = max(2, MAX_DOTS // max(1, len(labels)))
        strips = [_strip(label, [value for seat in self._seats[label] for value in of(seat)], most) for label in labels]
        cut = any(len(strip.values) < strip.of for strip in strips)
        shown = f"Shown are {most:,} values of a label at most, evenly spaced by rank." if cut else ""
        return StripChart(
            id=words.id,
            title=words.title,
            note=self._note(words, len(labels), shown),
            x=words.axis,
            y=Axis(label="label"),
            strips=strips,
        )

    def means(self, words: Words, of: Values, *, share: bool = False) -> IntervalChart:
        """The mean over games with its 95 % interval; a label on several seats of a game counts once in it.

        `share`: values are 0 to 1, and so are the ends of intervals.
        """
        # Imported here: numpy is slow to load, and evaluators are loaded where nothing is drawn.
        from tradefair.evaluation.statistics.paired import interval

        names: list[str] = []
        spans: list[tuple[float, float | None, float | None]] = []
        for label in list(self._seats)[:_MOST_ROWS]:
            games: dict[int, list[float]] = defaultdict(list)
            for seat in self._seats[label]:
                games[seat.game].extend(of(seat))
            known = [value for numbers in games.values() if (value := mean(numbers)) is not None]
            middle, bounds = mean(known), interval(known)
            if middle is not None:
                names.append(label)
                low, high = map(_short, bounds) if bounds else (None, None)
                # Student's interval knows no bounds: of two games it would draw shares of −5 and 6.
                if share and low is not None and high is not None:
                    low, high = max(0.0, low), min(1.0, high)
                spans.append((_short(middle), low, high))
        bounded = ", cut at 0 and 1" * share
        note = f"The dot is the mean over games, the line its 95 % interval (Student's t over games{bounded})."
        return IntervalChart(
            id=words.id,
            title=words.title,
            note=self._note(words, len(names), note),
            x=words.axis,
            y=Axis(label="label"),
            names=names,
            values=[value for value, _, _ in spans],
            lows=[low for _, low, _ in spans],
            highs=[high for _, _, high in spans],
        )

    def points(self, words: Words, across: Values, up: Values, y: Axis) -> XYChart:
        """A dot per label: the means of two figures over its seats; labels that lack one are left out."""
        lines: list[Line] = []
        for label, seats in list(self._seats.items())[:_MOST_ROWS]:
            x, height = (mean(value for seat in seats for value in of(seat)) for of in (across, up))
            if x is not None and height is not None:
                lines.append(Line(name=label, x=[_short(x)], y=[_short(height)], mark="dots"))
        note = self._note(words, min(len(self._seats), _MOST_ROWS), "One dot per label: means over its games.")
        return XYChart(id=words.id, title=words.title, note=note, x=words.axis, y=y, lines=lines)

    def by_round(self, words: Words, name: str, middle: Callable[[Sequence[float]], float | None] = mean) -> XYChart:
        """The middle of a series over seats, round by round, null where no seat has a value.

        Up to six labels are lines of one chart; more have a small panel each, with the course of all next to it.
        """
        labels = list(self._seats)
        courses = {label: _course(self._seats[label], name, middle) for label in labels[:_MOST_PANELS]}
        if len(labels) <= _MOST_LINES:
            lines = [Line(name=label, x=_at(course), y=course) for label, course in courses.items()]
        else:
            together = _course([seat for played in self._seats.values() for seat in played], name, middle)
            lines = [
                line
                for label, course in courses.items()
                for line in (
                    Line(name=_ALL, panel=label, x=_at(together), y=together, faint=True),
                    Line(name="the label", panel=label, x=_at(course), y=course),
                )
            ]
        return XYChart(
            id=words.id, title=words.title, note=self._note(words, len(courses)), x=_ROUND, y=words.axis, lines=lines
        )

    def _note(self, words: Words, shown: int, *more: str) -> str:
        """How the chart is read, from how many games it is, and which labels it shows."""
        best = f"The best {shown} of {len(self._seats)} labels." if shown < len(self._seats) else ""
        return " ".join(text for text in (words.note, *more, best, self._from) if text)


def with_values(charts: Iterable[Chart]) -> list[Chart]:
    """The charts that have a value to show."""
    return [chart for chart in charts if _has_values(chart)]


def spaced(values: Sequence[T], most: int) -> list[T]:
    """Up to `most` of the values, evenly spaced by position, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    return [values[place * (len(values) - 1) // (most - 1)] for place in range(most)]


def _has_values(chart: Chart) -> bool:
    match chart:
        case StripChart():
            return any(strip.values for strip in chart.strips)
        case XYChart():
            return any(value is not None for line in chart.lines for value in line.y)
        case IntervalChart():
            return bool(chart.values)
        case _:
            return True


def _strip(label: str, values: list[float], most: int) -> Strip:
    middle = mean(values)
    shown = [_short(value) for value in spaced(sorted(values), most)]
    return Strip(name=label, values=shown, of=len(values), mean=None if middle is None else _short(middle))


def _course(
    seats: Sequence[PlayedSeat], name: str, middle: Callable[[Sequence[float]], float | None]
) -> list[float | None]:
    """The middle of all seats by round, from the first; games may differ in length."""
    series = [seat.series[name] for seat in seats]
    found: list[float | None] = []
    for place in range(max(map(len, series), default=0)):
        values = [value for known in series if place < len(known) and (value := known[place]) is not None]
        found.append(None if (value := middle(values)) is None else _short(value))
    return found


def _at(course: Sequence[float | None]) -> list[float]:
    return [float(place) for place in range(1, len(course) + 1)]


def _short(value: float) -> float:
    return round(value, _DECIMALS)

"""The numbers of a chart or a table as files: CSV for programs, LaTeX for papers. Names may come from a trace."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tradefair.contract.text import clean_line
from tradefair.evaluation.charts.chart import (
    Axis,
    Band,
    BarChart,
    Chart,
    HeatChart,
    IntervalChart,
    MatrixChart,
    PairChart,
    StripChart,
    XYChart,
)
from tradefair.evaluation.table import Table, decimals

Cell: TypeAlias = str | float | bool | None
Rows: TypeAlias = tuple[list[str], Sequence[Sequence[Cell]]]

# A spreadsheet runs what begins with one of these, in full width, too.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"[+\-−~]?[\d,]+(\.\d+)?%?")
# `[` and `*` behind a line's end are read as its options; the rest are signs of TeX, or have no glyph in its text font.
_TEX = {
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "]": "{]}", "*": "{*}", "`": r"\textasciigrave{}",
    "−": "$-$", "≤": r"$\leq$", "≥": r"$\geq$", "×": r"$\times$", "±": r"$\pm$", "·": r"\textperiodcentered{}",
    "…": r"\dots{}", "–": "--", "—": "---", "α": r"$\alpha$", "→": r"$\to$", "\u00a0": "~", "’": "'",
}  # fmt: skip
_ESCAPED = "{}$&#_%"
# Letters of the text font that every LaTeX has: these, and those that it builds with an accent.
_LETTERS = "ßæÆœŒøØåÅłŁı"
_OGONEK = "\N{COMBINING OGONEK}"


def chart_csv(chart: Chart) -> bytes:
    """The chart's numbers as CSV in UTF-8, unrounded; first row the heads with units, nothing for null.

    Lines and cells in long form: one row per point, cell, bar, interval or pair. The mean of pairs is the last row.
    """
    return _csv(*_rows(chart))


def table_csv(table: Table) -> bytes:
    """A table as CSV in UTF-8, its cells as they are; a name that a spreadsheet would run begins with an apostrophe."""
    return _csv(table.columns, table.rows)


def chart_tex(chart: Chart, caption: str = "") -> bytes:
    """The chart's numbers as a LaTeX tabular with the rules of booktabs, as printed: three decimals, thousands set off.

    `caption` stands above it as a comment.
    """
    head, rows = _rows(chart)
    return _tex(chart.title, head, rows, caption)


def table_tex(table: Table, caption: str = "") -> bytes:
    """A table as a LaTeX tabular with the rules of booktabs; `caption` stands above it as a comment."""
    return _tex(table.title, table.columns, table.rows, caption)


def _rows(chart: Chart) -> Rows:
    """Heads and rows of a chart, as in the page's table of numbers."""
    x, y = _head(chart.x), _head(chart.y)
    match chart:
        case XYChart():
            return _line_rows(chart, x, y)
        case BarChart():
            groups = [chart.bars, *([chart.marks] if chart.marks else [])]
            bars = zip(chart.names, *(group.values for group in groups), strict=True)
            return [y, *(group.name for group in groups)], list(bars)
        case HeatChart():
            return _heat_rows(chart, x, y)
        case IntervalChart():
            return [y, x, "low", "high"], list(zip(chart.names, chart.values, chart.lows, chart.highs, strict=True))
        case MatrixChart():
            cells = [[chart.names[cell.row], chart.names[cell.column], cell.value, cell.note] for cell in chart.cells]
            return [y, "against", x, "note"], cells
        case PairChart():
            pairs = [(chart.names[at], chart.differences[at], None, None, not chart.muted[at]) for at in chart.order]
            return [y, x, "low", "high", "informative"], [*pairs, ("mean", chart.mean, chart.low, chart.high, None)]
        case StripChart():
            dots = [(strip.name, value, strip.of, strip.mean) for strip in chart.strips for value in strip.values]
            return [y, x, "values in all", "mean of all"], dots


def _line_rows(chart: XYChart, x: str, y: str) -> Rows:
    # A panel is a column where there are any; many charts have none.
    panels = any(line.panel is not None for line in chart.lines)
    rows: list[list[Cell]] = [
        [line.name, *([line.panel] if panels else []), at, value]
        for line in chart.lines
        for at, value in zip(line.x, line.y, strict=True)
    ]
    rows += [[band.label, *([None] if panels else []), None, edge] for band in chart.bands for edge in _edges(band)]
    return ["series", *(["panel"] if panels else []), x, y], rows


def _edges(band: Band) -> Sequence[float]:
    return (band.low,) if band.low == band.high else (band.low, band.high)


def _heat_rows(chart: HeatChart, x: str, y: str) -> Rows:
    groups = bool(chart.groups)
    rows: list[list[Cell]] = [
        [chart.rows[row], *([chart.groups[row]] if groups else []), column, _level(chart.levels, value)]
        for row, column, value in chart.cells
    ]
    return [y, *(["group"] if groups else []), x, "value"], rows


def _level(levels: Sequence[str], value: float) -> Cell:
    return levels[int(value) - 1] if levels else value


def _head(axis: Axis) -> str:
    return f"{axis.label} ({axis.unit})" if axis.unit else axis.label


def _csv(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> bytes:
    written = io.StringIO()
    # Line feeds alone: the same bytes on every system.
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([_csv_cell(name) for name in head])
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return written.getvalue().encode()


def _csv_cell(cell: Cell) -> Cell:
    """A cell that no spreadsheet runs: text with a leading sign gets an apostrophe, unless all of it is a number."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if not isinstance(cell, str):
        # 3.0 was counted as 3: a float only because charts hold floats.
        return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell
    text = clean_line(cell)
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def _tex(title: str, head: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str) -> bytes:
    shown = [[_printed(cell) for cell in row] for row in rows]
    right = [bool(shown) and all(_is_figure(row[at]) for row in shown) for at in range(len(head))]
    lines = [
        # A comment ends with its line: no text of a trace may begin a second one.
        *(f"% {clean_line(text)}" for text in (title, *caption.splitlines()) if text.strip()),
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{''.join('r' if figure else 'l' for figure in right)}}}",
        r"\toprule",
        # A head with an underscore is the name of a field, and papers have words.
        _tex_row([name.replace("_", " ") for name in head]),
        r"\midrule",
        *map(_tex_row, shown),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return ("\n".join(lines) + "\n").encode()


def _printed(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return decimals(cell, ",") if isinstance(cell, int | float) else cell


def _is_figure(text: str) -> bool:
    return text in ("", "–") or _NUMBER.fullmatch(text) is not None


def _tex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(_tex_text, cells)) + r" \\"


def _tex_text(text: str) -> str:
    """Text that LaTeX prints and never obeys; signs that its text font lacks as their number, `U+4E2D`."""
    # A minus, and not a hyphen, before a number.
    if _is_figure(text) and text.startswith("-"):
        text = f"−{text[1:]}"
    return "".join(map(_tex_sign, clean_line(text)))


def _tex_sign(sign: str) -> str:
    if sign in _TEX:
        return _TEX[sign]
    if sign in _ESCAPED:
        return "\\" + sign
    accents = unicodedata.decomposition(sign)
    built = sign < "\u0180" and accents and "<" not in accents and f"{ord(_OGONEK):04X}" not in accents
    return sign if sign < "\x7f" or sign in _LETTERS or built else rf"\texttt{{U+{ord(sign):04X}}}"

"""Tables for terminals of any width: a figure, a path or an id is never cut; what does not fit is stacked.

Three layouts, the first that fits:

    one line per row
    two lines per row      the names on a line of their own, everything else indented beneath
    several blocks         as many figures as fit, then the next ones; the names stand in each block

Text is wrapped between words, next to its row where there is room and beneath it where there is none.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.text import Text

from tradefair.cli.terminal import Console
from tradefair.contract.text import clean

Cell: TypeAlias = str | Text
"""Ready text; a plain string is never read as markup."""

# Blanks between columns.
_GAP = 2
# Narrower columns of text would be read one word a line.
_MIN_TEXT = 24
# Longer words, such as addresses, are not waited for: they stand on lines of their own.
_MAX_WORD = 40
_INDENT = "  "
_KINDS = ("name", "figure", "text")


class Column(NamedTuple):
    """A title and what the cells are: `name` (left, whole), `figure` (right, whole) or `text` (left, may be wrapped).

    Titles of names and figures are broken at underscores.
    """

    title: str
    kind: Literal["name", "figure", "text"]

    @property
    def heading(self) -> list[str]:
        """The title, one line each."""
        return [self.title] if self.kind == "text" else self.title.split("_")


def names(*titles: str) -> list[Column]:
    """Columns of names, paths or ids."""
    return [Column(title, "name") for title in titles]


def figures(*titles: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(title, "figure") for title in titles]


def words(*titles: str) -> list[Column]:
    """Columns of sentences."""
    return [Column(title, "text") for title in titles]


def show_table(console: Console, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table no wider than the console, unless a single name or figure is. Columns of text come last."""
    table = [[cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row] for row in rows]
    # Measured over all rows first: a table is printed once, and its columns must not move.
    sizes = [_width(column, [row[place] for row in table]) for place, column in enumerate(columns)]
    plan = _plan(columns, table, sizes, console.width)
    indent = _INDENT if plan.above else ""
    for block in plan.blocks:
        _show_line(console, columns, sizes, _headings(columns, plan.above))
        _show_line(console, columns, sizes, _headings(columns, block), indent)
        for row in table:
            _show_line(console, columns, sizes, {place: row[place] for place in plan.above})
            _show_line(console, columns, sizes, {place: row[place] for place in block}, indent)
            # Once, below the last block of figures.
            for place in plan.beneath if block is plan.blocks[-1] else ():
                _show_beneath(console, columns[place].title, row[place])


def show_pairs(console: Console, pairs: Sequence[tuple[str, str]]) -> None:
    """Names and figures, two pairs a line where that fits, else one.

    `pairs` are (name, value). Columns are as wide as their longest cell, so that values stand below one another.
    """
    per_line = 2 if len(pairs) > 1 else 1
    while True:
        lines = [pairs[start : start + per_line] for start in range(0, len(pairs), per_line)]
        wide = [
            [max((cell_len(line[at][part]) for line in lines if at < len(line)), default=0) for part in (0, 1)]
            for at in range(per_line)
        ]
        if per_line == 1 or sum(map(sum, wide)) + _GAP * (2 * per_line - 1) <= console.width:
            break
        per_line = 1
    for line in lines:
        shown = Text()
        # The last line may hold one pair only.
        for (name, value), (left, right) in zip(line, wide, strict=False):
            shown.append(_padded(name, left + _GAP), style="dim").append(_padded(value, right + _GAP))
        _print(console, shown)


class _Plan(NamedTuple):
    """The columns of each block, the names that stand above them in each row, and the text that stands beneath."""

    blocks: list[list[int]]
    above: list[int]
    beneath: list[int]


def _plan(columns: Sequence[Column], table: Sequence[Sequence[Text]], sizes: list[int], width: int) -> _Plan:
    """The first of the module's layouts that fits; text that is wrapped in its row gets its width in `sizes`."""
    names, numbers, prose = ([at for at, column in enumerate(columns) if column.kind == kind] for kind in _KINDS)
    lead, rest = _span(sizes, names), _span(sizes, numbers)
    # A single column stands in one line, however narrow the terminal is.
    if len(names) + len(numbers) <= 1 or lead + rest - _GAP <= width:
        beside = _beside(table, sizes, prose, width - lead - rest)
        return _Plan([[*names, *numbers, *beside]], [], prose[len(beside) :])
    # Names that leave too little room for figures stand above them, the first one alone if it must.
    above = names if lead - _GAP <= width else names[:1]
    shared = [place for place in names if place not in above]
    room = width - len(_INDENT) - _span(sizes, shared)
    # Names that take half of the line leave no room to read figures next to them.
    if names and (rest - _GAP <= room or lead > width // 2):
        return _Plan([[*shared, *part] for part in _parts(sizes, numbers, room)], above, prose)
    return _Plan([[*names, *part] for part in _parts(sizes, numbers, width - lead)], [], prose)


def _span(sizes: Sequence[int], places: Sequence[int]) -> int:
    """The cells that columns take, each with the gap behind it."""
    return sum(sizes[place] + _GAP for place in places)


def _beside(table: Sequence[Sequence[Text]], sizes: list[int], prose: Sequence[int], room: int) -> list[int]:
    """The columns of text that stand in the row, as many as have room; the last of them is wrapped if need be."""
    for count in range(len(prose), 0, -1):
        # Only the last column of text is wrapped; those before it keep their width.
        *whole, last = prose[:count]
        left = room - _span(sizes, whole)
        longest = max((cell_len(word) for row in table for word in row[last].plain.split()), default=0)
        # Room for the longest word counts, so that wrapping breaks between words.
        if left >= min(sizes[last], max(_MIN_TEXT, min(longest, _MAX_WORD))):
            sizes[last] = min(sizes[last], left)
            return [*whole, last]
    return []


def _parts(sizes: Sequence[int], places: Sequence[int], room: int) -> list[list[int]]:
    """As many columns as fit, at least one, then the next ones.

    `places` are column indices, `room` the cells that a part may take, its last gap not counted.
    """
    parts: list[list[int]] = [[]]
    for place in places:
        if parts[-1] and _span(sizes, [*parts[-1], place]) - _GAP > room:
            parts.append([])
        parts[-1].append(place)
    return parts


def _headings(columns: Sequence[Column], places: Sequence[int]) -> dict[int, Text]:
    """Titles in as many lines as the longest has, the shorter ones at the bottom."""
    height = max((len(columns[place].heading) for place in places), default=0)
    above = {place: "\n" * (height - len(columns[place].heading)) for place in places}
    return {place: Text(above[place] + "\n".join(columns[place].heading), style="bold") for place in places}


def _show_line(
    console: Console, columns: Sequence[Column], sizes: Sequence[int], cells: Mapping[int, Text], indent: str = ""
) -> None:
    """The cells of a row side by side, in as many lines as they need."""
    broken = {place: _lines_of(cell.plain, sizes[place]) for place, cell in cells.items()}
    for line in range(max(map(len, broken.values()), default=0)):
        shown = Text(indent)
        for place, lines in broken.items():
            text = lines[line] if line < len(lines) else ""
            gap = " " * (sizes[place] - cell_len(text))
            right = columns[place].kind == "figure"
            shown.append(gap if right else "").append(text, style=cells[place].style)
            shown.append(("" if right else gap) + " " * _GAP)
        _print(console, shown)


def _show_beneath(console: Console, title: str, cell: Text) -> None:
    """A cell of text below its row, with its title, wrapped to the console."""
    text = f"{title}: {cell.plain}" if title and cell.plain else cell.plain
    for line in _lines_of(text, console.width - len(_INDENT)) if text else ():
        _print(console, Text(_INDENT + line, style=cell.style))


def _width(column: Column, cells: Iterable[Text]) -> int:
    """The widest line of a column, its title included, in cells."""
    lines = [*column.heading, *(line for cell in cells for line in cell.plain.splitlines())]
    return max(map(cell_len, lines))


def _lines_of(text: str, width: int) -> list[str]:
    """Lines, wrapped between words; a word that is wider than the width stands whole on a line.

    Line breaks in the text are kept, and an empty line stays one.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        # In cells of the terminal: a character may take two of them, or none.
        fits = cell_len(line) <= width
        wrapped = [line] if fits else textwrap.wrap(line, max(width, 1), break_long_words=False, break_on_hyphens=False)
        lines += wrapped or [""]
    return lines


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _print(console: Console, line: Text) -> None:
    # Blanks at the end would wrap on a terminal that is exactly as wide as the table.
    line.rstrip()
    console.print(line, soft_wrap=True)

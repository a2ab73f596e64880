"""Tables for terminals of any width: a figure, a path or an id is never cut, and a row is one line.

A table that does not fit loses columns from the right, and its last line says how many; with `whole` it is printed in
several blocks instead: as many figures as fit, then the next ones, with the names in each block. Sentences are wrapped
between words, and a number stays with its unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from tradefair.cli.console import Console
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
# A number and the word behind it: "22 % of", "404 points", "(95 % interval"; an option and its value: "--seed 1".
_UNIT = re.compile(r"(?<!\S)(\(?[-+−$]?\d[\d,.]*|--[a-z-]+) (?=[^\W\d_]|%|(?<=[a-z] )\d)")
_GLUE = "\u00a0"


class Column(NamedTuple):
    """A title and what the cells are: `name` (left, whole), `figure` (right, whole), `text` (left, may be wrapped)."""

    title: str
    kind: Literal["name", "figure", "text"]


def names(*titles: str) -> list[Column]:
    """Columns of names, paths or ids."""
    return [Column(title, "name") for title in titles]


def figures(*titles: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(title, "figure") for title in titles]


def words(*titles: str) -> list[Column]:
    """Columns of sentences."""
    return [Column(title, "text") for title in titles]


def _show_prose(console: Console, title: str, cell: Text) -> None:
    """A cell of text in lines of its own, behind its title; an empty line where it says nothing."""
    text = f"{title}: {cell.plain}" if title else cell.plain
    show_text(console, text if cell.plain else "", style=cell.style, indent=_INDENT)


def show_table(
    console: Console,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    *,
    whole: bool = False,
    more: str = "--json",
) -> None:
    """Print a table no wider than the console, unless a single name or figure is. Columns of text come last.

    Columns that do not fit are left out, and the last line names `more`, the options that show them; with `whole` they
    follow in further blocks.
    """
    table = [[cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row] for row in rows]
    # Measured over all rows first: a table is printed once, and its columns must not move.
    sizes = [_width(column, [row[place] for row in table]) for place, column in enumerate(columns)]
    blocks = list(_blocks(columns, sizes, console.width, whole))
    prose = [place for place, column in enumerate(columns) if column.kind == "text"]
    left_out = len(columns) - len(prose) - len({place for block in blocks for place in block})
    # Text has room in the row where all else fits into one block; otherwise it stands beneath.
    crowded = left_out or len(blocks) > 1
    beside = [] if crowded else _beside(table, sizes, prose, console.width - _span(sizes, blocks[0]))
    titles = [Text(column.title, style="bold") for column in columns]
    for block in blocks:
        last = block is blocks[-1]
        _show_line(console, columns, sizes, {place: titles[place] for place in [*block, *beside]})
        for row in table:
            _show_line(console, columns, sizes, {place: row[place] for place in [*block, *beside]})
            # Once, below the last block of figures.
            for place in prose[len(beside) :] if last else ():
                _show_prose(console, columns[place].title, row[place])
    if left_out:
        show_text(console, f"… {left_out} more column{'s' * (left_out > 1)}: {more}", style="dim")


def stream_table(
    console: Console,
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    like: Sequence[Sequence[str]],
    *,
    more: str = "--json",
) -> None:
    """Print rows of names and figures as they come, in columns as wide as those of `like`, which are known before.

    Columns that do not fit are left out, as by `show_table`; a cell that is wider than its column moves its row alone.
    """
    sizes = [_width(column, [Text(clean(row[place])) for row in like]) for place, column in enumerate(columns)]
    block = next(_blocks(columns, sizes, console.width, False))
    _show_line(console, columns, sizes, {place: Text(columns[place].title, style="bold") for place in block})
    for row in rows:
        _show_line(console, columns, sizes, {place: Text(clean(row[place])) for place in block})
    if left_out := len(columns) - len(block):
        show_text(console, f"… {left_out} more column{'s' * (left_out > 1)}: {more}", style="dim")


def show_text(
    console: Console, text: str, *, style: str | Style = "", indent: str = "", hang: str | None = None
) -> None:
    """Print sentences, wrapped between words at the console's width; nothing for an empty text.

    `hang` begins all lines but the first; default: as `indent`.
    """
    hang = indent if hang is None else hang
    # The wider of both is left free in every line.
    lines = lines_of(clean(text), console.width - max(map(cell_len, (indent, hang)))) if text else []
    for number, line in enumerate(lines):
        _print(console, Text((hang if number else indent) + line, style=style))


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


def _blocks(columns: Sequence[Column], sizes: Sequence[int], width: int, whole: bool) -> Iterator[list[int]]:
    """The columns of each block, text left out: one block of what fits, under `whole` as many as all columns need."""
    lead = [place for place, column in enumerate(columns) if column.kind == "name"]
    # Blocks repeat the names; where there is one only, columns stand as they were given, the most telling first.
    figured = [place for place, column in enumerate(columns) if column.kind == "figure"]
    places = lead + figured if whole else sorted(lead + figured)
    # A block has at least one figure, and a table its first column, however narrow the terminal is.
    block: list[int] = []
    for place in places:
        if len(block) > (len(lead) if whole else 0) and _span(sizes, [*block, place]) - _GAP > width:
            yield block
            if not whole:
                return
            block = list(lead)
        block.append(place)
    yield block


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


def _show_line(console: Console, columns: Sequence[Column], sizes: Sequence[int], cells: Mapping[int, Text]) -> None:
    """The cells of a row side by side, in as many lines as they need."""
    broken = {place: lines_of(cell.plain, sizes[place]) for place, cell in cells.items()}
    for line in range(max(map(len, broken.values()), default=0)):
        shown = Text()
        for place, lines in broken.items():
            text = lines[line] if line < len(lines) else ""
            gap = " " * (sizes[place] - cell_len(text))
            right = columns[place].kind == "figure"
            shown.append(gap if right else "").append(text, style=cells[place].style)
            shown.append(("" if right else gap) + " " * _GAP)
        _print(console, shown)


def _width(column: Column, cells: Iterable[Text]) -> int:
    """The widest line of a column, its title included, in cells."""
    return max(map(cell_len, [column.title, *(line for cell in cells for line in cell.plain.splitlines())]))


def lines_of(text: str, width: int) -> list[str]:
    """Lines, wrapped between words; a word that is wider than the width stands whole on a line.

    Line breaks in the text are kept, and an empty line stays one; blanks before a line stand before all its lines.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        # In cells of the terminal: a character may take two of them, or none.
        fits = cell_len(line) <= width
        begin = "" if fits else line[: len(line) - len(line.lstrip(" "))]
        shown = line if fits else ""
        for word in () if fits else _UNIT.sub(rf"\1{_GLUE}", line.lstrip(" ")).split(" "):
            longer = f"{shown} {word}" if shown else f"{begin}{word}"
            if shown and cell_len(longer) > width:
                lines.append(shown)
                longer = f"{begin}{word}"
            shown = longer
        lines.append(shown)
    return [line.replace(_GLUE, " ") for line in lines]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _print(console: Console, line: Text) -> None:
    # Blanks at the end would wrap on a terminal that is exactly as wide as the table.
    line.rstrip()
    console.print(line, soft_wrap=True)


def show_lines(console: Console, title: str, lines: Sequence[str], most: int = 20) -> None:
    """Print what is missing or left out, a line each, the first `most` of them."""
    for line in lines[:most]:
        console.print(f"{title}: {line}", style="yellow")
    if len(lines) > most:
        console.print(f"{title}: {len(lines) - most} more (--json has them)", style="yellow")

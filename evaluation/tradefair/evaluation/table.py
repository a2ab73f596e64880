"""Tables that an evaluator adds to the common ones, and how numbers are written in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from tradefair.contract.money import nearest

if TYPE_CHECKING:
    from tradefair.cli.tables import Cell, Column


class Table(NamedTuple):
    """Cells are ready text; the first column holds names, the others numbers.

    `fields` are fields of seats in it; their cautions are printed below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    fields: Sequence[str] = ()

    def html(self) -> str:
        """The table as an element of a page, with its title above it; all text is escaped."""
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.rows)
        title = f"<caption>{escape(self.title)}</caption>"
        return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Rows(NamedTuple):
    """A table as a terminal shows it; the page of a figure shows the same one under a title."""

    columns: Sequence[Column]
    cells: Sequence[Sequence[Cell]]

    def titled(self, title: str) -> Table:
        """The table with its title, all cells as plain text."""
        return Table(
            title, [column.title for column in self.columns], [[str(cell) for cell in row] for row in self.cells]
        )


def number_text(value: object) -> str:
    """A number as tables show it: three decimals at most, six where it would round to 0, a dash for null.

    Other values than floats are shown as `str` shows them.
    """
    if value is None:
        return "–"
    return decimals(value) if isinstance(value, float) else str(value)


def counted(number: int, thing: str) -> str:
    """How many there are of a thing that is named in the singular, to the last one."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def decimals(value: float, form: str = "") -> str:
    """At most three decimals, six where three are all 0; never "-0". `form`: sign and grouping, such as "+,"."""
    # Below half of 0.001 three decimals would print 0, and a small loss would look like none.
    digits = 6 if abs(value) < 0.0005 else 3
    shown = f"{nearest(value, digits):{form}.{digits}f}"
    return shown.rstrip("0").rstrip(".")

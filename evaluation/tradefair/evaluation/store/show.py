"""Answers about a trace on the terminal, as tables or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson
import typer
from rich.table import Table
from rich.text import Text

from tradefair.cli.console import Console
from tradefair.cli.terminal import print_json, say
from tradefair.contract.errors import ScenarioError
from tradefair.contract.money import nearest
from tradefair.contract.text import clean
from tradefair.evaluation.store.one_event import show_event
from tradefair.evaluation.store.queries import Answer
from tradefair.evaluation.store.questions import Part

# Characters of a cell in tables for people; `--json` cuts nothing.
_MAX_CELL = 100
# Columns of at most this width are not folded: ids and numbers must stay whole to be copied.
_MAX_UNBROKEN = 12
# A single row with more columns is shown upright, one line per column.
_MAX_ACROSS = 6


def print_event(path: Path, argument: str | None, as_json: bool) -> None:
    """Print one event in full, as text or JSON. Exit code 1 when something on the way could not be used."""
    if argument is None or not argument.isdecimal() or len(argument) > 18:
        raise ScenarioError("show needs the number of an event: tradefair trace TRACE show SEQ")
    odd: list[str] = []
    shown = show_event(path, int(argument), lambda seq, message: odd.append(f"event {seq}: {message}"))
    if as_json:
        print_json({"query": "show", "trace": str(path), **shown}, default=_hex)
    else:
        console = Console(soft_wrap=True)
        for title, content in shown.items():
            if content:
                console.print(title.replace("_", " "), style="bold")
                console.print(orjson.dumps(content, option=orjson.OPT_INDENT_2).decode())
    for message in dict.fromkeys(odd):
        say(message)
    if odd:
        raise typer.Exit(1)


def print_answer(path: Path, query: str, parts: Sequence[Part], as_json: bool) -> None:
    """Print an answer's tables, as text or JSON."""
    if as_json:
        tables = [{"title": part.title, "rows": part.answer.dicts(), "cut": part.answer.cut} for part in parts]
        return print_json({"query": query, "trace": str(path), "tables": tables}, default=_hex)
    console = Console()
    for part in parts:
        console.print(part.title, style="bold")
        if not part.answer.rows:
            console.print("none", style="dim")
            continue
        console.print_stripped(_table(part.answer, console.width))
        if part.answer.cut:
            console.print("… there are more; --limit shows them", style="dim")
    return None


def _table(answer: Answer, width: int) -> Table:
    """Rows under their columns; a single row of many columns stands upright. What does not fit is folded, not cut."""
    cells = [[Text(clean(_cell(cell))) for cell in row] for row in answer.rows]
    upright = len(cells) == 1 and len(answer.columns) > _MAX_ACROSS
    names = [Text(name.replace("_", " " if upright else "\n")) for name in answer.columns]
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=not upright)
    if upright:
        for row in zip(names, *cells, strict=True):
            table.add_row(*row)
        return table
    widest = [max(len(row[place]) for row in cells) for place in range(len(names))]
    short = [width for width in widest if width <= _MAX_UNBROKEN]
    # Two spaces between columns; a wide column needs at least the width of an unbroken one.
    fits = sum(short) + 2 * len(names) + (len(widest) - len(short)) * _MAX_UNBROKEN <= width
    for place, name in enumerate(names):
        # Seats stay whole even where the table is too wide: half an id names another seat.
        whole = widest[place] <= _MAX_UNBROKEN and (fits or answer.columns[place] == "seat")
        table.add_column(name, overflow="fold", no_wrap=whole)
    for row in cells:
        table.add_row(*row)
    return table


def _cell(value: object) -> str:
    """A cell as text: a dash for null, three decimals at most, cut at `_MAX_CELL` characters."""
    if value is None:
        return "–"
    text = f"{nearest(value, 3):.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "…"


def _hex(value: object) -> str:
    """Bytes, which a SELECT can make and JSON does not have, as hexadecimal digits; anything else as text."""
    return value.hex() if isinstance(value, bytes) else str(value)

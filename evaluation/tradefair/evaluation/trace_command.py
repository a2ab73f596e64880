"""The command `trace`: questions about one trace, or named queries over a folder of Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.table import Table
from rich.text import Text

from tradefair.cli.terminal import Console, print_json, say
from tradefair.contract import ScenarioError
from tradefair.contract.money import nearest
from tradefair.contract.text import clean
from tradefair.evaluation.store.in_duckdb import ParquetTables
from tradefair.evaluation.store.in_sqlite import TraceTables
from tradefair.evaluation.store.queries import QUERIES, Answer
from tradefair.evaluation.store.questions import QUESTIONS, Filters, Part, ask, ask_sql, named_query, show_event

# Characters of a cell in tables for people; `--json` cuts nothing.
_MAX_CELL = 100
# Columns of at most this width are not folded: ids and numbers must stay whole to be copied.
_MAX_UNBROKEN = 12
# A single row with more columns is shown upright, one line per column.
_MAX_ACROSS = 6
_NAMES = ", ".join(["show", "messages", *QUESTIONS, *(name for name in QUERIES if name not in QUESTIONS)])


def trace(
    path: Annotated[Path, typer.Argument(metavar="TRACE", exists=True, help="A trace, or a folder of Parquet tables.")],
    query: Annotated[str, typer.Argument(metavar="QUERY", help=f"One of {_NAMES}.")] = "summary",
    argument: Annotated[
        str | None, typer.Argument(metavar="[SEQ|ID|SELECT]", help="For show, evidence, object and sql.")
    ] = None,
    seat: Annotated[str | None, typer.Option("--seat", help="Calls of this seat.")] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="Calls of this tool.")] = None,
    status: Annotated[str | None, typer.Option("--status", help="ok, rejected, invalid, denied or failed.")] = None,
    round_: Annotated[int | None, typer.Option("--round", help="Calls of this round.")] = None,
    about: Annotated[str | None, typer.Option("--object", help="Calls about this object.")] = None,
    within: Annotated[int | None, typer.Option("--within", min=0, max=10_000, help="Rounds of follow_up.")] = None,
    times: Annotated[int | None, typer.Option("--times", min=2, help="Repetitions of loops.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1_000_000, help="Rows of a table at most.")] = 100,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, max=3_600, help="Seconds for sql at most.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Ask one trace a question; the trace is only read.

    summary · calls · show SEQ (an event in full) · messages (what models were sent) · evidence SEQ (what an action
    rested on) · object ID · errors · lapses · sql "SELECT …" (docs/how-to/queries.md) · outcomes · evidence ·
    follow_up · loops · repeated_refusals. The last six also over a folder that export --format parquet wrote. Exit
    code 1 when something in the trace could not be used.
    """
    filters = Filters(seat, tool, status, round_, about, limit, timeout, within, times)
    if query == "show":
        return _show(path, argument, as_json)
    if query == "messages":
        # Imported here: no other question needs what pages are made with.
        from tradefair.evaluation.report.messages import show_messages

        return show_messages(path, seat, round_, as_json)
    # A folder of tables has no single trace, so only named queries and sql make sense there.
    if path.is_dir():
        with ParquetTables(path) as tables:
            parts = ask_sql(tables, argument, filters) if query == "sql" else named_query(tables, query, filters)
            return _print(path, query, parts, as_json)
    with TraceTables.of_file(path) as tables:
        parts = ask(tables, query, argument, filters)
        _print(path, query, parts, as_json)
        # Asked after the answer is printed: it is complete as far as the trace allows, and the exit
        # code says the rest.
        odd = tables.select("SELECT COUNT(*) FROM findings").rows[0][0]
    if odd:
        things, them = ("1 thing", "it") if odd == 1 else (f"{odd} things", "them")
        say(f"{things} in the trace could not be used; tradefair trace {path} summary names {them}")
        raise typer.Exit(1)


def _show(path: Path, argument: str | None, as_json: bool) -> None:
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


def _print(path: Path, query: str, parts: Sequence[Part], as_json: bool) -> None:
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

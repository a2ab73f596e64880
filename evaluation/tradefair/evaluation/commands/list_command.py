"""The command `list`: what can be played, or the traces of a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tradefair.evaluation.viewer.row import Row

# Rules that a row names; `--json` has all.
_MAX_RULES = 3
# Rows that are judged before the first is printed: scores are as wide as theirs.
_MEASURED = 4
_WIDE = "-99,999 currency units"


def list_traces(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[RUNS]", exists=True, file_okay=False, help="A folder of traces.")
    ] = None,
    wanted: Annotated[
        str, typer.Option("--filter", help='Such as: by:react score>100 findings>=2 seed:1..20 -state:stopped "text".')
    ] = "",
    order: Annotated[str, typer.Option("--sort", help="Column to order by; -COLUMN: the largest first.")] = "-when",
    map_file: Annotated[
        Path | None, typer.Option("--map", exists=True, help="Map of what the actions of imported agents rest on.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Every market with its presets; with RUNS the traces in it, filtered as in `tradefair view`.

    Verdicts are remembered in the user's cache folder (TRADEFAIR_CACHE), never in RUNS.
    """
    from tradefair.catalog.looking import list_markets

    if folder is None:
        list_markets(as_json)
        return
    from tradefair.cli.terminal import print_json, say
    from tradefair.contract.errors import unknown
    from tradefair.evaluation.progress import show_progress, watched
    from tradefair.evaluation.viewer.filter import parse
    from tradefair.evaluation.viewer.folder import Folder
    from tradefair.evaluation.viewer.index import Index
    from tradefair.evaluation.viewer.listing import OF_VERDICTS, ORDERS, ordered
    from tradefair.files.folders import cache_folder

    asked, column = parse(wanted), order.removeprefix("-")
    if column not in ORDERS:
        raise typer.BadParameter(unknown("column", column, ORDERS))
    found = Folder(folder)
    if map_file is not None:
        from tradefair.evaluation.report.runs import asked_of

        found.foreign = asked_of(map_file).map
    index, down = Index(found, cache_folder()), order.startswith("-")
    places = {row.path: (place, row) for place, row in index.listed_rows(references=asked.names("kind"))}
    rows = [row for _, row in places.values()]
    all_first = as_json or column in OF_VERDICTS
    if all_first:
        # The order is known when all are judged.
        rows = [index.judge(place) for place, _ in watched(list(places.values()), show_progress, lambda it: it[1].path)]
    rows = ordered(rows, column, down=down)
    each = iter(rows) if all_first else (index.judge(places[row.path][0]) for row in rows)
    judged = (row for row in each if asked.match(row))
    if as_json:
        print_json({"traces": [row.model_dump(mode="json", exclude={"id"}) for row in judged]})
        return
    say(f"{_show(rows, judged)} traces")
    for path, reason in index.folder.skipped:
        say(f"not opened: {path} ({reason})")


def _show(rows: list[Row], judged: Iterator[Row]) -> int:
    """Print the judged ones as they come, and count them; `rows` are all, as they are known before."""
    from tradefair.cli.console import Console
    from tradefair.cli.tables import figures, names, show_text, stream_table

    # The most telling first: a narrow terminal drops columns from the right.
    columns = [*names("trace"), *figures("seed", "score", "mistakes"), *names("check", "played by")]
    columns += [*figures("beside best"), *names("scenario", "seat", "state"), *figures("calls")]
    foreign = [row for row in rows if row.source]
    if foreign:
        # What was imported or recorded has neither seed nor score, and a result of its source's.
        own = columns[3:4] if len(foreign) == len(rows) else columns[1:4]
        columns = [*names("trace", "result"), *own, *figures("calls"), *names("rules", "check", "source", "state")]
    begun = list(islice(judged, _MEASURED))
    known = {row.path: row for row in (*rows, *begun)}
    cells = [_cells(row) for row in known.values()]
    # What all traces share is said once, above the table.
    several = ("scenario", "seat", "state", "played by", "source", "result") if len(rows) > 1 else ()
    shared = {title: cells[0][title] for title in several if len({row[title] for row in cells}) == 1}
    said = ", ".join(f"{title} {value}" for title, value in shared.items() if value)
    console = Console()
    show_text(console, f"all: {said}" if said else "")
    kept = [column for column in columns if column.title not in shared]
    count = 0

    def shown() -> Iterator[list[str]]:
        nonlocal count
        for row in chain(begun, judged):
            count, texts = count + 1, _cells(row)
            yield [texts[column.title] for column in kept]

    like = _sample(rows, cells)
    stream_table(console, kept, shown(), [[row[column.title] for column in kept] for row in like])
    return count


def _sample(rows: list[Row], cells: list[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """Rows that columns are as wide as: scores of other markets may be wider than those of the first."""
    return [*cells, dict.fromkeys(cells[0], "") | {"score": _WIDE}] if len({row.market for row in rows}) > 1 else cells


def _cells(row: Row) -> Mapping[str, str]:
    """Texts by column; empty where the trace has no verdict."""
    from tradefair.evaluation.ledger import MAJOR, MINOR, major
    from tradefair.evaluation.verdict.amounts import number

    judged = row.judged
    cells = {
        "trace": row.path,
        "seed": _figure(row.seed),
        "played by": ", ".join(row.players),
        # Every run of a file has the same, which says nothing.
        "scenario": "" if row.source else row.scenario,
        "seat": ", ".join(row.seats),
        "state": row.ended or row.state,
        "result": row.passed or ("not stated" if row.source else "–"),
        "source": row.source,
    }
    if judged is None:
        return cells | dict.fromkeys(("score", "mistakes", "check", "beside best", "calls", "rules"), "")
    found = _figure(judged.raised)
    # Money as people read it.
    money = judged.unit in MINOR
    score, better = (value if value is None or not money else major(value) for value in (judged.score, judged.better))
    return cells | {
        "score": "–" if score is None else f"{number(score)} {MAJOR if money else judged.unit}",
        "mistakes": f"{found} ({judged.others})" if judged.others else found,
        "check": judged.check,
        "beside best": "–" if better is None else f"{better:+,.4g} {judged.reference}",
        "calls": _figure(judged.calls),
        "rules": ", ".join(judged.modes[:_MAX_RULES]) + " …" * (len(judged.modes) > _MAX_RULES),
    }


def _figure(value: float | None) -> str:
    from tradefair.evaluation.table import number_text

    return "–" if value is None else number_text(value)

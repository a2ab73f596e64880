"""The command `list`: what can be played, or the traces of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tradefair.evaluation.viewer.row import Row


def list_traces(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[RUNS]", exists=True, file_okay=False, help="A folder of traces.")
    ] = None,
    wanted: Annotated[
        str, typer.Option("--filter", help='Such as: by:react score>100 findings>=2 seed:1..20 -state:stopped "text".')
    ] = "",
    order: Annotated[str, typer.Option("--sort", help="Column to order by; -COLUMN: the largest first.")] = "-when",
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Every market with its presets; with RUNS the traces in it, filtered as in `tradefair view`.

    Verdicts are remembered in the user's cache folder (TRADEFAIR_CACHE), never in RUNS.
    """
    from tradefair.catalog.look_commands import list_markets

    if folder is None:
        list_markets(as_json)
        return
    from tradefair.cli.terminal import print_json, say
    from tradefair.contract.errors import unknown
    from tradefair.evaluation.progress import show_progress
    from tradefair.evaluation.viewer.filter import parse
    from tradefair.evaluation.viewer.folder import Folder
    from tradefair.evaluation.viewer.index import Index, cache_folder
    from tradefair.evaluation.viewer.listing import ORDERS, ordered

    asked, column = parse(wanted), order.removeprefix("-")
    if column not in ORDERS:
        raise typer.BadParameter(unknown("column", column, ORDERS))
    index = Index(Folder(folder), cache_folder())
    rows = [row for _, row in index.judged_rows(show_progress, references=asked.names("kind"))]
    rows = ordered([row for row in rows if asked.match(row)], column, down=order.startswith("-"))
    if as_json:
        print_json({"traces": [row.model_dump(mode="json", exclude={"id"}) for row in rows]})
        return
    _show(rows)
    say(f"{len(rows)} traces")
    for path, reason in index.folder.skipped:
        say(f"not opened: {path} ({reason})")


def _show(rows: list[Row]) -> None:
    from tradefair.cli.tables import figures, names, show_table, show_text
    from tradefair.cli.terminal import Console

    # The most telling first: a narrow terminal drops columns from the right.
    columns = [*names("trace"), *figures("seed", "score", "findings"), *names("check", "played by")]
    columns += [*figures("beside best"), *names("scenario", "seat", "state"), *figures("calls")]
    cells = [_cells(row) for row in rows]
    # What all traces share is said once, above the table.
    values = [set(column) for column in zip(*cells, strict=True)] if len(rows) > 1 else [set[str]()] * len(columns)
    shared = [column.kind == "name" and len(found) == 1 for column, found in zip(columns, values, strict=True)]
    said = [
        f"{columns[place].title} {min(values[place])}"
        for place in (7, 8, 9, 5, 4)
        if shared[place] and any(values[place])
    ]
    console = Console()
    show_text(console, f"all: {', '.join(said)}" if said else "")
    kept = [place for place, once in enumerate(shared) if not once]
    show_table(console, [columns[place] for place in kept], [[row[place] for place in kept] for row in cells])


def _cells(row: Row) -> list[str]:
    judged, state = row.judged, row.ended or row.state
    place, players = [row.scenario, ", ".join(row.seats), state], ", ".join(row.players)
    if judged is None:
        return [row.path, _figure(row.seed), "", "", "", players, "", *place, ""]
    score = f"{_figure(judged.score)} {judged.unit}" if judged.score is not None else "–"
    found = f"{_figure(judged.raised)} ({judged.others})" if judged.others else _figure(judged.raised)
    beside = "–" if judged.better is None else f"{judged.better:+,.4g} {judged.reference}"
    who = [judged.check, players, beside]
    return [row.path, _figure(row.seed), score, found, *who, *place, _figure(judged.calls)]


def _figure(value: float | None) -> str:
    from tradefair.evaluation.table import number_text

    return "–" if value is None else number_text(value)

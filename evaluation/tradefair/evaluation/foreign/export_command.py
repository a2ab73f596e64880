"""The command `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tradefair.cli.terminal import print_json, say
from tradefair.evaluation.foreign.export import FORMATS, form_of
from tradefair.evaluation.progress import show_progress
from tradefair.evaluation.read.places import Places

# Problems on stderr; `--json` has all of them.
_MAX_SHOWN = 20


def export(
    paths: Places,
    form: Annotated[
        str | None, typer.Option("--format", help=f"One of {', '.join(FORMATS)}; default: as -o ends, else jsonl.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File or folder; its suffix is the format. Without: stdout.")
    ] = None,
    seat: Annotated[str | None, typer.Option("--seat", help="Only what this seat saw, renumbered.")] = None,
    strip: Annotated[
        Literal["prompts"] | None,
        typer.Option("--strip", help="Copy .trace files without what models were sent; needs -o."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON; needs -o.")] = False,
) -> None:
    """Write traces in another format, whole or exactly what one seat saw.

    jsonl: the trace itself, which verifies like its source. parquet: a folder of tables for DuckDB, pandas and others.
    otlp: spans for tracing back ends. openai: a transcript of messages per seat. atif: a trajectory per seat. inspect:
    a log of Inspect. Exit code 1 when something in a trace could not be used; the rest is written all the same.
    """
    from tradefair.evaluation.foreign.export.to_files import export_files, export_stripped
    from tradefair.tracestore import fetched

    if strip and (seat is not None or form is not None):
        raise typer.BadParameter("--strip copies traces whole: leave --seat and --format out")
    if as_json and output is None:
        raise typer.BadParameter("--json prints to stdout what was written: name a file or folder with -o")
    # Without -o the lines go to the terminal, and progress would mix with them.
    progress = show_progress if output is not None else None
    with fetched(paths) as files:
        if strip:
            exported = export_stripped(files, output)
        else:
            exported = export_files(files, form=form_of(output, form), output=output, seat=seat, progress=progress)
    for item in exported.written:
        # On stderr, because stdout belongs to the JSON of --json.
        say(f"wrote {item.path} ({item.what})")
    if as_json:
        print_json(exported.to_json())
    for problem in exported.problems[:_MAX_SHOWN]:
        place = f"event {problem.seq}: " if problem.seq else ""
        say(f"{problem.path}: {place}{problem.message}")
    if len(exported.problems) > _MAX_SHOWN:
        say(f"… and {len(exported.problems) - _MAX_SHOWN} more problems (--json has them)")
    if exported.problems:
        raise typer.Exit(1)

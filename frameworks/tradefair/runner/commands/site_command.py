"""The command `site`. In the runner because a ledger is played; the site is made in `evaluation`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.evaluation.ledger import Extent


def site(
    runs: Annotated[Path, typer.Argument(metavar="RUNS", exists=True, file_okay=False, help="A folder of traces.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write; an older site there is renewed.")],
    title: Annotated[str, typer.Option(help="Title of the first page; default: the folder's name.")] = "",
    since: Annotated[str, typer.Option(help="Only episodes that began on this date or later: 2026-11-01.")] = "",
    prompts: Annotated[
        bool, typer.Option("--prompts/--no-prompts", help="Publish what the models were sent, where it was kept.")
    ] = False,
    ledger: Annotated[
        Extent,
        typer.Option(help="What every turn lost, on the reports: as far as ten seconds a trace go (auto), whole."),
    ] = Extent.OFF,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """A folder that any static server, or a browser without one, opens: verdicts, boards, reports, comparisons.

    Every trace is re-executed; one that is not reproduced is listed apart and never ranked. Pages of unchanged traces
    are left alone. Exit code 1 when a trace was not reproduced.
    """
    from tradefair.cli.terminal import print_json, say, tell
    from tradefair.evaluation.progress import show_progress
    from tradefair.evaluation.report.outputs import SUFFIXES
    from tradefair.evaluation.site.build import build_site
    from tradefair.evaluation.site.plan import Wanted
    from tradefair.runner.commands.report_command import ledgers_for_pages

    # Other commands write a page under such a name: here it would be a folder.
    if output.suffix.lower() in SUFFIXES and not output.is_dir():
        raise typer.BadParameter(f"-o {output.name[:60]}: a site is a folder, name one (a page: tradefair report)")
    wanted = Wanted(title or runs.resolve().name, since, prompts, ledger)
    built = build_site(runs, output, wanted, progress=show_progress, ledgers=ledgers_for_pages(ledger))
    if as_json:
        print_json(built.to_json())
    else:
        for path, reason in built.left_out:
            say(f"left out: {path}: {reason}")
        files = f"{built.written} files written, {built.kept} as they were, {built.removed} removed"
        tell(f"{output / 'index.html'}: {built.episodes} episodes; {files}")
    if any(reason != "still being played" for _, reason in built.left_out):
        raise typer.Exit(1)

"""The command `report`. In the runner because a ledger is played; the page is made in `evaluation`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradefair.cli.terminal import print_json
from tradefair.evaluation.ledger import LEDGER_HELP, Extent
from tradefair.evaluation.report.outputs import ending

if TYPE_CHECKING:
    from tradefair.evaluation.report.build import Ledgers


def report(
    paths: Annotated[list[Path], typer.Argument(metavar="TRACE...", exists=True, help="Trace files or folders.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            callback=ending(".html", ".htm"),
            help="The HTML file to write; default: TRACE.html beside it.",
        ),
    ] = None,
    opened: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    compare: Annotated[bool, typer.Option("--compare", help="Put exactly two traces side by side.")] = False,
    check: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Verify by re-execution; takes as long as playing did.")
    ] = True,
    references: Annotated[
        Path | None, typer.Option(exists=True, help="Reference populations on the same seeds; default: references/.")
    ] = None,
    map_file: Annotated[
        Path | None, typer.Option("--map", exists=True, help="Map of what the actions of imported agents rest on.")
    ] = None,
    ledger: Annotated[
        Extent | None, typer.Option(help=f"{LEDGER_HELP} Default: auto of one trace, off of several.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(exists=True, help="JSONL: which imported runs passed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """One self-contained HTML page: pictures, timeline, findings with their calls, what was looked at.

    Works from the file system and asks no network. Exit code 1 when a trace does not verify.
    """
    from tradefair.contract import ScenarioError
    from tradefair.evaluation.judge.population import Populations
    from tradefair.evaluation.progress import show_progress
    from tradefair.evaluation.report.build import check_count, write_report
    from tradefair.evaluation.report.runs import asked_of
    from tradefair.tracestore import find_traces

    output = output or _beside(paths[0])
    if not output.parent.is_dir():
        raise typer.BadParameter(f"{output.parent}: there is no such folder; make it first")
    files = [file for path in paths for file in find_traces(path)]
    if compare and len(files) != 2:
        raise typer.BadParameter(f"--compare puts two traces side by side; these are {len(files)}")
    # A usage error before anything is read; `write_report` checks again for callers from Python.
    try:
        check_count(files)
    except ScenarioError as error:
        raise typer.BadParameter(str(error)) from None

    extent = Extent.of(ledger, len(files))
    made = write_report(
        files,
        output,
        compare=compare,
        check=check,
        progress=show_progress,
        populations=Populations([references] if references else []),
        asked=asked_of(map_file, labels),
        ledgers=ledgers_for_pages(extent, len(files)),
    )
    _tell(output, made.summary(), as_json)
    if opened:
        import webbrowser

        webbrowser.open(output.absolute().as_uri())
    if not made.sound:
        raise typer.Exit(1)


def ledgers_for_pages(extent: Extent, episodes: int = 1) -> Ledgers | None:
    """What adds the ledgers of a trace to its page, of `episodes` that share a budget; None where none are wanted."""
    # Imported here: whoever wants no ledger must not wait for what plays.
    from tradefair.runner.ledger.ledger import with_ledgers

    return None if extent is Extent.OFF else partial(with_ledgers, extent=extent, episodes=episodes)


def _beside(path: Path) -> Path:
    """Where the page of a trace or folder goes when nobody says it: the same name, beside it, ending in `.html`."""
    name = path.resolve().name.removesuffix(".jsonl").removesuffix(".trace")
    return path.parent / f"{name}.html"


def _tell(output: Path, summary: dict[str, object], as_json: bool) -> None:
    """Print what was written, as a sentence for people or as JSON."""
    if as_json:
        print_json({**summary, "output": str(output)})
        return
    from tradefair.cli.console import Console
    from tradefair.cli.tables import show_text

    show_text(
        Console(),
        f"{output}: {summary['bytes']:,} bytes, of which data {summary['data_bytes']:,}; "
        f"{summary['episodes']} episode{'s' if summary['episodes'] != 1 else ''}, {summary['events']:,} events, "
        f"{summary['cut']:,} long texts cut; {summary['checks']}",
    )

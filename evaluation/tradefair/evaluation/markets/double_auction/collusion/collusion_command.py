"""The command `collusion`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradefair.cli.terminal import print_json, say
from tradefair.contract import TraceError
from tradefair.evaluation.progress import show_progress
from tradefair.evaluation.report.outputs import Output, command_line, write
from tradefair.tracestore import REFERENCES, find_traces, is_reference

if TYPE_CHECKING:
    from tradefair.evaluation.markets.double_auction.collusion.model import CollusionReport


class AskedSide(StrEnum):
    """Whose collusion is asked about."""

    SELLERS = "sellers"
    BUYERS = "buyers"


class SplitBy(StrEnum):
    """What each gets a report of its own."""

    LABEL = "label"


def collusion(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACES...", exists=True, help="Traces or folders of them.")],
    silent: Annotated[
        list[Path] | None,
        typer.Option("--against", exists=True, help="The same seeds and agents without talk; may be repeated."),
    ] = None,
    references: Annotated[
        Path | None,
        typer.Option(exists=True, help="Same seeds, truthful, gd_bazaar or zip on all seats; default: references/."),
    ] = None,
    side: Annotated[AskedSide, typer.Option(help="Whose collusion is asked about.")] = AskedSide.SELLERS,
    by: Annotated[SplitBy | None, typer.Option(help="A report per label of the seats that are asked about.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    output: Output = None,
) -> int:
    """Signs of collusion in double auctions: nine measures, each with n, its null and a p-value; a verdict in words.

    The unit is the episode. There is no combined score, and what could not be measured is named. Exit code 1 when a
    trace had to be left out.
    """
    # numpy and the market's models take a while: --help does without.
    from tradefair.evaluation.markets.double_auction.collusion.arms import by_label, refs
    from tradefair.evaluation.markets.double_auction.collusion.reading import read_games
    from tradefair.evaluation.markets.double_auction.collusion.report import collusion_report
    from tradefair.evaluation.markets.double_auction.collusion.show import show

    games = read_games(_own(traces), show_progress)
    # Before the other arms are read: they may be thousands of traces.
    if not games.games:
        raise TraceError("; ".join(games.findings[:3]) or "no episode is left to look at")
    mute = read_games(_own(silent), show_progress) if silent else None
    beside = read_games(find_traces(references) if references else _beside(traces), show_progress)
    sorted_out = refs(beside.games)
    asked = "buyers" if side is AskedSide.BUYERS else "sellers"
    findings = [
        *games.findings,
        *(mute.findings if mute else []),
        # Folders that were found next to the traces were not asked for: what is wrong with them is no finding.
        *(beside.findings if references else []),
        *(sorted_out.findings if references else []),
    ]
    reports = {
        label: collusion_report(
            played,
            silent=None if mute is None else mute.games,
            references=sorted_out.by_policy,
            side=asked,
            findings=findings,
        )
        for label, played in (by_label(games.games, asked) if by else {"": games.games}).items()
    }
    if as_json:
        content = {label: report.model_dump(mode="json") for label, report in reports.items()}
        print_json(content if by else content[""])
    else:
        for report in reports.values():
            show(report)
    if output is not None:
        _write(output, reports, command_line("lab", "collusion", *traces))
    # Traces that were left out change what was measured: a script should notice.
    return 1 if findings else 0


def _write(output: Path, reports: Mapping[str, CollusionReport], command: str) -> None:
    """Write each report's figure; of several the label goes into the file's name."""
    from tradefair.evaluation.markets.double_auction.collusion.figure import collusion_page

    for label, report in reports.items():
        file = re.sub(r"[^\w.-]+", "-", label)
        path = output.with_stem(f"{output.stem}-{file}") if len(reports) > 1 else output
        say(f"{path}: {write(collusion_page(report, label, command), path)}")


def _own(paths: list[Path]) -> list[Path]:
    """The traces under the paths, without folders of references in them; each once."""
    found: dict[Path, None] = {}
    for path in paths:
        for file in find_traces(path):
            # Reference play lies below the same folder; read as agents' episodes it would water down every figure.
            if not is_reference(file, path):
                found[file.resolve()] = None
    return list(found)


def _beside(paths: list[Path]) -> list[Path]:
    """References that were played with the traces."""
    folders = [path / REFERENCES for path in paths if (path / REFERENCES).is_dir()]
    return [file for folder in folders for file in [*folder.rglob("*.trace"), *folder.rglob("*.trace.jsonl")]]

"""The command `collusion`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tradefair import tracestore
from tradefair.cli.terminal import print_json, say
from tradefair.contract.errors import TraceError
from tradefair.evaluation.progress import show_progress
from tradefair.evaluation.report.outputs import Output, command_line, write


class AskedSide(StrEnum):
    """Whose collusion is asked about."""

    SELLERS = "sellers"
    BUYERS = "buyers"


class SplitBy(StrEnum):
    """Whose figures the report also has one by one."""

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
    play_references: Annotated[
        bool,
        typer.Option("--play-references", help="Play the references here, on each game's values, orders and coins."),
    ] = False,
    by: Annotated[SplitBy | None, typer.Option(help="Also five figures of each label in each role.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    output: Output = None,
) -> int:
    """Signs of collusion in double auctions: nine measures, each with n, its null and a p-value; a verdict in words.

    The unit is the episode. There is no combined score, and what could not be measured is named. Exit code 1 when a
    trace had to be left out.
    """
    if play_references and references:
        raise typer.BadParameter("--references names games that were played; --play-references plays them here")
    # numpy and the market's models take a while: --help does without.
    from tradefair.evaluation.markets.double_auction.collusion.arms import refs
    from tradefair.evaluation.markets.double_auction.collusion.reading import read_games
    from tradefair.evaluation.markets.double_auction.collusion.replayed import replayed_references
    from tradefair.evaluation.markets.double_auction.collusion.report import collusion_report
    from tradefair.evaluation.markets.double_auction.collusion.show import show

    games = read_games(_own(traces), show_progress)
    # Before the other arms are read: they may be thousands of traces.
    if not games.games:
        raise TraceError("; ".join(games.findings[:3]) or "no episode is left to look at")
    mute = read_games(_own(silent), show_progress) if silent else None
    if play_references:
        beside, sorted_out = None, replayed_references(games.games, show_progress)
    else:
        beside = read_games(tracestore.find_traces(references) if references else _beside(traces), show_progress)
        sorted_out = refs(beside.games)
    asked = "buyers" if side is AskedSide.BUYERS else "sellers"
    findings = [
        *games.findings,
        *(mute.findings if mute else []),
        # Folders that were found next to the traces were not asked for: what is wrong with them is no finding.
        *(beside.findings if beside and references else []),
        *(sorted_out.findings if references or play_references else []),
    ]
    report = collusion_report(
        games.games,
        silent=None if mute is None else mute.games,
        references=sorted_out.by_policy,
        side=asked,
        players=by is not None,
        findings=findings,
    )
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        show(report)
    if output is not None:
        from tradefair.evaluation.markets.double_auction.collusion.figure import collusion_page

        options = [*(["--by", by.value] if by else []), *(["--play-references"] if play_references else [])]
        page = collusion_page(report, command_line("lab", "collusion", *traces, *options))
        say(f"{output}: {write(page, output)}")
    # Traces that were left out change what was measured: a script should notice.
    return 1 if findings else 0


def _own(paths: list[Path]) -> list[Path]:
    """The traces under the paths, without folders of references in them; each once."""
    found: dict[Path, None] = {}
    for path in paths:
        for file in tracestore.find_traces(path):
            # Reference play lies below the same folder; read as agents' episodes it would water down every figure.
            if not tracestore.is_reference(file, path):
                found[file.resolve()] = None
    return list(found)


def _beside(paths: list[Path]) -> list[Path]:
    """References that were played with the traces."""
    folders = [path / tracestore.REFERENCES for path in paths if (path / tracestore.REFERENCES).is_dir()]
    return [file for folder in folders for file in [*folder.rglob("*.trace"), *folder.rglob("*.trace.jsonl")]]

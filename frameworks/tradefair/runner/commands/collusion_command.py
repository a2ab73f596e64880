"""The command `lab collusion`: reads the market from the traces and asks that market's evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradefair import tracestore
from tradefair.cli.terminal import print_json, say
from tradefair.contract.errors import TraceError
from tradefair.evaluation.progress import show_progress
from tradefair.evaluation.read.places import Verify
from tradefair.evaluation.report.outputs import Output, command_line, write

if TYPE_CHECKING:
    from tradefair.evaluation.collusion import CollusionMeasures
    from tradefair.evaluation.prove.proving import Counted


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
        typer.Option(exists=True, help="Same seeds, a reference policy on all seats; default: references/."),
    ] = None,
    side: Annotated[AskedSide | None, typer.Option(help="Whose collusion is asked about; default: sellers.")] = None,
    play_references: Annotated[
        bool, typer.Option("--play-references", help="Play the references here, on each game's luck.")
    ] = False,
    by: Annotated[SplitBy | None, typer.Option(help="Also five figures of each label in each role.")] = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Play one deviation per firm and episode: whether it is punished.")
    ] = False,
    verify: Verify = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    output: Output = None,
) -> int:
    """Signs of collusion, by the measures of the traces' market; a verdict in words.

    The unit is the episode. There is no combined score, and what could not be measured is named. Exit code 1 when a
    trace had to be left out.
    """
    if play_references and references:
        raise typer.BadParameter("--references names games that were played; --play-references plays them here")
    # Evaluators take a while to import: --help does without.
    from tradefair.evaluation.collusion import CollusionAsked
    from tradefair.runner.ledger.probe import PlayedAgain

    compared = _own(silent or [])
    beside = _own([references]) if references else _beside(traces)
    # What games are compared with proves itself, too.
    sound, quiet, played = _proven((_own(traces), compared, beside), verify)
    files = _files(sound)
    market, measures = _measures(files)
    given = {
        "--against": bool(silent),
        "--references": references is not None,
        "--side": side is not None,
        "--play-references": play_references,
        "--by": by is not None,
        "--probe": probe,
    }
    _check(market, measures, [name for name, is_given in given.items() if is_given])
    found = measures.found(
        CollusionAsked(
            traces=files,
            replayer=PlayedAgain(),
            silent=_files(quiet) if silent else None,
            references=_files(played),
            references_named=references is not None,
            play_references=play_references,
            side="buyers" if side is AskedSide.BUYERS else "sellers",
            by_label=by is not None,
            probe=probe,
            progress=show_progress,
        )
    )
    if as_json:
        print_json({**found.report.model_dump(mode="json"), **sound.to_json()})
    else:
        found.show()
        for note in dict.fromkeys((*sound.notes, *quiet.notes, *played.notes)):
            say(note)
    if output is not None:
        options = [
            *(["--by", by.value] if by else []),
            *(["--play-references"] if play_references else []),
            *(["--probe"] if probe else []),
        ]
        page = found.page(command_line("lab", "collusion", *traces, *options))
        say(f"{output}: {write(page, output)}")
    # Traces that were left out change what was measured: a script should notice.
    return int(any((found.findings, sound.left_out, quiet.left_out, played.left_out)))


def _proven(places: Sequence[Sequence[Path]], verify: bool | None) -> list[Counted]:
    """What counts of games, of those that they are compared with, and of references. TraceError where no game does."""
    from tradefair.evaluation.prove.proving import counted, proof_asked

    proven = proof_asked(verify, chain(*places))
    found = [counted(of, proven=proven, once=number < 2) for number, of in enumerate(places)]
    if not found[0].kept:
        raise TraceError("; ".join(found[0].notes))
    return found


def _files(of: Counted) -> list[Path]:
    return [Path(file) for file in of.kept]


def _measures(files: Sequence[Path]) -> tuple[str, CollusionMeasures]:
    """The one market of the traces and its measures. TraceError where there are several, or none are known."""
    from tradefair.evaluation.evaluator import evaluator_of

    markets: dict[str, None] = {}
    problems: list[str] = []
    for file in files:
        try:
            with tracestore.open_trace(file) as trace:
                markets[trace.manifest.core.market] = None
        # Whoever reads the traces names those that are damaged; here they only have no market.
        except TraceError as error:
            problems.append(str(error))
    if not markets:
        raise TraceError("; ".join(problems[:3]) or "no episode is left to look at")
    if len(markets) > 1:
        raise TraceError(f"these are traces of {' and '.join(sorted(markets))}: name those of one market")
    (market,) = markets
    measures = evaluator_of(market).collusion
    if measures is None:
        raise TraceError(f"{market[:80]} has no measures of collusion; {_joined(_having())} have some")
    return market, measures


def _having() -> list[str]:
    """The installed markets that have measures."""
    from tradefair import catalog
    from tradefair.contract.errors import TradefairError
    from tradefair.evaluation.evaluator import evaluator_of

    found: list[str] = []
    for market in catalog.market_names():
        try:
            if evaluator_of(market).collusion is not None:
                found.append(market)
        # A broken package of another author is not what was asked about.
        except TradefairError:
            continue
    return found


def _check(market: str, measures: CollusionMeasures, given: Sequence[str]) -> None:
    """Raises typer.BadParameter for an option that says nothing of this market."""
    unfit = [name for name in given if name not in measures.options]
    if unfit:
        raise typer.BadParameter(
            f"{', '.join(unfit)}: not of {market}, which takes {_joined(sorted(measures.options)) or 'none'}"
        )


def _joined(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _own(paths: Sequence[Path]) -> list[Path]:
    """The traces under the paths, without folders of references in them; each once."""
    found: dict[Path, None] = {}
    for path in paths:
        for file in tracestore.find_traces(path):
            # Reference play lies below the same folder; read as agents' episodes it would water down every figure.
            if not tracestore.is_reference(file, path):
                found[file.resolve()] = None
    return list(found)


def _beside(paths: Sequence[Path]) -> list[Path]:
    """References that were played with the traces."""
    folders = [path / tracestore.REFERENCES for path in paths if (path / tracestore.REFERENCES).is_dir()]
    return [file for folder in folders for file in [*folder.rglob("*.trace"), *folder.rglob("*.trace.jsonl")]]

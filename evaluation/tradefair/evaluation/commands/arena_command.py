"""The commands `arena pack`, `arena check` and `arena build`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradefair.cli.options import PLAIN
from tradefair.cli.terminal import print_json, say, tell

if TYPE_CHECKING:
    from tradefair.evaluation.arena.check import Checked
    from tradefair.evaluation.arena.terms import Arena

arena = typer.Typer(
    no_args_is_help=True, help="Boards of agents on seeds that are agreed on first; entries are checked.", **PLAIN
)

Terms = Annotated[
    Path, typer.Option("--arena", metavar="FILE", exists=True, dir_okay=False, help="The terms: arena.toml.")
]
Against = Annotated[
    list[Path] | None, typer.Option(exists=True, dir_okay=False, help="Another entry, which this one must not copy.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@arena.command()
def pack(
    folder: Annotated[Path, typer.Argument(metavar="DIR", exists=True, help="The traces of one agent, or one trace.")],
    terms: Annotated[
        Path | None, typer.Option("--arena", metavar="FILE", exists=True, dir_okay=False, help="The terms: arena.toml.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The entry to write: entry.tfb.")
    ] = None,
    against: Against = None,
    as_json: AsJson = False,
) -> int:
    """Put the traces of one agent into an entry; what the check would refuse is not written.

    Also prints the agent's commitment, which boards with sealed seeds want before the games: without --arena and -o it
    prints that alone, of games on any seed. Exit code 1 when an entry is refused.
    """
    if terms is None or output is None:
        if terms is not None or output is not None:
            raise typer.BadParameter("an entry takes both, its terms and a file", param_hint="--arena and -o")
        return _print_commitments(folder)
    from tradefair.evaluation.arena import check as checking
    from tradefair.evaluation.arena.terms import load_arena
    from tradefair.evaluation.progress import show_progress

    known = load_arena(terms)
    checked = checking.pack(folder, known, output, others=checking.Others(against or ()), progress=show_progress)
    if checked.accepted:
        say(f"{output}: {output.stat().st_size:,} bytes")
    return _tell(checked, known, as_json)


@arena.command()
def check(
    entry: Annotated[Path, typer.Argument(metavar="ENTRY", exists=True, help="The entry: a .tfb file.")],
    terms: Terms,
    against: Against = None,
    as_json: AsJson = False,
) -> int:
    """Re-execute every game of an entry and hold it against the terms, and its claims against the traces.

    Exit code 1 with each refusal as code, file, event and sentence.
    """
    from tradefair.evaluation.arena import check as checking
    from tradefair.evaluation.arena.terms import load_arena
    from tradefair.evaluation.progress import show_progress

    known = load_arena(terms)
    checked = checking.check_entry(entry, known, others=checking.Others(against or ()), progress=show_progress)
    return _tell(checked, known, as_json)


@arena.command()
def build(
    entries: Annotated[
        list[Path], typer.Argument(metavar="ENTRY...", exists=True, help="Entries, or folders of them.")
    ],
    terms: Terms,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder of the pages.")],
    as_json: AsJson = False,
) -> int:
    """Check entries and write the boards: pages that any static server shows, the same bytes each time.

    Refused entries are named and never ranked. Exit code 1 when an entry is refused.
    """
    from tradefair.evaluation.arena import board
    from tradefair.evaluation.arena import check as checking
    from tradefair.evaluation.arena.entry import SUFFIX
    from tradefair.evaluation.arena.terms import load_arena
    from tradefair.evaluation.progress import show_progress

    known = load_arena(terms)
    files = [file for place in entries for file in (sorted(place.glob(f"*{SUFFIX}")) if place.is_dir() else [place])]
    # By name, and each against those before it: the order on the command line must not show.
    files = sorted(dict.fromkeys(files), key=lambda file: file.name)
    found: list[Checked] = []
    others = checking.Others()
    for file in files:
        found.append(checking.check_entry(file, known, others=others, progress=show_progress))
        others.add(found[-1])
    written = board.build_arena(known, found, output)
    say(f"{output}: {len(written)} files")
    if as_json:
        print_json([_plain(checked, known) for checked in found])
    else:
        for checked in found:
            tell(str(checking.verdict_of_entry(checked, known)))
    return int(not all(checked.accepted for checked in found))


def _print_commitments(folder: Path) -> int:
    """The digest of an agent's label, model and configuration, as its traces have them; each once."""
    from tradefair.evaluation.arena.entry import Agent
    from tradefair.tracestore import find_traces, open_trace

    found: set[str] = set()
    for trace in find_traces(folder):
        with open_trace(trace) as opened:
            seating = opened.seating()
        found |= {
            f"{Agent.of(seating.players[seat]).digest}  {seating.players[seat].label}" for seat in seating.compared
        }
    tell("\n".join(sorted(found)))
    return 0


def _tell(checked: Checked, terms: Arena, as_json: bool) -> int:
    from tradefair.evaluation.arena.check import verdict_of_entry

    if as_json:
        print_json(_plain(checked, terms))
    else:
        from tradefair.cli.console import Console
        from tradefair.cli.tables import names, show_table, words

        console = Console()
        console.print(str(verdict_of_entry(checked, terms)), style="bold")
        if checked.refusals:
            console.print()
            rows = [[row.code, row.file, str(row.event or "–"), row.sentence] for row in checked.refusals]
            show_table(console, [*names("code", "file", "event"), *words("why")], rows)
        elif checked.entry:
            console.print(f"commitment {checked.entry.commitment}", style="dim")
    return int(not checked.accepted)


def _plain(checked: Checked, terms: Arena) -> dict[str, object]:
    from tradefair.evaluation.arena.check import verdict_of_entry

    return {
        "verdict": verdict_of_entry(checked, terms).to_json(),
        "entry": checked.entry.model_dump(mode="json", by_alias=True) if checked.entry else None,
        "refusals": [refusal._asdict() for refusal in checked.refusals],
        "warnings": list(checked.warnings),
    }

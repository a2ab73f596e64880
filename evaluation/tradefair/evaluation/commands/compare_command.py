"""The command `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import json_bytes, print_bytes, say
from tradefair.evaluation.read.places import Verify
from tradefair.evaluation.report.outputs import Output, write


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", exists=True, help="Folder of traces, or one: the baseline.")],
    b: Annotated[Path, typer.Argument(metavar="B", exists=True, help="Folder of traces, or one, compared with A.")],
    seat: Annotated[list[str] | None, typer.Option(help="Seat to compare; default: where the agent sat.")] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference", "--oracle", exists=True, help="Traces of a reference; default: the best beside A, B."
        ),
    ] = None,
    passive: Annotated[
        Path | None, typer.Option(exists=True, help="Traces of the passive policy; default: as for --reference.")
    ] = None,
    success: Annotated[
        str, typer.Option(help="What pass^k counts: METRIC>NUMBER; default: the first metric > 0.")
    ] = "",
    across_scenarios: Annotated[
        bool,
        typer.Option("--across-scenarios", help="Pair A's one scenario with B's other one, by seed: what talk does."),
    ] = False,
    verify: Verify = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    output: Output = None,
) -> int:
    """Two agents on the same luck: pairs, paired tests, regret, cost, the first decision that differs, a verdict.

    Pairs are runs with the same market, scenario, seed, seat and opponents. A game counts once; what proves nothing is
    left out.
    Exit code 1 when a trace is damaged, a pair is missing (an episode of the other side or of the sweep's plan) or none
    is left.
    """
    # Imported here: evaluators, statistics and charts take long to import.
    from tradefair.cli.console import Console
    from tradefair.evaluation.compare.comparing import Options, compare_folders, parse_success
    from tradefair.evaluation.compare.show import show
    from tradefair.evaluation.report.comparison_figure import figure_of
    from tradefair.evaluation.verdict.terminal import show_verdict

    # Read before the traces: a mistyped condition should not cost the minutes that a large folder takes to read.
    wanted = parse_success(success) if success else None
    options = Options(seat, reference, passive, wanted, across_scenarios, verify)
    with Console(stderr=True).status("reading traces"):  # shows itself on a terminal only
        comparison = compare_folders(a, b, options)
    if output is not None:
        say(f"{output}: {write(figure_of(comparison), output)}")
    if as_json:
        # Not through rich: it would wrap long lines at the width of the terminal and break the JSON.
        print_bytes(json_bytes(comparison.to_json()))
    # A file was asked for: tables on the terminal would only repeat it.
    elif output is not None:
        show_verdict(comparison.verdict, [])
    else:
        show(comparison)
    # No pair left is a failure too: a script that goes by the exit code must not take it for "no difference".
    missing = comparison.missing
    return int(bool(not comparison.pairs or comparison.findings or missing.absent or missing.unfinished))

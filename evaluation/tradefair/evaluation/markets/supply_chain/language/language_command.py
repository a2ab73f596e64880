"""The command `language`: what slogans are worth in a scenario of the supply chain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import print_json


def language(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACES...", exists=True, help="Traces or folders of them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """What slogans are worth: the self-test of supply_chain scenarios.

    Play it first: tradefair sweep supply_chain/language_value. Largest over smallest mean profit of clones that differ
    in their slogan only, with a 95 % interval. Exit code 1 when no trace is of such clones, or one cannot be used.
    """
    # Imported here: --help does without.
    from tradefair.evaluation.markets.supply_chain.language.value import language_values
    from tradefair.tracestore import find_traces

    # A trace that is named twice, itself and by its folder, would count twice.
    paths = dict.fromkeys(path for place in traces for path in find_traces(place))
    report = language_values(paths)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        from tradefair.evaluation.markets.supply_chain.language.terminal import show_language

        show_language(report)
    # What was left out fails the command too: a value of some of the traces would pass for that of all.
    if report.left_out or not report.values:
        raise typer.Exit(1)

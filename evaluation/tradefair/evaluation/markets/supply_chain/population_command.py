"""The command `population`: what a population of retailers shows together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import print_json, say, tell
from tradefair.evaluation.report.outputs import Output, command_line, write


def population(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACES...", exists=True, help="Traces or folders of them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    output: Output = None,
) -> None:
    """What profit goes with, and how unequal retailers grow: the findings of Market-Bench, per supply_chain scenario.

    Of scripted retailers: tradefair sweep supply_chain/findings. Exit code 1 when a trace cannot be used, or none can.
    """
    # Imported here: --help does without.
    from tradefair.evaluation.markets.supply_chain.population import population as measured
    from tradefair.tracestore import find_traces

    # A trace that is named twice, itself and by its folder, would count twice.
    paths = dict.fromkeys(path for place in traces for path in find_traces(place))
    report = measured(paths)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        from tradefair.cli.console import Console
        from tradefair.cli.tables import figures, names, show_table, show_text
        from tradefair.evaluation.markets.supply_chain.population import shown

        console = Console()
        for title, (columns, rows) in shown(report).items():
            show_text(console, title)
            show_table(console, [*names(*columns[:2]), *figures(*columns[2:])], rows, whole=True)
        for path, why in list(report.left_out.items())[:5]:
            tell(f"left out {path}: {why}")
    if output is not None:
        from tradefair.evaluation.markets.supply_chain.steps import population_page

        say(f"{output}: {write(population_page(report, paths, command_line('lab', 'population', *traces)), output)}")
    # What was left out fails the command too: figures of some of the traces would pass for those of all.
    if report.left_out or not report.rows:
        raise typer.Exit(1)

"""The command `experiment`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import print_json, say
from tradefair.evaluation.progress import show_progress
from tradefair.evaluation.report.outputs import Output, command_line, write


def experiment(
    traces: Annotated[list[Path], typer.Argument(metavar="FOLDER...", exists=True, help="What sweep wrote.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    output: Output = None,
) -> int:
    """Bias, manipulation, overload and search in a marketplace, over the arms of a sweep, with exact p-values.

    Play it first: tradefair sweep marketplace/position_bias (or proposal_bias_staggered, manipulation_high,
    consideration_set, welfare_by_search, …). Exit code 1 when a trace had to be left out, or none is of an experiment.
    """
    # numpy and the market's models take a while: --help does without.
    from tradefair.evaluation.markets.marketplace.experiments.report import experiment_report
    from tradefair.tracestore import find_traces

    # A trace below two of the folders is one episode.
    paths = list(dict.fromkeys(path for place in traces for path in find_traces(place)))
    report = experiment_report(paths, show_progress)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        from tradefair.evaluation.markets.marketplace.experiments.show import show

        show(report)
    if output is not None:
        from tradefair.evaluation.markets.marketplace.experiments.figure import experiment_page

        say(f"{output}: {write(experiment_page(report, command_line('lab', 'experiment', *traces)), output)}")
    return 1 if report.left_out or not report.found else 0

"""The command `rate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import json_bytes, print_bytes, say, tell
from tradefair.evaluation.report.outputs import Output, only_chart, write


def rate(
    paths: Annotated[list[Path], typer.Argument(metavar="TRACES...", exists=True, help="Trace files or folders.")],
    score: Annotated[
        str | None,
        typer.Option(
            help="What ranks an auction: csa_clean (default), csa, surplus_share, payoff; "
            "csa_source, by the published table; csa_logged, the scores of imported logs."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes shuffles and resamples; the same seed, the same numbers.")] = 0,
    whole: Annotated[bool, typer.Option("--all", help="Every label, what stands next to it, how it was made.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the leaderboards as JSON.")] = False,
    output: Output = None,
    chart: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="What .svg, .csv and .tex hold instead of the first chart and the first table."
        ),
    ] = None,
) -> int:
    """Leaderboards of the labels that played: TrueSkill, or for pairs balanced shares, Glicko-2 and Bradley-Terry.

    One per market, scenario, shape, rules and evaluator, never mixed; with uncertainty, game counts and how they were
    made. Unfinished and broken episodes are left out and counted. Exit code 1 when a trace cannot be read or nothing
    can be rated.
    """
    # Imported here: numpy and the evaluators behind these take long to import.
    from tradefair.evaluation.progress import show_progress
    from tradefair.evaluation.ratings.leaderboards import leaderboards
    from tradefair.evaluation.ratings.results import read_results
    from tradefair.evaluation.ratings.show import show_leaderboards
    from tradefair.evaluation.report.boards import figure_of_boards

    alone = output is not None and output.suffix.lower() in (".svg", ".csv", ".tex")
    if chart is not None and not alone:
        raise typer.BadParameter("it needs -o with a name in .svg, .csv or .tex", param_hint="--chart")
    # A terminal shows no charts: what they read is left in the files.
    results = read_results(paths, progress=show_progress, series=as_json or output is not None)
    made = leaderboards(results, seed=seed, score=score, progress=show_progress)
    page = figure_of_boards(made)
    if chart is not None:
        page = only_chart(page, chart)
    if output is not None:
        say(f"{output}: {write(page, output)}")
    if as_json:
        print_bytes(json_bytes(page.to_json()))
    elif output is not None:
        tell(str(page.verdict))
    else:
        show_leaderboards(made, whole=whole)
    # An unreadable file fails the command even where others were rated: a leaderboard with holes must be noticed.
    return 0 if made.rated and not made.unreadable else 1

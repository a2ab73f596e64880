"""The command `rate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tradefair import tracestore
from tradefair.cli.terminal import json_bytes, print_bytes, say, tell
from tradefair.evaluation.read.places import Places, Verify
from tradefair.evaluation.report.outputs import Output, only_chart, write

if TYPE_CHECKING:
    from pathlib import Path


def rate(
    paths: Places,
    by: Annotated[
        Literal["skill", "headline"],
        typer.Option(help="Leaderboards, or one figure of each agent: 0 is the naive reference, 1 the best known one."),
    ] = "skill",
    score: Annotated[
        str | None,
        typer.Option(
            help="What ranks an auction: csa_clean (default), csa, surplus_share, payoff; csa_source, by the published "
            "table; csa_logged, of imported logs. Duels: composite(alpha=0..1|auto), 0.9 by default."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes shuffles and resamples; the same seed, the same numbers.")] = 0,
    verify: Verify = None,
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

    --by headline reads a market's headline preset and replays both references on the same seeds, in the agent's seats.
    Episodes of one seed are one block; the 95 % interval is over seeds, from a market's least number of seeds on.

    Leaderboards: one per market, scenario, shape, rules and evaluator, never mixed; with uncertainty, game counts and
    how they were made. A game counts once. Unfinished episodes, copies and traces that prove nothing are left out and
    counted. Exit code 1 when a trace cannot be read or nothing can be rated.
    """
    _refuse_chart(chart, output)
    if by == "headline":
        if any((score, seed, whole, output)):
            raise typer.BadParameter("headline takes --json alone", param_hint="--by")
        # Imported here: what replays takes long to import.
        from tradefair.runner.ledger.headlines import print_headlines

        print_headlines(paths, as_json=as_json, verify=verify)
        return 0
    if any(map(tracestore.is_store, paths)):
        raise typer.BadParameter("leaderboards are of files: tradefair export writes those of a store")
    # Imported here: numpy and the evaluators behind these take long to import.
    from tradefair.evaluation.ratings.show import show_leaderboards
    from tradefair.evaluation.report.boards import figure_of_boards
    from tradefair.runner.sweep.tournament import rated

    # A terminal shows no charts: what they read is left in the files.
    made = rated(paths, score, seed, charts=as_json or output is not None, proven=verify)
    page = figure_of_boards(made) if chart is None else only_chart(figure_of_boards(made), chart)
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


def _refuse_chart(chart: str | None, output: Path | None) -> None:
    """Raise BadParameter for a chart that no file would hold."""
    alone = output is not None and output.suffix.lower() in (".svg", ".csv", ".tex")
    if chart is not None and not alone:
        raise typer.BadParameter("it needs -o with a name in .svg, .csv or .tex", param_hint="--chart")

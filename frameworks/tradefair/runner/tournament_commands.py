"""The command `tournament`: a sweep, and the leaderboards of what was played."""

from __future__ import annotations

from typing import Annotated

import typer

from tradefair.cli.options import grouped
from tradefair.cli.terminal import say
from tradefair.evaluation.report.outputs import Output, write
from tradefair.runner.sweep_flags import AsJson, How, PlanName


@grouped
def tournament(
    plan: PlanName,
    how: How,
    score: Annotated[str | None, typer.Option(help="What ranks an auction; as of tradefair rate.")] = None,
    rating_seed: Annotated[int, typer.Option(help="Fixes shuffles and resamples of the ratings.")] = 0,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Play a plan and rate who played: sweep, then rate.

    Stopped or killed, the same command goes on. Exit code 3 when episodes failed, 1 when nothing could be rated.
    """
    # Imported here: what plays takes long to import.
    from tradefair.runner.summary import show
    from tradefair.runner.sweep_of_plan import play_plan

    played = play_plan(plan, how)
    # Rating is needed only after everything has been played.
    from tradefair.runner.tournament import Tournament, rated

    found = Tournament(played, rated(played, score, rating_seed, charts=as_json or output is not None))
    if output is not None:
        say(f"{output}: {write(found.figure, output)}")
    return show(found, json=as_json)

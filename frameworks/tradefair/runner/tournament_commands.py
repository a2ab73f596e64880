"""`tradefair tournament`: a sweep, and the leaderboards of what was played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tradefair.cli.options import grouped
from tradefair.cli.terminal import say
from tradefair.evaluation.report.outputs import FigurePage, Output, write
from tradefair.runner.summary import show
from tradefair.runner.sweep import Sweep
from tradefair.runner.sweep_commands import AsJson, How, PlanName, play_plan
from tradefair.runner.sweep_show import print_sweep

if TYPE_CHECKING:
    from tradefair.evaluation.ratings.rating import Leaderboards


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
    played = play_plan(plan, how)
    found = _Tournament(played, _rated(played, score, rating_seed, charts=as_json or output is not None))
    if output is not None:
        say(f"{output}: {write(found.figure, output)}")
    return show(found, json=as_json)


def _rated(played: Sweep, score: str | None, seed: int, *, charts: bool) -> Leaderboards:
    # Imported here: rating is needed only after everything has been played.
    from tradefair.evaluation.progress import show_progress
    from tradefair.evaluation.ratings.leaderboards import leaderboards
    from tradefair.evaluation.ratings.results import read_results

    results = read_results([played.folder], progress=show_progress, series=charts)
    return leaderboards(results, seed=seed, score=score, progress=show_progress)


class _Tournament:
    """What a tournament ends with."""

    def __init__(self, played: Sweep, boards: Leaderboards) -> None:
        self._played = played
        self._boards = boards

    @property
    def exit_code(self) -> int:
        """3 when an episode failed, 1 when nothing could be rated or a trace cannot be read."""
        # A failed episode weighs more than a rating that is missing because of it.
        return self._played.exit_code or int(not self._boards.rated or self._boards.unreadable > 0)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the verdict, then what `sweep --json` and `rate --json` print."""
        return self.figure.to_json()

    @property
    def figure(self) -> FigurePage:
        """The leaderboards as a figure, with the sweep in its data."""
        from tradefair.evaluation.report.boards import figure_of_boards

        made = figure_of_boards(self._boards)
        return made._replace(data={"sweep": self._played.to_json(), "leaderboards": made.data})

    def print_tables(self, *, whole: bool) -> None:
        """The leaderboards, then what it took; they are whole either way."""
        from tradefair.evaluation.ratings.show import show_leaderboards

        show_leaderboards(self._boards)
        print_sweep(self._played)

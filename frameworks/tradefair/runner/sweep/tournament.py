"""A sweep, and the leaderboards of what was played: what `tradefair sweep --rank` ends with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tradefair.evaluation.progress import show_progress
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.rating import Leaderboards
from tradefair.evaluation.ratings.results import read_results
from tradefair.evaluation.report.outputs import FigurePage
from tradefair.runner.sweep.lines import print_sweep
from tradefair.runner.sweep.sweep import Sweep


def rated(
    paths: Sequence[str | Path], score: str | None, seed: int, *, charts: bool, proven: bool | None = None
) -> Leaderboards:
    """The leaderboards of traces; `charts` reads also what only a page shows. Raises TraceError."""
    results = read_results(paths, progress=show_progress, series=charts, proven=proven)
    return leaderboards(results, seed=seed, score=score, progress=show_progress)


class Tournament:
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

"""Leaderboards on a page: in a report of several traces, in the viewer, and on a page of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tradefair.evaluation.charts import Chart
from tradefair.evaluation.prove.proving import NOT_ASKED, proof_said
from tradefair.evaluation.ratings.charts import leaderboard_charts
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.ranking import ranking_verdict
from tradefair.evaluation.ratings.rating import Board, Leaderboards, LeftOut
from tradefair.evaluation.ratings.results import read_results
from tradefair.evaluation.ratings.tables import board_name, board_tables
from tradefair.evaluation.report.outputs import FigurePage
from tradefair.evaluation.report.page_data import BoardPage, TablePage
from tradefair.evaluation.table import Table


class Boards(NamedTuple):
    """Leaderboards as a page shows them, and a line on what they count."""

    pages: list[BoardPage]
    rated: str


def boards_of(made: Leaderboards) -> Boards:
    """Charts and tables of every leaderboard. File names lose their folders.

    `rated` of the result is the verdict: who leads, how many traces were rated, and what was left out.
    """
    outside = "".join(f" Left out: {text}." for text in _left_out(made.left_out))
    rated = f"{ranking_verdict(made)} Shuffles and resamples of seed {made.seed}.{outside}"
    return Boards([_page(board) for board in made.boards], rated)


def figure_of_boards(made: Leaderboards) -> FigurePage:
    """The leaderboards as one figure, the ranking of the largest first: what `tradefair rate -o page.html` writes."""
    boards = sorted(made.boards, key=lambda board: -board.games)
    several = len(boards) > 1
    charts: list[Chart] = []
    tables: list[Table] = []
    notes: list[str] = []
    for place, board in enumerate(boards):
        prefix = f"{board_name(board)}: " if several else ""
        charts += [
            # The charts of the largest leaderboard keep their names: `rate --chart` asks for them.
            chart.model_copy(update={"id": f"{chart.id}_{place}" if place else chart.id, "title": prefix + chart.title})
            for chart in leaderboard_charts(board)
        ]
        tables += [table._replace(title=prefix + table.title) for table in board_tables(board)]
        notes += [prefix + text for text in board.cautions]
        notes += [f"{prefix}left out: {text}" for text in _left_out(board.left_out)]
    method = list(dict.fromkeys(sentence for board in boards for sentence in board.method))
    return FigurePage(
        title="Leaderboards" if several or not boards else board_name(boards[0]),
        verdict=ranking_verdict(made),
        charts=charts,
        tables=tables,
        notes=[
            *notes,
            *([NOT_ASKED] if made.proof == proof_said(asked=False) else []),
            *(f"left out: {text}" for text in _left_out(made.left_out)),
        ],
        method=". ".join([*method, f"Shuffles and resamples of seed {made.seed}"]) + ".",
        data=made.model_dump(mode="json"),
        command="tradefair rate",
    )


def rated_boards(paths: Sequence[str | Path]) -> Boards:
    """The leaderboards of a report's traces; nothing where fewer than two of them can be rated."""
    made = leaderboards(read_results(paths, workers=1))
    # A rating compares; of a single trace a board would only repeat the outcome.
    return boards_of(made) if made.rated > 1 else Boards([], "")


def _page(board: Board) -> BoardPage:
    """One leaderboard as the page's record: charts, tables, cautions, what is left out, and how it was made."""
    return BoardPage(
        title=board_name(board),
        charts=leaderboard_charts(board),
        tables=[TablePage.of(table) for table in board_tables(board)],
        cautions=board.cautions,
        left_out=_left_out(board.left_out),
        method=board.method,
    )


def _left_out(reasons: Sequence[LeftOut]) -> list[str]:
    """One line per reason, with file names only: a page is passed on, and folders name people."""
    return [
        f"{left.count} ({left.reason}): {', '.join(Path(name).name for name in left.examples)}"
        + (", …" if left.count > len(left.examples) else "")
        for left in reasons
    ]

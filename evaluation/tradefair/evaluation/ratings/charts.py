"""Charts of leaderboards: ratings with their uncertainty, and which label earned more against which."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tradefair.evaluation.charts.chart import Axis, Chart, IntervalChart, MatrixCell, MatrixChart
from tradefair.evaluation.figures import heading_of
from tradefair.evaluation.ratings.rating import Board, Cell, DuelBoard, DuelRow, FieldBoard, SoloBoard

# More lines than this cannot be told apart in one chart.
_MOST_NAMES = 60
_MOST_IN_MATRIX = 40
# 95 % of a normal distribution.
_DEVIATIONS = 1.96
_NOTE = "Lines are 95 % intervals of resampled seeds; a label with one seed has none."
_BELIEF_NOTE = "Lines span 95 % of the belief, 1.96 deviations to each side."

_Bars: TypeAlias = Mapping[str, tuple[float, float | None, float | None]]
"""Value and interval by label, in the order in which they are drawn."""


def leaderboard_charts(board: Board) -> list[Chart]:
    """The charts of one leaderboard, the ranking first, those of its games last; none without rows.

    The best 60 labels are drawn, and the best 40 in the matrix of duels.
    """
    if not board.rows:
        return []
    match board:
        case SoloBoard():
            drawn = _solo(board)
        case FieldBoard():
            drawn = _field(board)
        case DuelBoard():
            drawn = _duels(board)
    return [*drawn, *board.charts]


def _solo(board: SoloBoard) -> list[Chart]:
    """The charts of labels that play alone: mean scores, and the headline where some label has one."""
    score = heading_of(board.market, board.score)
    means = {row.label: (row.score, row.low, row.high) for row in board.rows}
    drawn: list[Chart] = [_intervals("score", f"Mean {score}", _NOTE, score, means, 2)]
    known = sorted((row for row in board.rows if row.headline is not None), key=lambda row: -(row.headline or 0.0))
    if known:
        bars = {row.label: (row.headline or 0.0, row.headline_low, row.headline_high) for row in known}
        scale = f"Headline {board.headline}. Lines are 95 % over seeds; there are none below its least number of seeds."
        drawn.append(_intervals("headline", "Headline", scale, "headline", bars, 3))
    return drawn


def _field(board: FieldBoard) -> list[Chart]:
    """The charts of a field: ratings and mean scores with their intervals."""
    score = heading_of(board.market, board.score)
    ratings = {row.label: (row.rating, row.low, row.high) for row in board.rows}
    # A board is ordered by rating; each chart is ordered by what it shows.
    by_score = sorted(board.rows, key=lambda row: -row.score)
    scores = {row.label: (row.score, row.score_low, row.score_high) for row in by_score}
    return [
        _intervals("rating", "TrueSkill rating", _NOTE, "rating", ratings, 2),
        _intervals("score", f"Mean {score}", _NOTE, score, scores, 3),
    ]


def _duels(board: DuelBoard) -> list[Chart]:
    """The charts of duels: scores, Glicko-2, and the matrix of mean differences."""
    scores = {row.label: (row.score, row.low, row.high) for row in board.rows}
    beliefs = {row.label: belief(row) for row in sorted(board.rows, key=lambda row: -row.rating)}
    drawn: list[Chart] = [
        _intervals("score", "CMS-style score", _NOTE, "score", scores, 1),
        _intervals("glicko", "Glicko-2 with margin: who beats whom", _BELIEF_NOTE, "rating", beliefs, 0),
    ]
    # Empty where no pair met in a game with something to gain.
    matrix = _matrix(board)
    return [*drawn, matrix] if matrix.cells else drawn


def belief(row: DuelRow) -> tuple[float, float, float]:
    """Glicko-2's rating with the ends of its 95 % belief."""
    reach = _DEVIATIONS * row.deviation
    return row.rating, row.rating - reach, row.rating + reach


def _intervals(chart_id: str, title: str, note: str, measure: str, bars: _Bars, decimals: int) -> IntervalChart:
    """One line per label: value and interval, both rounded to `decimals`."""
    names = list(bars)[:_MOST_NAMES]
    more = f" The best {_MOST_NAMES} of {len(bars)} labels." if len(bars) > _MOST_NAMES else ""
    # zip of no bars would have nothing to unpack; `leaderboard_charts` has left empty boards out.
    values, lows, highs = zip(*(bars[name] for name in names), strict=True)
    return IntervalChart(
        id=chart_id,
        title=title,
        note=note + more,
        x=Axis(label=measure),
        y=Axis(label="label"),
        names=names,
        values=[round(value, decimals) for value in values],
        lows=[_rounded(low, decimals) for low in lows],
        highs=[_rounded(high, decimals) for high in highs],
    )


def _rounded(bound: float | None, decimals: int) -> float | None:
    """A bound to so many decimals; None stays None."""
    return None if bound is None else round(bound, decimals)


def _matrix(board: DuelBoard) -> MatrixChart:
    """Mean difference of shares between labels, a cell per pair and direction."""
    names = [row.label for row in board.rows[:_MOST_IN_MATRIX]]
    index = {name: place for place, name in enumerate(names)}
    cells: list[MatrixCell] = []
    for cell in board.head_to_head:
        if cell.row in index and cell.column in index:
            there, back = (index[cell.row], index[cell.column]), (index[cell.column], index[cell.row])
            # A board names each pair once; the matrix shows it from both sides, with the sign turned.
            for (row, column), sign in ((there, 1), (back, -1)):
                cells.append(
                    MatrixCell(row=row, column=column, value=round(sign * cell.mean, 3), note=_note(cell, sign))
                )
    more = f" The best {_MOST_IN_MATRIX} of {len(board.rows)} labels." if len(board.rows) > _MOST_IN_MATRIX else ""
    return MatrixChart(
        id="head_to_head",
        title="Head to head",
        note=f"Mean difference of shares, row minus column: above 0 the row earned more.{more}",
        x=Axis(label="against"),
        y=Axis(label="label"),
        names=names,
        cells=cells,
    )


def _note(cell: Cell, sign: int) -> str:
    """Number of games and interval of a cell, seen from the row."""
    games = f"{cell.games} game{'s' if cell.games != 1 else ''}"
    if cell.low is None or cell.high is None:
        return games
    # Turning the sign also swaps the ends of the interval.
    low, high = sorted((sign * cell.low, sign * cell.high))
    return f"{games}, {low:+.3f} to {high:+.3f}"

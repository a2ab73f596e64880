"""Rows of leaderboards as cells of published tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.fidelity.row import Made, Ours
from benchmarks.fidelity.seats import rows_of_labels
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.rating import DuelRow, FieldRow, SoloRow
from tradefair.evaluation.ratings.results import read_results


def board_rows(traces: Sequence[Path], columns: Mapping[str, str], score: str | None = None) -> Made:
    """What `rate` says of every label, in the columns' figures; of a label on several boards, the one of most games."""
    if not traces:
        return {}
    rows = rows_of_labels()
    # Imported or played just now: nothing is re-executed once more.
    made = leaderboards(read_results(traces, proven=False), score=score)
    return {
        (rows.get(row.label, row.label), column): ours
        for board in sorted(made.boards, key=lambda board: board.games)
        for row in board.rows
        for column, name in columns.items()
        if (ours := _ours(row, name)) is not None
    }


def _ours(row: FieldRow | DuelRow | SoloRow, name: str) -> Ours | None:
    """A figure of a row with its interval, where the row has one."""
    value = getattr(row, name, row.figures.get(name))
    if not isinstance(value, int | float):
        return None
    ends: tuple[float | None, float | None] = (None, None)
    if name == "score":
        ends = (row.score_low, row.score_high) if isinstance(row, FieldRow) else (row.low, row.high)
    elif name == "rating" and isinstance(row, FieldRow):
        ends = (row.low, row.high)
    return Ours(float(value), *ends)

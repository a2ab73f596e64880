"""Exports: a trace in other formats, and what one seat saw of it."""

from __future__ import annotations

from collections.abc import Iterator

from fairground.contract.errors import ScenarioError
from fairground.contract.seats import SeatId
from fairground.evaluation.export.seat_view import seat_lines
from fairground.tracestore import Trace, jsonl_lines

__all__ = ["FORMATS", "export_lines", "seat_lines"]

FORMATS = ("jsonl",)


def export_lines(trace: Trace, *, form: str = "jsonl", seat: SeatId | None = None) -> Iterator[bytes]:
    """The lines of an export: a whole trace that verifies like its source, or what `seat` saw.

    Raises ScenarioError for an unknown format, SeatError for an unknown seat, TraceError for a damaged trace.
    """
    if form not in FORMATS:
        raise ScenarioError(f"there is no export format {form[:40]!r}; known are {', '.join(FORMATS)}")
    return jsonl_lines(trace) if seat is None else seat_lines(trace, seat)

"""Exports: traces in other formats, whole or only what one seat saw of them. docs/how-to/exports.md shows each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from tradefair.contract import ScenarioError, SeatId
from tradefair.contract.errors import unknown
from tradefair.evaluation.store.seat_view import seat_lines
from tradefair.tracestore import Trace, jsonl_lines

__all__ = ["FORMATS", "LINE_FORMATS", "check_format", "export_lines", "seat_lines"]

# By name, imported on use: `export --format jsonl` should not wait for what spans need.
LINE_FORMATS: Mapping[str, str] = {
    "otlp": "tradefair.evaluation.export.otlp:otlp_lines",
    "openai": "tradefair.evaluation.export.openai_messages:openai_lines",
}
"""Formats with lines that are independent of each other: those of several traces may stand in one file."""

FORMATS = ("jsonl", "jsonl.zst", "parquet", *LINE_FORMATS)


def check_format(form: str) -> None:
    """Raise ScenarioError for an unknown format, naming what there is."""
    if form not in FORMATS:
        raise ScenarioError(unknown("export format", form, FORMATS))


def _unheard(seq: int, message: str) -> None:
    """The default of `odd`: a caller that does not ask is not told."""
    pass


def export_lines(
    trace: Trace, *, form: str = "jsonl", seat: SeatId | None = None, odd: Callable[[int, str], None] = _unheard
) -> Iterator[bytes]:
    """The lines of an export: a whole trace that verifies like its source, or what `seat` saw; or spans, or messages.

    `odd` takes (seq, message) of what spans and messages had to leave out. Raises ScenarioError for a format that is
    not made of lines, SeatError for an unknown seat, TraceError for a damaged trace.
    """
    check_format(form)
    if form in LINE_FORMATS:
        module, _, name = LINE_FORMATS[form].partition(":")
        lines: Iterator[bytes] = getattr(import_module(module), name)(trace, seat, odd)
        return lines
    # A known format with another shape: a clear message is better than "unknown".
    if form == "parquet":
        raise ScenarioError("parquet is a folder of tables, not lines: use tradefair.evaluation.export.to_files")
    return jsonl_lines(trace) if seat is None else seat_lines(trace, seat)

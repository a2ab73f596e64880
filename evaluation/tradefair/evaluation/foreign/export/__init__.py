"""Exports: traces in other formats, whole or only what one seat saw of them. docs/how-to/exports.md shows each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tradefair import tracestore
from tradefair.contract.errors import ScenarioError, unknown

if TYPE_CHECKING:
    from tradefair.contract import SeatId
    from tradefair.tracestore import Trace

__all__ = ["DOCUMENT_FORMATS", "FORMATS", "LINE_FORMATS", "check_format", "export_lines", "form_of"]

# By name, imported on use: `export --format jsonl` should not wait for what spans need.
LINE_FORMATS: Mapping[str, str] = {
    "otlp": "tradefair.evaluation.foreign.export.otlp:otlp_lines",
    "openai": "tradefair.evaluation.foreign.export.openai_messages:openai_lines",
    "atif": "tradefair.evaluation.foreign.export.atif:atif_lines",
}
"""Formats with lines that are independent of each other: those of several traces may stand in one file."""

DOCUMENT_FORMATS: Mapping[str, str] = {"inspect": "tradefair.evaluation.foreign.export.inspect:inspect_lines"}
"""Formats of one document per trace: several traces go into a folder."""

FORMATS = ("jsonl", "jsonl.zst", "parquet", *LINE_FORMATS, *DOCUMENT_FORMATS)


def check_format(form: str) -> None:
    """Raise ScenarioError for an unknown format, naming what there is."""
    if form not in FORMATS:
        raise ScenarioError(unknown("export format", form, FORMATS))


_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    ".otlp.json": ("otlp",),
    ".openai.jsonl": ("openai",),
    ".atif.jsonl": ("atif",),
    ".atif.json": ("atif",),
    ".inspect.json": ("inspect",),
    ".jsonl.zst": ("jsonl.zst",),
    ".jsonl": ("jsonl", *LINE_FORMATS),
    ".parquet": ("parquet",),
}
"""Suffix -> the formats that may stand in such a file, the one that is meant first. Longer suffixes come first."""


def form_of(output: Path | None, form: str | None) -> str:
    """The format to write: the one asked for, else the one that the output's suffix means, else JSONL.

    Raises ScenarioError for an unknown format, for a suffix that means another one, and, where no format is asked for,
    for a suffix that means none.
    """
    if form is not None:
        check_format(form)
    name = "" if output is None else output.name.lower()
    meant = next((forms for suffix, forms in _SUFFIXES.items() if name.endswith(suffix)), ())
    if not meant and form is None and output is not None and output.suffix and not output.is_dir():
        known = ", ".join(_SUFFIXES)
        raise ScenarioError(f"the suffix says what is written, one of {known}; it ends in {output.suffix[:20]!r}")
    if meant and form is not None and form not in meant:
        raise ScenarioError(
            f"--format {form} contradicts {name[-40:]!r}, which means {meant[0]}: leave one of them out"
        )
    return form or (meant[0] if meant else "jsonl")


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
    made = {**LINE_FORMATS, **DOCUMENT_FORMATS}
    if form in made:
        module, _, name = made[form].partition(":")
        lines: Iterator[bytes] = getattr(import_module(module), name)(trace, seat, odd)
        return lines
    # A known format with another shape: a clear message is better than "unknown".
    if form == "parquet":
        raise ScenarioError(
            "parquet is a folder of tables, not lines: use tradefair.evaluation.foreign.export.to_files"
        )
    if seat is None:
        return tracestore.jsonl_lines(trace)
    from tradefair.evaluation.store.seat_view import seat_lines

    return seat_lines(trace, seat)

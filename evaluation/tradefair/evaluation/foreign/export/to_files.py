"""Exports of one trace or many, to stdout, a file or a folder; one bad trace does not stop the others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.cli.terminal import on_terminal, print_bytes
from tradefair.contract import ScenarioError, SeatId, TraceError
from tradefair.evaluation.foreign.export import DOCUMENT_FORMATS, LINE_FORMATS, check_format, export_lines
from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.read.whole_files import write_whole
from tradefair.evaluation.store.sweep import Problem
from tradefair.tracestore import PROMPTS, open_trace, trace_copy

# How lines of events begin: of a trace, and of one seat's view. Head lines and notes begin differently.
_EVENT_STARTS = (b'{"hash":', b'{"seq":')


class Written(NamedTuple):
    """A file or folder that was written; `what` says how much, in words."""

    path: str
    what: str


@dataclass
class Exported:
    """What an export made: how many traces went in, rows by table for Parquet, and what could not be used."""

    traces: int = 0
    written: list[Written] = field(default_factory=list[Written])
    rows: dict[str, int] = field(default_factory=dict[str, int])
    problems: list[Problem] = field(default_factory=list[Problem])

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`: `traces`, `written`, `rows` by table, `problems`."""
        problems = [problem._asdict() for problem in self.problems]
        written = [item._asdict() for item in self.written]
        return {"traces": self.traces, "written": written, "rows": self.rows, "problems": problems}


def export_files(
    paths: Sequence[Path],
    *,
    form: str = "jsonl",
    output: Path | None = None,
    seat: SeatId | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Export `paths` to `output`: a file, a folder for Parquet or for several traces as JSONL, stdout without.

    `progress` hears of every trace before it is written. Raises ScenarioError for a format or output
    that does not fit, SeatError for a seat that a trace does not have, StorageUnavailable. Damaged
    traces are problems; a single one raises TraceError instead.
    """
    check_format(form)
    exported = Exported()
    traces = watched(paths, progress, lambda path: path.name)
    if form == "parquet":
        _to_parquet(paths, _needed(output, form, "a folder"), seat, exported, progress)
    # Lines of these formats name their episode, so those of many traces can stand in one file.
    elif form in LINE_FORMATS or len(paths) == 1:
        # With a single trace there is nothing else to save: the error itself is the answer.
        only = len(paths) == 1
        lines = (line for path in traces for line in _lines(path, form, seat, exported, only))
        _write(output, lines, form, exported)
    else:
        folder = _needed(output, form, "a folder for several traces")
        for path, name in zip(traces, _names(paths), strict=True):
            suffix = f"{form}.json" if form in DOCUMENT_FORMATS else f"trace.{form}"
            _write(folder / f"{name}.{suffix}", _lines(path, form, seat, exported, False), form, exported)
    return exported


def export_stripped(paths: Sequence[Path], output: Path | None) -> Exported:
    """Copy `.trace` files without what models were sent, into a file, or of several into a folder.

    The seal still covers what is left out, and verify counts it. Raises ScenarioError without an output,
    StorageUnavailable where a trace cannot be read or a copy cannot be written.
    """
    exported, place = Exported(), _needed(output, "trace", "a file, or a folder for several traces")
    for path, name in zip(paths, _names(paths), strict=True):
        copy = place if len(paths) == 1 else place / f"{name}.trace"
        written = write_whole(copy, [trace_copy(path, without=PROMPTS)])
        exported.traces += 1
        exported.written.append(Written(str(copy), f"without prompts, {written}"))
    return exported


def _needed(output: Path | None, form: str, what: str) -> Path:
    """The output, which this format cannot do without. Raises ScenarioError."""
    if output is None:
        raise ScenarioError(f"--format {form} needs {what}: name it with -o")
    return output


def _lines(path: Path, form: str, seat: SeatId | None, exported: Exported, only: bool) -> Iterator[bytes]:
    """The lines of one trace. A damaged trace is a problem of the export; as the `only` one it raises TraceError."""
    try:
        with open_trace(path) as trace:

            def odd(seq: int, message: str) -> None:
                problem = Problem(str(path), seq, message)
                # Sources are read several times (clock, events, notes) and report the same problem each time.
                if problem not in exported.problems:
                    exported.problems.append(problem)

            # Lines that were yielded before a damaged event stay in the output; the problem names what is missing.
            yield from export_lines(trace, form=form.removesuffix(".zst"), seat=seat, odd=odd)
            exported.traces += 1
    except TraceError as error:
        if only:
            raise
        exported.problems.append(Problem(str(path), 0, str(error)))


def _to_parquet(
    paths: Sequence[Path], folder: Path, seat: SeatId | None, exported: Exported, progress: Progress | None
) -> None:
    """Write the tables of all traces and take over what was counted and what was wrong."""
    from tradefair.evaluation.store.sweep import write_sweep

    written = write_sweep(paths, folder, seat=seat, progress=progress)
    exported.traces, exported.rows = written.traces, dict(written.rows)
    exported.problems += [Problem(*problem) for problem in written.problems]
    exported.written.append(Written(str(folder), f"{written.traces:,} episodes, {written.rows['calls']:,} calls"))


def _names(paths: Sequence[Path]) -> list[str]:
    """A name for each file, told apart by the folders that they do not share."""
    # Files of the same name in several folders are the rule in sweeps.
    base = Path(os.path.commonpath([path.resolve().parent for path in paths]))
    relative = (path.resolve().relative_to(base) for path in paths)
    plain = (str(path).removesuffix(".jsonl").removesuffix(".trace").replace(os.sep, "-") for path in relative)
    names: list[str] = []
    for name in plain:
        names.append(name if name not in names else f"{name}~{len(names)}")
    return names


def _write(output: Path | None, lines: Iterable[bytes], form: str, exported: Exported) -> None:
    """To stdout, or to a file that appears whole."""
    counted = _Counted(lines, form)
    pieces = _compressed(counted) if form.endswith(".zst") else (line + b"\n" for line in counted)
    if output is None:
        # Compressed bytes can switch a terminal into another state.
        if form.endswith(".zst") and on_terminal():
            raise ScenarioError("a compressed export is no text for a terminal: name a file with -o")
        for piece in pieces:
            print_bytes(piece)
        return
    written = write_whole(output, pieces)
    exported.written.append(Written(str(output), f"{counted.count:,} {counted.unit}, {written}"))


class _Counted:
    """Lines, counted as they pass: events of a trace, lines of anything else."""

    def __init__(self, lines: Iterable[bytes], form: str) -> None:
        self._lines = lines
        foreign = form in LINE_FORMATS or form in DOCUMENT_FORMATS
        self._starts = b"" if foreign else _EVENT_STARTS
        self.unit = "lines" if foreign else "events"
        self.count = 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self.count += line.startswith(self._starts)
            yield line


def _compressed(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines as one Zstandard frame, piece by piece."""
    import zstandard

    packer = zstandard.ZstdCompressor().compressobj()
    for line in lines:
        piece = packer.compress(line + b"\n")
        if piece:
            yield piece
    yield packer.flush()

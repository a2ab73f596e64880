"""Many traces as one folder of Parquet, in the order of their episodes.

The order is what lets a query read a slice of episodes as one stretch of every table (`in_duckdb.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tradefair.contract import SeatId, TraceError
from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.store.rows import TableRow, gather
from tradefair.evaluation.store.source import episode_id
from tradefair.evaluation.store.tables import TABLES
from tradefair.evaluation.store.to_parquet import ParquetFolder
from tradefair.tracestore import open_trace


class Problem(NamedTuple):
    """Something in a trace that could not be used. `seq` is 0 when it belongs to no event."""

    path: str
    seq: int
    message: str


class WrittenSweep(NamedTuple):
    """How many traces and rows there are, and what could not be used. `rows` counts by table."""

    traces: int
    rows: Mapping[str, int]
    problems: Sequence[Problem]


class _Trace(NamedTuple):
    episode: str
    path: Path


def write_sweep(
    paths: Sequence[Path], folder: Path, *, seat: SeatId | None = None, progress: Progress | None = None
) -> WrittenSweep:
    """Write the tables of `paths` into `folder`; `seat`: only what that seat saw.

    Of traces that share an episode id, later ones get the ending `~2`, `~3`, … in the order of their paths. Raises
    ScenarioError without DuckDB or for a folder that holds something else, SeatError, StorageUnavailable.
    """
    problems: list[Problem] = []
    traces = _told_apart(paths, problems)
    with ParquetFolder(folder) as tables:
        for episode, path in watched(traces, progress, lambda item: item.path.name):
            try:
                tables.add(_rows(path, seat, episode, problems))
            # One damaged trace of a sweep must not cost the others; the rows that it gave before stay.
            except TraceError as error:
                problems.append(Problem(str(path), 0, str(error)))
        tables.describe(traces=len(traces), seat=seat)
    return WrittenSweep(len(traces), {name: tables.rows[name] for name in TABLES}, problems)


def _rows(path: Path, seat: SeatId | None, episode: str, problems: list[Problem]) -> Iterator[TableRow]:
    """The rows of one trace; its findings are noted as problems of the sweep as well."""
    for item in gather(path, seat=seat, episode=episode):
        if item.table == "findings":
            _, seq, message = item.row
            problems.append(Problem(str(path), int(seq or 0), str(message)))
        yield item


def _told_apart(paths: Sequence[Path], problems: list[Problem]) -> list[_Trace]:
    """The traces that can be read in the order of their ids, no id twice.

    Ids get the endings `~2`, `~3`, … where several traces share one.
    """
    found: list[_Trace] = []
    for path in paths:
        try:
            with open_trace(path) as trace:
                # Both are read here once: a trace without a manifest has no episode.
                found.append(_Trace(episode_id(trace) if trace.manifest.core else "", path))
        except TraceError as error:
            problems.append(Problem(str(path), 0, str(error)))
    apart: dict[str, Path] = {}
    # A trace may really be called `x~2`: a new ending must not take the name of another.
    said = {item.episode for item in found}
    for episode, path in sorted(found, key=lambda item: (item.episode, str(item.path))):
        number, name = 1, episode
        while name in apart or (number > 1 and name in said):
            number += 1
            name = f"{episode}~{number}"
        apart[name] = path
    return sorted(_Trace(*item) for item in apart.items())

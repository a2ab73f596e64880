"""The rows of trace files, one file after another, outcomes included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tradefair.contract import TraceError
from tradefair.evaluation.evaluate import evaluate
from tradefair.evaluation.store.rows import Findings, TableRow, rows_of
from tradefair.evaluation.store.source import Source
from tradefair.tracestore import Trace, open_trace


def gather(path: str | Path, *, seat: str | None = None, episode: str | None = None) -> Iterator[TableRow]:
    """The rows of a trace file, or of a stored trace by its address.

    `seat`: only what that seat saw; `episode`: another id than its own. Raises TraceError when the file is no trace,
    SeatError for a seat that it has not.
    """
    with open_trace(path) as trace:
        yield from gather_trace(trace, seat=seat, episode=episode)


def gather_trace(trace: Trace, *, seat: str | None = None, episode: str | None = None) -> Iterator[TableRow]:
    """The rows of an opened trace: outcomes first, then what `rows_of` yields; findings last.

    Without `seat` the outcomes of all seats are included. `episode` replaces the id that the trace states.
    """
    findings = Findings()
    source = Source.whole(trace, findings.take) if seat is None else Source.of_seat(trace, seat, findings.take)
    if episode is not None:
        source.episode = episode
    # Outcomes are computed from facts that no seat sees, so a seat's view has none.
    if seat is None:
        yield from (TableRow("outcomes", row) for row in _outcomes(trace, source.episode, findings))
    yield from rows_of(source, findings)


def _outcomes(trace: Trace, episode: str, findings: Findings) -> Iterator[tuple[str, str, str, float]]:
    """Every number of the outcome as (episode, seat, name, value); the market's own have the seat "".

    What the evaluator found invalid joins the findings.
    """
    try:
        outcome = evaluate(trace)
    except TraceError as error:
        findings.take(0, str(error))
        return
    for finding in outcome.findings:
        findings.take(finding.seq or 0, finding.message)
    for seat, result in outcome.seats.items():
        yield from ((episode, seat, name, value) for name, value in _numbers(result.model_dump(mode="json"), ""))
    market = outcome.market_outcome.model_dump(mode="json")
    yield from ((episode, "", name, value) for name, value in _numbers(market, ""))


def _numbers(content: Mapping[str, Any], path: str) -> Iterator[tuple[str, float]]:
    """Numbers by dotted name; lists, texts and nulls have no place in a table of numbers."""
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{path}{name}.")  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, int | float):
            try:
                yield f"{path}{name}", float(value)
            # An integer beyond the range of floats, in a trace that was edited: that one number has no row.
            except OverflowError:
                continue

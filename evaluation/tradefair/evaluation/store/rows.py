"""The rows of an episode, its outcome included, in one pass over its events: what fits no table is a finding."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract import Tool, TraceError
from tradefair.contract.chain import canonical, digest
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.read.objects import sequence
from tradefair.evaluation.store.catalogue import catalogue_rows
from tradefair.evaluation.store.evidence_map import given_rows, installed_market, needed_rows, object_paths, tools_of
from tradefair.evaluation.store.objects import objects_of
from tradefair.evaluation.store.source import Source, Timing
from tradefair.evaluation.store.tables import Row
from tradefair.tracestore import Trace, open_trace

# A trace that was damaged on purpose could otherwise give a finding per event.
MAX_FINDINGS = 100
UNFINISHED = "unfinished"

# 128 bits: enough to compare arguments for equality, half the size of a digest in the chain.
_DIGEST_DIGITS = 32
# Characters of one cell. Arguments have at most 64 KiB (docs/explanation/why/contract.md), so only facts, what is
# public, or an edited trace can be longer.
_MAX_TEXT = 4_000_000
# What an integer column of both engines holds.
_INT64 = 2**63
# Notes of agents to themselves are about no object of the market.
_OBJECT_KINDS = ("read", "analysis", "action")
_CLOSURES = ("phase_closed", "round_closed", "episode_ended")


class TableRow(NamedTuple):
    """A row and the table that it belongs to."""

    table: str
    row: Row


@dataclass
class Findings:
    """What could not be used, the first hundred; give `take` to whatever reads.

    `found` has (seq, message); seq is 0 where it belongs to no event.
    """

    found: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def take(self, seq: int, message: str) -> None:
        """Keep one; the same one twice is one."""
        if len(self.found) < MAX_FINDINGS and (seq, message) not in self.found:
            self.found.append((seq, message))


class _Odd(Exception):
    """Something in an event that fits no column."""


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


def rows_of(source: Source, findings: Findings) -> Iterator[TableRow]:
    """All rows of an episode but its outcomes; findings last, including those that `findings` held before.

    Never raises for what the events hold; an event that fits no row becomes a finding with its number.
    """
    core, episode = source.core, source.episode
    market = installed_market(core.market, findings.take)
    reading = _Reading(source, tools_of(market), object_paths(market), findings)
    yield from reading.rows()
    yield from (
        TableRow("seats", (episode, seat.id, seat.role, seat.label))
        # A forged manifest can name a seat twice, and `seat` is part of the table's key.
        for seat in {seat.id: seat for seat in source.seats}.values()
    )
    yield from (TableRow("gives", row) for row in given_rows(market))
    yield from (TableRow("needs", row) for row in needed_rows(market, core, episode, findings.take))
    scenario = core.scenario.get("id")
    named = scenario if isinstance(scenario, str) else ""
    yield TableRow(
        "episodes",
        (
            *(episode, core.market, core.rules_version, named, source.seed),
            *(reading.end_reason, reading.rounds, reading.events),
        ),
    )
    # Last, because every reader above may still add to them.
    yield from (TableRow("findings", (episode, seq, message)) for seq, message in findings.found)


class _Reading:
    """One pass over the events of a source."""

    def __init__(self, source: Source, tools: Mapping[str, Tool], paths: Collection[str], findings: Findings) -> None:
        self._source = source
        self._market = source.core.market
        self._tools = tools
        self._paths = paths
        self._findings = findings
        self._seats: Collection[str] = frozenset(seat.id for seat in source.core.seats)
        self.end_reason = UNFINISHED
        self.rounds = 0
        self.events = 0

    def rows(self) -> Iterator[TableRow]:
        """Rows of calls, objects, lapses and facts, in the order of the events."""
        for seq, event in self._source.events():
            self.events += 1
            try:
                # As a list: an event that turns out to be invalid half-way must leave no row at all.
                yield from list(self._taken(seq, event))
            except _Odd as odd:
                self._findings.take(seq, str(odd))

    def _taken(self, seq: int, event: Mapping[str, Any]) -> Iterator[TableRow]:
        """The rows of one event. Raises _Odd where it fits no table."""
        match event.get("event"):
            case "tool_called":
                yield from self._call(seq, event)
            case "seat_lapsed":
                yield TableRow("lapses", self._lapse(seq, event))
            case str(tag) if tag in _CLOSURES:
                yield TableRow("facts", self._facts(seq, event))
                self.rounds += tag == "round_closed"
                if tag == "episode_ended":
                    self.end_reason = _text(event, "reason")
            case "episode_started":
                yield from self._catalogue(event)
            case "input" | "seated" | "message":
                pass
            case tag:
                raise _Odd(f"an event of an unknown kind: {str(tag)[:80]}")

    def _call(self, seq: int, event: Mapping[str, Any]) -> Iterator[TableRow]:
        """The row of a call, then one row per object that it was about."""
        tool, kind, status = _text(event, "tool"), _text_or_empty(event, "kind"), _text(event, "status")
        seat, number, revision = _text(event, "seat"), _number(event, "round"), _number(event, "revision")
        # A call of an undeclared seat would join with no role, and distort counts by seat.
        if seat not in self._seats:
            raise _Odd(f"a call of a seat that there is not: {seat[:80]}")
        objects = objects_of(event, self._tools.get(tool), self._seats, self._paths)
        arguments = _json(event.get("arguments"))
        timing = self._source.timings.get(seq, Timing())
        row: Row = (
            *(self._source.episode, self._market, seq, number, _text(event, "phase"), revision, seat),
            *(_text(event, "call"), _text_or_empty(event, "parent"), tool, kind, status, _error_code(event)),
            # Without a path the object is `*`, which is no id.
            _json([name for path, name in objects if path]),
            _count(event.get("refs")),
            arguments,
            _digest(event.get("arguments")),
            _text_or_empty(event, "result_digest"),
            # 0 stands for no answer, so that the column needs no null.
            0 if event.get("result_size") is None else _number(event, "result_size"),
            *(timing.at_ms, timing.latency_us, timing.transport, timing.by),
        )
        yield TableRow("calls", row)
        if kind in _OBJECT_KINDS:
            when = (self._source.episode, self._market, seq, number, revision, seat, tool, kind, status)
            yield from (TableRow("objects", (*when, path, name)) for path, name in objects)

    def _lapse(self, seq: int, event: Mapping[str, Any]) -> Row:
        seat = _text(event, "seat")
        if seat not in self._seats:
            raise _Odd(f"a lapse of a seat that there is not: {seat[:80]}")
        reason, action = _text(event, "reason"), _text(event, "default_action")
        return self._source.episode, seq, _number(event, "round"), seat, reason, action

    def _catalogue(self, event: Mapping[str, Any]) -> Iterator[TableRow]:
        try:
            for table, row in catalogue_rows(self._source.episode, sequence(event.get("catalogue"))):
                yield TableRow(table, row)
        except (ValueError, TypeError, LookupError, OverflowError) as fault:
            raise _Odd(f"the catalogue has an odd row: {fault}"[:200]) from None

    def _facts(self, seq: int, event: Mapping[str, Any]) -> Row:
        public, facts = (_json(event[name]) if name in event else "" for name in ("public", "facts"))
        return self._source.episode, seq, _number(event, "round"), _text(event, "event"), public, facts


def _number(event: Mapping[str, Any], name: str) -> int:
    """An integer of 64 bits. Raises _Odd for anything else, `True` included."""
    value = event.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not -_INT64 <= value < _INT64:
        raise _Odd(f"{name} is not a whole number of 64 bits")
    return value


def _text(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name)
    if not isinstance(value, str):
        raise _Odd(f"{name} is not text")
    return value


def _text_or_empty(event: Mapping[str, Any], name: str) -> str:
    """A text, "" where the field is absent or null. Raises _Odd for any other type."""
    return "" if event.get(name) is None else _text(event, name)


def _count(value: object) -> int:
    return len(value) if isinstance(value, list) else 0  # pyright: ignore[reportUnknownArgumentType]


def _error_code(event: Mapping[str, Any]) -> str:
    """The code of a refusal, "" for an answered call. Raises _Odd for an error without a code."""
    error = event.get("error")
    if error is None:
        return ""
    code: object = error.get("code") if isinstance(error, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not isinstance(code, str):
        raise _Odd("error has no code")
    return code


def _json(value: object) -> str:
    """A value as JSON text. Raises _Odd where it is nested too deeply or too long for a cell."""
    try:
        text = orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        # orjson reads deeper nesting than it writes.
        raise _Odd("something in it is nested too deeply to be written again") from None
    if len(text) > _MAX_TEXT:
        raise _Odd(f"something in it is longer than {_MAX_TEXT:,} characters")
    return text


def _digest(value: object) -> str:
    """Digest of the canonical form, so that the order of keys and the format of numbers do not matter."""
    return digest(canonical(value))[:_DIGEST_DIGITS]

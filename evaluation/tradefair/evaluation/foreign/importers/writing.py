"""Foreign runs as traces: calls meet their answers, all stands in the order of its times, nothing is held whole."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract.answers import kind_of
from tradefair.contract.chain import digest
from tradefair.contract.foreign import IMPORTED, ForeignEvents, Stored, foreign_core
from tradefair.contract.kernel.core import Record
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.players import Seating
from tradefair.evaluation.foreign.importers.foreign import note_of, seat_ids
from tradefair.evaluation.foreign.importers.items import EVERYBODY, Odd
from tradefair.evaluation.foreign.importers.report import imported_seating
from tradefair.evaluation.foreign.importers.run_report import FileReport, RunWritten
from tradefair.evaluation.foreign.importers.spool import ANSWER, CALL, ROUND, Row, Run, Spool
from tradefair.tracestore import Written, write_trace

MAX_OPEN = 100_000
"""Calls of a run that wait for their answers."""

END_REASON = "truncated:log_ended"
"""A log of calls never says that an episode is over."""

_TRANSPORT = "import"
_HELD_BYTES = 16 << 20


class _Open(NamedTuple):
    """A call that waits, or an answer that came before its call; `row` has no body where that is left on disk."""

    number: int
    row: Row
    call: str = ""


def write_run(
    path: Path,
    name: str,
    run: Run,
    rows: Iterator[tuple[int, Row]],
    spool: Spool,
    source: Mapping[str, Any],
    findings: FileReport,
) -> RunWritten | None:
    """Write one run; None where it holds neither calls nor messages. `source` is what is known of its file."""
    writer = _Writer(run, rows, spool, findings)
    ids = writer.ids
    roles = {
        ids[seat]: known.get("role") or ("user" if seat == "user" else "agent") for seat, known in run.seats.items()
    }
    core = ManifestCore.model_validate(foreign_core(name, IMPORTED, roles))
    labels = {ids[seat]: known.get("agent") or seat or "agent" for seat, known in run.seats.items()}
    seating = imported_seating(labels, labels, {key: source[key] for key in ("format", "file", "blake2b")})
    about: dict[str, Any] = {"episode": path.stem, "created": None, "finished": None, "end_reason": END_REASON}
    about["tools"] = list(run.tools.values())
    events = writer.events(seating, about, {**source, "run": run.source_id, **run.facts})
    write_trace(path, core, about, events, notes=writer.notes(), compact=not run.notes and not run.loose)
    return RunWritten(
        str(about["source"]["run"]), str(path), len(roles), writer.calls, writer.answered, writer.errors,
        writer.messages, run.facts.get("passed"),
    )  # fmt: skip


class _Writer:
    """One pass over the rows of a run."""

    def __init__(self, run: Run, rows: Iterator[tuple[int, Row]], spool: Spool, findings: FileReport) -> None:
        self.calls = self.answered = self.errors = self.messages = 0
        self.ids = seat_ids(run.seats)
        self._run = run
        self._rows = rows
        self._spool = spool
        self._findings = findings
        self._events = ForeignEvents(run.facts.pop("first_round", 1))
        self._open: dict[str, deque[_Open]] = {}
        self._early: dict[str, deque[_Open]] = {}
        self._waiting = 0
        self._held = 0
        self._times: list[int] = []
        # Steps of several files would count from 1 in each.
        self._renumber = len(run.files) > 1
        self._step = 0
        self._at_step = (0, 0)

    def notes(self) -> Iterator[tuple[str, bytes]]:
        """What replies of models cost, by seat."""
        for seat, body in self._spool.notes(self._run):
            if seat in self.ids:
                yield self.ids[seat], body
        for seat, note in self._run.loose.items():
            if seat in self.ids and ("input_tokens" in note or "cost_usd_micro" in note):
                yield self.ids[seat], note_of(note)

    def events(self, seating: Seating, about: dict[str, Any], source: dict[str, Any]) -> Iterator[Written]:
        """All events; what only the end knows goes into `about`."""
        tools = orjson.dumps(self._run.schemas) if self._run.schemas else None
        yield self._written(self._events.started(seating.model_dump(mode="json"), tools), None)
        for number, row in self._rows:
            if row.timed:
                self._times = [min(row.at, *self._times[:1]) if self._times else row.at, row.at]
            if row.type == CALL:
                yield from self._asked(number, row)
            elif row.type == ANSWER:
                yield from self._answered(number, row)
            elif row.type == ROUND:
                yield self._written(self._events.round_closed(), row)
                self._events.round = row.step
            else:
                yield self._said(row)
        yield from self._left()
        times = [datetime.fromtimestamp(at / 1e9, UTC).isoformat(timespec="seconds") for at in self._times]
        about["created"], about["finished"] = (times[0], times[-1]) if times else (None, None)
        about["source"] = {**source, "calls": self.calls, "answered": self.answered, "messages": self.messages}
        yield self._written(self._events.ended(END_REASON), None)

    def _asked(self, number: int, row: Row) -> Iterator[Written]:
        row = row._replace(step=self._stepped(row))
        key, call = row.key or "", self._events.next_call(self.ids[row.seat or ""])
        self.calls += 1
        early = self._early.get(key)
        if early:
            answer = early.popleft()
            yield from self._called(_Open(number, row, call), answer.row._replace(body=self._body(answer)))
        elif self._waiting >= MAX_OPEN:
            self._findings.odd(Odd(0, f"{self._named()}step {row.step}", f"more than {MAX_OPEN:,} calls are open"))
            yield from self._called(_Open(number, row, call), None)
        else:
            self._waiting += 1
            self._open.setdefault(key, deque()).append(self._hold(_Open(number, row, call)))

    def _answered(self, number: int, row: Row) -> Iterator[Written]:
        waiting = self._open.get(row.key or "")
        if waiting:
            self._waiting -= 1
            call = waiting.popleft()
            if not waiting:
                del self._open[row.key or ""]
            yield from self._called(call, row)
        elif len(self._early) < MAX_OPEN:
            self._early.setdefault(row.key or "", deque()).append(self._hold(_Open(number, row)))

    def _called(self, call: _Open, answer: Row | None) -> Iterator[Written]:
        """The event of a call with its answer; an answer that withdraws the call leaves none."""
        row, name = call.row, call.row.name or ""
        kind, parent, bad = orjson.loads(row.extra) if row.extra else (None, None, False)
        arguments = orjson.Fragment(self._body(call))
        if answer is not None and answer.name == "withdrawn":
            self.calls -= 1
            return
        status, result, error = _conclusion(answer, bad)
        self.answered += answer is not None
        self.errors += status != "ok" and answer is not None
        hints = self._run.tools.get(name, {})
        said_kind = kind if kind and "readOnlyHint" not in hints else kind_of(name, hints)
        _, event = self._events.called(
            self.ids[row.seat or ""],
            name,
            arguments,
            kind=said_kind,
            status=status,
            result=result,
            error=error,
            step=row.step,
            parent=parent,
            call=call.call,
        )
        timed = answer if answer is not None and answer.timed else None
        latency = (timed.at - row.at) // 1_000 if timed and row.timed and timed.at >= row.at else None
        yield self._written(event, timed or row, row.seat, latency)

    def _said(self, row: Row) -> Written:
        role, part = orjson.loads(row.extra or b"[]")
        # What the protocol carries between programs has told the agent nothing.
        self.messages += part != "protocol"
        seat = None if row.seat == EVERYBODY else self.ids[row.seat or ""]
        content = orjson.Fragment(row.body or b"null")
        event = self._events.said(seat, role, part, content, step=self._stepped(row), name=row.name)
        return self._written(event, row, row.seat)

    def _left(self) -> Iterator[Written]:
        """Calls that were never answered, and answers that nobody asked for."""
        left = sorted((call for calls in self._open.values() for call in calls), key=lambda call: call.number)
        for call in left:
            field = f"{self._named()}step {call.row.step}: {call.row.name}"
            self._findings.unanswered(Odd(0, field, "no answer"))
            yield from self._called(call, None)
        for key, answers in self._early.items():
            for answer in answers:
                self._findings.odd(
                    Odd(0, f"{self._named()}step {answer.row.step}", f"an answer to {key[:80]!r}, which no call has")
                )

    def _named(self) -> str:
        name = self._run.source_id
        return f"{name[:80]}: " if name else ""

    def _stepped(self, row: Row) -> int:
        if row.step > 0 and not self._renumber:
            return row.step
        if row.step == 0 or (row.file, row.step) != self._at_step:
            self._step += 1
            self._at_step = (row.file, row.step)
        return self._step

    def _hold(self, held: _Open) -> _Open:
        """What waits, without its body where much waits already."""
        self._held += len(held.row.body or b"")
        return held if self._held < _HELD_BYTES else held._replace(row=held.row._replace(body=None))

    def _body(self, held: _Open) -> bytes:
        if held.row.body is None:
            return self._spool.body(held.number)
        self._held -= len(held.row.body)
        return held.row.body

    def _written(self, event: Stored, row: Row | None, seat: str | None = None, latency: int | None = None) -> Written:
        at = None
        if row is not None and row.timed:
            at = row.at // 1_000_000
        elif row is None and self._times:
            at = self._times[-1 if event.seq > 1 else 0] // 1_000_000
        name = None if seat is None or seat == EVERYBODY else self.ids[seat]
        return Written(Record(*event), name, at, latency, None if name is None else _TRANSPORT)


def safe_name(text: str) -> str:
    """The text in characters that every system takes in the name of a file."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in text).strip("-.")


def trace_name(stem: str, run: str) -> str:
    """`<stem>-<run>`, of characters that every system takes; two ids never give one name."""
    safe = safe_name(run)
    if safe == run and len(run) <= 80:
        return f"{stem}-{run}" if run else stem
    return f"{stem}-{safe[:66]}-{digest(run.encode(errors='replace'))[:12]}"


def _conclusion(answer: Row | None, bad: bool) -> tuple[Any, orjson.Fragment | None, dict[str, Any] | None]:
    """Status, result and error of a call; arguments that were `bad` are why, whatever the answer says."""
    if answer is None:
        return "failed", None, None
    ok = answer.name == "ok"
    error: dict[str, Any] | None = None if ok else orjson.loads(answer.body or b"{}")
    if bad and answer.name in ("ok", "rejected", "failed"):
        told = error["message"] if error else (answer.body or b"").decode() if ok else ""
        return "invalid", None, {"code": "invalid_arguments", "message": told[:2_000], "hint": "", "retryable": False}
    return answer.name, orjson.Fragment(answer.body or b"null") if ok else None, error

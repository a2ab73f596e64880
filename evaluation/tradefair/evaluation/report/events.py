"""The events of a trace as columns: what a timeline needs of every event, and the texts that are shown on demand.

Columns of numbers compress far better than one object per event, and a browser reads them in one step
(see `docs/explanation/why/report.md`).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import orjson

from tradefair.contract import TraceError
from tradefair.contract.kernel.players import PERSON
from tradefair.evaluation.read.objects import mapping
from tradefair.evaluation.report.packing import fitting_limit, pack_json, pack_texts
from tradefair.evaluation.report.page_data import Packed
from tradefair.tracestore import Trace

# A page that lists more is slow in a browser. The trace stays complete, and `export` has no such bound.
MAX_ROWS = 200_000
"""Events that a page shows at most."""
# Characters. Names from a trace may be of any length, and the page repeats them in every list.
_MAX_NAME = 200
# Characters of a call's first argument in the list of calls: a hint, the whole is one click away.
_MAX_ARGUMENT = 32
# How many unmatched calls of a reply are searched for a tool's name. A reply may ask for calls that
# never became events; without a bound a trace of many such calls would take quadratic time.
_LOOK_AHEAD = 50


class CallRow(NamedTuple):
    """A tool call as audits count it. `inner`: it was made by a program inside another call (`execute_code`)."""

    seat: str
    round: int
    tool: str
    kind: str
    status: str
    inner: bool


@dataclass
class EventColumns:
    """One entry per event in every column. Names are numbers into `names`; `parent` is a row number, −1 without one.

    `status` of an event that is no call: "" . `size` counts characters of result and event. `reply` is the row of the
    model call that asked for the call, −1 where none is known. `argument` is the first argument as text, cut.
    `clicked` has the rows, not one entry per event, of calls that a person made. Of what was imported or recorded:
    `step`, -1 without one, and of messages `role`, `part` and `speaker`.
    """

    names: list[str] = field(default_factory=list[str])
    seq: list[int] = field(default_factory=list[int])
    event: list[int] = field(default_factory=list[int])
    round: list[int] = field(default_factory=list[int])
    phase: list[int] = field(default_factory=list[int])
    seat: list[int] = field(default_factory=list[int])
    tool: list[int] = field(default_factory=list[int])
    kind: list[int] = field(default_factory=list[int])
    status: list[int] = field(default_factory=list[int])
    parent: list[int] = field(default_factory=list[int])
    latency_us: list[int] = field(default_factory=list[int])
    size: list[int] = field(default_factory=list[int])
    reply: list[int] = field(default_factory=list[int])
    argument: list[str] = field(default_factory=list[str])
    clicked: list[int] = field(default_factory=list[int])
    step: list[int] = field(default_factory=list[int])
    role: list[int] = field(default_factory=list[int])
    part: list[int] = field(default_factory=list[int])
    speaker: list[int] = field(default_factory=list[int])
    foreign: bool = False
    problems: list[tuple[int | None, str]] = field(default_factory=list[tuple[int | None, str]])
    calls: list[CallRow] = field(default_factory=list[CallRow])
    _known: dict[str, int] = field(default_factory=dict[str, int])
    _rows: dict[str, int] = field(default_factory=dict[str, int])

    def packed(self) -> Packed:
        """The columns as the page reads them: one JSON object of name and column, deflated."""
        columns = ("names", "seq", "event", "round", "phase", "seat", "tool", "kind", "status", "parent")
        columns += ("latency_us", "size", "reply", "argument", "clicked")
        # Our own markets have neither steps nor messages: their pages stay as small as they were.
        columns += ("step", "role", "part", "speaker") * self.foreign
        return pack_json({name: getattr(self, name) for name in columns})

    def take(self, seq: int, event: Any, size: int) -> None:
        """Add one decoded event. Never raises: fields of types that the schema does not have count as absent.

        `size` is the length of the event's text plus that of a result that is stored apart, in bytes.
        """
        fields = mapping(event)
        is_call = fields.get("event") == "tool_called"
        self.seq.append(seq)
        self.event.append(self._name(fields.get("event")))
        self.round.append(whole(fields.get("round")))
        self.phase.append(self._name(fields.get("phase")))
        self.seat.append(self._name(fields.get("seat")))
        self.tool.append(self._name(fields.get("tool")))
        self.kind.append(self._name(fields.get("kind")))
        # Other kinds of events may have a field of this name with another meaning.
        self.status.append(self._name(fields.get("status") if is_call else None))
        parent, call = fields.get("parent"), fields.get("call")
        self.parent.append(self._rows.get(parent, -1) if isinstance(parent, str) else -1)
        # Filled in by `_add_beside` and `_match`: latencies and replies lie outside the chain of events.
        self.latency_us.append(-1)
        self.size.append(size)
        self.reply.append(-1)
        self.argument.append(_first(fields.get("arguments")) if is_call else "")
        said = fields.get("event") == "message"
        self.foreign = self.foreign or said or "step" in fields
        self.step.append(whole(fields.get("step")))
        self.role.append(self._name(fields.get("role") if said else None))
        self.part.append(self._name(fields.get("part", "text") if said else None))
        self.speaker.append(self._name(fields.get("name") if said else None))
        if isinstance(call, str):
            self._rows[call] = len(self.seq) - 1
        if is_call:
            words = [self.names[column[-1]] for column in (self.seat, self.tool, self.kind, self.status)]
            self.calls.append(CallRow(words[0], self.round[-1], words[1], words[2], words[3], isinstance(parent, str)))

    def _name(self, value: object) -> int:
        """The number of a name. Other values than texts count as the empty name."""
        text = value[:_MAX_NAME] if isinstance(value, str) else ""
        if text not in self._known:
            self._known[text] = len(self.names)
            self.names.append(text)
        return self._known[text]

    def name(self, column: list[int], row: int) -> str:
        """The text behind a number of a column."""
        return self.names[column[row]]


@dataclass
class NoteColumns:
    """What the runner noted about agents: one entry per note. Numbers are −1 where the note has none.

    `asked` names the tools that a reply asked for; it stays here and is not part of the page.
    """

    seat: list[str] = field(default_factory=list[str])
    kind: list[str] = field(default_factory=list[str])
    round: list[int] = field(default_factory=list[int])
    input_tokens: list[int] = field(default_factory=list[int])
    output_tokens: list[int] = field(default_factory=list[int])
    latency_ms: list[int] = field(default_factory=list[int])
    cost_usd_micro: list[int] = field(default_factory=list[int])
    size: list[int] = field(default_factory=list[int])
    asked: list[list[str]] = field(default_factory=list[list[str]])

    def packed(self) -> Packed:
        """The columns as the page reads them."""
        columns = ("seat", "kind", "round", "input_tokens", "output_tokens", "latency_ms", "cost_usd_micro")
        return pack_json({name: getattr(self, name) for name in columns})

    def take(self, seat: str, note: dict[str, Any], size: int) -> None:
        """Add one note. `size` is the length of its text in bytes. Fields of wrong types become −1."""
        # Notes come from agents' hosts: negative, infinite or absurd times count as unknown.
        seconds = note.get("latency_s")
        self.seat.append(seat[:_MAX_NAME])
        self.kind.append(str(note.get("kind", ""))[:_MAX_NAME])
        self.round.append(whole(note.get("round")))
        self.input_tokens.append(whole(note.get("input_tokens")))
        self.output_tokens.append(whole(note.get("output_tokens")))
        self.latency_ms.append(round(1000 * seconds) if isinstance(seconds, int | float) and 0 <= seconds < 1e9 else -1)
        self.cost_usd_micro.append(whole(note.get("cost_usd_micro")))
        self.size.append(size)
        calls = note.get("calls")
        self.asked.append([str(name)[:_MAX_NAME] for name in calls] if isinstance(calls, list) else [])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def read_events(trace: Trace, after: int = 0) -> EventColumns:
    """Columns of the events after event number `after`. Never raises: what cannot be read becomes a problem.

    At most `MAX_ROWS` events are read. The latencies of the same events are filled in.
    """
    columns = EventColumns()
    try:
        for stored in trace.events(after):
            try:
                event = orjson.loads(stored.body)
            except orjson.JSONDecodeError as error:
                event = None
                columns.problems.append((stored.seq, f"the event is no JSON: {error}"))
            columns.take(stored.seq, event, len(stored.body) + _blob_size(event))
            if len(columns.seq) == MAX_ROWS:
                columns.problems.append((stored.seq, f"only the first {MAX_ROWS:,} events are shown"))
                break
        _add_beside(trace, columns)
    except TraceError as error:
        columns.problems.append((None, str(error)))
    return columns


def read_notes(trace: Trace, columns: EventColumns) -> NoteColumns:
    """Columns of the notes; `columns` learns which reply asked for which call. Never raises."""
    notes = NoteColumns()
    try:
        for seat, body in trace.notes():
            try:
                note = orjson.loads(body)
            except orjson.JSONDecodeError:
                note = None
            notes.take(seat, mapping(note), len(body))
            if len(notes.seat) == MAX_ROWS:
                break
    except TraceError as error:
        columns.problems.append((None, str(error)))
    _match(columns, notes)
    return notes


def pack_bodies(trace: Trace, columns: EventColumns, after: int = 0, limit: int | None = None) -> Packed:
    """Per event its text and, where the result is stored apart, that result; both cut at `limit` characters."""
    return pack_texts(_bodies(trace, len(columns.seq), after), limit or fitting_limit(columns.size))


def pack_notes(trace: Trace, notes: NoteColumns) -> Packed:
    """Per note its text."""
    # A budget of a third of the events' own: long replies of models must not shorten the texts of the events.
    texts = ([body.decode(errors="replace")] for (_, body), _ in zip(trace.notes(), notes.seat, strict=False))
    return pack_texts(texts, fitting_limit(notes.size, 8_000_000))


def _bodies(trace: Trace, count: int, after: int) -> Iterator[list[str | None]]:
    """The texts of the first `count` events after `after`, read again: in memory they would not fit."""
    # No more texts than rows, where only the first events of a trace are shown.
    for stored, _ in zip(trace.events(after), range(count), strict=False):
        ref = _ref(stored.body)
        blob = None if ref is None else trace.blob(ref)
        yield [stored.body.decode(errors="replace"), None if blob is None else blob.decode(errors="replace")]


def _ref(body: bytes) -> str | None:
    """The name of a result that is stored apart, None where the event holds its result."""
    # A search in bytes is much cheaper than decoding, and most events hold their results themselves.
    if b'"result_ref":"' not in body:
        return None
    try:
        ref = orjson.loads(body)["result_ref"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None
    return ref if isinstance(ref, str) else None


def _blob_size(event: Any) -> int:
    """Bytes of a result that is stored apart, as its event states them; 0 where there is none."""
    fields = mapping(event)
    return max(0, whole(fields.get("result_size"))) if fields.get("result_ref") else 0


def _add_beside(trace: Trace, columns: EventColumns) -> None:
    """Latencies in microseconds and what a person clicked, from the table next to the events."""
    row_of = {seq: row for row, seq in enumerate(columns.seq)}
    for side in trace.side():
        row = row_of.get(side.seq)
        if row is not None:
            columns.latency_us[row] = whole(side.latency_us)
            if side.by == PERSON:
                columns.clicked.append(row)


def _match(columns: EventColumns, notes: NoteColumns) -> None:
    """Fill in which reply asked for a call: the calls of a seat's round in order, against those its replies name.

    Notes name tools, not events, so order and name are all that links the two.
    """
    asked: defaultdict[tuple[str, int], deque[tuple[int, str]]] = defaultdict(deque)
    for row, names in enumerate(notes.asked):
        if notes.kind[row] == "model_call":
            asked[notes.seat[row], notes.round[row]].extend((row, name) for name in names)
    clicked = frozenset(columns.clicked)
    for row in range(len(columns.seq)):
        waiting = asked.get((columns.name(columns.seat, row), columns.round[row]))
        # Inner calls were asked for by a program, clicked ones by a person, neither by the reply itself.
        if waiting and columns.parent[row] < 0 and row not in clicked and columns.tool[row]:
            tool = columns.name(columns.tool, row)
            at = next((place for place, (_, name) in enumerate(islice(waiting, _LOOK_AHEAD)) if name == tool), None)
            if at is not None:
                # Calls of the reply before the match were never executed: dropped, or they would hide
                # every later match.
                for _ in range(at):
                    waiting.popleft()
                columns.reply[row] = waiting.popleft()[0]


def _first(arguments: object) -> str:
    """The first argument as a reader would write it: `40`, `milk`; "" where there is none."""
    value = next(iter(mapping(arguments).values()), None)
    text = value if isinstance(value, str) else "" if value is None else orjson.dumps(value).decode()
    return text[:_MAX_ARGUMENT]


def whole(value: object) -> int:
    """The value if it is an integer that a browser holds exactly, else −1."""
    # JavaScript's numbers are exact below 2**53; `True` is an int in Python and none in JSON.
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53 else -1

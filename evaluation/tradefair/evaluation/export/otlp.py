"""Spans after the fact: an episode as OTLP JSON (`ExportTraceServiceRequest`, one a line), for tracing back ends.

One root span per episode; below it `invoke_agent` per seat; below that `chat` per model reply and `execute_tool` per
tool call, `tools/call` where it came over a network or a pipe. Ids are digests of episode and place: the same trace
gives the same spans. Times are those next to the chain; where a call has none, and in one seat's view, all times are
logical: event n takes place n milliseconds after the epoch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from tradefair.contract import SeatId
from tradefair.contract.players import PERSON
from tradefair.evaluation.export.otlp_names import SCHEMA_URL, TOOL_ERROR, Name, Operation, SpanKind, StatusCode
from tradefair.evaluation.store.replies import Replies, Reply
from tradefair.evaluation.store.source import OddTrace, Source, SourceSeat, Timing
from tradefair.tracestore import Trace

Span = dict[str, Any]

# Each line is one request to a receiver, and an episode can have tens of thousands of spans.
_SPANS_PER_LINE = 1_000
# Nanoseconds, the unit of all times in the protocol.
_MS, _US = 1_000_000, 1_000
_LOGICAL_MS = 1
# The year 2286: a larger number was given by no clock, and much larger ones pass 64 bits in nanoseconds.
_MOST_MS = 10**13
_NETWORK = {"stdio": "pipe", "http": "tcp", "streamable-http": "tcp"}
"""`network.transport` of the transports over which MCP messages travel; in process there is no network."""


def otlp_lines(trace: Trace, seat: SeatId | None, odd: OddTrace) -> Iterator[bytes]:
    """Lines of an episode's spans, all seats or one. Raises SeatError for a seat that there is not, TraceError.

    Each line is a request of at most a thousand spans; a span always comes after the spans below it.
    """
    source = Source.whole(trace, odd) if seat is None else Source.of_seat(trace, seat, odd)
    clock = _Clock.of(source)
    waiting: list[Span] = []
    for span in _Episode(source, clock, odd).spans():
        waiting.append(span)
        if len(waiting) == _SPANS_PER_LINE:
            yield _request(clock, waiting)
            waiting = []
    if waiting:
        yield _request(clock, waiting)


def trace_id(episode: str) -> str:
    """32 hex digits from the episode's id: the same episode always gets the same id."""
    return hashlib.blake2b(f"trace\n{episode}".encode(), digest_size=16).hexdigest()


def span_id(episode: str, *place: str | int) -> str:
    """16 hex digits from the episode's id and a place in it: ("event", seq), ("seat", id), ("reply", seat, number).

    The same place always gets the same id, so that exporting again gives the same spans.
    """
    return hashlib.blake2b("\n".join(map(str, ("span", episode, *place))).encode(), digest_size=8).hexdigest()


class _Interval(NamedTuple):
    """Nanoseconds since the epoch."""

    start: int
    end: int


@dataclass(frozen=True)
class _Clock:
    """When events took place: as it was kept, or by their numbers."""

    timings: Mapping[int, Timing]
    logical: bool

    @classmethod
    def of(cls, source: Source) -> _Clock:
        """The clock of a source: real times only where every call has one.

        Mixed, a logical time of 1970 and a real one in the same trace would make spans of fifty years.
        """
        called = (seq for seq, event in source.events() if event.get("event") == "tool_called")
        known = all((source.timings.get(seq, Timing()).at_ms or _MOST_MS) < _MOST_MS for seq in called)
        return cls(source.timings, logical=not (known and source.timings))

    def of_event(self, seq: int) -> _Interval:
        """When the event took place; a call's latency ends with its commit.

        Logical times are one millisecond long: event n begins n milliseconds after the epoch.
        """
        timing = self.timings.get(seq, Timing())
        if self.logical or timing.at_ms is None or timing.at_ms >= _MOST_MS:
            return _Interval(seq * _LOGICAL_MS * _MS, (seq + 1) * _LOGICAL_MS * _MS)
        # The time that is kept is that of the commit, so the start is derived from the latency.
        end = timing.at_ms * _MS
        return _Interval(max(0, end - (timing.latency_us or 0) * _US), end)


@dataclass
class _Agent:
    """A seat while its spans are made; `lasts` grows from its first call to its last.

    `programs` maps calls to their spans, by which inner calls of programs find their parent.
    """

    seat: SourceSeat
    replies: Replies
    lasts: _Interval | None = None
    programs: dict[str, str] = field(default_factory=dict[str, str])

    def reach(self, when: _Interval) -> None:
        """Let the span hold `when` too."""
        if self.lasts is None:
            self.lasts = when
        self.lasts = _Interval(min(self.lasts.start, when.start), max(self.lasts.end, when.end))


class _Episode:
    """One pass over an episode's events."""

    def __init__(self, source: Source, clock: _Clock, odd: OddTrace) -> None:
        self._source = source
        self._clock = clock
        self._odd = odd
        notes = list(source.notes())
        self._agents = {
            seat.id: _Agent(seat, Replies.of(note for note in notes if note["seat"] == seat.id))
            for seat in source.seats
        }
        self._root = span_id(source.episode, "episode")
        # Closures and lapses are points in time: they become events of the root span, not spans.
        self._happened: list[dict[str, Any]] = []
        self._lasts: _Interval | None = None

    def spans(self) -> Iterator[Span]:
        """Calls and replies in order, then the seats, then the episode: a span is complete when it is written."""
        for seq, event in self._source.events():
            when = self._clock.of_event(seq)
            # The first event opens the interval of the whole episode.
            begun = self._lasts or when
            self._lasts = _Interval(min(begun.start, when.start), max(begun.end, when.end))
            agent = self._agents.get(str(event.get("seat")))
            if event.get("event") != "tool_called":
                self._happened.append(_happening(event, seq, when))
            # In a forged trace, or in one seat's view where the other seats do not exist.
            elif agent is None:
                self._odd(seq, "a call of a seat that there is not")
            else:
                yield from self._call(agent, seq, event, when)
        for agent in self._agents.values():
            if agent.lasts is not None:
                yield from (self._chat(agent, reply, agent.lasts.end) for reply in agent.replies.rest())
                yield self._invocation(agent, agent.lasts)
        if self._lasts is not None:
            yield self._whole(self._lasts)

    def _call(self, agent: _Agent, seq: int, event: Mapping[str, Any], when: _Interval) -> Iterator[Span]:
        """The spans of a call: those of the replies that end where it begins, then its own."""
        agent.reach(when)
        own, call, tool = span_id(self._source.episode, "event", seq), str(event.get("call")), str(event.get("tool"))
        # Calls of a program hang below the `execute_code` call that ran it, if that is known.
        program = agent.programs.get(str(event.get("parent"))) if event.get("parent") else None
        timing = self._clock.timings.get(seq, Timing())
        # Inner calls of a program have no reply of their own, and no model asked for what a person clicked.
        if program is None and timing.by != PERSON:
            matched = agent.replies.take(tool)
            replies = [*matched.before, *([matched.begins] if matched.begins else [])]
            yield from (self._chat(agent, reply, when.start) for reply in replies)
        # Every call is remembered: which of them is a program's shows only when an inner call names it.
        agent.programs[call] = own
        network = _NETWORK.get(timing.transport)
        said = f"tools/call {tool}" if network else f"{Operation.EXECUTE_TOOL} {tool}"
        kind = SpanKind.SERVER if network else SpanKind.INTERNAL
        span = self._span(own, program or self._agent_span(agent), said, kind, when)
        failed = event.get("status") != "ok"
        span["attributes"] = _attributes(
            {
                Name.OPERATION: Operation.EXECUTE_TOOL,
                Name.CONVERSATION: self._source.episode,
                Name.TOOL_NAME: tool,
                Name.TOOL_TYPE: "function",
                Name.TOOL_CALL_ID: call,
                Name.TOOL_ARGUMENTS: _json(event.get("arguments")),
                # An answer of which only a digest is kept has no attribute; "null" would be another answer.
                Name.TOOL_RESULT: None if event.get("result") is None else _json(event.get("result")),
                Name.MCP_METHOD: "tools/call",
                Name.REQUEST_ID: timing.request_id or None,
                Name.TRANSPORT: network,
                Name.ERROR_TYPE: TOOL_ERROR if failed else None,
                **_place(event, seq),
                Name.SEAT: agent.seat.id,
                Name.BY: timing.by or None,
                Name.STATUS: str(event.get("status")),
                Name.ERROR_CODE: _said(event, "code") if failed else None,
            }
        )
        span["status"] = {"code": StatusCode.ERROR, "message": _said(event, "message") or ""} if failed else {}
        yield span

    def _chat(self, agent: _Agent, reply: Reply, end: int) -> Span:
        """A model's reply, which ended where its first call begins."""
        # Logical times have no durations, so a latency in seconds has no place in them.
        start = end if self._clock.logical else max(0, end - round((reply.latency_s or 0) * 1e9))
        agent.reach(_Interval(start, end))
        own = span_id(self._source.episode, "reply", agent.seat.id, reply.number)
        said = f"{Operation.CHAT} {reply.model}".rstrip()
        span = self._span(own, self._agent_span(agent), said, SpanKind.CLIENT, _Interval(start, end))
        span["attributes"] = _attributes(
            {
                Name.OPERATION: Operation.CHAT,
                Name.CONVERSATION: self._source.episode,
                Name.MODEL: reply.model or None,
                Name.INPUT_TOKENS: reply.input_tokens,
                Name.OUTPUT_TOKENS: reply.output_tokens,
                Name.FINISH_REASONS: [reply.finish_reason] if reply.finish_reason else None,
                Name.SEAT: agent.seat.id,
                Name.REPLY: reply.number,
                Name.REPLY_ROLE: reply.role or None,
            }
        )
        return span

    def _invocation(self, agent: _Agent, lasts: _Interval) -> Span:
        """The span of a seat, from its first call or reply to its last."""
        name = agent.seat.label or agent.seat.id
        said = f"{Operation.INVOKE_AGENT} {name}"
        span = self._span(self._agent_span(agent), self._root, said, SpanKind.INTERNAL, lasts)
        span["attributes"] = _attributes(
            {
                Name.OPERATION: Operation.INVOKE_AGENT,
                Name.CONVERSATION: self._source.episode,
                Name.AGENT_NAME: name,
                Name.AGENT_ID: agent.seat.id,
                Name.SEAT: agent.seat.id,
                Name.ROLE: agent.seat.role,
            }
        )
        return span

    def _whole(self, lasts: _Interval) -> Span:
        """The root span of the episode, with its closures, lapses and end as events."""
        core = self._source.core
        span = self._span(self._root, "", f"episode {core.market}", SpanKind.INTERNAL, lasts)
        span["attributes"] = _attributes(
            {
                Name.CONVERSATION: self._source.episode,
                Name.MARKET: core.market,
                Name.SCENARIO: str(core.scenario.get("id", "")),
            }
        )
        span["events"] = self._happened
        return span

    def _agent_span(self, agent: _Agent) -> str:
        return span_id(self._source.episode, "seat", agent.seat.id)

    def _span(self, own: str, parent: str, name: str, kind: SpanKind, when: _Interval) -> Span:
        """A span without attributes. Times are texts of nanoseconds, as the protocol's JSON has 64-bit numbers."""
        span: Span = {"traceId": trace_id(self._source.episode), "spanId": own}
        if parent:
            span["parentSpanId"] = parent
        times = {"startTimeUnixNano": str(when.start), "endTimeUnixNano": str(when.end)}
        return {**span, "name": name[:200], "kind": int(kind), **times}


def _happening(event: Mapping[str, Any], seq: int, when: _Interval) -> dict[str, Any]:
    """A lapse, closure or end as an event of the root span; never its facts."""
    said = {Name.SEAT: event.get("seat"), Name.REASON: event.get("reason")}
    known = {name: value for name, value in said.items() if isinstance(value, str)}
    attributes = _attributes({**_place(event, seq), **known})
    return {"timeUnixNano": str(when.end), "name": str(event.get("event"))[:200], "attributes": attributes}


def _place(event: Mapping[str, Any], seq: int) -> dict[Name, Any]:
    """Number, round and phase of an event, as far as they are of the right types."""
    found, phase = event.get("round"), event.get("phase")
    number = found if isinstance(found, int) and not isinstance(found, bool) else None
    return {Name.SEQ: seq, Name.ROUND: number, Name.PHASE: phase if isinstance(phase, str) else None}


def _said(event: Mapping[str, Any], name: str) -> str | None:
    """A text of a call's error, cut at 2,000 characters."""
    error = event.get("error")
    value: object = error.get(name) if isinstance(error, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return value[:2_000] if isinstance(value, str) else None


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return '"nested too deeply to be written again"'


def _attributes(values: Mapping[Name, Any]) -> list[dict[str, Any]]:
    """Key and value as the protocol's JSON has them; what is None is left out."""
    return [{"key": str(name), "value": _value(value)} for name, value in values.items() if value is not None]


def _value(value: Any) -> dict[str, Any]:
    """A value with its type, as the protocol's JSON has it."""
    # JSON of the protocol writes 64-bit integers as strings, since many readers have doubles only.
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [{"stringValue": str(item)} for item in value]}}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return {"stringValue": str(value)}


def _request(clock: _Clock, spans: Iterable[Span]) -> bytes:
    """One `ExportTraceServiceRequest` as a line; `tradefair.time` says whether its times are recorded or logical."""
    kept = "logical" if clock.logical else "recorded"
    resource = {"attributes": _attributes({Name.SERVICE: "tradefair", Name.TIME: kept})}
    scoped = {"scope": {"name": "tradefair"}, "spans": list(spans), "schemaUrl": SCHEMA_URL}
    return orjson.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scoped], "schemaUrl": SCHEMA_URL}]})

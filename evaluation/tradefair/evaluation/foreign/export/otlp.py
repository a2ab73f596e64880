"""Spans after the fact: an episode as OTLP JSON (`ExportTraceServiceRequest`, one a line), for tracing back ends.

One root span per episode; below it `invoke_agent` per seat; below that `chat` per model reply or message and
`execute_tool` per tool call, `tools/call` where it came over a network or a pipe. Ids are digests of episode and place:
the same trace gives the same spans. Times are those next to the chain; where a call has none, and in one seat's view,
all times are logical: event n takes place n milliseconds after the epoch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from tradefair.contract import SeatId
from tradefair.contract.kernel.players import PERSON
from tradefair.evaluation.foreign.export.turns import (
    about_of,
    answer_of,
    as_text,
    asked_text,
    filled,
    message_extra,
    role_of,
    said_of,
    told_of,
)
from tradefair.evaluation.foreign.interchange.otlp_names import (
    SCHEMA_URL,
    TOOL_ERROR,
    TOOLS_CALL,
    Name,
    Operation,
    SpanKind,
)
from tradefair.evaluation.foreign.interchange.own import KEY
from tradefair.evaluation.foreign.interchange.spans import happened, request, written
from tradefair.evaluation.read.objects import mapping
from tradefair.evaluation.store.replies import Replies, Reply
from tradefair.evaluation.store.source import OddTrace, Source, SourceSeat, Timing
from tradefair.tracestore import Trace

Span = dict[str, Any]

# Each line is one request to a receiver, and an episode can have tens of thousands of spans.
_SPANS_PER_LINE = 1_000
# Nanoseconds, the unit of all times in the protocol.
_MS, _US = 1_000_000, 1_000
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
    resource = {Name.SERVICE: "tradefair", Name.TIME: "logical" if clock.logical else "recorded"}
    spans = _Episode(source, clock, odd, about_of(trace) if seat is None else {}).spans()
    while some := list(islice(spans, _SPANS_PER_LINE)):
        yield request(resource, "tradefair", SCHEMA_URL, some)


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

    def with_(self, other: _Interval) -> _Interval:
        """The shortest one that holds both."""
        return _Interval(min(self.start, other.start), max(self.end, other.end))


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
        called = (seq for seq, event in source.events() if event.get("event") in ("tool_called", "message"))
        known = all((source.timings.get(seq, Timing()).at_ms or _MOST_MS) < _MOST_MS for seq in called)
        return cls(source.timings, logical=not (known and source.timings))

    def of_event(self, seq: int) -> _Interval:
        """When the event took place; a call's latency ends with its commit.

        Logical times are one millisecond long: event n begins n milliseconds after the epoch.
        """
        timing = self.timings.get(seq, Timing())
        if self.logical or timing.at_ms is None or timing.at_ms >= _MOST_MS:
            return _Interval(seq * _MS, (seq + 1) * _MS)
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
    span: str
    lasts: _Interval | None = None
    programs: dict[str, str] = field(default_factory=dict[str, str])

    def reach(self, when: _Interval) -> None:
        """Let the span hold `when` too."""
        self.lasts = when if self.lasts is None else self.lasts.with_(when)


class _Episode:
    """One pass over an episode's events."""

    def __init__(self, source: Source, clock: _Clock, odd: OddTrace, about: Mapping[str, Any]) -> None:
        self._source, self._clock, self._odd, self._about = source, clock, odd, about
        self._trace = trace_id(source.episode)
        notes = list(source.notes())
        self._agents = {
            seat.id: _Agent(
                seat,
                Replies.of(note for note in notes if note["seat"] == seat.id),
                span_id(source.episode, "seat", seat.id),
            )
            for seat in source.seats
        }
        # Closures and lapses are points in time: they become events of the root span, not spans.
        self._happened: list[dict[str, Any]] = []
        self._lasts: _Interval | None = None

    def spans(self) -> Iterator[Span]:
        """Calls and replies in order, then the seats, then the episode: a span is complete when it is written."""
        for seq, event in self._source.events():
            when = self._clock.of_event(seq)
            # The first event opens the interval of the whole episode.
            self._lasts = when if self._lasts is None else self._lasts.with_(when)
            agent, tag = self._agents.get(str(event.get("seat"))), event.get("event")
            if tag == "tool_called" and agent is not None:
                yield from self._call(agent, seq, event, when)
            elif tag == "message" and agent is not None:
                yield self._message(agent, seq, event, when)
            else:
                # In a forged trace, or in one seat's view where the other seats do not exist.
                if tag == "tool_called":
                    self._odd(seq, "a call of a seat that there is not")
                self._happened.append(_happening(event, seq, when))
        for agent in self._agents.values():
            lasts = agent.lasts or self._lasts
            if lasts is not None:
                yield from (self._chat(agent, reply, lasts.end) for reply in agent.replies.rest())
                yield self._invocation(agent, agent.lasts or _Interval(lasts.start, lasts.start))
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
        said = f"{TOOLS_CALL if network else Operation.EXECUTE_TOOL} {tool}"
        kind = SpanKind.SERVER if network else SpanKind.INTERNAL
        error = mapping(event.get("error")) if event.get("status") != "ok" else None
        result = answer_of(event) if error is None else None
        attributes = {
            Name.TOOL_NAME: tool,
            Name.TOOL_TYPE: "function",
            Name.TOOL_CALL_ID: call,
            Name.TOOL_ARGUMENTS: asked_text(event),
            Name.TOOL_RESULT: None if error is not None else as_text(result),
            Name.MCP_METHOD: TOOLS_CALL,
            Name.REQUEST_ID: timing.request_id or None,
            Name.TRANSPORT: network,
            Name.ERROR_TYPE: None if error is None else TOOL_ERROR,
            **_place(event, seq),
            Name.BY: timing.by or None,
            Name.STATUS: str(event.get("status")),
            Name.ERROR_CODE: _text(error, "code"),
            Name.ERROR: as_text(error) if error else None,
        }
        why = None if error is None else _text(error, "message") or ""
        yield self._span(own, program or agent.span, said, kind, when, Operation.EXECUTE_TOOL, agent, attributes, why)

    def _chat(self, agent: _Agent, reply: Reply, end: int) -> Span:
        """A model's reply, which ended where its first call begins."""
        # Logical times have no durations, so a latency in seconds has no place in them.
        start = end if self._clock.logical else max(0, end - round((reply.latency_s or 0) * 1e9))
        when = _Interval(start, end)
        agent.reach(when)
        attributes = {
            Name.MODEL: reply.model or None,
            Name.OUTPUT_MESSAGES: as_text([_message("assistant", "text", reply.text)]) if reply.text else None,
            Name.INPUT_TOKENS: reply.input_tokens,
            Name.OUTPUT_TOKENS: reply.output_tokens,
            Name.FINISH_REASONS: [reply.finish_reason] if reply.finish_reason else None,
            Name.REPLY: reply.number,
            Name.REPLY_ROLE: reply.role or None,
        }
        own = span_id(self._source.episode, "reply", agent.seat.id, reply.number)
        said = f"{Operation.CHAT} {reply.model}".rstrip()
        return self._span(own, agent.span, said, SpanKind.CLIENT, when, Operation.CHAT, agent, attributes)

    def _message(self, agent: _Agent, seq: int, event: Mapping[str, Any], when: _Interval) -> Span:
        """A message of a foreign trace: one that an agent was sent, or its answer."""
        agent.reach(when)
        said, role = said_of(event), role_of(event)
        extra = {KEY: message_extra(seq, event), **filled({"name": event.get("name")})}
        message = _message(role, said.part, said.words) | extra
        kept = Name.OUTPUT_MESSAGES if role == "assistant" else Name.INPUT_MESSAGES
        own = span_id(self._source.episode, "event", seq)
        attributes = {**_place(event, seq), kept: as_text([message])}
        return self._span(own, agent.span, Operation.CHAT, SpanKind.CLIENT, when, Operation.CHAT, agent, attributes)

    def _invocation(self, agent: _Agent, lasts: _Interval) -> Span:
        """The span of a seat, from its first call or reply to its last."""
        name = agent.seat.label or agent.seat.id
        said = f"{Operation.INVOKE_AGENT} {name}"
        attributes = {Name.AGENT_NAME: name, Name.AGENT_ID: agent.seat.id, Name.ROLE: agent.seat.role}
        whole = self._root
        return self._span(agent.span, whole, said, SpanKind.INTERNAL, lasts, Operation.INVOKE_AGENT, agent, attributes)

    @property
    def _root(self) -> str:
        return span_id(self._source.episode, "episode")

    def _whole(self, lasts: _Interval) -> Span:
        """The root span of the episode, with its closures, lapses and end as events."""
        core = self._source.core
        attributes = {
            Name.MARKET: core.market,
            Name.SCENARIO: str(core.scenario.get("id", "")),
            Name.PASSED: self._about.get("passed"),
            Name.TOOLS: as_text(self._about["tools"]) if "tools" in self._about else None,
        }
        said = f"episode {core.market}"
        span = self._span(self._root, "", said, SpanKind.INTERNAL, lasts, None, None, attributes)
        return {**span, "events": self._happened}

    def _span(
        self,
        own: str,
        parent: str,
        name: str,
        kind: SpanKind,
        when: _Interval,
        operation: Operation | None,
        agent: _Agent | None,
        attributes: Mapping[Name, Any],
        error: str | None = None,
    ) -> Span:
        common = {
            Name.OPERATION: operation,
            Name.CONVERSATION: self._source.episode,
            Name.SEAT: None if agent is None else agent.seat.id,
        }
        return written(self._trace, own, parent, name, kind, when, {**common, **attributes}, error=error)


def _happening(event: Mapping[str, Any], seq: int, when: _Interval) -> dict[str, Any]:
    """A lapse, closure or end as an event of the root span, with what it made public; never its facts."""
    said = {Name.SEAT: event.get("seat"), Name.REASON: event.get("reason")}
    known: dict[Name, Any] = {name: value for name, value in said.items() if isinstance(value, str)}
    if event.get("event") == "message":
        known[Name.TOLD] = said_of(event).words
    elif event.get("public") is not None:
        known[Name.TOLD] = told_of(event)
    return happened(str(event.get("event")), when.end, {**_place(event, seq), **known})


def _message(role: str, part: str, words: str) -> dict[str, Any]:
    """A message of one part, text or reasoning."""
    return {"role": role, "parts": [{"type": "reasoning" if part == "reasoning" else "text", "content": words}]}


def _place(event: Mapping[str, Any], seq: int) -> dict[Name, Any]:
    """Number, round, phase, step, kind and program of an event, as far as they are of the right types."""
    numbers = {Name.ROUND: event.get("round"), Name.STEP: event.get("step")}
    texts = {Name.PHASE: event.get("phase"), Name.KIND: event.get("kind"), Name.PARENT: event.get("parent")}
    return {
        Name.SEQ: seq,
        **{name: value for name, value in numbers.items() if isinstance(value, int) and not isinstance(value, bool)},
        **{name: value for name, value in texts.items() if isinstance(value, str)},
    }


def _text(error: Mapping[str, Any] | None, name: str) -> str | None:
    """A text of a call's error, cut at 2,000 characters."""
    value = None if error is None else error.get(name)
    return value[:2_000] if isinstance(value, str) else None

"""A seat's episode as a transcript of messages in OpenAI's shape, for viewers that people already have.

One line of JSON per seat: `{episode, market, scenario, seat, role, label, messages}`. What the seat did are assistant
messages with tool calls, what it was answered are tool messages, what became public are user messages by `market`.
A transcript is made of what the seat saw and of nothing else, whether or not one seat was asked for. The prompts that
an agent was given are no part of a trace, and so of no transcript.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.evaluation.store.replies import Replies, Reply
from tradefair.evaluation.store.source import OddTrace, Source, SourceSeat
from tradefair.tracestore import Trace

Message = dict[str, Any]

_PUBLIC = ("phase_closed", "round_closed", "episode_ended", "seat_lapsed")
# A closed list as in `seat_view`: a field that a later schema adds stays out until it is named here.
_TOLD = ("event", "round", "public", "reason", "default_action")


def openai_lines(trace: Trace, seat: SeatId | None, odd: OddTrace) -> Iterator[bytes]:
    """A line for `seat`, or for every seat. Raises SeatError for a seat that the trace does not have, TraceError."""
    seats = Source.whole(trace, odd).seats if seat is None else Source.of_seat(trace, seat, odd).seats
    for known in seats:
        # From the seat's own view even when all seats are exported: a transcript never holds what its
        # seat did not see.
        yield _line(Source.of_seat(trace, known.id, odd), known)


def _line(source: Source, seat: SourceSeat) -> bytes:
    """The transcript of one seat as a line of JSON. Raises TraceError where it cannot be written again."""
    core = source.core
    scenario = core.scenario.get("id")
    head = {
        "episode": source.episode,
        "market": core.market,
        "scenario": scenario if isinstance(scenario, str) else "",
        "seat": seat.id,
        "role": seat.role,
        "label": seat.label,
    }
    try:
        return orjson.dumps({**head, "messages": list(_messages(source))})
    except orjson.JSONEncodeError:
        raise TraceError(
            f"{source.episode}: what {seat.id[:80]} saw is nested too deeply to be written again"
        ) from None


def _messages(source: Source) -> Iterator[Message]:
    """The messages of one seat in order: replies, calls with answers, and what became public.

    A reply and the calls that it asked for are one assistant message, and the answers follow it
    directly: viewers refuse a tool message that does not follow its call.
    """
    replies = Replies.of(source.notes())
    spoken: Message | None = None
    answers: list[Message] = []
    for _, event in source.events():
        tag = event.get("event")
        if tag == "tool_called":
            if event.get("parent"):
                continue  # made by a program: its answer went to the program
            matched = replies.take(str(event.get("tool")))
            if spoken is None or not matched.continues:
                yield from _said(spoken, answers)
                yield from (_words(reply) for reply in matched.before)
                # A policy has no replies, and its calls stand without text.
                text = matched.begins.text if matched.begins else ""
                spoken, answers = {"role": "assistant", "content": text or None, "tool_calls": []}, []
            spoken["tool_calls"].append(_tool_call(event))
            answers.append(_answer(event))
        elif tag in _PUBLIC:
            yield from _said(spoken, answers)
            spoken, answers = None, []
            told = {name: event[name] for name in _TOLD if event.get(name) is not None}
            yield {"role": "user", "name": "market", "content": orjson.dumps(told).decode()}
    yield from _said(spoken, answers)
    yield from (_words(reply) for reply in replies.rest())


def _said(spoken: Message | None, answers: list[Message]) -> Iterator[Message]:
    """The assistant message with its calls, then the answers; nothing where there is none."""
    if spoken is not None:
        yield spoken
        yield from answers


def _words(reply: Reply) -> Message:
    return {"role": "assistant", "content": reply.text}


def _tool_call(event: Mapping[str, Any]) -> Message:
    """A call as the message format has it; arguments are JSON as text there."""
    arguments = orjson.dumps(event.get("arguments")).decode()
    function = {"name": str(event.get("tool")), "arguments": arguments}
    return {"id": str(event.get("call")), "type": "function", "function": function}


def _answer(event: Mapping[str, Any]) -> Message:
    """The tool message that answers a call: its result, its error, or the digest of a result that was not kept."""
    content = event.get("result") if event.get("error") is None else event.get("error")
    if content is None and event.get("result_digest"):
        # The trace keeps a digest only; an empty answer would look as if the tool had returned nothing.
        content = {"not_kept": event.get("result_digest")}
    return {"role": "tool", "tool_call_id": str(event.get("call")), "content": orjson.dumps(content).decode()}

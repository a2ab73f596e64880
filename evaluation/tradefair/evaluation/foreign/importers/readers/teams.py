"""`teams`: what several agents said and called in turn: histories of AutoGen's teams and of Who&When, run states of the
OpenAI Agents SDK. Each speaker is a seat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import ANSWERS, CALLS, Counts, Fact, Head, Item, Reader, Seen, Source
from tradefair.evaluation.foreign.interchange.messages import At, facts, used
from tradefair.evaluation.foreign.interchange.shapes import first, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_AUTOGEN = ("TextMessage", "ToolCallRequestEvent", "ToolCallExecutionEvent", "ToolCallSummaryMessage", "ThoughtEvent",
            "StopMessage", "HandoffMessage", "MultiModalMessage")  # fmt: skip
_STATE = ("generatedItems", "generated_items")
_PEOPLE = ("user", "human", "user_proxy", "")
_LISTS = ("item", "messages.item", "history.item", *(f"{name}.item" for name in _STATE))
_REPEATED = ("ToolCallSummaryMessage", "SelectSpeakerEvent", "ModelClientStreamingChunkEvent")


def sniff(head: Head) -> int:
    """Sure of AutoGen's types of messages, of a run's generated items, or of a history with the step of its mistake."""
    keys = {*head.keys}
    if keys & {*_STATE} and keys & {"modelResponses", "model_responses", "originalInput", "original_input"}:
        return 95
    if "history" in keys and keys & {"mistake_step", "mistake_agent"}:
        return 95
    message = head.first("messages")
    return 92 if message.get("type") in _AUTOGEN and "source" in message else 0


def read(source: Source) -> Iterator[Item]:
    """The run of each document, or of the lines."""
    told, stem = Transcript(), source.stem
    run, document = stem, 0
    seats: set[str] = set()
    if source.head.lines and not (set(source.head.keys) & {"messages", "history", *_STATE}):
        for line, value in source.lines():
            yield from told.used(_told(told, mapping(value), At(run, line=line), seats))
        yield told.total()
        return
    for place, value in source.elements(*_LISTS, "is_correct"):
        if source.document != document:
            run, document = told.named(stem), source.document
            seats = set()
        if place == "is_correct":
            yield from facts(At(run), passed=value)
        else:
            yield from told.used(_told(told, mapping(value), At(run, place=place.removesuffix(".item")), seats))
    yield told.total()


def _told(told: Transcript, record: dict[str, Any], at: At, seats: set[str]) -> Iterator[Item]:
    """One record: an item of a run, or a message of a speaker."""
    raw = mapping(first(record, "rawItem", "raw_item"))
    named = mapping(record.get("agent")).get("name") if raw else first(record, "source", "name", "role")
    seat = text(named)
    if seat.lower() not in _PEOPLE:
        at = at._replace(seat=seat)
        if seat not in seats:
            seats.add(seat)
            yield Fact(at.run, seat, "agent", seat)
    if raw:
        yield from told.said(raw, at)
        return
    kind, content = text(record.get("type")), record.get("content")
    if kind in _REPEATED:
        yield from told.left(f"messages {kind}")
    elif kind in ("ToolCallRequestEvent", "ToolCallExecutionEvent"):
        entry = "tool_use" if kind == "ToolCallRequestEvent" else "tool_result"
        parts = [{"type": entry, **mapping(part)} for part in sequence(content)]
        yield from told.said({**record, "role": "assistant", "content": parts, "type": ""}, at)
    else:
        role = "assistant" if at.seat else "user"
        part = {"type": "reasoning" if kind == "ThoughtEvent" else "text", "text": content}
        spoken = [part] if isinstance(content, str) else content
        yield from told.said({**record, "role": role, "content": spoken, "type": "", "name": None}, at)
    counted = mapping(record.get("models_usage"))
    yield from used({"usage": counted}, at) if counted else ()


def _seen(fields: dict[str, Any]) -> list[Seen] | None:
    """The calls and answers that AutoGen puts into one message."""
    names = [text(mapping(part).get("name")) for part in sequence(fields.get("content"))]
    match fields.get("type"):
        case "ToolCallRequestEvent":
            return [Seen(CALLS, name) for name in names]
        case "ToolCallExecutionEvent":
            return [Seen(ANSWERS, "") for _ in names]
        case _:
            return None


READER = Reader(
    "teams",
    "histories of teams: AutoGen, OpenAI Agents run states, Who&When",
    sniff,
    read,
    unit="messages",
    counts=Counts(silent=(("type", _REPEATED),), seen=_seen),
)

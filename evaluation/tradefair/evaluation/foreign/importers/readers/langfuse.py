"""`langfuse`: traces of Langfuse with their observations, as export and client write them, or observations alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import Counts, Head, Item, Odd, Reader, Source, Spans
from tradefair.evaluation.foreign.interchange.messages import known, tools
from tradefair.evaluation.foreign.interchange.shapes import first, parsed, text
from tradefair.evaluation.foreign.interchange.span_runs import items_of
from tradefair.evaluation.foreign.interchange.span_trees import MISSING, Piece, tool_piece
from tradefair.evaluation.foreign.interchange.spans import named_span, unwrapped
from tradefair.evaluation.read.objects import mapping, sequence

_ABOVE = ("parentObservationId", "parent_observation_id")
_TRACE = ("traceId", "trace_id")


def sniff(head: Head) -> int:
    """Sure of observations of a trace, or of an observation that says below which one it lies."""
    fields = head.first("data")
    if any(name in fields for name in _ABOVE) and any(name in fields for name in _TRACE):
        return 95
    inner = mapping((sequence(fields.get("observations")) or [None])[0])
    return (
        95 if "type" in inner else 85 if b'"parentObservationId"' in head.raw and b'"observations"' in head.raw else 0
    )


def read(source: Source) -> Iterator[Item]:
    """The runs of a file; traces of one session are one."""
    return items_of(_pieces(source))


def _pieces(source: Source) -> Iterator[Piece | Odd]:
    parts = ((0, part) for _, part in source.elements("item", "data.item"))
    for line, value in source.values() if source.held else parts:
        yield from _inside(value, line)


def _inside(value: Any, line: int) -> Iterator[Piece | Odd]:
    """A trace and its observations, an observation, or a list of either."""
    fields = mapping(value)
    listed = sequence(value) or sequence(fields.get("data"))
    if listed:
        for entry in listed:
            yield from _inside(entry, line)
    elif "observations" in fields:
        session = text(first(fields, "sessionId", "session_id"))
        for held in map(mapping, sequence(fields["observations"])):
            yield _piece({"traceId": fields.get("id"), **held}, session, line)
    elif "type" in fields and any(name in fields for name in _TRACE):
        yield _piece(fields, "", line)
    else:
        yield Odd(line, "observations", "neither a trace with observations nor an observation")


def _piece(fields: dict[str, Any], session: str, line: int) -> Piece:
    failed = fields.get("level") == "ERROR"
    error = text(first(fields, "statusMessage", "status_message")) if failed else None
    span = named_span(fields, text(first(fields, *_TRACE)), text(first(fields, *_ABOVE)), error, line, ok=False)
    given, answer = parsed(fields.get("input")), parsed(fields.get("output"))
    metadata = mapping(parsed(fields.get("metadata")))
    conversation = session or text(first(fields, "sessionId", "session_id") or metadata.get("thread_id"))
    match text(fields.get("type")).upper():
        case "TOOL":
            return tool_piece(span, conversation, given, MISSING if answer is None else answer)
        case "AGENT":
            return Piece(span, "agent", conversation, name=span.name)
        case "GENERATION":
            return Piece(span, "model", conversation, asked=_messages(given, "user"),
                         replied=_messages(answer, "assistant"), facts=_facts(fields, given))  # fmt: skip
        case _:
            return Piece(span, "", conversation)


def _messages(value: Any, role: str) -> list[Any]:
    """Messages of a prompt or a reply, as a list, in an object, alone, or as a text."""
    listed = sequence(value) or sequence(mapping(value).get("messages"))
    if listed:
        return [unwrapped(message) for message in listed]
    fields = mapping(unwrapped(value))
    if fields:
        return [{**({} if "role" in fields or "type" in fields else {"role": role}), **fields}]
    return [{"role": role, "content": value}] if isinstance(value, str) and value else []


def _facts(fields: dict[str, Any], given: Any) -> tuple[tuple[str, Any], ...]:
    usage = {**mapping(fields.get("usage")), **mapping(first(fields, "usageDetails", "usage_details"))}
    tokens = {name: usage.get(name) for name in ("input", "output")}
    return tuple(known(model=fields.get("model"), tokens=tokens, tools=tools(mapping(given).get("tools"))))


_COUNTS = Counts(
    spans=Spans(tools=(("type", ("TOOL", "tool")),), names=("name",), results=("output",), replies=("output",),
                models=(("type", ("GENERATION", "generation")),))
)  # fmt: skip

READER = Reader("langfuse", "traces and observations of Langfuse", sniff, read, unit="observations", counts=_COUNTS)

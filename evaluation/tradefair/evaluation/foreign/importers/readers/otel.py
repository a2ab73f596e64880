"""`otel`: OpenTelemetry's spans and log records of generative AI and MCP, as OTLP JSON or one span a line.

Tool calls are spans `execute_tool` or `tools/call`, or stand in messages only; models' spans hold messages as
attributes, as events, or in log records below them. Our own export `otlp` is read back exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tradefair.evaluation.foreign.importers.items import EVERYBODY, Counts, Head, Item, Odd, Reader, Source, Spans
from tradefair.evaluation.foreign.interchange import otlp_names as names
from tradefair.evaluation.foreign.interchange.flattened import listed
from tradefair.evaluation.foreign.interchange.messages import known, tools
from tradefair.evaluation.foreign.interchange.otlp_names import Inference, Name, Operation
from tradefair.evaluation.foreign.interchange.shapes import first, parsed, text
from tradefair.evaluation.foreign.interchange.span_runs import items_of
from tradefair.evaluation.foreign.interchange.span_trees import MISSING, Piece
from tradefair.evaluation.foreign.interchange.spans import (
    LOG_LISTS,
    LOGS,
    REQUESTS,
    SPAN_LISTS,
    Span,
    attributes_of,
    span_of,
    spans_in,
)
from tradefair.evaluation.read.objects import mapping, sequence

_TOOL_OPERATIONS = (Operation.EXECUTE_TOOL, "tool", "ai.toolCall")
_AGENT_OPERATIONS = (Operation.INVOKE_AGENT, "agent")


def sniff(head: Head) -> int:
    """Sure of requests and spans whose attributes are of generative AI, MCP or ours."""
    named = any(mark in head.raw for mark in (b"gen_ai.", b"mcp.", b"tool_arguments", b"traceloop.", b"ai.operationId"))
    if Inference.KIND.encode() in head.raw:
        return 5
    if any(mark in head.raw[:4_000] for mark in (b'"resourceSpans"', b'"resourceLogs"', b'"resource_spans"')):
        return 95 if named else 60
    return 85 if named and b'"attributes"' in head.raw and b"span" in head.raw else 0


def read(source: Source) -> Iterator[Item]:
    """The runs of a file."""
    return items_of(piece for span in read_spans(source) for piece in _pieces(span))


def _pieces(span: Span | Odd) -> Iterator[Piece | Odd]:
    """The piece that a span is, and those that its events are."""
    if isinstance(span, Odd):
        yield span
        return
    piece = _piece(span)
    unread = "" if piece.kind else next((name for name in span.attributes if name.lower().endswith(names.OF_TOOLS)), "")
    if unread:
        yield Odd(span.line, unread[:60], f"a span of an unknown kind that names a tool: {span.name[:60]!r}")
        return
    yield piece
    for number, event in enumerate(span.events):
        if Name.TOLD in event.attributes:
            # What became public in an episode of ours.
            own = Span(span.trace, f"{span.id} {number}", span.id, event.name, event.at, event.at, {})
            told = [{"role": "user", "name": "market", "content": event.attributes[Name.TOLD]}]
            yield Piece(own, "said", asked=told, marks={"seat": EVERYBODY, "seq": event.attributes.get(Name.SEQ)})


def read_spans(source: Source) -> Iterator[Span | Odd]:
    """Every span and log record of a file: OTLP requests, one a line or one document, or a span a line or element."""
    for line, value in source.values():
        yield from spans_in(value, line)
    if not source.held:
        yield from _document(source)


def _document(source: Source) -> Iterator[Span | Odd]:
    """Documents that are too long to be held, or that follow each other, as SDKs print span after span."""
    if not source.head.listed and source.head.keys and not {*REQUESTS} & {*source.head.keys}:
        for _, value in source.elements(""):
            yield from spans_in(value, 0)
        return
    lists = [f"{name}.item.{inner}.item.spans.item" for name in REQUESTS for inner in SPAN_LISTS]
    lists += [f"{name}.item.{inner}.item.{logs}.item" for name in REQUESTS for inner in LOG_LISTS for logs in LOGS]
    resource: Mapping[str, Any] = {}
    document = 0
    for place, value in source.elements("item", *lists, *(f"{name}.item.resource" for name in REQUESTS)):
        if source.document != document:
            resource, document = {}, source.document
        if place.endswith("resource"):
            resource = attributes_of(mapping(value).get("attributes"))
        elif place == "item":
            yield from spans_in(value, 0)
        else:
            yield span_of(mapping(value), resource, 0)


def _piece(span: Span) -> Piece:
    attributes = dict(span.attributes)
    operation = text(first(attributes, Name.OPERATION, *names.KINDS))
    mcp = attributes.get(Name.MCP_METHOD) == names.TOOLS_CALL
    marks = _marks(attributes)
    common: dict[str, Any] = {
        "conversation": text(first(attributes, *names.CONVERSATIONS)),
        "agent": text(first(attributes, *names.AGENT)),
        "marks": marks,
    }
    if mcp or operation in _TOOL_OPERATIONS:
        return _tool(span, attributes, mcp, common)
    asked, replied = _messages(span, attributes)
    defined = tools(parsed(attributes.get(Name.TOOLS)))
    if operation in _AGENT_OPERATIONS:
        facts = tuple(known(role=marks.get("role"), tools=defined))
        name = common["agent"]
        return Piece(span, "agent", name=name, asked=asked, replied=replied, facts=facts, **common)
    if asked or replied or operation == Operation.CHAT:
        stop = first(attributes, Name.FINISH_REASONS)
        stop = next(iter(sequence(stop)), stop)
        tokens = {"input": attributes.get(Name.INPUT_TOKENS), "output": attributes.get(Name.OUTPUT_TOKENS)}
        facts = tuple(known(model=first(attributes, *names.MODELS), tokens=tokens, stop=stop, tools=defined))
        return Piece(span, "model", asked=asked, replied=replied, facts=facts, **common)
    # The root span of our own exports says what is known of the whole run.
    facts = tuple(known(passed=marks.get("passed"), tools=defined)) if "market" in marks else ()
    return Piece(span, "said" if facts else "", facts=facts, **common)


def _tool(span: Span, attributes: dict[str, Any], mcp: bool, common: dict[str, Any]) -> Piece:
    name = text(first(attributes, *names.TOOL)) or span.name.rpartition(" ")[2]
    result = next((attributes[key] for key in names.RESULT if key in attributes), MISSING)
    marks = common["marks"]
    error = span.error
    if marks.get("error"):
        error = marks["error"] = parsed(marks["error"])
    elif error is not None:
        # What a tool answered says more than the name of an exception.
        said = result if isinstance(result, str) else ""
        error = said or error or text(attributes.get(Name.ERROR_TYPE)) or True
    arguments: Any = first(attributes, *names.ARGUMENTS) or {}
    if arguments is attributes.get(names.ENTITY_INPUT):
        arguments = _entity_input(parsed(arguments))
    if result is attributes.get(names.ENTITY_OUTPUT):
        result = mapping(parsed(result)).get("output", result)
    key = text(first(attributes, *names.CALL_ID))
    told: dict[str, Any] = {"arguments": arguments, "result": result, "error": error, "mcp": mcp}
    return Piece(span, "tool", name=name, key=key, **told, **common)


def _entity_input(given: Any) -> Any:
    """The arguments within OpenLLMetry's record of them: what a callback was given, or a decorated function."""
    fields = mapping(given)
    if isinstance(fields.get("inputs"), dict):
        return fields["inputs"]
    if not {"args", "kwargs"} <= fields.keys():
        return given
    listed = sequence(fields["args"])
    return {**({"args": listed} if listed else {}), **mapping(fields["kwargs"])}


def _messages(span: Span, attributes: dict[str, Any]) -> tuple[Any, Any]:
    """What a model was asked and what it replied: from attributes, else from events, else from a record of a log."""
    asked = first(attributes, *names.ASKED, *names.ALL_MESSAGES) or listed(attributes, names.INDEXED_ASKED)
    replied = first(attributes, *names.REPLIED) or listed(attributes, names.INDEXED_REPLIED) or _replied(attributes)
    system = parsed(first(attributes, *names.SYSTEM))
    if system and not isinstance(system, str):
        asked = [{"role": "system", "parts": sequence(system)}, *sequence(parsed(asked))]
    if asked or replied:
        return asked, replied
    events = [(event.name, event.attributes) for event in span.events]
    if span.body is not None and (span.name in names.MESSAGE_EVENTS or span.name == names.CHOICE_EVENT):
        events.append((span.name, mapping(span.body)))
    for name, inner in events:
        if name == names.DETAILS_EVENT:
            return first(dict(inner), *names.ASKED), first(dict(inner), *names.REPLIED)
    spoken = [_event(name, inner) for name, inner in events if name in names.MESSAGE_EVENTS]
    choices = [mapping(parsed(inner.get("message"))) or inner for name, inner in events if name == names.CHOICE_EVENT]
    return spoken, [_event(names.CHOICE_EVENT, inner) for inner in choices]


def _replied(attributes: dict[str, Any]) -> list[Any]:
    """Vercel's reply. Its span around a whole conversation has a text, too, which the last reply within says."""
    if names.PROMPT not in attributes:
        return []
    called = [{**mapping(call), "type": "tool_call"} for call in sequence(parsed(attributes.get(names.REPLIED_CALLS)))]
    return [{"role": "assistant", "content": attributes.get(names.REPLIED_TEXT), "tool_calls": called}]


def _event(name: str, inner: Mapping[str, Any]) -> dict[str, Any]:
    """A message of a span's event or a log record, whose name says the role."""
    role = "assistant" if name == names.CHOICE_EVENT else name.split(".")[1]
    fields = {key.removeprefix("gen_ai.event."): parsed(value) for key, value in inner.items()}
    return {"role": role, **fields}


def _marks(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Our own extras; empty for spans of others."""
    return {name.removeprefix(names.OWN): value for name, value in attributes.items() if name.startswith(names.OWN)}


_COUNTS = Counts(
    spans=Spans(
        tools=tuple((name, _TOOL_OPERATIONS) for name in (Name.OPERATION, *names.KINDS)),
        names=names.TOOL,
        results=names.RESULT,
        replies=(*names.REPLIED, names.INDEXED_REPLIED, names.REPLIED_CALLS),
        keys=names.CALL_ID,
        inner=((Name.MCP_METHOD, (names.TOOLS_CALL,)),),
    )
)

READER = Reader(
    "otel", "OpenTelemetry spans of generative AI and MCP (OTLP JSON)", sniff, read, unit="spans", counts=_COUNTS
)

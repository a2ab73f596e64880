"""Spans: OTLP's JSON in both directions, and lines as SDKs print them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from tradefair.evaluation.foreign.interchange.items import Odd
from tradefair.evaluation.foreign.interchange.otlp_names import EXCEPTION_MESSAGE, Inference, SpanKind, StatusCode
from tradefair.evaluation.foreign.interchange.shapes import first, nanoseconds, text
from tradefair.evaluation.read.objects import mapping, sequence

SPAN_LISTS = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
LOG_LISTS = ("scopeLogs", "scope_logs")
LOGS = ("logRecords", "log_records")
REQUESTS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "batches")
_KINDS = ("stringValue", "intValue", "boolValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue")
_MAX_DEPTH = 20


class Happening(NamedTuple):
    """An event of a span, at nanoseconds since 1970."""

    name: str
    attributes: Mapping[str, Any]
    at: int | None


class Span(NamedTuple):
    """A span. Times are nanoseconds since 1970; `error` is None where it did not fail, else why, perhaps empty;
    `ok`: the source says that it did not fail.

    A log record is one, too: it lies below the span that it names, and `body` is what it says.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: int | None
    end: int | None
    attributes: Mapping[str, Any]
    error: str | None = None
    events: tuple[Happening, ...] = ()
    body: Any = None
    line: int = 0
    ok: bool = False


# --- reading ----------------------------------------------------------------------------------------------------------


def spans_in(value: Any, line: int) -> Iterator[Span | Odd]:
    """The spans of one value: of a request, of a list, or the span that it is."""
    fields = mapping(value)
    batches = [batch for name in REQUESTS for batch in sequence(fields.get(name))]
    for entry in sequence(value):
        yield from spans_in(entry, line)
    for batch in map(mapping, batches):
        resource = attributes_of(mapping(batch.get("resource")).get("attributes"))
        for scope in map(mapping, sequence(first(batch, *SPAN_LISTS, *LOG_LISTS))):
            for entry in sequence(first(scope, "spans", *LOGS)):
                yield span_of(mapping(entry), resource, line)
    if not batches and not isinstance(value, list):
        span = span_of(fields, {}, line)
        yield span if span.id or span.trace else Odd(line, "", "neither a span nor a request with spans")


def span_of(fields: dict[str, Any], resource: Mapping[str, Any], line: int) -> Span:
    """The span of an object of OTLP or of an SDK; `resource` are attributes of the process that made it."""
    if "traceId" not in fields:
        fields = _renamed(fields)
    status = mapping(fields.get("status"))
    own, body, at = (
        text(fields.get("spanId")),
        fields.get("body"),
        first(fields, "timeUnixNano", "observedTimeUnixNano"),
    )
    is_log = at is not None
    events = tuple(
        Happening(
            text(event.get("name")),
            attributes_of(event.get("attributes")),
            nanoseconds(first(event, "timeUnixNano", "time_unix_nano", "timestamp")),
        )
        for event in map(mapping, sequence(fields.get("events")))
    )
    code = first(status, "code", "status_code")
    failed = code is not None and (code == StatusCode.ERROR or text(code).upper().endswith("ERROR"))
    said = text(first(status, "message", "description"))
    raised = next(
        (event.attributes[EXCEPTION_MESSAGE] for event in events if event.attributes.get(EXCEPTION_MESSAGE)), ""
    )
    return Span(
        trace=text(fields.get("traceId")),
        # A record of a log has no id of its own: it lies below its span.
        id=f"{own}.log.{at}" if is_log else own,
        parent=own if is_log else text(fields.get("parentSpanId")),
        name=text(first(fields, "eventName", "name"))[:200],
        start=nanoseconds(at or fields.get("startTimeUnixNano")),
        end=nanoseconds(at or fields.get("endTimeUnixNano")),
        attributes={**resource, **attributes_of(fields.get("attributes"))},
        error=(text(raised) or said) if failed else None,
        events=events,
        body=None if body is None else _value(body) if is_log else body,
        line=line,
        # Unset, as it mostly is, says nothing.
        ok=code == StatusCode.OK or text(code).upper().endswith("OK"),
    )


def named_span(fields: dict[str, Any], trace: str, parent: str, error: str | None, line: int, *, ok: bool) -> Span:
    """The span of an object of a back end, whose fields say its id, its name and its times."""
    start, end = (nanoseconds(first(fields, f"{moment}_time", f"{moment}Time")) for moment in ("start", "end"))
    own, name = text(fields.get("id")), text(fields.get("name"))
    return Span(trace, own, parent, name, start, end, {}, error, line=line, ok=ok)


_NAMES = {
    "traceId": ("trace_id",),
    "spanId": ("span_id", "id"),
    "parentSpanId": ("parent_span_id", "parent_id"),
    "startTimeUnixNano": ("start_time_unix_nano", "start_time", "startTime"),
    "endTimeUnixNano": ("end_time_unix_nano", "end_time", "endTime"),
    "timeUnixNano": ("time_unix_nano", "timestamp"),
    "eventName": ("event_name",),
}
"""Names of OTLP's JSON, and what SDKs and back ends call the same."""


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    """A span of an SDK or a back end under the names of OTLP."""
    around = {**mapping(fields.get("context")), **fields}
    found = {name: first(around, name, *others) for name, others in _NAMES.items()}
    status = {"code": fields.get("status_code"), "message": fields.get("status_message")}
    # What a tracing server's client gives beside the attributes is one of them in the span that it was sent.
    kind = {Inference.KIND: fields["span_kind"]} if isinstance(fields.get("span_kind"), str) else {}
    attributes = {**kind, **attributes_of(fields.get("attributes"))}
    return {**fields, **found, "status": fields.get("status") or status, "attributes": attributes}


def attributes_of(listed: Any) -> dict[str, Any]:
    """Attributes by name, from OTLP's list of pairs or from an object."""
    if isinstance(listed, dict):
        return mapping(listed)  # pyright: ignore[reportUnknownArgumentType]
    found: dict[str, Any] = {}
    for entry in map(mapping, sequence(listed)):
        value = entry.get("value")
        # Nearly all are texts.
        told = mapping(value).get("stringValue")
        found[text(entry.get("key"))] = _value(value) if told is None else told
    return found


def _value(typed: Any, depth: int = 0) -> Any:
    """A value of OTLP's JSON, which names its type."""
    fields = mapping(typed) if depth <= _MAX_DEPTH else {}
    kind = next((kind for kind in _KINDS if kind in fields), "")
    value = fields.get(kind)
    match kind:
        case "intValue":
            return int(value) if isinstance(value, str) and value.lstrip("-").isdecimal() else value
        case "arrayValue":
            return [_value(entry, depth + 1) for entry in sequence(mapping(value).get("values"))]
        case "kvlistValue":
            pairs = map(mapping, sequence(mapping(value).get("values")))
            return {text(pair.get("key")): _value(pair.get("value"), depth + 1) for pair in pairs}
        case "":
            return typed
        case _:
            return value


def unwrapped(message: Any) -> Any:
    """A message of LangChain's as its fields, from either of the ways in which it writes them down."""
    fields = mapping(message)
    if "kwargs" in fields and fields.get("lc"):
        kind = text((sequence(fields.get("id")) or [""])[-1]).removesuffix("Chunk").removesuffix("Message").lower()
        return {"type": kind, **mapping(fields["kwargs"])}
    if isinstance(fields.get("data"), dict) and isinstance(fields.get("type"), str):
        return {**mapping(fields["data"]), "type": fields["type"]}
    return message


# --- writing ----------------------------------------------------------------------------------------------------------


def written(
    trace: str,
    own: str,
    parent: str,
    name: str,
    kind: SpanKind,
    times: tuple[int, int],
    attributes: Mapping[Any, Any],
    *,
    error: str | None = None,
) -> dict[str, Any]:
    """A span as the protocol's JSON has it; times are texts of nanoseconds, as it has 64-bit numbers."""
    return {
        "traceId": trace,
        "spanId": own,
        **({"parentSpanId": parent} if parent else {}),
        "startTimeUnixNano": str(times[0]),
        "endTimeUnixNano": str(times[1]),
        "name": name[:200],
        "kind": int(kind),
        "attributes": _typed_attributes(attributes),
        **({"status": {"code": StatusCode.ERROR, "message": error}} if error is not None else {"status": {}}),
    }


def happened(name: str, at: int, attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """An event of a span."""
    return {"timeUnixNano": str(at), "name": name[:200], "attributes": _typed_attributes(attributes)}


def _typed_attributes(values: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Key and value as the protocol's JSON has them; what is None is left out."""
    return [{"key": str(name), "value": _typed(value)} for name, value in values.items() if value is not None]


def _typed(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    # JSON of the protocol writes 64-bit integers as strings, since many readers have doubles only.
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [{"stringValue": str(item)} for item in sequence(value)]}}  # pyright: ignore[reportUnknownArgumentType]
    return {"stringValue": str(value)}


def request(resource: Mapping[Any, Any], scope: str, schema_url: str, spans: list[dict[str, Any]]) -> bytes:
    """One `ExportTraceServiceRequest` as a line."""
    scoped = {"scope": {"name": scope}, "spans": spans, "schemaUrl": schema_url}
    described = {"attributes": _typed_attributes(resource)}
    return orjson.dumps({"resourceSpans": [{"resource": described, "scopeSpans": [scoped], "schemaUrl": schema_url}]})

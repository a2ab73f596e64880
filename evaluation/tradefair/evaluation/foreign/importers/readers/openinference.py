"""`openinference`: spans of OpenInference's instrumentations (Phoenix and others), as OTLP JSON or one span a line.

Messages lie in flattened keys, `llm.output_messages.0.message.…`. Spans of tools rarely say which call of which reply
they carry out: they are matched by tool and arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import Counts, Head, Item, Odd, Reader, Source, Spans
from tradefair.evaluation.foreign.importers.readers.otel import read_spans
from tradefair.evaluation.foreign.interchange.flattened import listed
from tradefair.evaluation.foreign.interchange.messages import known, tools
from tradefair.evaluation.foreign.interchange.otlp_names import Inference
from tradefair.evaluation.foreign.interchange.shapes import first, parsed, text
from tradefair.evaluation.foreign.interchange.span_runs import items_of
from tradefair.evaluation.foreign.interchange.span_trees import MISSING, Piece, tool_piece
from tradefair.evaluation.foreign.interchange.spans import Span
from tradefair.evaluation.read.objects import mapping


def sniff(head: Head) -> int:
    """Sure of the attribute that every span of its kind has, or of the field that servers make of it."""
    if Inference.KIND.encode() in head.raw:
        return 97
    return 95 if {"span_kind", "context"} <= head.first().keys() else 90 if Inference.ASKED.encode() in head.raw else 0


def read(source: Source) -> Iterator[Item]:
    """The runs of a file."""
    return items_of(span if isinstance(span, Odd) else _piece(span) for span in read_spans(source))


def _piece(span: Span) -> Piece:
    attributes = dict(span.attributes)
    metadata = mapping(parsed(attributes.get("metadata")))
    agent = text(first(attributes, *Inference.AGENTS) or metadata.get("lc_agent_name"))
    conversation = text(first(attributes, Inference.SESSION) or metadata.get("thread_id"))
    match text(attributes.get(Inference.KIND)).upper():
        case "TOOL":
            key, name = text(first(attributes, *Inference.CALL_IDS)), text(attributes.get(Inference.TOOL))
            given, answer = parsed(attributes.get(Inference.INPUT)), attributes.get(Inference.OUTPUT, MISSING)
            return tool_piece(span, conversation, given, answer, name, key=key)
        case "AGENT":
            return Piece(span, "agent", conversation, name=text(attributes.get(Inference.AGENTS[0])) or span.name)
        case "LLM":
            return Piece(
                span,
                "model",
                conversation,
                agent=agent,
                asked=listed(attributes, Inference.ASKED),
                replied=listed(attributes, Inference.REPLIED),
                facts=_facts(attributes),
            )
        case _:
            return Piece(span, "", conversation, agent=agent)


def _facts(attributes: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    told = known(
        model=attributes.get(Inference.MODEL),
        tokens={"input": attributes.get(Inference.TOKENS_IN), "output": attributes.get(Inference.TOKENS_OUT)},
        stop=attributes.get(Inference.STOP),
        tools=tools([parsed(entry.get("json_schema")) for entry in listed(attributes, Inference.TOOLS)]),
    )
    return tuple(told)


_COUNTS = Counts(
    spans=Spans(
        tools=((Inference.KIND, ("TOOL", "tool")), ("span_kind", ("TOOL", "tool"))),
        names=(Inference.TOOL, "name"),
        results=(Inference.OUTPUT,),
        replies=(Inference.REPLIED,),
        keys=Inference.CALL_IDS,
        models=((Inference.KIND, ("LLM", "llm")), ("span_kind", ("LLM", "llm"))),
    )
)

READER = Reader("openinference", "spans of OpenInference (Phoenix)", sniff, read, unit="spans", counts=_COUNTS)

"""`openinference`: spans of OpenInference's instrumentations (Phoenix and others), as OTLP JSON or one span a line.

Messages lie in flattened keys, `llm.output_messages.0.message.…`. Spans of tools rarely say which call of which reply
they carry out: they are matched by tool and arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tradefair.evaluation.foreign.importers.items import Item, Odd, Reader
from tradefair.evaluation.foreign.importers.readers.otel import read_spans
from tradefair.evaluation.foreign.importers.source import Head, Source
from tradefair.evaluation.foreign.interchange.messages import error_in, tools
from tradefair.evaluation.foreign.interchange.otlp_names import Inference
from tradefair.evaluation.foreign.interchange.shapes import first, parsed, text
from tradefair.evaluation.foreign.interchange.span_runs import items_of
from tradefair.evaluation.foreign.interchange.span_trees import MISSING, Piece
from tradefair.evaluation.foreign.interchange.spans import Span, unwrapped
from tradefair.evaluation.read.objects import mapping, sequence

_WRAPPERS = ("message", "message_content", "tool_call", "tool")
_MAX_LISTED = 10_000


def sniff(head: Head) -> int:
    """Sure of the attribute that every span of its kind has."""
    return 97 if Inference.KIND.encode() in head.raw else 90 if Inference.ASKED.encode() in head.raw else 0


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
            return _tool(span, attributes, conversation)
        case "AGENT":
            return Piece(span, "agent", conversation, name=text(attributes.get(Inference.AGENTS[0])) or span.name)
        case "LLM":
            return Piece(
                span,
                "model",
                conversation,
                agent=agent,
                asked=_messages(attributes, Inference.ASKED),
                replied=_messages(attributes, Inference.REPLIED),
                facts=tuple(_facts(attributes)),
            )
        case _:
            return Piece(span, "", conversation, agent=agent)


def _tool(span: Span, attributes: dict[str, Any], conversation: str) -> Piece:
    given: Any = parsed(attributes.get(Inference.INPUT))
    answer = unwrapped(parsed(attributes.get(Inference.OUTPUT, MISSING)))
    key, error = text(first(attributes, *Inference.CALL_IDS)), None
    if mapping(answer).get("tool_call_id"):
        error = error_in(answer)
        key, answer = key or text(answer["tool_call_id"]), answer.get("content")
    # A tool of one argument often has only its value here; the reply that asked for it has its name.
    arguments = mapping(given) if isinstance(given, dict) or given is None else {"input": given}
    return Piece(
        span,
        "tool",
        conversation,
        name=text(attributes.get(Inference.TOOL)) or span.name,
        key=key,
        arguments=arguments,
        result=answer,
        error=error if span.error is None else span.error or True,
    )


def _facts(attributes: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    counted = {"input": attributes.get(Inference.TOKENS_IN), "output": attributes.get(Inference.TOKENS_OUT)}
    known = {
        "model": attributes.get(Inference.MODEL),
        "tokens": {name: value for name, value in counted.items() if isinstance(value, int)},
        "stop": attributes.get(Inference.STOP),
        "tools": tools([parsed(entry.get("json_schema")) for entry in _messages(attributes, Inference.TOOLS)]),
    }
    return ((name, value) for name, value in known.items() if value)


def _messages(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The list that flattened keys describe, without the wrappers that only repeat what an entry is."""
    tree: dict[str, Any] = {}
    for name, value in attributes.items():
        if name.startswith(prefix):
            *path, last = name[len(prefix) :].strip(".").split(".")
            node = tree
            for step in path:
                node.setdefault(step, {})
                node = mapping(node[step])
            if last:
                node[last] = value
            elif isinstance(parsed(value), list):
                return [mapping(_plain(entry)) for entry in sequence(parsed(value))]
    return [mapping(entry) for entry in sequence(_plain(tree))]


def _plain(node: Any) -> Any:
    """A node of the tree: a list where all its keys are numbers; a wrapper is what it holds."""
    if isinstance(node, list):
        return [_plain(entry) for entry in sequence(node)]  # pyright: ignore[reportUnknownArgumentType]
    fields = mapping(node)
    if not fields:
        return node
    if all(key.isdecimal() and len(key) < 8 for key in fields) and len(fields) <= _MAX_LISTED:
        return [_plain(fields[key]) for key in sorted(fields, key=int)]
    if len(fields) == 1 and (name := next(iter(fields))) in _WRAPPERS and isinstance(fields[name], dict):
        return _plain(fields[name])
    plain = {name: _plain(value) for name, value in fields.items()}
    if "contents" in plain:
        plain["content"] = plain.pop("contents")
    if "function_call_name" in plain:
        called = {"name": plain.pop("function_call_name"), "arguments": plain.pop("function_call_arguments_json", "")}
        plain["function_call"] = called
    return plain


READER = Reader("openinference", "spans of OpenInference (Phoenix)", sniff, read, unit="spans")

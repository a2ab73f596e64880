"""`langsmith`: runs as LangSmith and its client write them, flat or with `child_runs`, one a line or a list.

A run is a span: `run_type` says what kind, `parent_run_id` what it lies below. Messages are LangChain's or a maker's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any

from tradefair.evaluation.foreign.importers.items import Counts, Head, Item, Odd, Reader, Source, Spans
from tradefair.evaluation.foreign.interchange.messages import known, tokens_in, tools
from tradefair.evaluation.foreign.interchange.shapes import first, parsed, text
from tradefair.evaluation.foreign.interchange.span_runs import items_of
from tradefair.evaluation.foreign.interchange.span_trees import MISSING, Piece, tool_piece
from tradefair.evaluation.foreign.interchange.spans import named_span, unwrapped
from tradefair.evaluation.read.objects import mapping, sequence

_THREADS = ("thread_id", "session_id", "conversation_id")
_LISTS = ("item", "runs.item", "child_runs.item")
_FIELDS = (
    "id", "trace_id", "parent_run_id", "name", "run_type", "start_time", "end_time", "extra", "metadata", "inputs",
    "outputs", "error", "input_tokens", "prompt_tokens", "output_tokens", "completion_tokens",
)  # fmt: skip
_MAX_DEPTH = 60
_MAX_LITERAL = 100_000


def sniff(head: Head) -> int:
    """Sure of the field that every run has."""
    fields = head.first("runs")
    if "run_type" in fields or "run_type" in head.keys:
        return 95 if {"dotted_order", "trace_id", "child_runs", "parent_run_id"} & {*fields, *head.keys} else 60
    return 85 if b'"run_type"' in head.raw and b'"dotted_order"' in head.raw else 0


def read(source: Source) -> Iterator[Item]:
    """The runs of a file; runs of one thread are one."""
    return items_of(_pieces(source))


def _pieces(source: Source) -> Iterator[Piece | Odd]:
    for line, value in source.values():
        for entry in sequence(value) or (sequence(mapping(value).get("runs")) if not line else []) or [value]:
            yield from _inside(entry, line)
    if not source.held:
        yield from _documents(source)


def _documents(source: Source) -> Iterator[Piece | Odd]:
    """Lists of runs, or runs one after another; those below a run may be more than can be held."""
    places = source.elements(*_LISTS, *_FIELDS)
    for _, parts in groupby(places, lambda _: source.document):
        fields: dict[str, Any] = {}
        for place, value in parts:
            if place in _FIELDS:
                fields[place] = value
            elif place == "child_runs.item":
                own = text(first(fields, "trace_id", "id"))
                yield from _inside({"parent_run_id": fields.get("id"), **mapping(value)}, 0, own, 1)
            else:
                yield from _inside(value, 0)
        if "run_type" in fields:
            yield from _inside(fields, 0)


def _inside(value: Any, line: int, trace: str = "", depth: int = 0) -> Iterator[Piece | Odd]:
    """A run and those below it."""
    fields = mapping(value)
    if not isinstance(fields.get("run_type"), str):
        yield Odd(line, "run_type", "no run: it says no run_type")
        return
    own = text(first(fields, "trace_id")) or trace or text(fields.get("id"))
    for child in sequence(fields.get("child_runs")) if depth < _MAX_DEPTH else ():
        inner = {"parent_run_id": fields.get("id"), **mapping(child)}
        yield from _inside(inner, line, own, depth + 1)
    yield _piece(fields, own, line)


def _piece(fields: dict[str, Any], trace: str, line: int) -> Piece:
    extra = mapping(fields.get("extra"))
    metadata = {**mapping(extra.get("metadata")), **mapping(fields.get("metadata"))}
    error = fields.get("error")
    ok = "error" in fields and not error and fields.get("end_time") is not None
    span = named_span(fields, trace, text(fields.get("parent_run_id")), text(error) if error else None, line, ok=ok)
    conversation, agent = text(first(metadata, *_THREADS)), text(metadata.get("lc_agent_name"))
    asked, replied = mapping(fields.get("inputs")), mapping(fields.get("outputs"))
    match fields["run_type"]:
        case "tool":
            answer = mapping(outputs := fields.get("outputs")).get("output", outputs)
            answer, key = MISSING if answer is None and error is not None else answer, text(extra.get("tool_call_id"))
            return tool_piece(span, conversation, _arguments(fields.get("inputs")), answer, agent=agent, key=key)
        case "llm" | "chat_model":
            reply = _reply(replied)
            facts = _facts(fields, metadata, mapping(extra.get("invocation_params")), reply)
            return Piece(span, "model", conversation, agent=agent, asked=_prompt(asked), replied=reply, facts=facts)
        case _:
            return Piece(span, "", conversation, agent=agent)


def _arguments(inputs: Any) -> Any:
    """Arguments, also where the only input is their JSON, or their Python literal as `str` gives it."""
    fields = mapping(inputs)
    given = fields.get("input") if set(fields) == {"input"} else inputs
    if isinstance(given, str) and len(given) <= _MAX_LITERAL:
        found = parsed(given)
        if isinstance(found, str):
            # What no literal can be, or one too deep, stays the text that it is.
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                found = ast.literal_eval(given.strip())
        return mapping(found) or fields
    return given


def _prompt(inputs: dict[str, Any]) -> list[Any]:
    """Messages, which LangChain puts into batches; prompts of models without messages are texts of a user."""
    listed = sequence(first(inputs, "messages", "input"))
    if listed and isinstance(listed[0], list):
        listed = sequence(listed[0])
    texts = [{"role": "user", "content": prompt} for prompt in sequence(inputs.get("prompts"))[:1]]
    return [unwrapped(message) for message in listed] or texts


def _reply(outputs: dict[str, Any]) -> list[Any]:
    generations = sequence(outputs.get("generations"))
    first_one = generations[0] if generations else None
    chosen = mapping((sequence(first_one) or [first_one])[0])
    choice = mapping((sequence(outputs.get("choices")) or [{}])[0])
    found = first({**outputs, **choice, **chosen}, "message") or (outputs if "role" in outputs else None)
    if found is None and chosen.get("text"):
        found = {"role": "assistant", "content": chosen["text"]}
    listed = [found] if found else sequence(first(outputs, "messages", "output"))
    return [unwrapped(message) for message in listed]


def _facts(
    fields: dict[str, Any], metadata: dict[str, Any], parameters: dict[str, Any], reply: list[Any]
) -> tuple[tuple[str, Any], ...]:
    told = [mapping(said).get("usage_metadata") for said in (*reply[:1], fields.get("outputs"))]
    tokens = tokens_in({**mapping(next(filter(None, told), None)), **fields})
    return tuple(known(model=metadata.get("ls_model_name"), tokens=tokens, tools=tools(parameters.get("tools"))))


_COUNTS = Counts(
    spans=Spans(tools=(("run_type", ("tool",)),), names=("name",), results=("outputs",), replies=("outputs",),
                models=(("run_type", ("llm", "chat_model")),))
)  # fmt: skip

READER = Reader("langsmith", "runs of LangSmith", sniff, read, unit="runs", counts=_COUNTS)

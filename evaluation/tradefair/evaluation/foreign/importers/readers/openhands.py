"""`openhands`: events of OpenHands, a list or a line each: actions with their observations, in both of its forms.

The first form names what was done in `action` and answers it in `observation`, by `cause`; the later one has events of
a `kind`, and ids of calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import ANSWERS, CALLS, Counts, Head, Item, Reader, Seen, Source
from tradefair.evaluation.foreign.interchange.messages import At
from tradefair.evaluation.foreign.interchange.shapes import first, parsed, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_SPOKEN = ("message", "system")
_STATES = ("change_agent_state", "agent_state_changed", "null", "recall", "condensation", "pause", "resume")
_KINDS = (
    "ActionEvent",
    "ObservationEvent",
    "MessageEvent",
    "AgentErrorEvent",
    "SystemPromptEvent",
    "UserRejectObservation",
)
_ROLES = {"user": "user", "agent": "assistant"}


def sniff(head: Head) -> int:
    """Sure of an event with its source that acts or was observed."""
    fields = head.first("history")
    if fields.get("kind") in _KINDS and "source" in fields:
        return 95
    acts = "source" in fields and "id" in fields and ("action" in fields or "observation" in fields)
    return 95 if acts and ("args" in fields or "extras" in fields or "cause" in fields) else 0


def read(source: Source) -> Iterator[Item]:
    """The run of the file, or of each line that holds a history."""
    told, stem = Transcript(), source.stem
    for line, _, value in source.records("item", "history.item", lines=source.head.lines and not source.head.listed):
        history = sequence(mapping(value).get("history")) if line else []
        run = told.named(text(mapping(value).get("instance_id")) or f"line-{line}") if history else stem
        for event in history or [value]:
            yield from told.used(_event(told, mapping(event), At(run, line=line)))
    yield told.total()


def _event(told: Transcript, event: dict[str, Any], at: At) -> Iterator[Item]:
    """One event of either form."""
    if event.get("kind") in _KINDS:
        return _later(told, event, text(event["kind"]), at)
    return _first(told, event, at)


def _first(told: Transcript, event: dict[str, Any], at: At) -> Iterator[Item]:
    action, seen, key = text(event.get("action")), text(event.get("observation")), text(event.get("id"))
    args = mapping(event.get("args"))
    named = mapping(event.get("tool_call_metadata"))
    if action in _STATES or (seen in _STATES and not action):
        yield from told.left(f"events {action or seen}")
    elif action in _SPOKEN:
        role = "system" if action == "system" else _ROLES.get(text(event.get("source")), "system")
        yield from told.said({**event, "role": role, "content": first(args, "content") or event.get("message")}, at)
    elif action:
        tool = (
            text(named.get("function_name")) or (text(args.get("name")) if action == "call_tool_mcp" else "") or action
        )
        given = mapping(args.get("arguments")) if action == "call_tool_mcp" else args
        thought = text(given.pop("thought", "")) if (given := dict(given)) else ""
        if thought:
            yield from told.said({**event, "role": "assistant", "content": thought}, at)
        yield from told.call(event, key, tool, given, at)
        if action == "finish":
            # Nothing is observed after it.
            yield from told.answer(event, key, None, None, at)
    elif seen:
        failed = seen == "error" or mapping(event.get("extras")).get("success") is False
        yield from told.answer(event, text(event.get("cause")), event.get("content"), failed or None, at)
    else:
        yield at.odd("action", "an event that neither acts nor was observed")


def _later(told: Transcript, event: dict[str, Any], kind: str, at: At) -> Iterator[Item]:
    key = text(event.get("tool_call_id"))
    if kind == "ActionEvent":
        thoughts = [{**mapping(part), "type": "text"} for part in sequence(event.get("thought"))]
        if thoughts:
            yield from told.said({**event, "role": "assistant", "content": thoughts}, at)
        function = mapping(mapping(event.get("tool_call")).get("function")) or mapping(event.get("tool_call"))
        given = parsed(function.get("arguments")) or mapping(event.get("action"))
        yield from told.call(event, key, text(event.get("tool_name")), given, at)
    elif kind in ("MessageEvent", "SystemPromptEvent"):
        part = mapping(event.get("system_prompt"))
        message = mapping(event.get("llm_message")) or {"role": "system", "content": [part]}
        yield from told.said({"timestamp": event.get("timestamp"), **message}, at)
    else:
        seen = mapping(event.get("observation"))
        failed = kind in ("AgentErrorEvent", "UserRejectObservation") or seen.get("is_error") is True
        result = event.get("error") or event.get("rejection_reason") or first(seen, "content", "output") or seen
        yield from told.answer(event, key, result, failed or None, at)


def _seen(fields: dict[str, Any]) -> list[Seen] | None:
    """The call or the answer of an event of either form."""
    if fields.get("kind") in _KINDS:
        acts, seen = fields["kind"] == "ActionEvent", fields["kind"] in ("ObservationEvent", *_KINDS[3:4], *_KINDS[5:])
        return [Seen(CALLS, text(fields.get("tool_name")))] if acts else [Seen(ANSWERS, "")] if seen else []
    if "source" not in fields:
        return None
    acts = fields.get("action") and fields["action"] not in (*_STATES, *_SPOKEN)
    seen = fields.get("observation") and fields["observation"] not in _STATES
    return [Seen(CALLS, "")] if acts else [Seen(ANSWERS, "")] if seen else []


READER = Reader("openhands", "events of OpenHands", sniff, read, unit="events", counts=Counts(seen=_seen))

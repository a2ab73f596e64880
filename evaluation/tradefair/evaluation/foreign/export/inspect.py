"""An episode as a log of Inspect (`EvalLog`, version 2, JSON): one sample per seat, its messages and tool calls.

No scores: what a market makes of an episode is no score of a task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tradefair.contract import SeatId
from tradefair.evaluation.foreign.export.openai_messages import answer_message, turn_messages
from tradefair.evaluation.foreign.export.turns import Called, Talk, filled, talks_of
from tradefair.evaluation.foreign.interchange.own import KEY
from tradefair.evaluation.foreign.interchange.shapes import parsed
from tradefair.evaluation.read.objects import mapping
from tradefair.evaluation.store.source import OddTrace
from tradefair.tracestore import Trace

# A log has to say when it was made, and the same trace always gives the same bytes.
_NO_TIME = "1970-01-01T00:00:00+00:00"


def inspect_lines(trace: Trace, seat: SeatId | None, odd: OddTrace) -> Iterator[bytes]:
    """The lines of one document, a sample a line. Raises SeatError for an unknown seat, TraceError."""
    talks = list(talks_of(trace, seat, odd))
    core, about = talks[0].source.core, trace.manifest.about
    created = str(about.get("created") or _NO_TIME) if seat is None else _NO_TIME
    name = str(core.scenario.get("id", core.market))
    spec = {"created": created, "task": name, "dataset": {"name": core.market}, "model": "none/none", "config": {}}
    head = orjson.dumps({"version": 2, "status": "success", "eval": spec, "plan": {}})
    yield head[:-1] + b',"samples":['
    for number, talk in enumerate(talks):
        yield (b"," if number else b"") + orjson.dumps(_sample(talk))
    yield b"]}"


def _sample(talk: Talk) -> dict[str, Any]:
    """One seat. What Inspect's messages have no place for lies in their metadata."""
    messages: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    for turn in talk.turns:
        first, *_ = turn_messages(turn)
        messages.append(_message(first))
        for call in turn.calls:
            events.append(_event(call))
            if call.answer is not None:
                messages.append(_message({**answer_message(call), "function": call.tool}))
    about = {"seat": talk.seat.id, "role": talk.seat.role, "label": talk.seat.label, **talk.about}
    head = {"id": talk.id, "epoch": 1, "input": "", "target": ""}
    return {**head, "messages": messages, "events": events, "metadata": {KEY: about}}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """A chat message as Inspect has it: calls are objects, reasoning is a part of the content."""
    kept = {
        name: value for name, value in message.items() if name not in (KEY, "reasoning_content", "name", "tool_calls")
    }
    content, reason = message.get("content") or "", message.get("reasoning_content")
    if reason:
        texts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
        content = [{"type": "reasoning", "reasoning": reason}, *texts]
    called = [(entry["id"], entry["function"]) for entry in message.get("tool_calls", ())]
    entries = [
        {"id": key, "function": made["name"], "arguments": mapping(parsed(made["arguments"])), "type": "function"}
        for key, made in called
    ]
    extra = {**message.get(KEY, {}), **({"name": message["name"]} if "name" in message else {})}
    optional = {"tool_calls": entries, "metadata": filled({KEY: extra})}
    return {**kept, "content": content, **filled(optional)}


def _event(call: Called) -> dict[str, Any]:
    event: dict[str, Any] = {"event": "tool", "id": call.key, "function": call.tool, "arguments": call.arguments}
    result = {"result": call.answer} if call.answer is not None else {"pending": True}
    times = {"timestamp": call.at, "completed": call.at} if call.at else {"timestamp": _NO_TIME}
    return {**event, **result, **times, "metadata": {KEY: call.extra}}

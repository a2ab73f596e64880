"""A seat's episode as a trajectory of the Agent Trajectory Interchange Format (ATIF), version 1.8: a line per seat.

A step is a turn: what was said, the calls of it, and what was observed. Sub-agents of a foreign run are embedded in the
trajectory of its first agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from tradefair.contract import SeatId
from tradefair.evaluation.foreign.export.turns import Talk, Turn, filled, talks_of
from tradefair.evaluation.foreign.interchange.own import KEY
from tradefair.evaluation.store.source import OddTrace
from tradefair.tracestore import Trace

VERSION = "ATIF-v1.8"
_SOURCES = {"assistant": "agent"}


def atif_lines(trace: Trace, seat: SeatId | None, odd: OddTrace) -> Iterator[bytes]:
    """A trajectory a line, for `seat` or for every seat. Raises SeatError for an unknown seat, TraceError."""
    talks = list(talks_of(trace, seat, odd))
    below = [talk for talk in talks if talk.seat.role == "subagent"]
    roots = [talk for talk in talks if talk not in below] or talks
    for talk in roots:
        document = _trajectory(talk)
        inner = below if talk is roots[0] and below != talks else []
        embedded = [made for made in map(_trajectory, inner) if made["steps"]]
        if not document["steps"]:
            odd(0, f"{talk.seat.id[:80]} said and did nothing: a trajectory has steps")
            continue
        yield orjson.dumps({**document, **filled({"subagent_trajectories": embedded})})


def _trajectory(talk: Talk) -> dict[str, Any]:
    """One seat's trajectory. Its session is the seat's own, since rounds of several seats do not follow each other."""
    agent = {"name": talk.seat.label or talk.seat.id, "version": talk.source.core.rules_version}
    extra = {"seat": talk.seat.id, "role": talk.seat.role, "label": agent["name"], "market": talk.source.core.market}
    extra |= {"passed": talk.about["passed"]} if "passed" in talk.about else {}
    return {
        "schema_version": VERSION,
        "session_id": talk.id,
        "trajectory_id": talk.seat.id,
        "agent": {**agent, **filled({"tool_definitions": talk.about.get("tools")})},
        "extra": {KEY: extra},
        "steps": [_step(number, turn) for number, turn in enumerate(talk.turns, 1)],
    }


def _step(number: int, turn: Turn) -> dict[str, Any]:
    observed = [
        {"source_call_id": call.key, "content": call.answer, "extra": {KEY: call.answered}}
        for call in turn.calls
        if call.answer is not None
    ]
    extra = turn.extra | filled({"name": turn.name, "calls": {call.key: call.extra for call in turn.calls}})
    reason = turn.text("reasoning") if turn.role == "assistant" and not turn.odd else ""
    at = turn.at or next((call.at for call in turn.calls if call.at), None)
    optional: dict[str, Any] = {
        "timestamp": at,
        "model_name": turn.reply.model if turn.reply else None,
        "reasoning_content": reason,
        "tool_calls": [
            {"tool_call_id": call.key, "function_name": call.tool, "arguments": call.arguments} for call in turn.calls
        ],
        "observation": filled({"results": observed}),
        "metrics": _metrics(turn),
        "extra": filled({KEY: extra}),
    }
    source = _SOURCES.get(turn.role, turn.role)
    step: dict[str, Any] = {"step_id": number, "source": source, "message": turn.text()}
    return {**step, **filled(optional)}


def _metrics(turn: Turn) -> dict[str, int]:
    if turn.reply is None:
        return {}
    counted = {"prompt_tokens": turn.reply.input_tokens, "completion_tokens": turn.reply.output_tokens}
    return {name: count for name, count in counted.items() if count is not None}

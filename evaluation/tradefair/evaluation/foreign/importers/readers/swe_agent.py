"""`swe-agent`: trajectories of SWE-agent (`.traj`) and of mini-SWE-agent, one a document.

Of SWE-agent the steps of `trajectory` are read: each holds what was thought, done and seen. Of mini-SWE-agent the
messages are; commands stand in `extra.actions`, in calls, or in a block of the text, and the next message answers them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import ANSWERS, CALLS, Call, Counts, Head, Item, Reader, Seen, Source
from tradefair.evaluation.foreign.interchange.messages import At, facts
from tradefair.evaluation.foreign.interchange.shapes import first, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_BLOCK = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\n(.*?)\n?```", re.DOTALL)


def sniff(head: Head) -> int:
    """Sure of a trajectory of actions and observations, or of the later program's own name of its form."""
    fields = mapping(head.value)
    # The name of the form stands at the end, which a head may not show.
    counted = {"info", "messages"} <= {*head.keys, *fields} and b'"model_stats"' in head.raw
    if counted or text(fields.get("trajectory_format")).startswith("mini-swe-agent"):
        return 96
    step = mapping((sequence(fields.get("trajectory")) or [None])[0])
    if {"action", "observation"} <= step.keys():
        return 95
    return 90 if "trajectory" in head.keys and b'"observation"' in head.raw and b'"action"' in head.raw else 0


def read(source: Source) -> Iterator[Item]:
    """The run of each document."""
    told, stem = Transcript(), source.name.rpartition("/")[2].rpartition(".")[0] or source.name
    run, document, open_calls = stem, 0, list[str]()
    for place, value in source.elements("trajectory.item", "messages.item", "info"):
        if source.document != document:
            document, open_calls = source.document, []
            run = told.named(stem)
        at = At(run, place=place.removesuffix(".item"))
        if place == "info":
            info = mapping(value)
            cost = first(mapping(info.get("model_stats")), "instance_cost", "total_cost")
            yield from facts(at, usd=cost, passed=info.get("resolved"))
        elif place == "trajectory.item":
            yield from told.used(_step(told, mapping(value), at))
        else:
            yield from told.used(_message(told, mapping(value), open_calls, at))
    yield told.total()


def _step(told: Transcript, step: dict[str, Any], at: At) -> Iterator[Item]:
    """What was thought, done and seen. A step without an action was no call."""
    thought = text(step.get("thought")) or text(step.get("response"))
    if thought:
        yield from told.said({"role": "assistant", "content": thought}, at)
    action = text(step.get("action")).strip()
    if action:
        key = f"step-{told.records}"
        yield from told.call(step, key, action.split()[0][:60], {"command": action}, at)
        if step.get("observation") is not None:
            yield from told.answer(step, key, step["observation"], None, at)


def _message(told: Transcript, message: dict[str, Any], waiting: list[str], at: At) -> Iterator[Item]:
    role, extra = text(message.get("role")), mapping(message.get("extra"))
    if role in ("user", "tool") and waiting:
        raw = first(extra, "raw_output")
        result = {"output": raw, "returncode": extra.get("returncode")} if raw is not None else message.get("content")
        yield from told.answer(extra, waiting.pop(0), result, None, at)
        return
    items = list(told.said(message, at))
    yield from items
    if role != "assistant":
        return
    waiting[:] = [item.key for item in items if isinstance(item, Call)]
    if not waiting:
        actions = [mapping(action).get("command", action) for action in sequence(extra.get("actions"))]
        actions = actions or _BLOCK.findall(text(message.get("content")))
        for number, command in enumerate(actions):
            waiting.append(f"message-{told.records}.{number}")
            yield from told.call(extra, waiting[-1], "bash", {"command": command}, at)


def _seen(fields: dict[str, Any]) -> list[Seen] | None:
    """The calls of a step; of a message those of its commands, where it has none in the shape of calls."""
    if "action" in fields:
        seen = [Seen(ANSWERS, "")] if fields.get("observation") is not None else []
        return [Seen(CALLS, ""), *seen] if text(fields["action"]).strip() else []
    actions = sequence(mapping(fields.get("extra")).get("actions"))
    if "role" not in fields or fields.get("tool_calls"):
        return None
    commands = len(actions) or len(_BLOCK.findall(text(fields.get("content"))))
    return [Seen(CALLS, "bash", number=commands)] if fields["role"] == "assistant" and commands else None


_COUNTS = Counts(skip=frozenset({"extra"}), seen=_seen)

READER = Reader("swe-agent", "trajectories of SWE-agent and mini-SWE-agent", sniff, read, unit="steps", counts=_COUNTS)

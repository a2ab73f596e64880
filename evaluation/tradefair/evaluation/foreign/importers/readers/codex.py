"""`codex`: rollouts of Codex CLI, a session a file, and the events that `codex exec --json` prints.

Items of responses stand in `payload`, those of `exec` in `item`. What the program shows (`event_msg`) repeats them and
is left out; only what a turn cost stands nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import Counts, Fact, Head, Item, Odd, Reader, Source
from tradefair.evaluation.foreign.interchange.messages import At, used
from tradefair.evaluation.foreign.interchange.shapes import first, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping

_ROLLOUT = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_EXEC = ("thread.started", "turn.started", "turn.completed", "turn.failed")
_SPOKEN = {"agent_message": "text", "reasoning": "reasoning", "error": "text"}
_CALLS = {
    "command_execution": ("command",),
    "mcp_tool_call": ("arguments",),
    "file_change": ("changes",),
    "web_search": ("query",),
    "collab_tool_call": ("prompt",),
    "todo_list": ("items",),
}
"""Items of `exec` that call something, and what they were given."""

_ANSWERS = ("result", "aggregated_output", "exit_code", "changes")


def sniff(head: Head) -> int:
    """Sure of a record's type next to its payload, or of a thread's events."""
    fields = mapping(head.value)
    kind = text(fields.get("type"))
    if kind in _ROLLOUT and isinstance(fields.get("payload"), dict):
        return 95
    return 95 if kind in _EXEC or (kind.startswith("item.") and isinstance(fields.get("item"), dict)) else 0


def read(source: Source) -> Iterator[Item]:
    """The one run of a file."""
    log = _Log(source.stem)
    for line, value in source.lines():
        yield from log.line(mapping(value), line)
    yield log.total()


class _Log(Transcript):
    def __init__(self, stem: str) -> None:
        super().__init__()
        self._run = stem
        self._begun: set[str] = set()

    def line(self, fields: dict[str, Any], line: int) -> Iterator[Item]:
        """One record."""
        kind, payload = text(fields.get("type")), mapping(fields.get("payload"))
        at = At(self._run, line=line, place=kind)
        if kind in ("session_meta", "thread.started"):
            self._run = text(first({**payload, **fields}, "thread_id", "id")) or self._run
            label = f"codex {text(payload.get('cli_version'))}".strip()
            yield from self.used([Fact(self._run, "", "agent", label)])
        elif kind == "turn_context":
            yield from self.used(used({"model": payload.get("model")}, at))
        elif kind == "response_item":
            yield from self.message({"timestamp": fields.get("timestamp"), **payload}, at)
        elif kind == "event_msg":
            info = mapping(mapping(payload.get("info")).get("last_token_usage"))
            left = f"events {text(payload.get('type'))}"
            yield from self.used(used({"usage": info}, at)) if info else self.leave(left)
        elif kind.startswith("item.") and "item" in fields:
            yield from self._item(mapping(fields["item"]), kind, at)
        elif kind in _EXEC:
            yield from self.used(used(fields, at))
        elif kind == "error" or kind in _ROLLOUT:
            yield from self.leave(f"records {kind}")
        else:
            yield from self.refuse(Odd(line, "type", f"a record of an unknown type {kind[:40]!r}"))

    def _item(self, item: dict[str, Any], event: str, at: At) -> Iterator[Item]:
        """What `exec` prints of one item, when it begins, changes and is complete."""
        kind, key = text(item.get("type")), text(item.get("id"))
        done = event == "item.completed"
        if kind in _SPOKEN and done:
            part = {"type": _SPOKEN[kind], "text": text(first(item, "text", "message"))}
            yield from self.message({"role": "assistant", "content": [part]}, at)
        elif kind in _CALLS:
            yield from self.used(self._called(item, kind, key, at, done=done))
        elif kind in _SPOKEN or event == "item.updated":
            yield from self.leave(f"items that {event.removeprefix('item.')}")
        else:
            yield from self.refuse(Odd(at.line, "item.type", f"an item of an unknown type {kind[:40]!r}"))

    def _called(self, item: dict[str, Any], kind: str, key: str, at: At, *, done: bool) -> Iterator[Item]:
        if key not in self._begun:
            self._begun.add(key)
            given = {name: item[name] for name in _CALLS[kind] if name in item}
            arguments = item.get("arguments") if kind == "mcp_tool_call" else given
            yield from self.call(item, key, text(item.get("tool")) or kind, arguments, at)
        if done:
            failed = item.get("status") in ("failed", "declined") or bool(item.get("error"))
            result = {name: item[name] for name in _ANSWERS if item.get(name) is not None}
            whole = item["result"] if item.get("result") is not None else result
            yield from self.answer(item, key, whole, item.get("error") or failed, at)


_COUNTS = Counts(
    once=(), calls=(("type", tuple(_CALLS)),), silent=(("type", ("event_msg", "turn_context", "compacted")),)
)

READER = Reader("codex", "rollouts of Codex CLI, and what `codex exec --json` prints", sniff, read, counts=_COUNTS)

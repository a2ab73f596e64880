"""`gemini-cli`: chats of Gemini CLI, a session a document, or a line a message; calls hold their answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import Counts, Head, Item, Odd, Reader, Source
from tradefair.evaluation.foreign.interchange.messages import At, used
from tradefair.evaluation.foreign.interchange.shapes import first, parsed, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_ROLES = {"user": "user", "gemini": "assistant", "info": "system", "error": "system", "warning": "system"}
_FAILED = ("error", "cancelled")


def sniff(head: Head) -> int:
    """Sure of a session of a project, whose messages are of these types."""
    keys = set(head.keys)
    if "sessionId" in keys and "projectHash" in keys:
        return 96
    return 90 if "sessionId" in keys and b'"gemini"' in head.raw and b'"toolCalls"' in head.raw else 0


def read(source: Source) -> Iterator[Item]:
    """The run of each document, or of the lines."""
    chat = _Chat(source.stem)
    if source.head.lines and "messages" not in mapping(source.head.value):
        for line, value in source.lines():
            yield from chat.line(mapping(value), line)
    else:
        document = 0
        for place, value in source.elements("sessionId", "messages.item"):
            if source.document != document or place == "sessionId":
                document = source.document
                chat.run = text(value) if place == "sessionId" else chat.run
            if place != "sessionId":
                yield from chat.spoken(mapping(value), At(chat.run))
    yield chat.total()


class _Chat(Transcript):
    def __init__(self, stem: str) -> None:
        super().__init__()
        self.run = stem
        self._met: set[tuple[str, str]] = set()

    def line(self, fields: dict[str, Any], line: int) -> Iterator[Item]:
        """A line of the later form: what the session is, a message, or a change of either."""
        if "sessionId" in fields:
            self.run = text(fields["sessionId"]) or self.run
        if "type" in fields:
            yield from self.spoken(fields, At(self.run, line=line))
        elif "sessionId" in fields or any(name.startswith("$") for name in fields):
            yield from self.leave("lines about the session")
        else:
            yield from self.refuse(Odd(line, "type", "a line of no type"))

    def spoken(self, fields: dict[str, Any], at: At) -> Iterator[Item]:
        """One message, and the calls that it holds."""
        role, own = _ROLES.get(text(fields.get("type"))), text(fields.get("id"))
        if role is None:
            yield from self.refuse(at.odd("type", f"a message of an unknown type {text(fields.get('type'))!r}"))
            return
        yield from self.used(self._items(fields, role, own, at))

    def _items(self, fields: dict[str, Any], role: str, own: str, at: At) -> Iterator[Item]:
        if not self._repeated(own, ""):
            thoughts = [mapping(thought) for thought in sequence(fields.get("thoughts"))]
            reasons = [f"{text(thought.get('subject'))}: {text(thought.get('description'))}" for thought in thoughts]
            content: list[Any] = [{"type": "reasoning", "text": reason} for reason in reasons]
            content += sequence(fields.get("content")) or [fields.get("content") or ""]
            spoken = {"role": role, "content": content, "timestamp": fields.get("timestamp")}
            yield from self.said(spoken, at)
            counted = mapping(fields.get("tokens"))
            usage = {"input_tokens": counted.get("input"), "output_tokens": counted.get("output")}
            yield from used({"model": fields.get("model"), "usage": usage if counted else None}, at)
        for number, call in enumerate(map(mapping, sequence(fields.get("toolCalls")))):
            key, failed = text(call.get("id")) or f"{own} {number}", call.get("status") in _FAILED
            if not self._repeated(own, f"call {key}"):
                yield from self.call(call, key, text(call.get("name")), call.get("args"), at)
            result = call.get("result") or call.get("resultDisplay")
            if (result is not None or failed) and not self._repeated(own, f"answer {key}"):
                yield from self.answer(call, key, _given(result), failed, at)

    def _repeated(self, own: str, what: str) -> bool:
        """Whether a message, or a call or answer of it, was told before: the later form writes what grows again."""
        met = (own, what) in self._met
        if own:
            self._met.add((own, what))
        return met


def _given(result: Any) -> Any:
    """What a tool gave, without the parts of the protocol around it."""
    held = [mapping(mapping(part).get("functionResponse")).get("response") for part in sequence(parsed(result))]
    found = next((part for part in held if part is not None), result)
    return first(mapping(found), "output", "error") or found


READER = Reader("gemini-cli", "chats of Gemini CLI", sniff, read, unit="messages", counts=Counts(once=("id",)))

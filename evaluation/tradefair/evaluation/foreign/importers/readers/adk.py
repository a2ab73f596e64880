"""`adk`: sessions of Google's Agent Development Kit: events of authors, whose parts say, call and answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import Counts, Fact, Head, Item, Reader, Source
from tradefair.evaluation.foreign.interchange.messages import At, used
from tradefair.evaluation.foreign.interchange.shapes import first, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_APP, _INVOCATION = ("appName", "app_name"), ("invocationId", "invocation_id")


def sniff(head: Head) -> int:
    """Sure of events of an application, or of an event with its author and invocation."""
    keys = {*head.keys}
    return 95 if ("events" in keys and keys & {*_APP}) or ("author" in head.first() and keys & {*_INVOCATION}) else 0


def read(source: Source) -> Iterator[Item]:
    """The run of each session."""
    told, stem = Transcript(), source.stem
    for line, place, value in source.records("events.item", "item", lines=source.head.lines):
        fields = mapping(value)
        session = place != "events.item" and "events" in fields
        run = text(fields.get("id") if session else None) or text(source.fields().get("id"))
        run = told.named(run or f"line-{line}") if session and line else run or stem
        for event in (sequence(fields["events"]) if session else []) or [value]:
            yield from told.used(_event(told, mapping(event), At(run, line=line)))
    yield told.total()


def _event(told: Transcript, event: dict[str, Any], at: At) -> Iterator[Item]:
    """One event; each author but the user is a seat, and pieces of a stream repeat what comes whole."""
    author, content = text(event.get("author")), mapping(event.get("content"))
    if event.get("partial") is True:
        yield from told.left("partial events")
        return
    if author and author != "user":
        at = at._replace(seat=author)
        yield Fact(at.run, author, "agent", author)
    role = "user" if author == "user" else "assistant"
    if content.get("parts"):
        yield from told.said({"role": role, "content": content["parts"], "timestamp": event.get("timestamp")}, at)
    counted = mapping(first(event, "usageMetadata", "usage_metadata"))
    usage = {"input_tokens": first(counted, "promptTokenCount", "prompt_token_count"),
             "output_tokens": first(counted, "candidatesTokenCount", "candidates_token_count")}  # fmt: skip
    yield from used({"usage": usage if counted else None}, at)
    if not content and not counted:
        yield from told.left("events without content")


_COUNTS = Counts(silent=(("partial", (True,)),))

READER = Reader("adk", "sessions of Google's Agent Development Kit", sniff, read, unit="events", counts=_COUNTS)

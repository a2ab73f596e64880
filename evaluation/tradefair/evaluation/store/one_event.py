"""One event in full, and what stood around it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tradefair.contract.errors import ScenarioError
from tradefair.contract.kernel.players import PERSON
from tradefair.evaluation.store.replies import Replies
from tradefair.evaluation.store.source import OddTrace, Source, Timing
from tradefair.tracestore import open_trace


def show_event(path: Path, seq: int, odd: OddTrace) -> dict[str, Any]:
    """An event in full, and around it: what became public since its seat last called, what its model said, when.

    Raises ScenarioError when there is no such event, TraceError when the file is no trace.
    """
    with open_trace(path) as trace:
        # One pass from the beginning: what was public before the event, and which reply made it, depend
        # on what came before.
        source = Source.whole(trace, odd)
        told: dict[str, list[int]] = {}
        replies: dict[str, Replies] = {}
        for number, event in source.events():
            seat, tag = event.get("seat"), event.get("event")
            if number == seq:
                return {
                    "event": dict(event),
                    "beside": _beside(source.timings.get(seq, Timing())),
                    "public_since_its_last_call": told.get(str(seat), []) if tag == "tool_called" else [],
                    "said_with_it": _said(source, replies, number, event) if tag == "tool_called" else None,
                }
            if tag == "tool_called":
                # A call ends what is new to its seat; what became public afterwards is collected again.
                told[str(seat)] = []
                _said(source, replies, number, event)
            elif event.get("public") is not None:
                for known in source.seats:
                    told.setdefault(known.id, []).append(number)
    raise ScenarioError(f"there is no event {seq} that can be read")


def _said(source: Source, replies: dict[str, Replies], seq: int, event: Mapping[str, Any]) -> dict[str, Any] | None:
    """The model reply that begins with this call, as far as notes tell; inner calls of programs have none."""
    seat = str(event.get("seat"))
    # A program or a person made the call, no reply named it: matching it would shift every later match.
    if event.get("parent") or source.timings.get(seq, Timing()).by == PERSON:
        return None
    if seat not in replies:
        replies[seat] = Replies.of(note for note in source.notes() if note["seat"] == seat)
    begins = replies[seat].take(str(event.get("tool"))).begins
    return None if begins is None else begins._asdict()


def _beside(timing: Timing) -> dict[str, Any]:
    return {name: value for name, value in timing._asdict().items() if value not in (None, "")}

"""What happened in an episode, line by line, as a reader of its trace may show it to a model. Never raises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from tradefair.contract import SeatId
from tradefair.evaluation.analyst.fence import line_of
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.reading import read_trace
from tradefair.tracestore import Trace

MAX_TEXT = 4_000
"""Characters of one text that are shown; a longer one is cut and says so."""

# Characters of one event: the arguments of a call may have 64 KiB.
_MAX_LINE = 6_000
_CUT = " […cut]"


class Message(NamedTuple):
    """Something that a seat said; `number` counts the episode's messages from 1. Silence is no message."""

    number: int
    seq: int
    round: int | None
    seat: SeatId
    role: str
    to: tuple[str, ...]
    text: str

    def line(self) -> str:
        """As a model reads it; without `to` where the trace does not tell who got it."""
        to = {"to": list(self.to)} if self.to else {}
        shown = {"message": self.number, "round": self.round, "from": self.seat, "role": self.role, **to}
        return line_of({**shown, "text": _cut(self.text, MAX_TEXT)})


class Line(NamedTuple):
    """One event as it is shown: what a seat did or what became public."""

    seq: int
    content: Mapping[str, Any]

    def line(self, episode: str) -> str:
        """As a model reads it, under the name by which it cites the event."""
        text = line_of({"at": f"{episode}:{self.seq}", **self.content})
        return text if len(text) <= _MAX_LINE else line_of({"at": f"{episode}:{self.seq}", "too_long": text[:MAX_TEXT]})


@dataclass
class Transcript:
    """An episode's messages and events. `problems` say what of the trace could not be read."""

    market: str = ""
    scenario: str = ""
    roles: dict[SeatId, str] = field(default_factory=dict[SeatId, str])
    messages: list[Message] = field(default_factory=list[Message])
    lines: list[Line] = field(default_factory=list[Line])
    problems: list[str] = field(default_factory=list[str])


def read_transcript(trace: Trace) -> Transcript:
    """Messages and visible events of an opened trace. Calls that only looked, and hidden facts, are left out."""
    found = Transcript()
    spoken: Mapping[str, str] = {}

    def take(seq: int, event: dict[str, Any]) -> None:
        _take(found, spoken, seq, event)

    spoken = _spoken(trace, found)
    reading = read_trace(trace, lambda core: take)
    if reading.core is not None:
        found.market, found.scenario = reading.core.market, str(reading.core.scenario.get("id", ""))
        found.roles = {seat.id: seat.role for seat in reading.core.seats}
    found.problems += [finding.message for finding in reading.findings]
    # Roles are known only after the manifest was read, at the end of the pass.
    found.messages = [message._replace(role=found.roles.get(message.seat, "")) for message in found.messages]
    return found


def within(lines: Iterable[str], characters: int) -> list[str]:
    """The lines, or as many of the first and the last ones as fit, with a line that says how many are missing.

    `characters` bounds the lines together; half is for the beginning, half
    for the end.
    """
    listed = list(lines)
    if sum(map(len, listed)) <= characters:
        return listed
    head = _fitting(listed, characters // 2)
    # Of the lines after the head only: a line must never be shown twice.
    tail = _fitting(listed[head:][::-1], characters - characters // 2)
    missing = len(listed) - head - tail
    return [*listed[:head], line_of({"left_out": missing}), *listed[len(listed) - tail :]]


def _fitting(lines: Sequence[str], characters: int) -> int:
    """How many of the first lines fit."""
    count = used = 0
    for line in lines:
        used += len(line)
        if used > characters:
            break
        count += 1
    return count


def _spoken(trace: Trace, found: Transcript) -> Mapping[str, str]:
    """By tool, the argument that others get to read, as the market's evaluator says."""
    try:
        return evaluator_of(trace.manifest.core.market).insight(trace).messages
    except Exception as fault:
        # A stranger's evaluator, or a trace that no rules have made: then there are no words, and it is said.
        found.problems.append(f"which tools speak cannot be told: {fault!r}"[:300])
        return {}


def _take(found: Transcript, spoken: Mapping[str, str], seq: int, event: dict[str, Any]) -> None:
    match event["event"]:
        case "tool_called" if event["kind"] == "action":
            # Refused actions are shown too: what a seat tried says something about it.
            found.lines.append(Line(seq, dict(_action(event))))
            if event["status"] == "ok" and event["tool"] in spoken:
                _hear(found, event["arguments"].get(spoken[event["tool"]]), seq, event)
        case "seat_lapsed":
            told = {name: event[name] for name in ("round", "seat", "reason", "default_action")}
            found.lines.append(Line(seq, {"lapsed": told.pop("seat"), **told}))
        case "round_closed":
            found.lines.append(Line(seq, {"round": event["round"], "public": event["public"]}))
        case "episode_ended":
            found.lines.append(Line(seq, {"ended": event["reason"]}))
        case _:
            pass


def _action(event: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The fields of an action as they are shown: round, seat, tool, arguments, and why it was refused."""
    yield from (("round", event["round"]), ("seat", event["seat"]), ("did", event["tool"]))
    yield "arguments", _bounded(event["arguments"])
    if event["status"] != "ok":
        error = event.get("error")
        code: object = cast("Mapping[str, Any]", error).get("code") if isinstance(error, dict) else None
        yield "refused", code if isinstance(code, str) else event["status"]


def _hear(found: Transcript, text: object, seq: int, event: Mapping[str, Any]) -> None:
    """Keep a message; silence and what is no text are none."""
    if not isinstance(text, str) or not text.strip():
        return
    number, seat, rounds = len(found.messages) + 1, str(event["seat"]), event["round"]
    told_round = rounds if isinstance(rounds, int) else None
    found.messages.append(Message(number, seq, told_round, seat, "", _receivers(event), text))


def _receivers(event: Mapping[str, Any]) -> tuple[str, ...]:
    """The seats that the market says it delivered the message to; empty where the trace does not tell."""
    result = event.get("result")
    to: object = cast("Mapping[str, Any]", result).get("delivered_to") if isinstance(result, dict) else None
    return tuple(str(seat)[:80] for seat in cast("list[Any]", to)) if isinstance(to, list) else ()


def _bounded(arguments: Any) -> Any:
    """Arguments with their texts cut; what is nested deeper is bounded by the length of the line."""
    if not isinstance(arguments, dict):
        return arguments
    given = cast("Mapping[str, Any]", arguments)
    return {name: _cut(value, MAX_TEXT) if isinstance(value, str) else value for name, value in given.items()}


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + _CUT

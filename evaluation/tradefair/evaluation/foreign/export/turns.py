"""What a seat said, asked for and was answered, turn by turn: what transcripts, ATIF and Inspect are written from.

A reply and the calls that it asked for are one turn, as are the messages and calls of one step of a foreign trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from tradefair.contract.foreign import FOREIGN_MARKET, NO_ANSWER
from tradefair.evaluation.foreign.interchange.own import extra_of
from tradefair.evaluation.foreign.interchange.shapes import text
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.evaluation.store.replies import Matched, Replies, Reply
from tradefair.evaluation.store.source import OddTrace, Source, SourceSeat
from tradefair.tracestore import Trace

MARKET, PROGRAM = "market", "program"
"""Who speaks where something becomes public, and who calls inside a program that the seat ran."""

_PUBLIC = ("phase_closed", "round_closed", "episode_ended", "seat_lapsed")
# A closed list as in `seat_view`: a field that a later schema adds stays out until it is named here.
_TOLD = ("event", "round", "public", "reason", "default_action")
_SPEAKERS = ("system", "user", "assistant")


class Said(NamedTuple):
    """A part of a turn: a text, reasoning, or what no transcript holds natively (`odd`), as it stands in the trace."""

    part: str
    content: Any
    odd: bool = False

    @property
    def words(self) -> str:
        """As text."""
        return self.content if isinstance(self.content, str) else as_text(self.content)


class Called(NamedTuple):
    """A call: its id in the episode, its event, and what comes back from an import only by these extras."""

    key: str
    tool: str
    arguments: Any
    event: Mapping[str, Any]
    extra: Mapping[str, Any]
    answered: Mapping[str, Any]
    at: str | None

    @property
    def answer(self) -> str | None:
        """The result or refusal as text; None where there was no answer."""
        return answer_text(self.event)


@dataclass
class Turn:
    """`role` is system, user or assistant; `extra` what no format says: number, step, part."""

    role: str
    extra: dict[str, Any]
    name: str | None = None
    at: str | None = None
    said: list[Said] = field(default_factory=list[Said])
    calls: list[Called] = field(default_factory=list[Called])
    reply: Reply | None = None

    @property
    def odd(self) -> bool:
        """Whether it is what no transcript holds natively."""
        return any(said.odd for said in self.said)

    def text(self, part: str = "text") -> str:
        """All that was said under one part."""
        return "\n".join(said.words for said in self.said if (part == "text" if said.odd else said.part == part))


class Talk(NamedTuple):
    """A seat and where its turns come from; `about` is what the source of a foreign trace said: passed, tools."""

    source: Source
    seat: SourceSeat
    id: str
    about: Mapping[str, Any]

    @property
    def turns(self) -> Iterator[Turn]:
        """The turns, in order."""
        return _turns(self.source, self.seat)


def talks_of(trace: Trace, seat: str | None, odd: OddTrace) -> Iterator[Talk]:
    """The talk of one seat or of each. Raises SeatError for a seat that the trace does not have, TraceError.

    From the seat's own view even when all seats are exported: a transcript never holds what its seat did not see. A
    foreign trace hides nothing from anybody, and keeps its times.
    """
    whole = Source.whole(trace, odd) if seat is None else Source.of_seat(trace, seat, odd)
    for known in whole.seats:
        foreign = seat is None and whole.core.market == FOREIGN_MARKET
        source = whole if foreign else Source.of_seat(trace, known.id, odd)
        name = whole.episode if len(whole.core.seats) == 1 else f"{whole.episode}-{known.id}"
        yield Talk(source, known, name, about_of(trace) if foreign else {})


def about_of(trace: Trace) -> dict[str, Any]:
    """Whether a foreign run passed, and its tools as their server listed them; nothing where neither is known."""
    about = trace.manifest.about
    passed = mapping(about.get("source")).get("passed")
    listed = [_definition(mapping(tool)) for tool in sequence(about.get("tools"))]
    return {**({"passed": passed} if isinstance(passed, bool) else {}), **filled({"tools": listed})}


def _definition(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool in the shape of chat models, as `messages.tools` reads it."""
    hints = {hint: value for hint, value in tool.items() if hint.endswith("Hint")}
    return {"type": "function", "function": {"name": text(tool.get("name")), "annotations": hints}}


def _turns(source: Source, seat: SourceSeat) -> Iterator[Turn]:
    replies = Replies.of(note for note in source.notes() if note["seat"] == seat.id)
    turn: Turn | None = None
    for seq, event in source.events():
        if event.get("seat") not in (seat.id, None):
            continue
        tag = event.get("event")
        if tag == "tool_called":
            inner = bool(event.get("parent")) and event.get("step") is None
            matched = None if inner else replies.take(str(event.get("tool")))
            if turn is None or not _asks_on(turn, event, matched):
                yield from _ended(turn)
                yield from _texts(matched.before if matched else ())
                # A policy has no replies, and its calls stand without text.
                turn = _replied(matched.begins if matched else None, PROGRAM if inner else None)
                turn.extra.update(extra_of(seq, event, "step"))
            turn.calls.append(called(source, seq, event))
        elif tag == "message":
            said = said_of(event)
            if turn is None or not _follows(turn, event, said):
                yield from _ended(turn)
                turn = Turn(role_of(event), message_extra(seq, event), event.get("name"), _at(source, seq))
            turn.said.append(said)
        # A foreign run publishes nothing: its closures only number its rounds.
        elif tag in _PUBLIC and source.core.market != FOREIGN_MARKET:
            yield from _ended(turn)
            turn = None
            yield Turn("user", {"seq": seq, "public": True}, MARKET, _at(source, seq), [Said("text", told_of(event))])
    yield from _ended(turn)
    yield from _texts(replies.rest())


def _ended(turn: Turn | None) -> Iterator[Turn]:
    if turn is not None:
        yield turn


def _texts(replies: Iterable[Reply]) -> Iterator[Turn]:
    """A turn for each reply that has text and asked for nothing."""
    return (_replied(reply) for reply in replies if reply.text)


def _same_step(turn: Turn, event: Mapping[str, Any]) -> bool:
    return event.get("step") is not None and turn.extra.get("step") == event.get("step")


def _asks_on(turn: Turn, event: Mapping[str, Any], matched: Matched | None) -> bool:
    """Whether a call belongs into the turn: one of the same step, or of the same reply."""
    return turn.role == "assistant" and (_same_step(turn, event) or bool(matched and matched.continues))


def _follows(turn: Turn, event: Mapping[str, Any], said: Said) -> bool:
    """Whether a message belongs into the turn: of the same step, before its calls. Reasoning comes first, and once."""
    if turn.calls or said.odd or turn.odd or not _same_step(turn, event):
        return False
    return (turn.role, turn.name, said.part) == (role_of(event), event.get("name"), "text")


def role_of(event: Mapping[str, Any]) -> str:
    """Who speaks, as transcripts know it: what a protocol carries stands as what a user said."""
    return str(event.get("role")) if event.get("role") in _SPEAKERS else "user"


def message_extra(seq: int, event: Mapping[str, Any]) -> dict[str, Any]:
    """What a message says that no transcript does."""
    said = said_of(event)
    extra = extra_of(seq, event, "step") | ({"public": True} if event.get("seat") is None else {})
    extra |= {"part": said.part, "content": said.content} if said.odd else {}
    return extra | ({"role": event.get("role")} if role_of(event) != event.get("role") else {})


def told_of(event: Mapping[str, Any]) -> str:
    """What became public, as text."""
    return as_text({name: event[name] for name in _TOLD if event.get(name) is not None})


def said_of(event: Mapping[str, Any]) -> Said:
    """A message as a part of a turn."""
    part, content = str(event.get("part")), event.get("content")
    native = part in ("text", "reasoning") and isinstance(content, str) and event.get("role") in _SPEAKERS
    # Only agents reason in these formats.
    native = native and (part == "text" or event.get("role") == "assistant")
    return Said(part, content, odd=not native)


def _replied(reply: Reply | None, name: str | None = None) -> Turn:
    said = [Said("text", reply.text)] if reply and reply.text else []
    return Turn("assistant", {}, name, None, said, reply=reply)


def called(source: Source, seq: int, event: Mapping[str, Any]) -> Called:
    """A call as it is exported."""
    arguments = event.get("arguments")
    extra = extra_of(seq, event, "step", "round", "kind", "parent")
    if not isinstance(arguments, dict):
        extra["arguments"] = arguments
    answered = extra_of(seq, event, "round", "status")
    at = _at(source, seq)
    return Called(str(event.get("call")), str(event.get("tool")), mapping(arguments), event, extra, answered, at)


def answer_of(event: Mapping[str, Any]) -> Any:
    """Result or error; the digest of a result that was not kept."""
    content = event.get("result") if event.get("error") is None else event.get("error")
    if content is None and event.get("result_digest"):
        # The trace keeps a digest only; an empty answer would look as if the tool had returned nothing.
        content = {"not_kept": event.get("result_digest")}
    return content


def answer_text(event: Mapping[str, Any]) -> str | None:
    """The answer as text: a text as it is, unless it would be read as JSON; None where there was none."""
    content = answer_of(event)
    if mapping(content).get("code") == NO_ANSWER["code"]:
        return None
    return content if isinstance(content, str) and not _is_json(content) else as_text(content)


def asked_text(event: Mapping[str, Any]) -> str:
    """Arguments as JSON; a text that was sent instead of an object as it is."""
    arguments = event.get("arguments")
    return arguments if isinstance(arguments, str) else as_text(arguments)


def filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value}


def as_text(value: Any) -> str:
    """A value as JSON; a sentence where it is nested too deeply."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return '"nested too deeply to be written again"'


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _at(source: Source, seq: int) -> str | None:
    """ISO 8601, where the time is known."""
    timing = source.timings.get(seq)
    if timing is None or timing.at_ms is None or timing.at_ms >= 10**13:
        return None
    return datetime.fromtimestamp(timing.at_ms / 1_000, UTC).isoformat(timespec="milliseconds")

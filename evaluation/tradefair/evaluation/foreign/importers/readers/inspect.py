"""`inspect`: logs of Inspect, `.eval` (a zip) or `.json`: a run is a sample and its epoch.

A sample's messages are its talk, in its order; its events say when, and hold what the messages lack: sub-agents, and
what a compaction took away. A call that stands in both is told once.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from tradefair.evaluation.foreign.importers.items import Answer, Call, Counts, Fact, Head, Item, Odd, Reader, Source
from tradefair.evaluation.foreign.interchange.identity import meaning
from tradefair.evaluation.foreign.interchange.messages import At, calls_or_answers, facts, tools, used, walk
from tradefair.evaluation.foreign.interchange.own import extra_in, seat_in
from tradefair.evaluation.foreign.interchange.shapes import count, first, nanoseconds, text
from tradefair.evaluation.foreign.interchange.transcript import Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_ATTACHMENT = "attachment://"
_MAX_ATTACHED = 256 << 20
_TOLD = frozenset({"model", "tool", "span_begin", "span_end"})
_SILENT = frozenset({"sandbox", "subtask", "approval", "state", "store", "score", "info", "input", "logger", "step"})
"""Events that are known to call nothing that a tool's event does not tell."""

_PASSED: dict[Any, bool] = {"C": True, "I": False, "P": False, "N": False, 1: True, 0: False}
"""Values of scores that say whether a sample was solved; partly is not solved."""


def sniff(head: Head) -> int:
    """Sure of a zip with the members that such logs have, or of a document with a specification and samples."""
    if head.raw[:4] == b"PK\x03\x04":
        known = b"_journal/" in head.raw or b"header.json" in head.raw or b"samples/" in head.raw
        return 100 if known else 40 if head.name.endswith(".eval") else 0
    keys = set(head.keys)
    return 95 if {"eval", "samples"} <= keys or {"version", "status", "eval"} <= keys else 0


def read(source: Source) -> Iterator[Item]:
    """One run for each sample; the order of the rest of a log does not matter."""
    log = _Log()
    zipped = source.head.raw[:4] == b"PK\x03\x04"
    for place, value in source.members() if zipped else source.elements("eval", "samples.item"):
        fields = mapping(value)
        if place in ("eval", "_journal/start.json", "header.json"):
            log.spec = mapping(fields.get("eval")) or fields
        elif place.startswith("samples"):
            yield from log.sample(fields, place if zipped else f"samples.{log.tally.records}")
    yield log.tally.total()


class _Heard(NamedTuple):
    """A message with the seat whose talk it belongs to, and its moment."""

    message: dict[str, Any]
    seat: str
    at_ns: int | None


class _Log:
    """What is remembered over the samples of a log: who was tried, and the tally."""

    def __init__(self) -> None:
        self.spec: dict[str, Any] = {}
        self.tally = Transcript()

    def sample(self, fields: dict[str, Any], place: str) -> Iterator[Item]:
        """One sample: facts, messages in order, then what only events tell."""
        self.tally.records += 1
        if "messages" not in fields and "events" not in fields:
            yield Odd(0, place, "a sample without messages and events")
            return
        self.tally.understood += 1
        name = f"{text(fields.get('id')) or place}_epoch_{text(fields.get('epoch')) or 1}"
        at, sample = At(self.tally.named(name), seat_in(fields), place=place), _Sample(fields)
        yield from self._facts(fields, sample, at)
        yield from (Fact(at.run, seat, "role", "subagent") for seat in sample.seats)
        for step, heard in enumerate(sample.talk(), 1):
            here = at._replace(seat=heard.seat or at.seat, step=step, at_ns=heard.at_ns)
            here = here._replace(place=f"{place}: messages.{step - 1}")
            yield from map(sample.timed, self.tally.matched(walk(heard.message, here, self.tally.left_out)))
        yield from sample.rest(at, self.tally.left_out)
        for event in sample.events:
            kind, seat = text(event.get("event")), sample.seat(event)
            if kind == "model" and seat is not None:
                yield from used(mapping(event.get("output")), at._replace(seat=seat or at.seat))
            elif kind not in _TOLD and kind not in _SILENT and calls_or_answers(event):
                yield Odd(0, place, f"an event of an unknown type {kind[:40]!r} that calls or answers")
            elif kind not in _TOLD:
                count(self.tally.left_out, f"{kind} events")

    def _facts(self, fields: dict[str, Any], sample: _Sample, at: At) -> Iterator[Item]:
        own = extra_in(fields)
        label = text(own.get("label")) or text(first(self.spec, "solver", "task")) or "agent"
        listed = next((event["tools"] for event in sample.models if event.get("tools")), own.get("tools"))
        yield from facts(at, agent=label, title=text(self.spec.get("task")), tools=tools(listed))
        values = [mapping(score).get("value") for score in mapping(fields.get("scores")).values()]
        passed = [_PASSED.get(value) for value in values if isinstance(value, str | int | float)]
        whole = all(passed) if passed and None not in passed else None
        yield from facts(at, passed=own["passed"] if isinstance(own.get("passed"), bool) else whole)


class _Sample:
    """The messages and events of one sample, told apart by who speaks."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.events = [mapping(event) for event in sequence(fields.get("events"))]
        self.models = [event for event in self.events if event.get("event") == "model"]
        self._attached = mapping(fields.get("attachments"))
        self._left = _MAX_ATTACHED
        self._pool = sequence(mapping(fields.get("events_data")).get("messages"))
        self._messages = [mapping(message) for message in sequence(fields.get("messages"))]
        self._ids = {text(message.get("id")) for message in self._messages} - {""}
        replies = [_reply(event) for event in self.models]
        self._by_id = self._share_ids(replies)
        self._known: dict[str, Counter[int]] = {}
        self._spans = {text(event.get("id")): event for event in self.events if event.get("event") == "span_begin"}
        self._tools = {text(event.get("id")): event for event in self.events if event.get("event") == "tool"}
        owners = {self._owner(event)[0] for event in self.models if self._is_main(_reply(event))}
        self._owners = owners or {self._owner(event)[0] for event in self.models[:1]}
        self.seats = {seat: None for seat in map(self.seat, self.models) if seat}
        self._reach = 0
        self._pooled = Counter[int]()
        self._carried: dict[str, deque[str]] = {}
        self._alike = self._nameless([*self._messages, *(replies if self._by_id else ())])
        self._called: set[str] = set()
        self._answered: set[str] = set()

    def _share_ids(self, replies: list[dict[str, Any]]) -> bool:
        """Whether prompts and replies name messages as the sample does; else they are the same by what they say."""
        told = (message for event in self.models for message in sequence(event.get("input")))
        return not self._ids.isdisjoint(text(mapping(held).get("id")) for held in (*told, *self._pool, *replies))

    def _nameless(self, messages: list[dict[str, Any]]) -> dict[tuple[Any, ...], deque[str]]:
        """Events of tools whose id no message has, by what they call: the same call of a message has other ids."""
        ids = {text(mapping(call).get("id")) for message in messages for call in sequence(message.get("tool_calls"))}
        alike: dict[tuple[Any, ...], deque[str]] = {}
        for key, event in self._tools.items():
            if key not in ids:
                call = Call("", "", key, text(event.get("function")), self._whole(event.get("arguments")), 0)
                alike.setdefault(meaning(call), deque()).append(key)
        return alike

    def talk(self) -> Iterator[_Heard]:
        """The messages of the sample, then those that only its model was sent or sent back."""
        replies: dict[str | int, deque[int | None]] = {}
        for event in self.models:
            replies.setdefault(self._name(_reply(event)), deque()).append(_moment(event, "completed"))
        for message in self._messages:
            moments = replies.get(self._name(message))
            yield _Heard(mapping(self._whole(message)), "", moments.popleft() if moments else None)
        for event in self.models:
            seat, said = self.seat(event), Counter[int]()
            for message, ended in [*((asked, False) for asked in self._asked(event)), (_reply(event), True)]:
                if (
                    seat is not None
                    and message
                    and self._new(message, seat, said if event.get("input") else self._pooled)
                ):
                    moment = _moment(event, "completed" if ended else "timestamp")
                    yield _Heard(mapping(self._whole(message)), seat or "", moment)

    def _new(self, message: dict[str, Any], seat: str, telling: Counter[int]) -> bool:
        """Whether a message of a prompt, or a reply, was not told: by its id, else as the so-and-so-many-th that says
        this in its telling."""
        name = text(message.get("id"))
        if name and self._by_id:
            new = name not in self._ids
            self._ids.add(name)
            return new
        known, meaning = self._known_of(seat), _meaning(message)
        telling[meaning] += 1
        if telling[meaning] <= known[meaning]:
            return False
        known[meaning] = telling[meaning]
        return True

    def _is_main(self, message: dict[str, Any]) -> bool:
        return self._name(message) in self._ids or self._known_of("")[_meaning(message)] > 0

    def _known_of(self, seat: str) -> Counter[int]:
        """What a seat is known to have said, and how often: at first what the sample's messages say of its agent."""
        if seat not in self._known:
            self._known[seat] = Counter(map(_meaning, () if seat else self._messages))
        return self._known[seat]

    def _name(self, message: dict[str, Any]) -> str | int:
        """What tells a message from others: its id where both tellings have the same ids, else what it says."""
        return (self._by_id and text(message.get("id"))) or _meaning(message)

    def timed(self, item: Item) -> Item:
        """A call or an answer at the moment that its event gives."""
        if isinstance(item, Call):
            key = self._event_of(item)
            self._carried.setdefault(item.key, deque()).append(key)
            self._called.add(key)
            return item._replace(at_ns=_moment(self._tools.get(key, {}), "timestamp") or item.at_ns)
        if isinstance(item, Answer):
            carried = self._carried.get(item.key)
            key = carried.popleft() if carried else item.key
            self._answered.add(key)
            return item._replace(at_ns=_moment(self._tools.get(key, {}), "completed") or item.at_ns)
        return item

    def _event_of(self, call: Call) -> str:
        """The id of the tool's event that carried out a call: the call's own, else of the first that is alike."""
        if call.key in self._tools:
            return call.key
        # Some events hold no arguments.
        waiting = self._alike.get(meaning(call)) or self._alike.get(meaning(call._replace(arguments={})))
        return waiting.popleft() if waiting else call.key

    def rest(self, at: At, left_out: Counter[str]) -> Iterator[Item]:
        """Calls and answers of which no message tells; what is still pending has no answer."""
        for step, (key, told) in enumerate(self._tools.items(), len(self._messages) + 1):
            if key in self._called and key in self._answered:
                continue
            event, name = mapping(self._whole(told)), text(told.get("function"))
            if key not in self._called and name:
                began = _moment(event, "timestamp")
                yield Call(at.run, self.seat(event) or at.seat, key, name, event.get("arguments"), step, began)
            if key not in self._answered and not event.get("pending"):
                here = at._replace(step=step, at_ns=_moment(event, "completed"))
                answer = {"tool_call_id": key, "content": event.get("result"), "error": event.get("error")}
                yield from walk({"role": "tool", **answer}, here, left_out)

    def seat(self, event: dict[str, Any]) -> str | None:
        """Who acted: "" for the sample's agent, a sub-agent by its name, None for a scorer."""
        span, kind, name = self._owner(event)
        return None if kind == "scorer" else "" if span in self._owners else name

    def _owner(self, event: dict[str, Any]) -> tuple[str, str, str]:
        """Id, type and name of the nearest agent or scorer around an event."""
        span = text(event.get("span_id"))
        for _ in range(100):
            around = self._spans.get(span)
            if around is None:
                break
            if around.get("type") in ("agent", "scorer"):
                return span, text(around["type"]), text(around.get("name"))
            span = text(around.get("parent_id"))
        return "", "", ""

    def _asked(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The messages that a model was sent; logs keep them once, and ranges into them."""
        yield from map(mapping, sequence(event.get("input")))
        for ends in map(sequence, sequence(event.get("input_refs"))):
            # The pool is in the order of first use: whatever a range has for the first time lies at its end.
            if len(ends) == 2 and isinstance(ends[1], int) and ends[1] > self._reach:
                yield from map(mapping, self._pool[self._reach : ends[1]])
                self._reach = ends[1]

    def _whole(self, value: Any) -> Any:
        """The value with the texts that the log keeps aside; bounded, however often they are named."""
        if isinstance(value, str) and value.startswith(_ATTACHMENT):
            found = text(self._attached.get(value.removeprefix(_ATTACHMENT)))
            self._left -= len(found)
            return found if found and self._left >= 0 else value
        if isinstance(value, list):
            return [self._whole(part) for part in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {key: self._whole(part) for key, part in cast("dict[str, Any]", value).items()}
        return value


def _reply(event: dict[str, Any]) -> dict[str, Any]:
    """What a model answered, of a model's event."""
    choices = sequence(mapping(event.get("output")).get("choices"))
    return mapping(mapping(choices[0]).get("message")) if choices else {}


def _meaning(message: dict[str, Any]) -> int:
    """What a message says, calls and is answered, whatever else its telling keeps of it; of texts aside the names."""
    return hash(tuple(map(meaning, walk(message, At(""), Counter()))))


def _moment(event: dict[str, Any], field: str) -> int | None:
    return nanoseconds(event.get(field)) or nanoseconds(event.get("timestamp"))


_COUNTS = Counts(
    tellings={"messages": "messages", "input": "prompt", "output": "reply", "events": "tool", "events_data": "prompt"},
    # What a log was made with holds made-up replies of models, and states repeat the messages.
    skip=frozenset({"attachments", "store", "scores", "target", "call", "eval", "plan", "results", "stats"}),
    silent=(("event", ("state", "store", "sample_init", "score")),),
    calls=(("event", ("tool",)),),
)

READER = Reader("inspect", "logs of Inspect (.eval and .json)", sniff, read, unit="samples", counts=_COUNTS)

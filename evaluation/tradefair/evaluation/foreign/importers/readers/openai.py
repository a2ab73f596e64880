"""`openai`: transcripts of chat messages or of response items, of OpenAI or Anthropic: a run a line, or one document.

A line or document is `{messages}`, a bare list of messages, a logged pair of `request` and `response`, or a response
alone; a run is called by its id, else by its line. Or every line is one message: of the conversation that it names,
else of the run that the file is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tradefair.evaluation.foreign.importers.items import Counts, Fact, Head, Item, Odd, Reader, Source
from tradefair.evaluation.foreign.interchange.messages import At, facts, is_item, tools, used
from tradefair.evaluation.foreign.interchange.own import seat_in
from tradefair.evaluation.foreign.interchange.shapes import count, first, nanoseconds, text
from tradefair.evaluation.foreign.interchange.transcript import MAX_NAMES, Transcript
from tradefair.evaluation.read.objects import mapping, sequence

_IDS = ("id", "trajectory_id", "task_id", "conversation_id", "session_id", "custom_id")
# Of a message. Its `id` is its own, and of the others the narrowest comes first: a task may be tried more than once.
_CONVERSATIONS = ("conversation_id", "thread_id", "session_id", "trajectory_id", "custom_id", "task_id")
_PASSED = ("passed", "success", "resolved", "utility")
_ITEMS = ("message", "function_call", "function_call_output", "reasoning", "mcp_call", "custom_tool_call")
_LISTS = ("item", "messages.item", "input.item", "output.item", "response.output.item")


def sniff(head: Head) -> int:
    """Sure of roles under `messages`; less so where only names of fields speak for it."""
    listed = sequence(head.value)
    value = listed[0] if listed else head.value
    fields = mapping(value)
    messages = sequence(fields.get("messages")) or sequence(value)
    # Messages of mini-SWE-agent hold commands that no chat message has.
    if "trajectory_format" in fields:
        return 0
    if messages:
        # A damaged message among others is no reason to leave the file.
        known = sum(map(_is_message, messages)) if any(map(_is_named, messages)) else 0
        return 80 if known == len(messages) else 60 if 2 * known > len(messages) else 20
    if _is_message(fields) and any(map(_is_named, listed or [fields])) and "sessionId" not in fields:
        return 70
    if fields:
        talk = _talk(fields)
        # A response says that it is one, also with items of a type that is yet to come.
        response = _halves(fields)[1].get("object") == "response"
        known = response or (all(map(_is_message, talk)) and any(map(_is_named, talk)))
        return 75 if talk and known and mapping(talk[-1]).get("role") != "user" else 0
    return 60 if {"messages", "role", "input", "output"} & set(head.keys) and b'"role"' in head.raw else 0


def _is_message(value: Any) -> bool:
    """Whether it is a message or an item of a response, whatever built-in tool it is of; what holds a talk is a run."""
    return _is_named(value) or (is_item(text(mapping(value).get("type"))) and not _talk(mapping(value)))


def _is_named(value: Any) -> bool:
    """Whether it says so by itself: types that only end like a call's are those of many a log."""
    fields = mapping(value)
    return isinstance(fields.get("role"), str) or fields.get("type") in _ITEMS


def read(source: Source) -> Iterator[Item]:
    """The runs of a file, one after another; what is no transcript is odd, and the rest is read."""
    reading = _Reading(source.stem or "run")
    for line, value in source.values():
        yield from reading.record(value, line)
    if not source.held:
        yield from reading.document(source)
    yield reading.tally.total()


class _Reading:
    """What is remembered over the runs of a file: how many messages each has, and whose response was which."""

    def __init__(self, stem: str) -> None:
        self.tally = Transcript()
        self._stem = stem
        self._responses: dict[str, str] = {}

    def record(self, value: Any, line: int) -> Iterator[Item]:
        """A line, or a whole document: a run, several runs, or one message."""
        listed = sequence(value)
        fields = mapping(value)
        if listed and _is_message(listed[0]):
            run = self._named({}, line)
            for message in listed:
                yield from self.tally.message(message, At(_conversation(message) or run, line=line))
        elif listed:
            for entry in listed:
                run = isinstance(entry, dict) or _is_message((sequence(entry) or [None])[0])
                yield from self.record(entry, line) if run else self._unused(line)
        elif _is_message(fields) and not _talk(fields):
            yield from self.tally.message(fields, At(_conversation(fields) or self._stem, line=line))
        else:
            yield from self._run(fields, line)

    def document(self, source: Source) -> Iterator[Item]:
        """A document that is too long to be held: its runs, or the messages of the one run that it is."""
        fields: dict[str, Any] = {}
        run, document = "", source.document
        for place, value in source.elements(*_LISTS, *_IDS, *_PASSED, "tools"):
            if source.document != document:
                # Documents one after another are runs one after another.
                yield from _facts(fields, At(run)) if run else ()
                fields, run, document = {}, "", source.document
            if place not in _LISTS:
                fields[place] = value
            elif place == "item" and not _is_message(value):
                yield from self._run(mapping(value), 0)
            else:
                run = run or self._named(fields, 0)
                yield from self.tally.message(value, At((place == "item" and _conversation(value)) or run))
        if run:
            yield from _facts(fields, At(run))

    def _run(self, fields: dict[str, Any], line: int) -> Iterator[Item]:
        talk = _talk(fields)
        if not talk:
            yield from self._unused(line)
            return
        asked, answer = _halves(fields)
        moment = nanoseconds(first(fields, "created_at", "created"))
        at = At(self._named({**answer, **fields}, line), seat_in(fields), line=line, at_ns=moment)
        if at.seat:
            yield Fact(at.run, at.seat, "agent", text(fields.get("label")) or at.seat)
        for half in (fields, *(half for half in (asked, answer) if half is not fields)):
            yield from _facts(half, at)
        for message in talk:
            yield from self.tally.message(message, at)
        for _ in sequence(answer.get("choices"))[1:]:
            count(self.tally.left_out, "further choices")

    def _named(self, fields: dict[str, Any], line: int) -> str:
        """The name of a run; a response that goes on from another one belongs to the run of that."""
        before = self._responses.get(text(fields.get("previous_response_id")))
        name = text(first(fields, *_IDS)) or (f"line-{line}" if line else self._stem)
        run = before or self.tally.named(name)
        if (fields.get("object") == "response" or before) and len(self._responses) < MAX_NAMES:
            self._responses[text(fields.get("id"))] = run
        return run

    def _unused(self, line: int) -> Iterator[Item]:
        yield from self.tally.refuse(Odd(line, "messages", "no messages here: a run is {messages: […]}"))


def _conversation(message: Any) -> str:
    """The run of a message that stands alone, as far as it names one."""
    return text(first(mapping(message), *_CONVERSATIONS))


def _halves(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a model was asked and what it answered, in a logged pair or in one object."""
    answer = mapping(fields.get("response")) or fields
    return mapping(fields.get("request")) or fields, mapping(answer.get("body")) or answer


def _talk(fields: dict[str, Any]) -> list[Any]:
    """All messages of a record, in their order: instructions, what was asked, what was answered."""
    asked, answer = _halves(fields)
    told = first(asked, "messages", "input")
    said = [mapping(choice).get("message") for choice in sequence(answer.get("choices"))[:1]]
    said = said or sequence(answer.get("output"))
    if answer is not fields and _is_named(answer):
        said = [answer]
    head = first(asked, "instructions", "system")
    listed = [{"role": "user", "content": told}] if isinstance(told, str) else sequence(told)
    return [*([{"role": "system", "content": head}] if head and (listed or said) else []), *listed, *said]


def _facts(fields: dict[str, Any], at: At) -> Iterator[Fact]:
    """What a record says besides its messages: tools, what it cost, and whether it passed."""
    yield from facts(at, tools=tools(fields.get("tools")))
    yield from used(fields, at)
    # AgentDojo writes what became of the user's task beside the messages, or in an object of its own.
    yield from facts(at, passed=first({**mapping(fields.get("evaluation")), **fields}, *_PASSED))


READER = Reader(
    "openai", "chat messages and response items (OpenAI, Anthropic)", sniff, read, unit="messages", counts=Counts()
)

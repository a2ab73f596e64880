"""A seat's episode as a transcript of messages in OpenAI's shape, for viewers that people already have.

One line of JSON per seat: `{id, episode, market, scenario, seat, role, label, as_sent, messages}`. Where the trace
keeps the seat's prompts (`as_sent`), these are the messages of its model, each once: system, user, reply, answer. Else
what the seat did are assistant messages with tool calls, what it was answered are tool messages, what became public are
user messages by `market`. A transcript is made of what the seat saw and of nothing else. The key `tradefair` of a
message holds what an import needs to come to the same findings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.evaluation.foreign.export.turns import Called, Talk, Turn, asked_text, called, filled, talks_of
from tradefair.evaluation.foreign.interchange.own import KEY, WITHDRAWN
from tradefair.evaluation.foreign.interchange.shapes import text
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.evaluation.store.replies import Replies, kept_prompts, paired
from tradefair.evaluation.store.source import OddTrace
from tradefair.tracestore import PromptCall, Trace

Message = dict[str, Any]


def openai_lines(trace: Trace, seat: SeatId | None, odd: OddTrace) -> Iterator[bytes]:
    """A line for `seat`, or for every seat. Raises SeatError for a seat that the trace does not have, TraceError."""
    talks = list(talks_of(trace, seat, odd))
    prompts, problem = kept_prompts(trace, {talk.seat.id for talk in talks})
    if problem:
        odd(0, problem)
    for talk in talks:
        try:
            sent = list(_sent(talk, prompts.get(talk.seat.id, ())))
        except TraceError as error:
            odd(0, str(error))
            sent = []
        yield _line(talk, sent)


def _line(talk: Talk, sent: list[Message]) -> bytes:
    """The transcript of one seat as a line of JSON. Raises TraceError where it cannot be written again."""
    core, seat = talk.source.core, talk.seat
    head = {
        "id": talk.id,
        "episode": talk.source.episode,
        "market": core.market,
        "scenario": text(core.scenario.get("id")),
        "seat": seat.id,
        "role": seat.role,
        "label": seat.label,
        "as_sent": bool(sent),
        **talk.about,
        KEY: {"seat": seat.id},
    }
    messages = sent or [message for turn in talk.turns for message in turn_messages(turn)]
    try:
        return orjson.dumps({**head, "messages": messages})
    except orjson.JSONEncodeError:
        raise TraceError(
            f"{talk.source.episode}: what {seat.id[:80]} saw is nested too deeply to be written again"
        ) from None


def turn_messages(turn: Turn) -> Iterator[Message]:
    """One turn: what was said and asked for, then the answers; viewers refuse an answer that follows no call."""
    texts = [said.words for said in turn.said if said.part != "reasoning" or said.odd]
    reasons = turn.text("reasoning") if not turn.odd else ""
    extra = turn.extra | filled({"calls": {call.key: call.extra for call in turn.calls}})
    asked = [
        # Arguments are JSON as text there.
        {"id": call.key, "type": "function", "function": {"name": call.tool, "arguments": asked_text(call.event)}}
        for call in turn.calls
    ]
    content = texts[0] if len(texts) == 1 else [{"type": "text", "text": said} for said in texts] or None
    optional = {"reasoning_content": reasons, "tool_calls": asked, KEY: extra}
    yield {"role": turn.role, **filled({"name": turn.name}), "content": content, **filled(optional)}
    yield from (answer_message(call) for call in turn.calls if call.answer is not None)


def answer_message(call: Called, key: str = "") -> Message:
    """The message that answers a call, under another id where its model gave it one."""
    return _answer(key or call.key, call.answer, call.answered)


def _answer(key: str, content: str | None, extra: Mapping[str, Any]) -> Message:
    return {"role": "tool", "tool_call_id": key, "content": content, KEY: extra}


def _sent(talk: Talk, prompts: Sequence[PromptCall]) -> Iterator[Message]:
    """The messages of the seat's model, each once, its replies as the endpoint gave them; none without kept prompts.

    Requests repeat what came before. A call whose answer is in no request was the last of its turn: there the market's
    own answer stands. Raises TraceError for a damaged row.
    """
    if not prompts:
        return
    notes = [note for note in talk.source.notes() if note.get("kind") == "model_call"]
    made = _made(talk)
    before: frozenset[int] = frozenset()
    sending = _Sending()
    for prompt, place in paired(prompts, [str(note.get("reply", "")) for note in notes]):
        if prompt is None:
            continue
        fresh = [number for number in prompt.numbers[prompt.same :] if number not in before]
        before = frozenset(prompt.numbers)
        for message in map(mapping, map(prompt.part, fresh)):
            yield from sending.sent(message)
        yield from sending.replied(prompt.answer, made.get(-1 if place is None else place + 1, []))
    yield from sending.unanswered()


def _made(talk: Talk) -> dict[int, list[Called]]:
    """The calls that each reply led to, by the reply's number."""
    replies, number = Replies.of(talk.source.notes()), 0
    made: defaultdict[int, list[Called]] = defaultdict(list)
    for seq, event in talk.source.events():
        if event.get("event") == "tool_called":
            matched = None if event.get("parent") else replies.take(str(event.get("tool")))
            if matched is not None:
                number = matched.begins.number if matched.begins else number if matched.continues else 0
            made[number].append(called(talk.source, seq, event))
    return made


class _Sending:
    """One conversation as it is put together: what is still to be answered, and whether the reply comes back."""

    def __init__(self) -> None:
        self._open: dict[str, Called | None] = {}
        self._echo = False

    def sent(self, message: Message) -> Iterator[Message]:
        """A message of a request, unless it is the reply before, or another form of an answer that was given."""
        if message.get("role") == "assistant" and self._echo:
            self._echo = False
        elif message.get("role") != "tool":
            yield from self.unanswered()
            if message:
                yield message
        elif (key := text(message.get("tool_call_id"))) in self._open:
            call = self._open.pop(key)
            yield {**message, KEY: call.answered if call else {"status": WITHDRAWN}}

    def replied(self, answer: Mapping[str, Any], made: list[Called]) -> Iterator[Message]:
        """The reply to a request; `made` are the calls of it that the market was asked for."""
        yield from self.unanswered()
        choices = sequence(mapping(answer.get("body")).get("choices"))
        message = mapping(mapping(choices[0]).get("message")) if choices else {}
        if not message:
            return
        left = list(made)
        for entry in map(mapping, sequence(message.get("tool_calls"))):
            tool = mapping(entry.get("function")).get("name")
            call = next((call for call in left if call.tool == tool and not call.event.get("parent")), None)
            self._open[text(entry.get("id"))] = call
            if call is not None:
                left.remove(call)
        calls = {key: call.extra for key, call in self._open.items() if call is not None}
        yield {"role": "assistant", **message, **({KEY: {"calls": calls}} if calls else {})}
        self._echo = True

    def unanswered(self) -> Iterator[Message]:
        """The market's answers to calls that no request answered: viewers want one for each call."""
        for key, call in self._open.items():
            if call is not None:
                yield answer_message(call, key)
            else:
                yield _answer(key, "this call was not made", {"status": WITHDRAWN})
        self._open = {}

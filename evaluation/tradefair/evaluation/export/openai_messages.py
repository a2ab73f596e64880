"""A seat's episode as a transcript of messages in OpenAI's shape, for viewers that people already have.

One line of JSON per seat: `{episode, market, scenario, seat, role, label, as_sent, messages}`. Where the trace keeps
the seat's prompts (`as_sent`), these are the messages of its model, each once: system, user, reply, answer. Else what
the seat did are assistant messages with tool calls, what it was answered are tool messages, what became public are user
messages by `market`. A transcript is made of what the seat saw and of nothing else, whether or not one seat was asked
for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.evaluation.store.replies import Replies, Reply, kept_prompts, paired
from tradefair.evaluation.store.source import OddTrace, Source, SourceSeat
from tradefair.tracestore import PromptCall, Trace

Message = dict[str, Any]

_PUBLIC = ("phase_closed", "round_closed", "episode_ended", "seat_lapsed")
# A closed list as in `seat_view`: a field that a later schema adds stays out until it is named here.
_TOLD = ("event", "round", "public", "reason", "default_action")


def openai_lines(trace: Trace, seat: SeatId | None, odd: OddTrace) -> Iterator[bytes]:
    """A line for `seat`, or for every seat. Raises SeatError for a seat that the trace does not have, TraceError."""
    seats = Source.whole(trace, odd).seats if seat is None else Source.of_seat(trace, seat, odd).seats
    prompts, problem = kept_prompts(trace, {known.id for known in seats})
    if problem:
        odd(0, problem)
    for known in seats:
        # From the seat's own view even when all seats are exported: a transcript never holds what its
        # seat did not see.
        source = Source.of_seat(trace, known.id, odd)
        try:
            sent = list(_sent(source, prompts.get(known.id, ())))
        except TraceError as error:
            odd(0, str(error))
            sent = []
        yield _line(source, known, sent)


def _line(source: Source, seat: SourceSeat, sent: list[Message]) -> bytes:
    """The transcript of one seat as a line of JSON. Raises TraceError where it cannot be written again."""
    core = source.core
    scenario = core.scenario.get("id")
    head = {
        "episode": source.episode,
        "market": core.market,
        "scenario": scenario if isinstance(scenario, str) else "",
        "seat": seat.id,
        "role": seat.role,
        "label": seat.label,
        "as_sent": bool(sent),
    }
    try:
        return orjson.dumps({**head, "messages": sent or list(_messages(source))})
    except orjson.JSONEncodeError:
        raise TraceError(
            f"{source.episode}: what {seat.id[:80]} saw is nested too deeply to be written again"
        ) from None


def _sent(source: Source, prompts: Sequence[PromptCall]) -> Iterator[Message]:
    """The messages of the seat's model, each once, its replies as the endpoint gave them; none without kept prompts.

    Requests repeat what came before. A call whose answer is in no request was the last of its turn: there the market's
    own answer stands. Raises TraceError for a damaged row.
    """
    if not prompts:
        return
    notes = [note for note in source.notes() if note.get("kind") == "model_call"]
    made = _made(source)
    before: frozenset[int] = frozenset()
    talk = _Talk()
    for prompt, place in paired(prompts, [str(note.get("reply", "")) for note in notes]):
        if prompt is None:
            continue
        fresh = [number for number in prompt.numbers[prompt.same :] if number not in before]
        before = frozenset(prompt.numbers)
        for message in map(prompt.part, fresh):
            yield from talk.sent(message)
        yield from talk.replied(prompt.answer, made.get(-1 if place is None else place + 1, []))
    yield from talk.unanswered()


def _made(source: Source) -> dict[int, list[Mapping[str, Any]]]:
    """The calls that each reply led to, by the reply's number."""
    replies, number = Replies.of(source.notes()), 0
    made: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for _, event in source.events():
        if event.get("event") == "tool_called" and not event.get("parent"):
            matched = replies.take(str(event.get("tool")))
            number = matched.begins.number if matched.begins else number if matched.continues else 0
            made[number].append(event)
    return made


class _Talk:
    """One conversation as it is put together: what is still to be answered, and whether the reply comes back."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._made: list[Mapping[str, Any]] = []
        self._echo = False

    def sent(self, message: Any) -> Iterator[Message]:
        """A message of a request, unless it is the reply before, or another form of an answer that was given."""
        if not isinstance(message, dict):
            return
        fields = cast("Message", message)
        if fields.get("role") == "assistant" and self._echo:
            self._echo = False
        elif fields.get("role") != "tool":
            yield from self.unanswered()
            yield fields
        elif self._open.pop(str(fields.get("tool_call_id")), None) is not None:
            yield fields

    def replied(self, answer: Mapping[str, Any], made: list[Mapping[str, Any]]) -> Iterator[Message]:
        """The reply to a request; `made` are the calls of it that the market was asked for."""
        yield from self.unanswered()
        body: Any = answer.get("body")
        choices: Any = cast("Message", body).get("choices") if isinstance(body, dict) else None
        choice: Any = cast("list[Any]", choices)[0] if isinstance(choices, list) and choices else None
        message: Any = cast("Message", choice).get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict):
            return
        yield {"role": "assistant", **cast("Message", message)}
        calls: Any = cast("Message", message).get("tool_calls")
        for call in cast("list[Any]", calls) if isinstance(calls, list) else []:
            function: Any = cast("Message", call).get("function") if isinstance(call, dict) else None
            name: Any = cast("Message", function).get("name") if isinstance(function, dict) else None
            self._open[str(cast("Message", call).get("id")) if isinstance(call, dict) else ""] = str(name)
        self._made, self._echo = list(made), True

    def unanswered(self) -> Iterator[Message]:
        """The market's answers to calls that no request answered: viewers want one for each call."""
        for call, tool in self._open.items():
            event = next((event for event in self._made if event.get("tool") == tool), None)
            if event is not None:
                self._made.remove(event)
                yield {**_answer(event), "tool_call_id": call}
            else:
                yield {"role": "tool", "tool_call_id": call, "content": "this call was not made"}
        self._open = {}


def _messages(source: Source) -> Iterator[Message]:
    """The messages of one seat in order: replies, calls with answers, and what became public.

    A reply and the calls that it asked for are one assistant message, and the answers follow it
    directly: viewers refuse a tool message that does not follow its call.
    """
    replies = Replies.of(source.notes())
    spoken: Message | None = None
    answers: list[Message] = []
    for _, event in source.events():
        tag = event.get("event")
        if tag == "tool_called":
            if event.get("parent"):
                continue  # made by a program: its answer went to the program
            matched = replies.take(str(event.get("tool")))
            if spoken is None or not matched.continues:
                yield from _said(spoken, answers)
                yield from (_words(reply) for reply in matched.before)
                # A policy has no replies, and its calls stand without text.
                text = matched.begins.text if matched.begins else ""
                spoken, answers = {"role": "assistant", "content": text or None, "tool_calls": []}, []
            spoken["tool_calls"].append(_tool_call(event))
            answers.append(_answer(event))
        elif tag in _PUBLIC:
            yield from _said(spoken, answers)
            spoken, answers = None, []
            told = {name: event[name] for name in _TOLD if event.get(name) is not None}
            yield {"role": "user", "name": "market", "content": orjson.dumps(told).decode()}
    yield from _said(spoken, answers)
    yield from (_words(reply) for reply in replies.rest())


def _said(spoken: Message | None, answers: list[Message]) -> Iterator[Message]:
    """The assistant message with its calls, then the answers; nothing where there is none."""
    if spoken is not None:
        yield spoken
        yield from answers


def _words(reply: Reply) -> Message:
    return {"role": "assistant", "content": reply.text}


def _tool_call(event: Mapping[str, Any]) -> Message:
    """A call as the message format has it; arguments are JSON as text there."""
    arguments = orjson.dumps(event.get("arguments")).decode()
    function = {"name": str(event.get("tool")), "arguments": arguments}
    return {"id": str(event.get("call")), "type": "function", "function": function}


def _answer(event: Mapping[str, Any]) -> Message:
    """The tool message that answers a call: its result, its error, or the digest of a result that was not kept."""
    content = event.get("result") if event.get("error") is None else event.get("error")
    if content is None and event.get("result_digest"):
        # The trace keeps a digest only; an empty answer would look as if the tool had returned nothing.
        content = {"not_kept": event.get("result_digest")}
    return {"role": "tool", "tool_call_id": str(event.get("call")), "content": orjson.dumps(content).decode()}

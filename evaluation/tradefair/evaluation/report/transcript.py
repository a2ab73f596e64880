"""What each model was sent and what came of it, as compact data for the page, the viewer and `tradefair trace`.

Requests of one conversation repeat each other, so every message stands once in a seat's list and calls name it by its
index. Prompts lie beside the chain; the seal covers them, re-execution does not. All texts are cleaned and cut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict, cast

import orjson

from tradefair.contract import SeatId, TraceError
from tradefair.contract.text import clean, clean_line
from tradefair.evaluation.read.objects import mapping
from tradefair.evaluation.report.events import EventColumns, read_events, read_notes, whole
from tradefair.evaluation.store.replies import kept_prompts, paired
from tradefair.tracestore import PromptCall, Trace

# Characters of a message, of a name, and of all messages of a transcript together.
_MAX_TEXT, _MAX_NAME, _BUDGET = 65_536, 200, 8_000_000
# Requests of a seat, and the messages that they list.
_MAX_CALLS, _MAX_LISTED = 20_000, 200_000

NOT_KEPT = (
    "what the model was sent is not in this trace (`prompts = false`, a stripped copy, or JSONL): its replies only"
)
NO_MODEL = "no model was asked here: a scripted policy, a person, or a client from outside, whose prompts are not ours"


class Message(TypedDict):
    """A message of a request, or a reply. `calls` are [id, tool, arguments as JSON]; `cut`: characters or bytes before.

    `answers` is the id of the call that a tool's message answers, else "".
    """

    role: str
    text: str
    calls: list[list[str]]
    answers: str
    cut: int | None


class ModelCall(TypedDict):
    """One request. It held the first `same` messages of the seat's request before, then those of `shown`.

    `shown` are indices into the seat's `messages`, and `new` those of them that no earlier request held: all others
    read "as before". `tools` is an index into the seat's `tools`, −1 for none. `note` is the row of its note among all
    notes of the trace (the page's `reply` of an event), −1 where the reply could not be used. `events` are the numbers
    of the calls that it led to, `refused` those of them that were not "ok". Rounds and tokens are −1 where unknown.
    """

    id: str
    note: int
    round: int
    phase: str
    role: str
    same: int
    shown: list[int]
    new: list[int]
    tools: int
    answer: Message
    finish: str
    status: int
    input_tokens: int
    output_tokens: int
    events: list[int]
    refused: list[int]


class Tools(TypedDict):
    """The tools of a request: their names, and the list as JSON."""

    names: list[str]
    text: str


class SeatTranscript(TypedDict):
    """A seat's model calls in order. `kept`: requests are there; `remark` says in a sentence why not, else ""."""

    seat: SeatId
    kept: bool
    remark: str
    messages: list[Message]
    tools: list[Tools]
    calls: list[ModelCall]


class _Note(NamedTuple):
    row: int
    fields: Mapping[str, Any]


_NO_NOTE = _Note(-1, {})


def transcript_of(trace: Trace, seats: Sequence[SeatId], *, events: EventColumns | None = None) -> list[SeatTranscript]:
    """The transcript of each of `seats`, in their order; without kept prompts the replies of its notes alone.

    `events` are the trace's, with `read_notes` done; they are read where not given. Never raises: a damaged row ends a
    seat's transcript, and `remark` says so.
    """
    if events is None:
        events = read_events(trace)
        read_notes(trace, events)
    notes: defaultdict[SeatId, list[_Note]] = defaultdict(list)
    remark = ""
    try:
        for row, (seat, body) in enumerate(trace.notes()):
            if seat in seats and b'"model_call"' in body:
                fields = mapping(_decoded(body))
                if fields.get("kind") == "model_call":
                    notes[seat].append(_Note(row, fields))
    except TraceError as error:
        remark = clean_line(str(error))
    led: defaultdict[int, list[int]] = defaultdict(list)
    for at, row in enumerate(events.reply):
        if row >= 0:
            led[row].append(at)
    kept, problem = kept_prompts(trace, set(seats))
    budget, remark = _Budget(), remark or clean_line(problem)
    return [_Seat(seat, events, led, budget).transcript(kept.get(seat, ()), notes[seat], remark) for seat in seats]


@dataclass
class _Budget:
    """Characters that are left for the messages of all seats."""

    left: int = _BUDGET

    def cut(self, text: str) -> tuple[str, int | None]:
        """The text, cut where it is too long; and its length before, if it was."""
        most = min(_MAX_TEXT, max(self.left, _MAX_NAME))
        self.left -= min(len(text), most)
        return (text, None) if len(text) <= most else (text[:most], len(text))


@dataclass
class _Seat:
    seat: SeatId
    events: EventColumns
    led: Mapping[int, list[int]]
    budget: _Budget
    messages: list[Message] = field(default_factory=list[Message])
    tools: list[Tools] = field(default_factory=list[Tools])
    listed: int = 0
    _index: dict[int, int] = field(default_factory=dict[int, int])
    _tools: dict[int, int] = field(default_factory=dict[int, int])

    def transcript(self, prompts: Sequence[PromptCall], notes: Sequence[_Note], remark: str) -> SeatTranscript:
        calls: list[ModelCall] = []
        try:
            ids = [_name(note.fields.get("reply")) for note in notes]
            for prompt, place in paired(prompts, ids):
                calls.append(self._call(prompt, _NO_NOTE if place is None else notes[place]))
                if len(calls) == _MAX_CALLS or self.listed > _MAX_LISTED:
                    remark = f"only the first {len(calls):,} requests are shown"
                    break
        except TraceError as error:
            remark = clean_line(str(error))
        if not remark and not prompts:
            remark = NOT_KEPT if calls else NO_MODEL
        return SeatTranscript(
            seat=self.seat, kept=bool(prompts), remark=remark, messages=self.messages, tools=self.tools, calls=calls
        )

    def _call(self, prompt: PromptCall | None, note: _Note) -> ModelCall:
        row, said = note
        at = self.led.get(row, ())
        known = len(self.messages)
        shown = [self._message(prompt, number) for number in prompt.numbers[prompt.same :]] if prompt else []
        self.listed += len(shown)
        answer, finish = self._answer(prompt, said)
        return ModelCall(
            id=_name(said.get("reply")),
            note=row,
            round=whole(said.get("round")),
            phase=_name(said.get("phase")),
            role=_name(said.get("role")),
            same=0 if prompt is None else prompt.same,
            shown=shown,
            new=list(dict.fromkeys(index for index in shown if index >= known)),
            tools=-1 if prompt is None or prompt.tools is None else self._tool_list(prompt, prompt.tools),
            answer=answer,
            finish=finish,
            status=200 if prompt is None else whole(prompt.answer.get("status")),
            input_tokens=whole(said.get("input_tokens")),
            output_tokens=whole(said.get("output_tokens")),
            events=[self.events.seq[place] for place in at],
            refused=[
                self.events.seq[place] for place in at if self.events.name(self.events.status, place) not in ("ok", "")
            ],
        )

    def _message(self, prompt: PromptCall, number: int) -> int:
        """The index of a message, which is added when it is met for the first time."""
        if number not in self._index:
            self._index[number] = len(self.messages)
            self.messages.append(self._shown(prompt.part(number)))
        return self._index[number]

    def _tool_list(self, prompt: PromptCall, number: int) -> int:
        if number not in self._tools:
            offered: Any = prompt.part(number)
            listed = cast("list[Any]", offered) if isinstance(offered, list) else []
            names = [_name(mapping(mapping(tool).get("function") or tool).get("name")) for tool in listed]
            self._tools[number] = len(self.tools)
            self.tools.append(Tools(names=names, text=self.budget.cut(clean(as_json(offered)))[0]))
        return self._tools[number]

    def _answer(self, prompt: PromptCall | None, said: Mapping[str, Any]) -> tuple[Message, str]:
        """The reply with its calls, as the endpoint sent it; else its words as they were noted."""
        body = {} if prompt is None else mapping(prompt.answer.get("body"))
        choices: Any = body.get("choices")
        choice = mapping(cast("list[Any]", choices)[0]) if isinstance(choices, list) and choices else {}
        finish = _name(choice.get("finish_reason") or said.get("finish_reason"))
        if choice:
            return self._shown({"role": "assistant", **mapping(choice.get("message"))}), finish
        if body:
            return self._shown({"role": "error", "content": as_json(body)}), finish
        message = self._shown({"role": "assistant", "content": said.get("text")})
        asked: Any = said.get("calls")
        message["calls"] = (
            [["", _name(tool), ""] for tool in cast("list[Any]", asked)] if isinstance(asked, list) else []
        )
        return message, finish

    def _shown(self, part: Any) -> Message:
        fields = mapping(part) or {"content": as_json(part)}
        text, cut = self.budget.cut(clean(_words(fields)))
        calls: Any = fields.get("tool_calls")
        asked = [mapping(call) for call in cast("list[Any]", calls)] if isinstance(calls, list) else []
        made = [
            [_name(call.get("id")), _name(mapping(call.get("function")).get("name")), self._arguments(call)]
            for call in asked
        ]
        before: Any = fields.get("cut")
        return Message(
            role=_name(fields.get("role")),
            text=text,
            calls=made,
            answers=_name(fields.get("tool_call_id")),
            cut=before if isinstance(before, int) else cut,
        )

    def _arguments(self, call: Mapping[str, Any]) -> str:
        given: Any = mapping(call.get("function")).get("arguments")
        return self.budget.cut(clean(given if isinstance(given, str) else as_json(given)))[0]


def _words(fields: Mapping[str, Any]) -> str:
    """The text of a message; what it holds besides text as JSON."""
    content: Any = fields.get("content")
    if content is None:
        refusal: Any = fields.get("refusal")
        return refusal if isinstance(refusal, str) else ""
    if isinstance(content, str):
        return content
    pieces = cast("list[Any]", content) if isinstance(content, list) else [content]
    texts: list[Any] = [mapping(piece).get("text") for piece in pieces]
    return "".join(text if isinstance(text, str) else as_json(piece) for text, piece in zip(texts, pieces, strict=True))


def _decoded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def as_json(value: Any) -> str:
    """A value as JSON, or that it is nested too deeply."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return "(nested too deeply to be shown)"


def _name(value: object) -> str:
    return clean_line(value[:_MAX_NAME]) if isinstance(value, str) else ""

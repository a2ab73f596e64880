"""Which model reply made which calls: notes about agents against the calls of the same seat, in their order.

Notes lie outside the chain and name tools only, so this is a reading, not evidence: a reply is taken to have made the
next calls of its seat with the tools that it names. Calls that no reply names stand alone.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tradefair.contract import SeatId, TraceError
from tradefair.tracestore import PromptCall, Trace

_MAX_AHEAD = 50
"""Replies that are looked through for the one that made a call; beyond, the call stands alone."""


class Reply(NamedTuple):
    """One model call as it was noted, with what cannot be used left out. `number` counts a seat's replies from 1.

    `calls` are the names of the tools that it asked for, in order; `latency_s` is in seconds.
    """

    number: int
    model: str
    text: str
    calls: tuple[str, ...]
    input_tokens: int | None
    output_tokens: int | None
    latency_s: float | None
    finish_reason: str
    role: str


class Matched(NamedTuple):
    """What a call belongs to: the reply that begins with it, after others that were passed over, or the one before."""

    before: list[Reply]
    begins: Reply | None
    continues: bool


@dataclass
class Replies:
    """One seat's replies, handed out call by call; `waiting` are those that no call has matched yet."""

    waiting: deque[Reply]
    _left: deque[str] = field(default_factory=deque[str])

    @classmethod
    def of(cls, notes: Iterable[Mapping[str, Any]]) -> Replies:
        """From the notes of one seat, in order; notes of other kinds are left out."""
        said = (note for note in notes if note.get("kind") == "model_call")
        return cls(deque(_reply(number, note) for number, note in enumerate(said, 1)))

    def take(self, tool: str) -> Matched:
        """Match the next call of the seat, by the name of its tool. Calls must be passed in the order of the trace."""
        # The reply that began with an earlier call goes on: one reply can ask for several calls.
        if self._left and self._left[0] == tool:
            self._left.popleft()
            return Matched([], None, continues=True)
        before: list[Reply] = []
        for place, reply in enumerate(self.waiting):
            if place == _MAX_AHEAD:
                break
            # Only a reply's first call can begin it; replies before it made no call that became an event.
            if reply.calls[:1] == (tool,):
                for _ in range(place + 1):
                    self.waiting.popleft()
                self._left = deque(reply.calls[1:])
                return Matched(before, reply, continues=False)
            before.append(reply)
        # Another tool came in between, so the rest of the last reply was never called.
        self._left.clear()
        return Matched([], None, continues=False)

    def rest(self) -> list[Reply]:
        """Replies after the last call: a model's closing words. They are handed out once."""
        left, self.waiting = list(self.waiting), deque()
        return left


def kept_prompts(trace: Trace, seats: Collection[SeatId]) -> tuple[Mapping[SeatId, Sequence[PromptCall]], str]:
    """The requests that a trace keeps of some seats, read once for all, and what ended the reading ("": nothing)."""
    kept: defaultdict[SeatId, list[PromptCall]] = defaultdict(list)
    try:
        for call in trace.prompts(next(iter(seats)) if len(seats) == 1 else None):
            if call.seat in seats:
                kept[call.seat].append(call)
    except TraceError as error:
        return kept, str(error)
    return kept, ""


def paired(prompts: Iterable[PromptCall], replies: Sequence[str]) -> Iterator[tuple[PromptCall | None, int | None]]:
    """Each request of a seat with the index of its note among `replies`, the ids of the seat's notes, in one order.

    The k-th request under an id belongs to the k-th note with that id. Either may be missing: a reply that could not be
    used has no note, and a run with `prompts = false` kept no requests.
    """
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for place, reply in enumerate(replies):
        waiting[reply].append(place)
    passed = 0
    for prompt in prompts:
        places = waiting[prompt.call] if prompt.call else None
        found = places.popleft() if places else None
        # One that was passed already cannot come again: rows of a stranger's file may be in any order.
        if found is None or found < passed:
            yield prompt, None
            continue
        # Notes before it have no request.
        yield from ((None, place) for place in range(passed, found))
        passed = found + 1
        yield prompt, found
    for place in range(passed, len(replies)):
        yield None, place


def _reply(number: int, note: Mapping[str, Any]) -> Reply:
    calls = note.get("calls")
    names = tuple(name for name in calls if isinstance(name, str)) if isinstance(calls, list) else ()  # pyright: ignore[reportUnknownVariableType]
    return Reply(
        number=number,
        model=_text(note.get("model")),
        text=_text(note.get("text")),
        calls=names,
        input_tokens=_whole(note.get("input_tokens")),
        output_tokens=_whole(note.get("output_tokens")),
        latency_s=_seconds(note.get("latency_s")),
        finish_reason=_text(note.get("finish_reason")),
        role=_text(note.get("role")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    """Tokens as a whole number, None where the note has none. `True` is an int in Python, hence the extra check."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _seconds(value: object) -> float | None:
    # Also refuses NaN, which compares as false, and latencies of more than eleven days.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        return None
    return float(value)

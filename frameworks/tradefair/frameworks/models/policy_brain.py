"""What a policy behind a model's interface sees and says, whatever carries the messages: langchain or HTTP.

Needs neither langchain nor openai.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from tradefair.agents.bridge import error_info
from tradefair.agents.requests import RequestName, find_request
from tradefair.agents.rounds import find_view, unfenced
from tradefair.contract import HarnessFailure, Policy, ToolAnswer, ToolCall, Turns, TurnView

# Not empty: an empty reply is a fault of its own, and a reader of the trace should see that the policy chose this.
PASS = "I have nothing more to do in this turn."
# A rule of thumb; the usage says that it is estimated.
_BYTES_PER_TOKEN = 4
# Fixed answers, so that graphs with planners and reflectors can be played without a model and give equal traces.
_ANSWERS: Mapping[RequestName, str] = {
    "plan": '{"steps":[{"intent":"act as the policy does","check":"the turn is over"}]}',
    "lesson": '{"lesson":"The policy acts as before: it learns nothing from a round."}',
    "reflection": '{"reflection":"The policy acts as before: it learns nothing from an episode."}',
}
# The shape of `tradefair` refusals, as the bridge and the server write it.
_REFUSAL = {"code": str, "message": str, "hint": str, "retryable": bool}


class Visible(NamedTuple):
    """One message as the policy sees it. `role` is system, user, assistant or tool; `is_error` marks a refusal."""

    role: str
    text: str
    tool_call_id: str | None = None
    is_error: bool = False


class BrainCall(NamedTuple):
    """One call that the policy makes; its id is `call-<n>`."""

    id: str
    tool: str
    arguments: Mapping[str, Any]


class BrainReply(NamedTuple):
    """One reply: text, or a call. Tokens are estimated from bytes."""

    text: str
    call: BrainCall | None
    input_tokens: int
    output_tokens: int


class PolicyBrain:
    """One policy of one seat and episode, which sees the visible messages and nothing else.

    A turn begins with the fenced `turn_view` block of the last user message that shows one. While the policy waits for
    a call's answer, that answer must be the last visible tool message, unless another turn has begun (the call ended
    its turn): HarnessFailure otherwise. Asked for a plan or a lesson (`agents.requests`), it answers a valid one,
    always the same, and its turn stays where it is.
    """

    def __init__(self, policy: Policy, label: str) -> None:
        self.label = label
        self._policy = policy
        self._turns: Turns | None = None
        self._view: TurnView | None = None
        self._awaited: str | None = None
        self._calls = 0

    def reply(self, messages: Sequence[Visible]) -> BrainReply:
        """What the policy does next; text without a call when it has nothing more to do in its turn."""
        # Only in a system message: what another seat writes never stands there, so it cannot pose as a request.
        asked = find_request(messages[0].text) if messages and messages[0].role == "system" else None
        call = self._next_call(messages) if asked is None else None
        if call is None:
            words = PASS if asked is None else _ANSWERS[asked]
            return BrainReply(words, None, _read(messages), len(words) // _BYTES_PER_TOKEN)
        self._calls += 1
        self._awaited = f"call-{self._calls}"
        made = BrainCall(self._awaited, call.tool, dict(call.arguments))
        return BrainReply("", made, _read(messages), len(orjson.dumps(made.arguments)) // _BYTES_PER_TOKEN)

    def _next_call(self, messages: Sequence[Visible]) -> ToolCall | None:
        """The policy's next call in the visible turn; None when it has nothing more to do in it."""
        view = self._visible_view(messages)
        # Another turn has begun: the generator of the old one is closed, since its last call was answered by the turn's
        # end.
        if self._view is None or _clock(view) != _clock(self._view):
            if self._turns is not None:
                self._turns.close()
            self._view, self._turns, self._awaited = view, self._policy.turn(view), None
            return self._advance(None)
        # The policy has finished this turn already; a nudge does not wake it.
        if self._turns is None:
            return None
        return self._advance(self._answer(messages))

    def _visible_view(self, messages: Sequence[Visible]) -> TurnView:
        """The turn in the last user message that shows one (a nudge shows none)."""
        # From the end: an agent's history may show several turns, and the last one is open.
        for message in reversed(messages):
            view = find_view(message.text) if message.role == "user" else None
            if view is not None:
                return view
        raise HarnessFailure(
            f"{self.label} answers a seat's agent only: its messages must show the market's turn; "
            "seat an agent on it with --base-url (tradefair play --model openai:MODEL --base-url URL)"
        )

    def _answer(self, messages: Sequence[Visible]) -> ToolAnswer:
        last = next((message for message in reversed(messages) if message.role == "tool"), messages[-1])
        # An agent that drops or reorders answers would feed the policy the answer of another call.
        if last.tool_call_id != self._awaited:
            found = f"{last.role} {last.tool_call_id or ''}".strip()
            raise HarnessFailure(
                f"{self.label}: the answer to {self._awaited} must be the last visible message, found {found}"
            )
        if last.is_error:
            # Whether the turn is over is not in a message; the next visible turn says it.
            return ToolAnswer(None, error_info(last.text), turn_over=False)
        # Policies read the answer's JSON; the marks around strangers' words are for models.
        return ToolAnswer(unfenced(last.text).encode(), None, turn_over=False)

    def _advance(self, answer: ToolAnswer | None) -> ToolCall | None:
        assert self._turns is not None
        try:
            return next(self._turns) if answer is None else self._turns.send(answer)
        except StopIteration:
            self._turns, self._awaited = None, None
            # A policy that returns has ended its turn; nothing is awaited until the next one.
            return None


def is_refusal(text: str) -> bool:
    """Whether a tool's answer is a refusal in the one shape there is: on the wire a tool message has no status."""
    # Cheap test first: most answers are data and would be parsed for nothing.
    if not text.startswith('{"'):
        return False
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return body.keys() == _REFUSAL.keys() and all(isinstance(body[name], kind) for name, kind in _REFUSAL.items())


def _clock(view: TurnView) -> tuple[object, ...]:
    """What is another value in every turn; a free clock awaits no seat, and its rounds hold several turns.

    Round, phase and revision name a turn; under a free clock the market's part of the view does, since nothing else
    moves.
    """
    return view.round, view.phase, view.revision, None if view.awaited else view.market


def _read(messages: Sequence[Visible]) -> int:
    return len("".join([message.text for message in messages]).encode()) // _BYTES_PER_TOKEN

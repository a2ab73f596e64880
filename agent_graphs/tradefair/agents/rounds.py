"""What a graph needs to play one market round and what it hands back: the seam between graphs and their driver."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import orjson

from tradefair.contract import HarnessFailure, TurnView

if TYPE_CHECKING:
    from tradefair.agents.bridge import Act
    from tradefair.agents.prompt import Prompt, PromptSet

NextTurn: TypeAlias = Callable[[], Awaitable[TurnView]]
"""Waits until the seat is asked again or the episode is over."""

Note: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
"""Takes one record of what the agent did outside the market (a model call, a round given up)."""

NUDGE = "Call a tool now. Another reply without a call gives this round up."
"""What a model is told that replied without a call."""

CUT = "Your reply was cut off before it called a tool: it was too long."
"""What it is told besides where its endpoint stopped it."""

# The server's fence around strangers' words (host/server/wire.py); its mark is a digest of the whole text.
_FENCE = re.compile(r"<data (?P<mark>[0-9a-f]+)>\n(?P<body>.*)\n</data (?P=mark)>\Z", re.DOTALL)
# The view's block; policies behind a model's interface read it back (`find_view`).
_OPEN = "```json turn_view\n"
_CLOSE = "\n```"


class RoundLimits(NamedTuple):
    """Bounds of one round; reaching one gives the round up."""

    calls: int = 60
    tokens: int | None = None

    @property
    def recursion_limit(self) -> int:
        """Graph steps that the call limit can need: per call three replies, a nudge, a plan, a person's word, the tools
        and a new phase.
        """
        # Generous, since only loops that would never end should meet it.
        return 8 * self.calls + 16


@dataclass(frozen=True)
class RoundEnd:
    """How a round ended. `view` is the first turn of another round, or the end; with `stop` the seat is still asked.

    `acts` are the calls of the round, or of the rest of one, with what they came to.
    """

    view: TurnView
    stop: str | None
    replies: int
    calls: int
    nudges: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    acts: Sequence[Act]

    @property
    def carried_out(self) -> bool:
        """Whether any of the calls was carried out."""
        return any(not act.outcome.is_error for act in self.acts)


class RoundBudget:
    """What is left of one round's limits: a round that goes on after a lapsed phase gets no fresh ones."""

    def __init__(self, limits: RoundLimits) -> None:
        self._limits = limits
        self._round: int | None = None
        self._calls = self._tokens = 0

    def open(self, view: TurnView) -> RoundLimits:
        """The limits for what `view` opens: a round, or the rest of one."""
        if view.round != self._round:
            # A new round begins with full limits.
            self._round, self._calls, self._tokens = view.round, 0, 0
        tokens = self._limits.tokens
        # Not below 0: the last reply of a phase may have gone beyond the limit.
        left = None if tokens is None else max(0, tokens - self._tokens)
        return RoundLimits(max(0, self._limits.calls - self._calls), left)

    def spend(self, end: RoundEnd) -> None:
        """Count what was used since `open`."""
        self._calls += end.calls
        self._tokens += end.input_tokens + end.output_tokens


class RoundPlayer(Protocol):
    """What plays one seat, round by round."""

    @property
    def prompt(self) -> Prompt | PromptSet:
        """What the model is told before anything else."""
        ...

    async def play_round(self, view: TurnView) -> RoundEnd:
        """Play the round that `view` opens, all its phases. Raises HarnessFailure.

        After `no_call` only the open phase lapses: `view` may then open the rest of the same round.
        """
        ...


def show_view(view: TurnView) -> str:
    """A turn as it stands in a message: one fenced block, opened by "```json turn_view", of one line of JSON."""
    return f"{_OPEN}{orjson.dumps(view.model_dump(mode='json')).decode()}{_CLOSE}"


def find_view(text: str) -> TurnView | None:
    """The turn in the last such block of a message; None where there is none. HarnessFailure when it is damaged."""
    # The last block: what was carried over may show an older turn.
    start = text.rfind(_OPEN)
    if start < 0:
        return None
    body, fence, _ = text[start + len(_OPEN) :].partition(_CLOSE)
    try:
        return TurnView.model_validate_json(body)
    except ValueError as error:
        raise HarnessFailure(f"the turn in the message is damaged (closed: {bool(fence)}): {error}") from None


def is_fenced(text: str) -> bool:
    """Whether the server has put marks around text which holds strangers' words."""
    # JSON first: an object that quotes a fence is data, not fenced text.
    return not text.startswith(("{", "[")) and _FENCE.search(text) is not None


def unfenced(text: str) -> str:
    """A tool's answer without the marks that the server puts around text which holds strangers' words."""
    fence = None if text.startswith(("{", "[")) else _FENCE.search(text)
    return text if fence is None else fence["body"]


def opening(view: TurnView, carried: str = "") -> str:
    """The message that opens a round: clock, what was carried over from earlier rounds, and the turn.

    It is the same in every graph and framework, so that only the agent differs.
    """
    parts = (f"Round {view.round}, phase {view.phase}. It is your turn.", carried, show_view(view))
    # Empty parts leave no gap behind.
    return "\n\n".join(filter(None, parts))


def goes_on(view: TurnView) -> str:
    """The message that opens a later phase of the same round."""
    return f"Round {view.round} goes on with phase {view.phase}. It is your turn.\n\n{show_view(view)}"

"""What a graph needs to play one market round and what it hands back: the seam between graphs and their driver."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import orjson

from fairground.contract.errors import HarnessFailure
from fairground.contract.policy import TurnView

if TYPE_CHECKING:
    from fairground.agents.prompt import Prompt

__all__ = ["NextTurn", "Note", "RoundEnd", "RoundLimits", "RoundPlayer", "find_view", "show_view", "unfenced"]

NextTurn: TypeAlias = Callable[[], Awaitable[TurnView]]
"""Waits until the seat is asked again or the episode is over."""

Note: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
"""Takes one record of what the agent did outside the market (a model call, a round given up)."""

_FENCE = re.compile(r"<data (?P<mark>[0-9a-f]+)>\n(?P<body>.*)\n</data (?P=mark)>\Z", re.DOTALL)
_OPEN = "```json turn_view\n"
_CLOSE = "\n```"


class RoundLimits(NamedTuple):
    """Bounds of one round; reaching one gives the round up."""

    calls: int = 60
    tokens: int | None = None

    @property
    def recursion_limit(self) -> int:
        """Graph steps that the call limit can need: per call three replies, a nudge, the tools and a new phase."""
        return 6 * self.calls + 16


@dataclass(frozen=True)
class RoundEnd:
    """How a round ended. `view` is the first turn of another round, or the end; with `stop` the seat is still asked."""

    view: TurnView
    stop: str | None
    replies: int
    calls: int
    nudges: int
    input_tokens: int
    output_tokens: int
    estimated: bool


class RoundPlayer(Protocol):
    """A graph that plays one seat, round by round."""

    @property
    def prompt(self) -> Prompt:
        """The prompt that opens every round."""
        ...

    async def play_round(self, view: TurnView) -> RoundEnd:
        """Play the round that `view` opens, all its phases. Raises HarnessFailure."""
        ...


def show_view(view: TurnView) -> str:
    """A turn as it stands in a message: one fenced block, opened by "```json turn_view", of one line of JSON."""
    return f"{_OPEN}{orjson.dumps(view.model_dump(mode='json')).decode()}{_CLOSE}"


def find_view(text: str) -> TurnView | None:
    """The turn in the last such block of a message; None where there is none. HarnessFailure when it is damaged."""
    start = text.rfind(_OPEN)
    if start < 0:
        return None
    body, fence, _ = text[start + len(_OPEN) :].partition(_CLOSE)
    try:
        return TurnView.model_validate_json(body)
    except ValueError as error:
        raise HarnessFailure(f"the turn in the message is damaged (closed: {bool(fence)}): {error}") from None


def unfenced(text: str) -> str:
    """A tool's answer without the marks that the server puts around text which holds strangers' words."""
    fence = None if text.startswith(("{", "[")) else _FENCE.search(text)
    return text if fence is None else fence["body"]

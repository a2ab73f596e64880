"""What every framework that plays a seat is given and gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tradefair.contract import Brief, LapseReason, SeatId, TurnView
from tradefair.contract.kernel.players import Limits

# For type checkers only: `mcp` and the models need packages that reading a base class should not load.
if TYPE_CHECKING:
    from mcp import Client

    from tradefair.frameworks.models.endpoint import ModelEndpoint

COMMAND = "command:"
"""Begins the framework's name of an agent that is a program: `command:python my_agent.py`."""
BROKE_OFF = "broke_off"
"""The kind of note of an agent that left a game before its end, and why its turns are given up then."""
Stop = Literal["episode_over", "gave_up"]
"""Why an agent stopped: the market ended, or it gave a round up and had no way to lapse."""


class TurnGate(Protocol):
    """Lets the runner ask awaited seats one after another: equal order, equal head hashes.

    A policy or model that answers faster would otherwise act first, and the order of calls is part of the trace.
    """

    async def enter(self, view: TurnView) -> None:
        """Wait until this seat may act on `view`."""
        ...

    async def leave(self) -> None:
        """The seat has done what it will do in this turn; called once for each `enter`."""
        ...


@dataclass(frozen=True)
class SeatConnection:
    """An open MCP client in a seat; for a program, which opens its own, the URL and token of the seat.

    With these come `ended`, which returns when the episode is over, and `calls`, how many calls came by that token.

    `lapse` takes the seat's default action (in-process runners have it, remote agents do not). `note` takes records of
    what the agent did outside the market, for `agent_events`. `key_prefix` must differ from that of every earlier
    connection of this seat to the same episode. Timeouts are in seconds. After `idle_rounds` in a row without a call
    that was carried out the agent stops (0: it never does).
    """

    client: Client
    seat: SeatId
    url: str | None = None
    # Not in `repr`: a log line that shows the connection must not hold the token of the seat.
    token: str | None = field(default=None, repr=False)
    ended: Callable[[], Awaitable[object]] | None = None
    calls: Callable[[], int] | None = None
    # None for a remote agent: only the process that holds the episode can take a default action for a seat.
    lapse: Callable[[LapseReason], Awaitable[None]] | None = None
    gate: TurnGate | None = None
    note: Callable[[dict[str, Any]], Awaitable[None]] | None = None
    # Part of every call key. A prefix that was used before would return the earlier call's stored answer.
    key_prefix: str = "call"
    call_timeout_s: float = 60.0
    idle_rounds: int = 0


@dataclass
class SeatReport:
    """Stop reason and counters. Results come from the trace, never from here.

    `given_up` maps a reason (`no_call`, `call_limit`, `token_limit`, `framework_error`, `broke_off`) to how often it
    ended a phase or round.
    """

    framework: str
    model: str | None = None
    prompt: str | None = None
    stop: Stop = "episode_over"
    end_reason: str | None = None
    turns: int = 0
    # Rounds of the market; `given_up` counts phases for `no_call` (docs/explanation/why/frameworks.md).
    rounds: int = 0
    given_up: dict[str, int] = field(default_factory=dict[str, int])
    replies: int = 0
    nudges: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    timeouts: int = 0
    retries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    # True as soon as one reply was estimated: the sums then mix counted and estimated tokens.
    usage_estimated: bool = False


class SeatAgent(Protocol):
    """A framework's way to play a seat to the end of the episode.

    Raises HarnessFailure when the connection or the model's provider fails: never scored as the agent's mistake.
    """

    @property
    def name(self) -> str:
        """The framework's name."""
        ...

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play `seat` until the episode is over."""
        ...

"""A seat of a live episode in the hands of your own code, and what makes such code an agent of the runner."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter

from tradefair.agents.bridge import Bridge, error_info
from tradefair.api.traces import Trace
from tradefair.contract import Brief, HarnessFailure, IllegalAction, Policy, SeatId, Turns, TurnView
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.policy import PolicyAgent
from tradefair.frameworks.seat_clock import SeatClock, open_bridge
from tradefair.host.episode.episode import Episode

_ARGUMENTS = TypeAdapter[Any](dict[str, Any])


class Refused(IllegalAction):
    """A call was refused and changed nothing.

    `code` is one word such as "invalid_arguments" or "episode_over", `message` says what was wrong, `hint` what to do
    next, `retryable` whether another try can succeed.
    """

    def __init__(self, code: str, message: str, hint: str = "", retryable: bool = True) -> None:
        super().__init__(code, message, hint=hint, retryable=retryable)
        self.code, self.message, self.hint, self.retryable = self.info


class Seat:
    """One seat of a live episode. Iterate over its turns, and call its tools; the market sees an MCP client.

        async for turn in seat:
            await seat.call("submit_quote", price=turn.round)

    `id` is the seat's id, `brief` its role, objective and the meaning of a round, `turn` the turn that was given last
    (None before the first).
    """

    def __init__(self, brief: Brief, connection: SeatConnection, bridge: Bridge, place: Path) -> None:
        self.id: Final[SeatId] = connection.seat
        self.brief: Final = brief
        self.turn: TurnView | None = None
        self.clock: Final = SeatClock(connection, bridge)
        self.given_up = 0
        self._bridge = bridge
        self._place = place
        self._calls = 0
        self._acted = False
        self._left = False

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The seat's tools: name, kind (read, analysis, action or note), description, input_schema (JSON Schema)."""
        return [
            {
                "name": tool.name,
                "kind": (tool.meta or {}).get("tradefair/kind", ""),
                "description": tool.description or "",
                "input_schema": dict(tool.input_schema),
            }
            for tool in self._bridge.tools.values()
        ]

    @property
    def trace(self) -> Trace:
        """The trace as it is now; of a seat that was left early, an unfinished one that can be resumed."""
        return Trace(self._place)

    # By position only, so that a tool may have an argument named tool.
    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The typed result of one tool call, as plain data.

        Raises Refused where the market does not carry the call out, also for unknown tools, for arguments that are no
        JSON, and after the end; HarnessFailure when the connection fails.
        """
        # The connection is closed then, and a call on it would look like a failure of the harness.
        if self._left:
            raise Refused("episode_over", f"seat {self.id} was left: call its tools while it is played", "", False)
        sendable = _sendable(tool, arguments)
        # From here on it is a call: what cannot be sent never reaches the market.
        self._calls += 1
        outcome = await self._bridge.call(tool, sendable)
        # A refusal can end the turn too, where it was the last that the market allows.
        self._acted = self._acted or (self.turn is not None and outcome.ends(self.turn))
        if outcome.is_error:
            raise Refused(*error_info(outcome.text))
        return dict(outcome.structured or {})

    def __aiter__(self) -> AsyncIterator[TurnView]:
        """The seat's turns until the episode is over.

        A turn that the loop's body leaves open lapses with the reason `agent_limit`, so that no loop spins.
        """
        return self

    async def __anext__(self) -> TurnView:
        view = self.turn
        if view is not None and view.over:
            raise StopAsyncIteration
        if view is None or self._acted:
            following = await self.clock.next_turn()
        else:
            # A turn that was given and not ended by an act has been given up.
            self.given_up += 1
            following = await self.clock.lapse(view) or await self.clock.next_turn()
        self.turn, self._acted = following, False
        if following.over:
            raise StopAsyncIteration
        return following

    async def play_out(self) -> None:
        """Let every turn that is left lapse."""
        async for _ in self:
            pass

    async def leave(self) -> None:
        """Refuse later calls, and let the seats behind this one play on."""
        self._left = True
        await self.clock.close()

    def report(self, name: str) -> SeatReport:
        """What the runner notes of an agent called `name` that has played this seat."""
        counts = self._bridge.counts
        return SeatReport(
            name,
            end_reason=None if self.turn is None else self.turn.end_reason,
            turns=self.clock.turns,
            given_up={"no_call": self.given_up} if self.given_up else {},
            tool_calls=self._calls,
            tool_errors=counts.errors,
            timeouts=counts.timeouts,
            retries=counts.retries,
        )


class Stage:
    """What the own code of one episode needs to know of it, and what became of that code.

    `episode` is the live episode (None before it is made), `fault` what own code raised. A stage serves one episode.
    """

    def __init__(self) -> None:
        self.episode: Episode | None = None
        self.fault: BaseException | None = None

    @property
    def place(self) -> Path | None:
        """The file of the trace, once there is one."""
        return None if self.episode is None else self.episode.path

    @property
    def over(self) -> bool:
        """Whether the market has ended the episode."""
        return self.episode is not None and self.episode.core.ended is not None

    def failed(self, seat: SeatId, turn: TurnView | None, fault: BaseException) -> HarnessFailure:
        """The failure that the runner is told of."""
        self.fault = fault
        when = "before its first turn" if turn is None else f"in round {turn.round}"
        return HarnessFailure(f"the agent of {seat} failed {when}: {fault!r}")


class OwnFunction:
    """An async function of a `Seat` as an agent of the runner; it plays any number of seats, each by a call."""

    def __init__(self, name: str, function: Callable[[Seat], Awaitable[object]], stage: Stage) -> None:
        self.name = name
        self._function = function
        self._stage = stage

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end; turns that are left when the function returns lapse. Raises HarnessFailure."""
        bridge = await open_bridge(seat)
        taken = Seat(brief, seat, bridge, self._stage.place or Path())
        try:
            await self._guarded(taken)
            await taken.play_out()
        finally:
            await taken.leave()
        return taken.report(self.name)

    async def _guarded(self, taken: Seat) -> None:
        try:
            await self._function(taken)
        # Not the own code's fault, and its message says already what failed.
        except HarnessFailure:
            raise
        except asyncio.CancelledError as fault:
            task = asyncio.current_task()
            # Asked for from outside, by Ctrl-C or by leaving the episode.
            if task is None or task.cancelling():
                raise
            # Own code cancelled itself. Passed on, it would end the episode as if that had been asked for.
            raise self._stage.failed(taken.id, taken.turn, fault) from fault
        # SystemExit too: own code that calls exit() must not end the runner.
        except (Exception, SystemExit) as fault:
            raise self._stage.failed(taken.id, taken.turn, fault) from fault


class OwnPolicy:
    """A policy class of your own as an agent of the runner: one object per seat and episode."""

    def __init__(self, name: str, make: Callable[[], Policy], stage: Stage) -> None:
        self.name = name
        self._make = make
        self._stage = stage

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end, through the framework for policies. Raises HarnessFailure."""
        # Followed, so that a failure can name the round.
        followed = _Followed(self._make())
        endpoint = ModelEndpoint("policy", self.name, self.name).with_policy(followed)
        try:
            return await PolicyAgent().play(seat, endpoint, brief, limits)
        except HarnessFailure:
            raise
        except (Exception, SystemExit) as fault:
            raise self._stage.failed(seat.seat, followed.now, fault) from fault


class _Followed:
    """A policy, and the turn that it was given last."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.now: TurnView | None = None

    def turn(self, now: TurnView) -> Turns:
        """The policy's own turn."""
        self.now = now
        return self._policy.turn(now)


def _sendable(tool: str, arguments: Mapping[str, Any]) -> Any:
    """The arguments as JSON has them. What JSON cannot carry is refused here: sent, it would break the connection."""
    try:
        # Tuples, dates and models become what JSON has for them.
        return _ARGUMENTS.dump_python(arguments, mode="json")
    except (ValueError, RecursionError) as bad:
        hint = "give int, float, str, bool, None, and lists and dicts of these"
        raise Refused("invalid_arguments", f"{tool}: {bad}", hint) from None

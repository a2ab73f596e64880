"""One market round for frameworks whose loop is their own: counts, limits, and every tool call made exactly once.

    the framework asked its model     -> `reply`: counted, noted, checked against the limits
    the framework runs a tool         -> `answer`: the calls of the reply are made in order, once, by us
    the framework returned            -> `following`: what to say next, or that the round is over

The calls are taken from the model's reply, not from what a framework makes of them: unknown tools reach the market's
trace, and a framework that runs tools at once, or twice, changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tradefair.agents.bridge import Bridge, ToolOutcome, refusal
from tradefair.agents.memory import Act
from tradefair.agents.model_calls import ModelReply, model_call
from tradefair.agents.round_calls import Call, execute_calls
from tradefair.agents.rounds import NUDGE, NextTurn, Note, RoundEnd, RoundLimits, goes_on
from tradefair.contract import HarnessFailure, TurnView

MAX_THOUGHTS = 3
"""Replies without a call in a row that give a round up; the one before the last is nudged."""


class SeatRound:
    """The state of one round of one seat. A framework stops when it is `finished`; then `following` says what next.

    `view` is the open phase's turn, at the end the next round's; `failure` is what a call raised, for frameworks that
    swallow or wrap what their tools raise.
    """

    def __init__(
        self, bridge: Bridge, limits: RoundLimits, next_turn: NextTurn, note: Note | None, view: TurnView
    ) -> None:
        self.view = view
        self.acts: list[Act] = []
        self.failure: Exception | None = None
        self._bridge = bridge
        self._limits = limits
        self._next_turn = next_turn
        self._note = note
        self._estimated = False
        self._turn_over = False
        self._stop: str | None = None
        self._replies = self._calls = self._thoughts = self._nudges = self._heard = 0
        self._input_tokens = self._output_tokens = 0
        self._asked: Sequence[Call] = ()
        self._answers: dict[str, list[ToolOutcome]] | None = {}
        self._lock = asyncio.Lock()

    @property
    def finished(self) -> bool:
        """Whether the model must not be asked again: the turn is over, or the round is given up."""
        return self._turn_over or self._stop is not None

    @property
    def stop(self) -> str | None:
        """Why the round is given up, if it is."""
        return self._stop

    async def reply(self, reply: ModelReply) -> None:
        """Take in a reply before its calls are made; one that reaches a limit gives the round up."""
        await self.settle()
        self._asked, self._answers = reply.calls, None
        self._thoughts = 0 if reply.calls else self._thoughts + 1
        self._input_tokens += reply.input_tokens or 0
        self._output_tokens += reply.output_tokens or 0
        self._estimated = self._estimated or reply.estimated
        if self._note is not None:
            await self._note(model_call(reply, "actor", self.view, f"r{self.view.round}.{self._replies}"))
        self._replies += 1
        spent = self._input_tokens + self._output_tokens
        if self._limits.tokens is not None and spent > self._limits.tokens:
            self._stop = "token_limit"
        elif self._thoughts >= MAX_THOUGHTS:
            self._stop = "no_call"

    async def answer(self, call_id: str) -> ToolOutcome:
        """What the call of the last reply with this id came to; the first to ask has all of them made.

        Raises HarnessFailure, also for a call that the reply does not have.
        """
        await self.settle()
        outcomes = (self._answers or {}).get(call_id)
        if not outcomes:
            self.failure = HarnessFailure(f"a framework asked for the call {call_id!r}, which its model did not make")
            raise self.failure
        # Some endpoints give one id to several calls.
        return outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]

    async def settle(self) -> None:
        """Make the calls of the last reply that are not made yet; a framework may have kept them to itself."""
        async with self._lock:
            if self._answers is not None:
                return
            try:
                outcomes = await self._make()
            except Exception as error:
                self.failure = error
                raise
            self._answers = {}
            for call, outcome in zip(self._asked, outcomes, strict=True):
                self._answers.setdefault(call.id, []).append(outcome)

    async def following(self) -> str | None:
        """The words to ask the model again with, "" for none; None when the round is over. Raises HarnessFailure."""
        await self.settle()
        if self._heard == self._replies and not self.finished:
            raise HarnessFailure("the framework returned without having asked its model")
        self._heard = self._replies
        if self._stop is not None:
            return None
        if self._turn_over:
            return await self._next_phase()
        if self._thoughts < MAX_THOUGHTS - 1:
            return ""
        self._nudges += 1
        return NUDGE

    def give_up(self, reason: str) -> None:
        """The framework cannot go on with this round."""
        self._stop = self._stop or reason

    def end(self) -> RoundEnd:
        """How the round ended."""
        return RoundEnd(
            view=self.view,
            stop=self._stop,
            replies=self._replies,
            calls=self._calls,
            nudges=self._nudges,
            input_tokens=self._input_tokens,
            output_tokens=self._output_tokens,
            estimated=self._estimated,
        )

    async def _make(self) -> list[ToolOutcome]:
        if self._stop is not None:
            return [refusal(call.tool, self._stop, "the round is given up: not made") for call in self._asked]
        budget = self._limits.calls - self._calls
        outcomes = await execute_calls(self._bridge, self._asked, self.view, budget)
        self._calls += len(outcomes)
        self.acts += [
            Act(call.tool, call.arguments or {}, outcome) for call, outcome in zip(self._asked, outcomes, strict=True)
        ]
        self._turn_over = any(outcome.ends(self.view) for outcome in outcomes)
        if not self._turn_over and self._calls >= self._limits.calls:
            self._stop = "call_limit"
        return outcomes

    async def _next_phase(self) -> str | None:
        before, self.view = self.view, await self._next_turn()
        if self.view.over or self.view.round != before.round:
            return None
        self._turn_over = False
        if self._calls >= self._limits.calls:
            self._stop = "call_limit"
            return None
        return goes_on(self.view)

"""One market round for frameworks with a loop of their own: counts, limits, and every tool call made exactly once.

    the framework asked its model     -> `reply`: counted, noted, checked against the limits
    the framework runs a tool         -> `answer`: the calls of the reply are made in order, once, by us
    the framework returned            -> `following`: what to say next, or that the round is over

The calls are taken from the model's reply, not from what a framework makes of them: unknown tools reach the market's
trace, and a framework that runs tools at once, or twice, changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tradefair.agents.bridge import Act, Bridge, ToolOutcome, refusal
from tradefair.agents.model_calls import ModelReply, model_call
from tradefair.agents.round_calls import Call, execute_calls
from tradefair.agents.rounds import NUDGE, NextTurn, Note, RoundEnd, RoundLimits, goes_on
from tradefair.contract import HarnessFailure, TurnView

# As in the graphs (`agents/graphs/acting.py`): frameworks are compared under the same limits.
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
        # `heard` is the number of replies at the last `following`: it finds frameworks that return without asking.
        self._replies = self._calls = self._thoughts = self._nudges = self._heard = 0
        self._input_tokens = self._output_tokens = 0
        self._asked: Sequence[Call] = ()
        # By call id; None from a reply on until its calls have been made.
        self._answers: dict[str, list[ToolOutcome]] | None = {}
        # Frameworks run tools at once: only the first may make the calls, the others wait for its outcomes.
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
        # A framework may ask again without having run all tools; those calls are made before the next reply counts.
        await self.settle()
        self._asked, self._answers = reply.calls, None
        self._thoughts = 0 if reply.calls else self._thoughts + 1
        self._input_tokens += reply.input_tokens or 0
        self._output_tokens += reply.output_tokens or 0
        self._estimated = self._estimated or reply.estimated
        if self._note is not None:
            # Noted before the limits are checked: the reply that reaches a limit was paid for as well.
            await self._note(model_call(reply, "actor", self.view, f"r{self.view.round}.{self._replies}"))
        self._replies += 1
        spent = self._input_tokens + self._output_tokens
        # More than the limit, not equal: a round that uses its tokens exactly has kept to it.
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
            # Kept as `failure` too: frameworks turn what their tools raise into text for the model.
            self.failure = HarnessFailure(f"a framework asked for the call {call_id!r}, which its model did not make")
            raise self.failure
        # Some endpoints give one id to several calls.
        return outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]

    async def settle(self) -> None:
        """Make the calls of the last reply that are not made yet; a framework may have kept them to itself."""
        # The lock comes first: a second caller must see the answers and not an empty mapping.
        async with self._lock:
            if self._answers is not None:
                return
            try:
                outcomes = await self._make()
            except Exception as error:
                # Kept: the framework may swallow it, and the round must then still fail.
                self.failure = error
                raise
            # Filled after the calls were made, in their order; a repeated id gets a list.
            self._answers = {}
            for call, outcome in zip(self._asked, outcomes, strict=True):
                self._answers.setdefault(call.id, []).append(outcome)

    async def following(self) -> str | None:
        """The words to ask the model again with, "" for none; None when the round is over. Raises HarnessFailure."""
        await self.settle()
        # A framework that was left without a reply would be called again and again with the same words.
        if self._heard == self._replies and not self.finished:
            raise HarnessFailure("the framework returned without having asked its model")
        self._heard = self._replies
        if self._stop is not None:
            return None
        if self._turn_over:
            return await self._next_phase()
        # The first thought needs no words: the conversation simply goes on.
        if self._thoughts < MAX_THOUGHTS - 1:
            return ""
        self._nudges += 1
        return NUDGE

    def give_up(self, reason: str) -> None:
        """The framework cannot go on with this round.

        The first reason is kept.
        """
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
            acts=self.acts,
        )

    async def _make(self) -> list[ToolOutcome]:
        if self._stop is not None:
            # Refused and not left out: every call of a reply needs an answer in the history.
            return [refusal(call.tool, self._stop, "the round is given up: not made") for call in self._asked]
        budget = self._limits.calls - self._calls
        outcomes = await execute_calls(self._bridge, self._asked, self.view, budget)
        # What the bridge refused counts too: the limit is on what the model asks for.
        self._calls += len(outcomes)
        self.acts += [
            Act(call.tool, call.arguments or {}, outcome) for call, outcome in zip(self._asked, outcomes, strict=True)
        ]
        self._turn_over = any(outcome.ends(self.view) for outcome in outcomes)
        # A turn that ended with its last call kept to the limit.
        if not self._turn_over and self._calls >= self._limits.calls:
            self._stop = "call_limit"
        return outcomes

    async def _next_phase(self) -> str | None:
        before, self.view = self.view, await self._next_turn()
        # The next round is another `SeatRound`, with an empty history.
        if self.view.over or self.view.round != before.round:
            return None
        self._turn_over = False
        # The phase that opens could not be played with what is left.
        if self._calls >= self._limits.calls:
            self._stop = "call_limit"
            return None
        return goes_on(self.view)

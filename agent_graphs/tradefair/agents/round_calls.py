"""Ordered execution of the calls that a model asks for at once, whatever framework carried them.

Needs neither langchain nor langgraph.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tradefair.agents.bridge import Bridge, ToolOutcome, refusal
from tradefair.contract import TurnView


class Call(NamedTuple):
    """One call of a model's message; `arguments` is None where they were not a JSON object.

    `cut`: the endpoint cut the reply off, and these arguments with it.
    """

    id: str
    tool: str
    arguments: Mapping[str, Any] | None
    cut: bool = False


async def execute_calls(
    bridge: Bridge, calls: Sequence[Call], view: TurnView, budget: int, declined: Sequence[str | None] = ()
) -> list[ToolOutcome]:
    """The outcomes of `calls`, made in their order, in parallel only if all are read-only.

    Once a result says that the turn of `view` is over, or `budget` calls were made, the rest is refused and not
    executed; so is a call for which `declined`, in the order of the calls, has a reason. HarnessFailure passes through.
    """
    # At once only if no order matters: reads change nothing, and none of them is refused here.
    if len(calls) <= budget and all(call.arguments is not None and bridge.read_only(call.tool) for call in calls):
        return await _at_once(bridge, calls)
    return await _one_by_one(bridge, calls, view, budget, declined)


async def _at_once(bridge: Bridge, calls: Sequence[Call]) -> list[ToolOutcome]:
    # The common case, without a task of its own.
    if len(calls) == 1:
        return [await bridge.call(calls[0].tool, calls[0].arguments or {})]
    # All are awaited before a failure is raised: nothing may still be running when the step ends.
    answers = await asyncio.gather(
        *(bridge.call(call.tool, call.arguments or {}) for call in calls), return_exceptions=True
    )
    # The first failure in the order of the calls, the same in every run.
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if isinstance(answer, ToolOutcome)]


async def _one_by_one(
    bridge: Bridge, calls: Sequence[Call], view: TurnView, budget: int, declined: Sequence[str | None]
) -> list[ToolOutcome]:
    outcomes: list[ToolOutcome] = []
    over = False
    for index, call in enumerate(calls):
        reason = declined[index] if index < len(declined) else None
        # Checked call by call: an earlier call may have ended the turn.
        outcome = _not_to_be_made(call, over, index >= budget, reason)
        if outcome is None:
            outcome = await bridge.call(call.tool, call.arguments or {})
            # `over` stays as it is after a refusal; only an answer of the market can end the turn.
            over = outcome.ends(view)
        outcomes.append(outcome)
    return outcomes


def _not_to_be_made(call: Call, over: bool, beyond: bool, declined: str | None) -> ToolOutcome | None:
    """The answer to a call that is not to be made; None for one that is."""
    # The order is that of what the model can still do about it: nothing, next round, now.
    if over:
        return refusal(call.tool, "turn_over", "turn is over: this call was not made", retryable=False)
    if beyond:
        return refusal(call.tool, "call_limit", "no calls are left in this round: this call was not made")
    if call.arguments is None:
        # Never sent: what is no object has no arguments that a trace could hold.
        if call.cut:
            words = "the reply was cut off before the arguments were complete: this call was not made"
            return refusal(call.tool, "invalid_arguments", words, hint=f"call {call.tool} again with fewer words")
        return refusal(call.tool, "invalid_arguments", "the arguments are not a JSON object", hint=call.tool)
    if declined is not None:
        hint = "choose another action, or the same with other arguments"
        return refusal(call.tool, "declined", f"a person declined this call: {declined}", hint=hint)
    return None

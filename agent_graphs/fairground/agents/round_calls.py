"""Ordered execution of the calls that a model asks for at once, whatever framework carried them.

Needs neither langchain nor langgraph.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairground.agents.bridge import Bridge, ToolOutcome, refusal
from fairground.contract.policy import TurnView

__all__ = ["Call", "execute_calls"]


class Call(NamedTuple):
    """One call of a model's message; `arguments` is None where they were not a JSON object."""

    id: str
    tool: str
    arguments: Mapping[str, Any] | None


async def execute_calls(bridge: Bridge, calls: Sequence[Call], view: TurnView, budget: int) -> list[ToolOutcome]:
    """The outcomes of `calls`, made in their order, in parallel only if all are read-only.

    Once a result says that the turn of `view` is over, or `budget` calls were made, the rest is refused and not
    executed. HarnessFailure passes through.
    """
    if len(calls) <= budget and all(call.arguments is not None and bridge.read_only(call.tool) for call in calls):
        return await _at_once(bridge, calls)
    return await _one_by_one(bridge, calls, view, budget)


async def _at_once(bridge: Bridge, calls: Sequence[Call]) -> list[ToolOutcome]:
    if len(calls) == 1:
        return [await bridge.call(calls[0].tool, calls[0].arguments or {})]
    # All are awaited before a failure is raised: nothing may still be running when the step ends.
    answers = await asyncio.gather(
        *(bridge.call(call.tool, call.arguments or {}) for call in calls), return_exceptions=True
    )
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if isinstance(answer, ToolOutcome)]


async def _one_by_one(bridge: Bridge, calls: Sequence[Call], view: TurnView, budget: int) -> list[ToolOutcome]:
    outcomes: list[ToolOutcome] = []
    over = False
    for index, call in enumerate(calls):
        if over:
            outcome = refusal(call.tool, "turn_over", "turn is over: this call was not made", retryable=False)
        elif index >= budget:
            outcome = refusal(call.tool, "call_limit", "no calls are left in this round: this call was not made")
        elif call.arguments is None:
            outcome = refusal(call.tool, "invalid_arguments", "the arguments are not a JSON object", hint=call.tool)
        else:
            outcome = await bridge.call(call.tool, call.arguments)
            over = outcome.ends(view)
        outcomes.append(outcome)
    return outcomes

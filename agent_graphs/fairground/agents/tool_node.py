"""Ordered execution of the calls of one message."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage, ToolMessage

from fairground.agents.bridge import Bridge, ToolOutcome, refusal
from fairground.contract.policy import TurnView

__all__ = ["Call", "Executed", "run_calls"]


class Call(NamedTuple):
    """One call of a model's message; `arguments` is None where they were not a JSON object."""

    id: str
    tool: str
    arguments: Mapping[str, Any] | None


class Executed(NamedTuple):
    """What the calls of one message came to, in their order."""

    calls: list[Call]
    outcomes: list[ToolOutcome]
    messages: list[ToolMessage]
    turn_over: bool
    exhausted: bool


async def run_calls(bridge: Bridge, message: AIMessage, view: TurnView, budget: int) -> Executed:
    """Run the calls of `message` in order, in parallel only if all are read-only; every call gets one tool message.

    Once a result says that the turn of `view` is over, or `budget` calls were made, the rest is answered with an
    error and not executed. Message ids are `<message id>.<n>`. HarnessFailure passes through.
    """
    calls = _calls(message)
    if len(calls) <= budget and all(call.arguments is not None and bridge.read_only(call.tool) for call in calls):
        outcomes = await _at_once(bridge, calls)
    else:
        outcomes = await _one_by_one(bridge, calls, view, budget)
    return Executed(
        calls,
        outcomes,
        [_message(message, index, calls[index], outcome) for index, outcome in enumerate(outcomes)],
        any(outcome.ends(view) for outcome in outcomes),
        len(calls) > budget,
    )


def _calls(message: AIMessage) -> list[Call]:
    good = [Call(call["id"] or "", call["name"], call["args"]) for call in message.tool_calls]
    bad = [Call(call["id"] or "", call["name"] or "", None) for call in message.invalid_tool_calls]
    return good + bad


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


def _message(message: AIMessage, index: int, call: Call, outcome: ToolOutcome) -> ToolMessage:
    return ToolMessage(
        content=cast("Any", outcome.content),
        tool_call_id=call.id,
        name=call.tool,
        id=f"{message.id}.{index}",
        status="error" if outcome.is_error else "success",
        artifact=outcome.artifact,
    )

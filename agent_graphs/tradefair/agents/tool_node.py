"""The calls of one message of a chat model, and the tool messages that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage, ToolMessage

from tradefair.agents.bridge import Bridge, ToolOutcome
from tradefair.agents.round_calls import Call, execute_calls
from tradefair.contract import TurnView

# OpenAI's word, Anthropic's and Google's.
_CUT = frozenset({"length", "max_tokens", "MAX_TOKENS"})


class Executed(NamedTuple):
    """What the calls of one message came to, in their order."""

    calls: list[Call]
    outcomes: list[ToolOutcome]
    messages: list[ToolMessage]
    turn_over: bool


async def run_calls(
    bridge: Bridge, message: AIMessage, view: TurnView, budget: int, declined: Sequence[str | None] = ()
) -> Executed:
    """Run the calls of `message` as `execute_calls` does; every call gets one tool message, `<message id>.<n>`."""
    calls = calls_of(message)
    outcomes = await execute_calls(bridge, calls, view, budget, declined)
    return Executed(
        calls,
        outcomes,
        [_message(message, index, calls[index], outcome) for index, outcome in enumerate(outcomes)],
        any(outcome.ends(view) for outcome in outcomes),
    )


def calls_of(message: AIMessage) -> list[Call]:
    """The calls of a model's message, those with malformed arguments last.

    The order of the calls in the reply is lost where both kinds occur: langchain keeps them in two lists.
    """
    cut = was_cut(message)
    good = [Call(call["id"] or "", call["name"], call["args"]) for call in message.tool_calls]
    bad = [Call(call["id"] or "", call["name"] or "", None, cut) for call in message.invalid_tool_calls]
    return good + bad


def was_cut(message: AIMessage) -> bool:
    """Whether the endpoint stopped the reply at its greatest length (`--limit reply`, or the model's own)."""
    return finish_reason(message) in _CUT


def finish_reason(message: AIMessage) -> str | None:
    """Why a model stopped, as its provider says it; None where it does not."""
    about = message.response_metadata
    said = about.get("finish_reason") or about.get("stop_reason")
    return said if isinstance(said, str) else None


def _message(message: AIMessage, index: int, call: Call, outcome: ToolOutcome) -> ToolMessage:
    # The artifact stays with the message, for windows and tests; models are not shown it.
    return ToolMessage(
        content=cast("Any", outcome.content),
        tool_call_id=call.id,
        name=call.tool,
        id=f"{message.id}.{index}",
        status="error" if outcome.is_error else "success",
        artifact=outcome.artifact,
    )

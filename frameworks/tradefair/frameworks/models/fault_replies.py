"""Replies that stand in for the model's: what models do wrong, made to order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradefair.frameworks.models.faults import Fault
from tradefair.frameworks.models.wire import Answer, ChatRequest, as_object, completion, error_answer, function_call

FAULT_ID = "fault-"
"""How the ids of injected calls begin; policies are not shown the exchange."""

# The words carry nothing: a refusal is marked by its own field.
_REFUSAL = "I cannot help with that."
# Seconds. Short, so that tests of retries take no time; a value in the schedule replaces it.
_DEFAULT_RETRY_AFTER_S = 0.01


def refused(fault: Fault) -> Answer:
    """The answer of an overloaded (429) or failing (500) endpoint.

    Both carry headers that ask the client to try again, as real endpoints do.
    """
    if fault.kind == "429":
        wait = _DEFAULT_RETRY_AFTER_S if fault.value is None else fault.value
        return error_answer(429, "too many requests (injected)", "rate_limit_exceeded", retry=True, retry_after_s=wait)
    return error_answer(
        500, "the server failed (injected)", "server_error", retry=True, retry_after_s=_DEFAULT_RETRY_AFTER_S
    )


def fault_reply(fault: Fault, request: ChatRequest, number: int) -> Answer:
    """The reply to the `number`-th request in the model's place; a policy is not asked and does not advance.

    The call's id begins with `FAULT_ID` and holds the number, so that two faults of a run do not share an id.
    """
    message, reason = _message(fault.kind, f"{FAULT_ID}{number}", request)
    return completion(request.model, number, message, reason)


def _message(kind: str, call_id: str, request: ChatRequest) -> tuple[dict[str, Any], str]:
    """The assistant's message and the finish reason of a fault."""
    if kind == "empty":
        return {"content": ""}, "stop"
    # OpenAI marks a refusal by its own field and leaves the content null.
    if kind == "refusal":
        return {"content": None, "refusal": _REFUSAL}, "stop"
    tools = [_tool(tool) for tool in request.tools]
    # No market has a tool of this name, so the market's own refusal is what the agent reads.
    if kind == "unknown_tool":
        return _calling(call_id, "no_such_tool", "{}"), "tool_calls"
    if kind == "endless":
        return _calling(call_id, _harmless(tools), "{}"), "tool_calls"
    # The first tool of the request: a broken call must fail by its arguments, not by its name.
    name = next((name for name, _ in tools), "no_such_tool")
    # Cut inside a string, as a limit on output tokens cuts it.
    if kind == "truncated":
        return _calling(call_id, name, '{"text": "and then I'), "length"
    return _calling(call_id, name, '{"text": unquoted}'), "tool_calls"


def _calling(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"content": None, "tool_calls": [function_call(call_id, name, arguments)]}


def _tool(tool: Mapping[str, Any]) -> tuple[str, bool]:
    """Name of a tool, and whether it can be called without arguments."""
    # A client may send tools of other types, without a `function`.
    stated = as_object(tool.get("function"))
    return str(stated.get("name")), not as_object(stated.get("parameters")).get("required")


def _harmless(tools: list[tuple[str, bool]]) -> str:
    """A tool that only looks, by its name: reads are called view_… in every market of ours."""
    free = [name for name, without in tools if without]
    # Only a guess by name: the request does not say which tools only read.
    looking = [name for name in free if name.startswith(("view_", "read_", "list_", "get_"))]
    # `view_turn` first: it is there in every market, so the agent loops in the same way everywhere.
    return next(iter(sorted(looking, key=lambda name: name != "view_turn")), "no_such_tool")

"""langchain's messages as they stand in a request for a chat completion; needs no client."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from tradefair.frameworks.models.wire import function_call, resent_arguments

# langchain's names for the senders of messages, and the wire's.
_ROLES = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}


def to_wire(message: BaseMessage) -> dict[str, Any]:
    """A message as it stands in a request."""
    wire: dict[str, Any] = {"role": _ROLES[message.type], "content": str(message.text)}
    if isinstance(message, ToolMessage):
        wire["tool_call_id"] = message.tool_call_id
    if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
        # Good calls first, as langchain keeps them apart; the order within the reply is lost where both occur.
        good = [function_call(call["id"], call["name"], json.dumps(call["args"])) for call in message.tool_calls]
        bad = [
            function_call(call["id"], call["name"], resent_arguments(call["args"] or ""))
            for call in message.invalid_tool_calls
        ]
        # Null content is OpenAI's own form for a message of calls only.
        wire |= {"tool_calls": good + bad, "content": wire["content"] or None}
    return wire

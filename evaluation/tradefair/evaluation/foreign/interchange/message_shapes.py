"""How exports write messages, as `messages` reads them: chat messages of OpenAI, and those of OpenTelemetry."""

from __future__ import annotations

from typing import Any

from tradefair.evaluation.foreign.interchange.shapes import text
from tradefair.evaluation.read.objects import mapping


def call_entry(key: str, tool: str, arguments: str) -> dict[str, Any]:
    """A call as a chat message has it; `arguments` are JSON as text there."""
    return {"id": key, "type": "function", "function": {"name": tool, "arguments": arguments}}


def tool_message(key: str, content: str | None) -> dict[str, Any]:
    """The chat message that answers a call."""
    return {"role": "tool", "tool_call_id": key, "content": content}


def parts_message(role: str, part: str, words: str) -> dict[str, Any]:
    """A message as the conventions for generative AI have it: of one part, text or reasoning."""
    return {"role": role, "parts": [{"type": "reasoning" if part == "reasoning" else "text", "content": words}]}


def definition(tool: Any) -> dict[str, Any]:
    """A tool as `tools` reads it: what `about.tools` of a trace says, in the shape of chat models."""
    hints = {hint: value for hint, value in mapping(tool).items() if hint.endswith("Hint")}
    return {"type": "function", "function": {"name": text(mapping(tool).get("name")), "annotations": hints}}

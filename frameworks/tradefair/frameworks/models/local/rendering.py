"""A request as the one text that a small model reads: ChatML, within a budget of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import orjson

from tradefair.agents.rounds import unfenced
from tradefair.contract import HarnessFailure
from tradefair.frameworks.models.local.grammar import ToolDefinition, arguments_schema
from tradefair.frameworks.models.policy_brain import is_refusal
from tradefair.frameworks.models.wire import ChatRequest, Json, WireMessage

BUDGET = 1_500
"""Tokens of a prompt: what a model of this size can still follow, and what a CPU reads in seconds."""

_SYSTEM, _RESULT = 900, 400
"""Characters of the system message and of a tool's result that are shown."""

_OPEN = "<|im_start|>assistant\n"
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_VIEW = re.compile(r"```json turn_view\n([^\n]*)\n```")
_SCHEMA = re.compile(r"```json \w+_schema\n([^\n]*)\n```\Z")


def render(request: ChatRequest, tools: Sequence[ToolDefinition], budget: int, count: Callable[[str], int]) -> str:
    """The prompt of a request: system message, tools, and of the messages the newest that fit into `budget` tokens.

    The newest turn and its last refusal always stay. Raises HarnessFailure where these alone do not fit.
    """
    messages = [message for message in request.messages if message.role not in ("system", "developer")]
    turn = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
    refused = [place for place in range(turn, len(messages)) if refuses(messages[place])]
    blocks = {place: _message(message) for place, message in enumerate(messages)}
    shown = {turn, *refused[-1:]} & blocks.keys()
    head = _block("system", _system(request))
    # The tools come last: they change with every reply, and what stands before them is read once and kept.
    tail = _block("user", "\n".join(("Call one of:", *map(signature, tools)))) + _OPEN if tools else _OPEN
    used = count(head) + count(tail) + sum(count(blocks[place]) for place in shown)
    if used > budget:
        raise HarnessFailure(f"the newest turn takes {used:,} tokens, and a local model is shown {budget:,} at most")
    for place in sorted(blocks.keys() - shown, reverse=True):
        used += count(blocks[place])
        if used > budget:
            break
        shown.add(place)
    return head + "".join(blocks[place] for place in sorted(shown)) + tail


def refuses(message: WireMessage) -> bool:
    """Whether a message says that a call was refused."""
    return message.role == "tool" and is_refusal(message.text)


def refused_last(request: ChatRequest) -> bool:
    """Whether a call of the open turn was refused; a turn begins with a user's message."""
    for message in reversed(request.messages):
        if message.role == "user":
            return False
        if refuses(message):
            return True
    return False


def asked_schema(request: ChatRequest) -> Json | None:
    """The schema of the answer, where the system message closes with one: planners and reflectors."""
    found = _SCHEMA.search(request.messages[0].text) if request.messages[0].role == "system" else None
    schema: Any = None if found is None else orjson.loads(found[1])
    return cast("Json", schema) if isinstance(schema, dict) else None


def _system(request: ChatRequest) -> str:
    text = "\n".join(message.text for message in request.messages if message.role in ("system", "developer"))
    # A request for a plan says at its end what is asked for.
    return text if _SCHEMA.search(text) else _cut(text, _SYSTEM)


def signature(tool: ToolDefinition) -> str:
    """A tool as one line: `submit_quote(price: 0..100): Submit your bid.`"""
    properties = arguments_schema(tool).get("properties", {})
    given = ", ".join(f"{name}: {_range(schema)}" for name, schema in properties.items())
    # The first sentence says what it is for; what follows are details of its answer.
    return f"{tool.name}({given}): {_SENTENCE.split(tool.description.strip(), maxsplit=1)[0]}"


def _range(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(str(value) for value in schema["enum"][:20])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_range(schema['items'])}"
    if kind == "object" and "properties" in schema:
        return "{" + ", ".join(f"{name}: {_range(held)}" for name, held in schema["properties"].items()) + "}"
    if "minimum" in schema or "maximum" in schema:
        return f"{schema.get('minimum', '')}..{schema.get('maximum', '')}"
    return {"string": "text", "number": "number", "integer": "whole number"}.get(kind, str(kind))


def _message(message: WireMessage) -> str:
    if message.role == "assistant":
        return _block("assistant", "\n".join(filter(None, (message.text, *map(_call, message.tool_calls or ())))))
    if message.role != "tool":
        return _block("user", _VIEW.sub(_short_view, message.text))
    if not refuses(message):
        return _block("user", f"Result: {_cut(unfenced(message.text), _RESULT)}")
    refusal = orjson.loads(message.text)
    why = "; ".join(filter(None, (refusal["message"], refusal["hint"])))
    return _block("user", f"Refused: {_cut(why, _RESULT)}")


def _short_view(found: re.Match[str]) -> str:
    """The turn without what a small model cannot use."""
    try:
        view = cast("Json", orjson.loads(found[1]))
    except orjson.JSONDecodeError:
        return found[0]
    shown = {name: view[name] for name in ("round", "phase", "actions", "market") if view.get(name)}
    return orjson.dumps(shown).decode()


def _call(call: Json) -> str:
    function = cast("Json", call.get("function") or {})
    return f'{{"name":"{function.get("name")}","arguments":{function.get("arguments")}}}'


def _block(role: str, text: str) -> str:
    # Words of other seats must not open a message of their own.
    return f"<|im_start|>{role}\n{text.replace('<|', '< |')}<|im_end|>\n"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"

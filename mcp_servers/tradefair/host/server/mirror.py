"""Resources as mirrors of read tools: `market://view_history{?first_round}` is the tool `view_history`.

Nothing can be had as a resource that a tool does not give, and reading one is a call like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import orjson
from pydantic import JsonValue

from tradefair.contract import Tool
from tradefair.contract.kernel.kernel_tools import AWAIT_TURN

_SCHEME = "market"
# Longer than any call of ours needs.
_MAX_URI_CHARS = 2_000
# The other kernel tools show what only the seat itself changes (its notes) or what never changes (the rules).
_CHANGING_KERNEL_TOOLS = ("view_turn",)


class Reading(NamedTuple):
    """The call that reading a URI makes.

    The arguments are not checked yet: the episode does that, as for any call.
    """

    tool: Tool
    arguments: dict[str, JsonValue]


def mirrored(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """The tools that are resources too: reads, save the one that waits.

    `await_turn` is left out, since a reading that waits would block the client that opens a resource.
    """
    return {name: tool for name, tool in tools.items() if tool.kind == "read" and name != AWAIT_TURN}


def plain_uri(tool: Tool) -> str | None:
    """The tool's resource; None when it cannot be called without arguments."""
    return None if tool.input_schema.get("required") else f"{_SCHEME}://{tool.name}"


def template_uri(tool: Tool) -> str | None:
    """The tool's URI template (RFC 6570); None when it takes no arguments."""
    names = ",".join(tool.input_schema.get("properties", {}))
    return f"{_SCHEME}://{tool.name}{{?{names}}}" if names else None


def name_of(uri: str) -> str:
    """The name of a resource or template: no tool's, for some clients know what they are offered by its name alone."""
    head, asked, _ = uri.partition("{?")
    return head.replace("://", "_") + ("_query" if asked else "")


def changing(tools: Mapping[str, Tool]) -> list[str]:
    """URIs of resources that can change when a phase or round closes."""
    live = (tool for name, tool in tools.items() if tool.subject == "market" or name in _CHANGING_KERNEL_TOOLS)
    return [uri for tool in live if (uri := plain_uri(tool)) is not None]


def parse_uri(uri: str, tools: Mapping[str, Tool]) -> Reading | None:
    """The call behind a URI; None when these tools do not offer it."""
    if len(uri) > _MAX_URI_CHARS:
        return None
    try:
        parts = urlsplit(uri)
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else []
    except ValueError:
        return None
    tool = tools.get(parts.netloc)
    if parts.scheme != _SCHEME or tool is None or parts.path.strip("/") or parts.fragment:
        return None
    # A name twice has no meaning as arguments; taking the last would be a guess.
    if len(dict(pairs)) != len(pairs):
        return None
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    return Reading(tool, {name: _value(text, properties.get(name, {})) for name, text in pairs})


def suggestions(schema: Mapping[str, Any], prefix: str) -> list[str]:
    """What an argument of this schema can be, where that is a short list."""
    return [word for word in _words(schema) if word.startswith(prefix)]


def _words(schema: Mapping[str, Any]) -> list[str]:
    if "anyOf" in schema:
        return [word for option in schema["anyOf"] for word in _words(option)]
    if "enum" in schema:
        return [str(value) for value in schema["enum"]]
    if "const" in schema:
        return [str(schema["const"])]
    return ["true", "false"] if schema.get("type") == "boolean" else []


def _value(text: str, schema: Mapping[str, Any]) -> JsonValue:
    """Query text as what the parameter takes: text stays text, everything else is read as JSON where it is JSON."""
    options = [option.get("type") for option in schema.get("anyOf", (schema,))]
    # A text parameter takes "12" as text; only `null` stands for nothing.
    if "string" in options and text != "null":
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text

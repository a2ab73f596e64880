"""What an MCP answer says of a tool call, and what a tool does, for traces that no rules have made.

The recorder and every reader of logs decide both here, so that a session that was recorded and the import of its log
hold the same events. Imports the standard library and orjson only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, cast

import orjson

from tradefair.contract.chain import canonical, digest
from tradefair.contract.foreign import Status

ToolKind = Literal["read", "analysis", "action", "note"]

MAX_NAME = 200
"""Characters of a tool's name or of an error's code that are kept."""

_MAX_MESSAGE = 2_000
# JSON-RPC 2.0, "Invalid params".
_INVALID_PARAMS = -32602
# First words of tool names as MCP servers use them. A guess for logs that say neither kind nor `readOnlyHint`.
_READS = frozenset({
    "browse", "check", "count", "describe", "download", "fetch", "find", "get", "inspect", "list", "lookup", "open",
    "peek", "preview", "query", "read", "retrieve", "scan", "search", "select", "show", "view", "watch",
})  # fmt: skip
_ANALYSES = frozenset({
    "analyse", "analyze", "assess", "calculate", "compare", "compute", "estimate", "evaluate", "explain", "forecast",
    "rank", "score", "simulate", "summarise", "summarize", "validate",
})  # fmt: skip
_NOTES = frozenset({"think", "note", "todo"})


class Settled(NamedTuple):
    """What became of a call: `result` where `status` is ok, else `error` as {code, message, hint, retryable}."""

    status: Status
    result: Any = None
    error: dict[str, Any] | None = None


@lru_cache(4_096)
def kind_by_name(tool: str) -> ToolKind:
    """What a tool does, guessed from the verb that its name begins with: read, analysis or note, else action."""
    # `mcp__server__tool` is how clients name the tools of several servers.
    if tool.startswith("mcp__") and tool.count("__") > 1:
        tool = tool.split("__", 2)[2]
    # camelCase, snake_case and paths become words; punctuation in front is dropped.
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in tool)
    for separator in "_-./:":
        words = words.replace(separator, " ")
    verb = next(iter(words.split()), "")
    if verb in _NOTES:
        return "note"
    # Whatever is not known to only look counts as an action.
    return "read" if verb in _READS else "analysis" if verb in _ANALYSES else "action"


def kind_of(tool: str, hints: Mapping[str, Any]) -> ToolKind:
    """What a tool does: by its annotation `readOnlyHint` where the server gives it, else by its name."""
    only_reads = hints.get("readOnlyHint")
    by_name = kind_by_name(tool)
    if not isinstance(only_reads, bool):
        return by_name
    # An analysis or a note only reads, too, as far as the annotation goes.
    return ("read" if by_name == "action" else by_name) if only_reads else "action"


def listed_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool of a `tools/list` answer as `about.tools` keeps it: name, digest of its schema, what it says it does."""
    hints = _mapping(tool.get("annotations"))
    kept = {name: hints[name] for name in ("readOnlyHint", "destructiveHint") if isinstance(hints.get(name), bool)}
    schema = next((tool[name] for name in ("inputSchema", "input_schema", "schema") if tool.get(name)), None)
    return {"name": str(tool.get("name"))[:MAX_NAME], "schema": digest(canonical(schema or {})), **kept}


def settled(answer: Mapping[str, Any]) -> Settled:
    """What a JSON-RPC answer to `tools/call` says, as docs/how-to/exports.md has it.

    `isError` is `rejected`; -32602 and refused arguments are `invalid`; other errors of JSON-RPC are `failed`.
    """
    error = answer.get("error")
    if error is not None:
        code = _mapping(error).get("code")
        return Settled(
            "invalid" if code == _INVALID_PARAMS else "failed",
            error=refusal(error, f"rpc_{code}" if isinstance(code, int) else "rpc_error"),
        )
    content = content_of(answer.get("result"))
    if _mapping(answer.get("result")).get("isError") is not True:
        return Settled("ok", content)
    refused = refusal(content, "tool_error")
    # Our own servers refuse arguments this way; refusals of others are all of one kind.
    return Settled("invalid" if refused["code"] == "invalid_arguments" else "rejected", error=refused)


def refusal(said: Any, code: str) -> dict[str, Any]:
    """A refusal in our shape, from an object with code and message, or from text; `code` where it has none."""
    content = _mapping(said) or {"message": said}
    named, hint = content.get("code"), content.get("hint")
    message = next((content[name] for name in ("message", "text") if content.get(name) is not None), None)
    return {
        "code": named[:MAX_NAME] if isinstance(named, str) and named else code,
        "message": (message if isinstance(message, str) else orjson.dumps(said).decode())[:_MAX_MESSAGE],
        "hint": hint[:_MAX_MESSAGE] if isinstance(hint, str) else "",
        "retryable": content.get("retryable") is True,
    }


def content_of(result: Any) -> Any:
    """A tool's answer: structured content, else its only text, parsed where that is JSON, else `result` as it is."""
    answer = _mapping(result)
    # Preferred: `content` repeats it as text for clients that cannot read structures.
    if answer.get("structuredContent") is not None:
        return answer["structuredContent"]
    content = answer.get("content")
    parts = cast("Sequence[Any]", content) if isinstance(content, list) else [content]
    # Several parts or an image have no single meaning.
    first = _mapping(parts[0]) if len(parts) == 1 else {}
    text = first.get("text")
    if first.get("type") != "text" or not isinstance(text, str):
        return result
    try:
        parsed: Any = orjson.loads(text)
        orjson.dumps([[[parsed]]])  # it goes into an event, and must be writable there
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return {"text": text}
    return parsed


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

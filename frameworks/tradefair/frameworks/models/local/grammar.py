"""What the model may write: one call of an offered tool as JSON, without white space and with an end.

The library that keeps grammars drops one that it does not know, without a word, and the model then writes prose. So a
schema is not passed on as it came: what is known to work is taken from it, and the rest is left to the market's checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import orjson

from tradefair.frameworks.models.wire import Json, RequestError, as_object

MAX_TEXT = 120
"""Characters of a text argument: without a bound a small model repeats itself until its tokens are used up."""

_MAX_ITEMS = 3
# Ids of ours have at most 64 characters; what is longer is something to say.
_ID_LENGTH = 64
_MAX_DEPTH = 8
_WHOLE = {"minimum": -1_000_000_000, "maximum": 1_000_000_000}
_RANGE = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_KEPT = {"string": ("pattern",), "integer": _RANGE, "number": _RANGE, "boolean": (), "null": ()}
_ANY: Json = {"type": "object"}


class ToolDefinition(NamedTuple):
    """A tool of a request; `parameters` is its JSON schema."""

    name: str
    description: str
    parameters: Json


def offered_tools(raw: Mapping[str, Any]) -> list[ToolDefinition]:
    """The tools of a request that its `tool_choice` leaves. Raises RequestError for what is no tool."""
    choice: Any = raw.get("tool_choice")
    named = as_object(as_object(choice).get("function")).get("name")
    tools = [] if choice == "none" else [_tool(tool) for tool in raw.get("tools") or ()]
    return [tool for tool in tools if named is None or tool.name == named]


def _tool(tool: Any) -> ToolDefinition:
    held = as_object(as_object(tool).get("function"))
    name, about = held.get("name"), held.get("description") or ""
    parameters: Any = held.get("parameters") or {}
    if not (isinstance(name, str) and isinstance(about, str) and isinstance(parameters, dict)):
        raise RequestError("tools: each is a function with a name, a description and parameters as a JSON schema")
    return ToolDefinition(name, about, cast("Json", parameters))


def call_grammar(tools: Sequence[ToolDefinition], *, loose: bool = False) -> str:
    """The grammar of one call `{"name": …, "arguments": …}`; `loose`: with any object as arguments."""
    return _grammar({"anyOf": [_call(tool.name, _ANY if loose else arguments_schema(tool)) for tool in tools]})


def answer_grammar(schema: Json) -> str:
    """The grammar of a JSON text of this schema, as far as it is known."""
    return _grammar(_narrowed(schema, schema, _MAX_DEPTH))


def _call(name: str, arguments: Json) -> Json:
    return _object({"name": {"const": name}, "arguments": arguments}, ("name", "arguments"))


def _grammar(schema: Json) -> str:
    guided = {"x-guidance": {"whitespace_flexible": False}, **schema}
    return f"%llguidance {{}}\nstart: %json {orjson.dumps(guided).decode()}"


def arguments_schema(tool: ToolDefinition) -> Json:
    """What the grammar allows as arguments: required parameters, and optional ones with something to say."""
    try:
        return _narrowed({**tool.parameters, "type": "object"}, tool.parameters, _MAX_DEPTH)
    # Of a stranger's tool: no JSON schema at all.
    except (TypeError, ValueError, AttributeError):
        return _ANY


def _narrowed(schema: Any, root: Json, depth: int) -> Json:
    """The part of a schema that the library keeps; any object where nothing of it is known."""
    if not isinstance(schema, dict) or depth == 0:
        return _ANY
    held = _resolved(cast("Json", schema), root)
    if "const" in held or "enum" in held:
        return {name: held[name] for name in ("const", "enum") if name in held}
    choices = held.get("anyOf") or held.get("oneOf")
    if isinstance(choices, list) and choices:
        return {"anyOf": [_narrowed(choice, root, depth - 1) for choice in cast("list[Any]", choices)]}
    kind = held.get("type")
    if kind == "object":
        return _narrowed_object(held, root, depth)
    if kind == "array":
        items = _narrowed(held.get("items", {"type": "string"}), root, depth - 1)
        fewest = max(0, held.get("minItems", 0))
        most = max(fewest, min(held.get("maxItems", _MAX_ITEMS), _MAX_ITEMS))
        return {"type": "array", "items": items, "minItems": fewest, "maxItems": most}
    if not isinstance(kind, str) or kind not in _KEPT:
        return _ANY
    kept = {name: held[name] for name in _KEPT[kind] if name in held}
    return {"type": kind, **_bounds(kind, held, kept), **kept}


def _bounds(kind: str, held: Json, kept: Json) -> Json:
    """Bounds where the schema has none, so that every text and number ends."""
    if kind == "string":
        # A pattern and a length in one exclude each other where the pattern's own shortest text is longer.
        return {} if kept else {"maxLength": min(held.get("maxLength", MAX_TEXT), MAX_TEXT)}
    # A number that may have any digits is written until the tokens are used up.
    return {"integer": {} if kept else _WHOLE, "number": {"multipleOf": 0.01}}.get(kind, {})


def _narrowed_object(held: Json, root: Json, depth: int) -> Json:
    properties = cast("Json", held.get("properties") or {})
    required = [name for name in held.get("required") or () if name in properties]
    shown = {
        name: _narrowed(schema, root, depth - 1)
        for name, schema in properties.items()
        if name in required or _is_text(_resolved(schema, root))
    }
    return _object(shown, required)


def _is_text(held: Json) -> bool:
    """Whether a parameter takes words: optional ids, cursors and rounds are what a small model gets wrong."""
    return held.get("type") == "string" and held.get("maxLength", MAX_TEXT) > _ID_LENGTH and "pattern" not in held


def _object(properties: Json, required: Sequence[str]) -> Json:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _resolved(schema: Any, root: Json) -> Json:
    """The schema, its `$ref` into the tool's own definitions followed."""
    held = as_object(schema)
    for _ in range(_MAX_DEPTH):
        reference = held.get("$ref")
        if not isinstance(reference, str):
            break
        found: Any = root
        for step in reference.removeprefix("#/").split("/"):
            found = as_object(found).get(step)
        held = as_object(found)
    return held

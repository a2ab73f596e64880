"""A JSON schema in words: what a parameter allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The first words of `allowed_text` that take a plural s.
_KINDS = frozenset({"integer", "number", "string", "boolean", "object", "list", "value"})


def allowed_text(schema: Mapping[str, Any], whole: Mapping[str, Any] | None = None) -> str:
    """A parameter's JSON schema in words: "integer 0..10000", "list of up to 20 strings".

    `whole` is the schema of all arguments; its `$defs` define what lists and nested objects are made of.
    """
    defined = (whole or {}).get("$defs", {})
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    if name in defined:
        # A definition is opened once along a path: that of a foreign market may contain itself.
        schema, whole = defined[name], {"$defs": {key: value for key, value in defined.items() if key != name}}
    if "anyOf" in schema:
        return " or ".join(allowed_text(option, whole) for option in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    kind = str(schema.get("type", "value"))
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", ""))
        high = schema.get("maximum", schema.get("exclusiveMaximum", ""))
        return f"{kind} {low}..{high}" if low != "" or high != "" else kind
    if kind == "string" and "maxLength" in schema:
        return f"string of {schema.get('minLength', 0)}..{schema['maxLength']} characters"
    if kind == "object" and schema.get("properties"):
        return f"object {{{', '.join(schema['properties'])}}}"
    if kind == "array":
        return f"list of {_size(schema)}{_plural(allowed_text(schema.get('items', {}), whole))}"
    return kind


def _size(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minItems", 0), schema.get("maxItems")
    if most is None:
        return f"at least {least} " if least else ""
    return f"{least}..{most} " if least else f"up to {most} "


def _plural(items: str) -> str:
    """What a list holds: "strings of 0..9 characters", "integers 0..5", "items, each one of a, b"."""
    kind, space, rest = items.partition(" ")
    if kind not in _KINDS or " or " in items:
        return f"items, each {items}"
    return f"{kind}s{space}{rest}"

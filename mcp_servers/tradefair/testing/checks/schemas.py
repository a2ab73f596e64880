"""Checks of what tools publish: schemas that every client reads alike, whatever its framework makes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tradefair.contract import Tool
from tradefair.contract.kernel.kernel_tools import full_table
from tradefair.testing.bench import Bench, Failure
from tradefair.testing.failures import check_once

# Above it doubles skip integers, and clients whose numbers are doubles could not send them.
_MAX_WHOLE = 2**53
# Readers of schemas agree on these: letters, digits, choices and counts between both anchors. A backslash or a point
# stands for other characters in each language.
_SAME_EVERYWHERE = re.compile(r"\^[^\\.^$]*\$")
_ENDLESS = re.compile(r"[*+]|,\}")
_TYPES = frozenset({"integer", "number", "string", "boolean", "array", "object"})


def schemas_are_plain(bench: Bench) -> list[Failure]:
    """Parameters have a description, one type and bounds, lists say what they hold; what is optional has no null.

    So of the tools of every role and scenario, the kernel's included; results' lists say what they hold as well.
    """
    return check_once("schemas_are_plain", bench, _all_faults)


def _all_faults(bench: Bench) -> Iterator[str]:
    for tool in full_table(bench.market_type).values():
        yield from schema_faults(tool)
        for scenario in bench.scenarios if tool.bounds else ():
            listed = tool.listed_schema(scenario)
            yield from _object_faults(listed, listed.get("$defs", {}), f"{tool.name} in {scenario.id}")


def schema_faults(tool: Tool) -> Iterator[str]:
    """What in the schemas of a tool some client would read otherwise: one line each, with the path of the parameter."""
    schema = tool.input_schema
    yield from _object_faults(schema, schema.get("$defs", {}), tool.name)
    for name, definition in schema.get("$defs", {}).items():
        yield from _value_faults(definition, schema["$defs"], f"{tool.name}.{name}")
    for label, result in (("result", tool.result_schema), ("output", tool.output_schema)):
        yield from (f"{tool.name} {label}.{path}: a list has no items" for path in _itemless(result))


def _object_faults(schema: Mapping[str, Any], defined: Mapping[str, Any], path: str) -> Iterator[str]:
    """Faults of an object's fields."""
    if schema.get("additionalProperties") is not False:
        yield f"{path}: unknown fields are not refused (extra='forbid')"
    for name, prop in schema.get("properties", {}).items():
        label = f"{path}.{name}"
        if not str(prop.get("description", "")).strip():
            yield f"{label}: no description; add Field(description=...)"
        if "default" in prop and prop["default"] is None:
            yield f"{label}: null as default"
        yield from _value_faults(prop, defined, label)


def _value_faults(schema: Mapping[str, Any], defined: Mapping[str, Any], path: str) -> Iterator[str]:
    """Faults of a value's type and bounds."""
    if "$ref" in schema:
        if schema["$ref"].rpartition("/")[2] not in defined:
            yield f"{path}: {schema['$ref']} is not defined"
        return
    if "anyOf" in schema:
        for number, option in enumerate(schema["anyOf"]):
            yield from _value_faults(option, defined, f"{path}[{number}]")
        return
    kind = schema.get("type")
    # A list of types counts as none: several readers know no such list.
    if not isinstance(kind, str) or kind not in _TYPES:
        yield f"{path}: type is {kind!r}; it must be one of {', '.join(sorted(_TYPES))}"
        return
    if None in schema.get("enum", ()):
        yield f"{path}: null among the choices"
    yield from _bound_faults(kind, schema, defined, path)


def _bound_faults(kind: str, schema: Mapping[str, Any], defined: Mapping[str, Any], path: str) -> Iterator[str]:
    """Faults of the bounds that a type has, and of what it holds."""
    if kind in ("integer", "number"):
        yield from _number_faults(schema, path)
    elif kind == "string":
        yield from _text_faults(schema, path)
    elif kind == "array":
        if not schema.get("items"):
            yield f"{path}: a list has no items"
        else:
            yield from _value_faults(schema["items"], defined, f"{path}[]")
    elif kind == "object":
        yield from _object_faults(schema, defined, path)


def _number_faults(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if "enum" in schema or "const" in schema:
        return
    low, high = (schema.get(f"{end}imum", schema.get(f"exclusive{end.title()}imum")) for end in ("min", "max"))
    if low is None or high is None:
        yield f"{path}: a number needs both bounds"
    elif max(-low, high) > _MAX_WHOLE:
        yield f"{path}: a bound is above 2**53"


def _text_faults(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    pattern = schema.get("pattern")
    if pattern is not None and _SAME_EVERYWHERE.fullmatch(pattern) is None:
        yield f"{path}: readers do not agree on the pattern {pattern}"
    elif not schema.keys() & {"maxLength", "enum", "const"} and (pattern is None or _ENDLESS.search(pattern)):
        yield f"{path}: a text needs maxLength"


def _itemless(schema: Any, path: str = "") -> Iterator[str]:
    """Paths to lists that do not say what they hold."""
    if isinstance(schema, list):
        for option in schema:  # pyright: ignore[reportUnknownVariableType]
            yield from _itemless(option, path)
    elif isinstance(schema, dict):
        fields: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType]
        if fields.get("type") == "array" and not ("items" in fields or "prefixItems" in fields):
            yield path
        for name, inner in fields.items():
            yield from _itemless(inner, f"{path}.{name}".strip("."))

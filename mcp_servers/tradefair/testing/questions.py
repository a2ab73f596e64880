"""Arguments made up from a tool's JSON schema: plausible ones and hostile ones, the same for the same key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tradefair.contract import Chance, Tool, salts
from tradefair.contract.chance import KeyPart

_CHANCE = Chance(salts.KIT)
_STREAM = "arguments"
# How far to go where the schema states no bound.
_WIDE = 1_000
# Items of a list where the schema allows more.
_MAX_ITEMS = 3
# `True` is an int in Python, "1" and 1.5 are nearly integers, NaN and infinity are no JSON, 2**70
# passes 64 bits, "\ud800" is no UTF-8, and the last value is longer than any admitted call (64 KiB).
_HOSTILE: tuple[object, ...] = (
    True,
    "1",
    1.5,
    float("nan"),
    float("inf"),
    2**70,
    -1,
    None,
    [],
    {},
    "\ud800",
    "x" * 70_000,
)


class _Impossible(Exception):
    """No value can be made up, such as text for a pattern that nothing seen so far fits."""


def invent_arguments(tool: Tool, key: Sequence[KeyPart], words: Sequence[str] = ()) -> dict[str, Any] | None:
    """Arguments that fit the schema; None when a required one cannot be made up.

    Optional parameters are left out now and then. Text comes from `words`, what the seat has read so far.
    """
    schema = tool.input_schema
    try:
        return _Inventor(schema.get("$defs", {}), words).table(schema, (tool.name, *key))
    except _Impossible:
        return None


def hostile_arguments(tool: Tool) -> Iterator[Any]:
    """What no client should send: wrong types, unknown and missing parameters, too much, not even an object."""
    yield from ([], "text", None, {"no_such_parameter": 1})
    schema = tool.input_schema
    properties: Mapping[str, Any] = schema.get("properties", {})
    for left_out in schema.get("required", ()):
        yield {name: _boundary(prop) for name, prop in properties.items() if name != left_out}
    for name in properties:
        for value in _HOSTILE:
            yield {name: value}


def words_in(value: Any) -> Iterator[str]:
    """Every text of at most 80 characters in a result: ids and cursors that a client would send back.

    Keys of mappings count where they look like ids, that is, are not all in small letters.
    """
    if isinstance(value, str):
        if 0 < len(value) <= 80:
            yield value
    elif isinstance(value, dict):
        # Keys in small letters are names of fields; others (P003) are ids.
        yield from (name for name in value if isinstance(name, str) and not name.islower())  # pyright: ignore[reportUnknownVariableType]
        for inner in value.values():  # pyright: ignore[reportUnknownVariableType]
            yield from words_in(inner)
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from words_in(inner)


def _boundary(schema: Mapping[str, Any]) -> object:
    """A value at the bound of a schema; it need not fit, because the call is refused for what is left out."""
    return schema.get("minimum", schema.get("default", 0))


class _Inventor:
    """Values that fit a JSON schema, drawn from the key: the same key always gives the same value."""

    def __init__(self, definitions: Mapping[str, Any], words: Sequence[str]) -> None:
        self._definitions = definitions
        self._words = words

    def table(self, schema: Mapping[str, Any], key: tuple[KeyPart, ...]) -> dict[str, Any]:
        """A mapping with every required and some of the optional properties. Raises _Impossible."""
        required = schema.get("required", ())
        made: dict[str, Any] = {}
        for name, inner in schema.get("properties", {}).items():
            if name not in required and self._pick(2, (*key, name, "left out")):
                continue
            try:
                made[name] = self.value(inner, (*key, name))
            except _Impossible:
                if name in required:
                    raise
        return made

    def value(self, schema: Mapping[str, Any], key: tuple[KeyPart, ...]) -> Any:
        """A value that fits a schema. Raises _Impossible where none can be made up."""
        if "$ref" in schema:
            return self.value(self._definitions[schema["$ref"].rpartition("/")[2]], key)
        if "const" in schema:
            return schema["const"]
        for choice in ("enum", "anyOf", "oneOf"):
            if choice in schema:
                picked = schema[choice][self._pick(len(schema[choice]), (*key, choice))]
                return picked if choice == "enum" else self.value(picked, (*key, choice))
        return self._of_type(schema, key)

    def _of_type(self, schema: Mapping[str, Any], key: tuple[KeyPart, ...]) -> Any:
        match schema.get("type"):
            case "integer":
                return self._number(schema, key)
            case "number":
                return round(self._number(schema, key) * 0.99, 2)
            case "boolean":
                return bool(self._pick(2, key))
            case "string":
                return self._text(schema, key)
            case "array":
                return self._list(schema, key)
            case "object":
                return self.table(schema, key)
            case "null":
                return None
            case _:
                raise _Impossible

    def _number(self, schema: Mapping[str, Any], key: tuple[KeyPart, ...]) -> int:
        """A number within the schema's bounds: one of the bounds, a small one above the lower, or any."""
        low = int(schema.get("minimum", schema.get("exclusiveMinimum", -_WIDE - 1) + 1))
        high = int(schema.get("maximum", schema.get("exclusiveMaximum", low + _WIDE + 1) - 1))
        # Bounds, the small numbers that rounds and counts are made of, and anything.
        choices = (low, high, min(low + 1, high), min(low + 2, high), low + self._pick(min(high - low, 100) + 1, key))
        return (*choices, low + self._pick(high - low + 1, key))[self._pick(6, (*key, "which"))]

    def _text(self, schema: Mapping[str, Any], key: tuple[KeyPart, ...]) -> str:
        """A text that fits length and pattern, out of those that the seat has read. Raises _Impossible."""
        low, high = schema.get("minLength", 0), schema.get("maxLength", 200)
        pattern = schema.get("pattern")
        if pattern is not None:
            fitting = [word for word in self._words if re.search(pattern, word) and low <= len(word) <= high]
        else:
            fitting = [word for word in (*self._words, "a" * max(low, 1), "é" * high) if low <= len(word) <= high]
        if not fitting:
            raise _Impossible
        return fitting[self._pick(len(fitting), key)]

    def _list(self, schema: Mapping[str, Any], key: tuple[KeyPart, ...]) -> list[Any]:
        """A list of the least allowed number of items or a few more."""
        low = schema.get("minItems", 0)
        size = low + self._pick(max(min(schema.get("maxItems", _MAX_ITEMS), _MAX_ITEMS) - low, 0) + 1, (*key, "size"))
        return [self.value(schema.get("items", {}), (*key, index)) for index in range(size)]

    def _pick(self, count: int, key: tuple[KeyPart, ...]) -> int:
        """A number from 0 to `count - 1` by the key."""
        return int(count * _CHANCE.uniform(_STREAM, *key))

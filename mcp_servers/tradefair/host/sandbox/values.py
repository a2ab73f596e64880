"""What comes out of the sandbox becomes plain data, or is refused before anything tries to encode it.

Values cross the boundary with their sharing kept: sixty lists, each holding the one before twice, read as 2^60 lists.
The walk therefore pays for each node that it visits from one budget, and stops when budget or depth is used up.
"""

from __future__ import annotations

import datetime
import decimal
import math
from typing import cast

import orjson
from pydantic import JsonValue

from tradefair.contract.chain import canonical

MAX_DEPTH = 32  # levels of nesting
_MAX_INT = 2**63 - 1  # what orjson and SQLite keep exactly
_BYTES_PER_NODE = 2  # the shortest that a node can take in JSON: a digit and a comma


class ForeignValue(ValueError):
    """A value that JSON cannot carry exactly; the text says what and where."""


class TooLarge(ValueError):
    """A value with a JSON form that would be longer than allowed."""


def plain_data(value: object, max_bytes: int) -> JsonValue:
    """`value` as JSON data of at most `max_bytes` bytes and 32 levels.

    Tuples become lists, sets sorted lists, numbers and None as dictionary keys their JSON text, decimals and dates
    text. Raises ForeignValue (NaN, infinities, integers over 64 bits, other types, depth, cycles) and TooLarge.
    """
    plain = _Walk(max_bytes).visit(value, ())
    # The exact length; the walk's budget is only a lower bound.
    if len(orjson.dumps(plain)) > max_bytes:
        raise TooLarge(f"more than {max_bytes} bytes")
    return plain


class _Walk:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._left = max_bytes

    def visit(self, value: object, path: tuple[str, ...]) -> JsonValue:
        self._pay(_BYTES_PER_NODE - 1)
        # Before int: a bool is an int to Python, and would read as 1 or 0 in JSON.
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, int):
            return self._integer(value, path)
        if isinstance(value, float):
            return self._float(value, path)
        if isinstance(value, decimal.Decimal):
            return self._text(str(value), path)
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat()
        return self._container(value, path)

    def _container(self, value: object, path: tuple[str, ...]) -> JsonValue:
        if len(path) >= MAX_DEPTH:
            raise ForeignValue(f"more than {MAX_DEPTH} levels of nesting")
        if isinstance(value, dict):
            return self._mapping(cast("dict[object, object]", value), path)
        if isinstance(value, (list, tuple)):
            return self._rows(cast("list[object]", value), path)
        if isinstance(value, (set, frozenset)):
            # Sorted by their JSON: the order of a set differs from process to process, and the report must not.
            rows = self._rows(list(cast("set[object]", value)), path)
            return cast("JsonValue", sorted(rows, key=canonical))
        raise ForeignValue(f"{_kind(value)}{_at(path)}")

    def _rows(self, rows: list[object], path: tuple[str, ...]) -> list[JsonValue]:
        return [self.visit(row, (*path, f"[{index}]")) for index, row in enumerate(rows)]

    def _mapping(self, items: dict[object, object], path: tuple[str, ...]) -> JsonValue:
        plain: dict[str, JsonValue] = {}
        for key, item in items.items():
            name = self._key(key, path)
            # {1: "a", "1": "b"} is a dictionary of two in Python and would lose one in JSON.
            if name in plain:
                raise ForeignValue(f"two keys that read {name[:40]!r} in JSON{_at(path)}")
            plain[name] = self.visit(item, (*path, f"[{name[:40]!r}]"))
        return plain

    def _key(self, key: object, path: tuple[str, ...]) -> str:
        if isinstance(key, str):
            return self._text(key, path)
        if key is None or isinstance(key, (bool, int, float)):
            return orjson.dumps(self.visit(key, path)).decode()
        raise ForeignValue(f"a dictionary key that is {_kind(key)}{_at(path)}")

    def _text(self, value: str, path: tuple[str, ...]) -> str:
        # Characters, not bytes: a lower bound, so that the text is not encoded before it is known to be short enough.
        self._pay(len(value))
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ForeignValue(f"text that is not valid Unicode{_at(path)}") from None
        return value

    def _integer(self, value: int, path: tuple[str, ...]) -> int:
        if not -_MAX_INT <= value <= _MAX_INT:
            raise ForeignValue(f"an integer over 64 bits{_at(path)}")
        return value

    def _float(self, value: float, path: tuple[str, ...]) -> float:
        if not math.isfinite(value):
            raise ForeignValue(f"{'nan' if math.isnan(value) else 'an infinite number'}{_at(path)}")
        return value

    def _pay(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TooLarge(f"more than {self._max_bytes} bytes")


def _at(path: tuple[str, ...]) -> str:
    return " at " + "".join(path[:6])[:160] if path else ""


def _kind(value: object) -> str:
    """What a value is, in a few words. For objects that exist only inside the sandbox the library sends stand-ins."""
    name = type(value).__name__
    if isinstance(value, type) or getattr(value, "kind", None) == "type":
        return "a class"
    if callable(value) or name == "MontyStdTypeProxy":
        return "a function"
    own = getattr(value, "name", None) if name == "MontyClassProxy" else None
    return f"an object of class {own[:40] if isinstance(own, str) else name[:40]}"

"""Bounds of the scenario that is played: what `tools/list` shows is narrower than what a tool takes.

A tool is declared for every scenario of its market, so its schema allows the largest price and the longest text of all
of them. `Tool.bounds` says how much less the scenario at hand takes. Only what is shown is narrowed: validation, the
schema digest and every refusal stay as they are, so that a trace does not depend on what a client was shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import orjson

SHORT = 12
"""Names that an `enum` may list: a model is sent all of them again with every request."""

# The keyword of each bound, and which of two bounds is the narrower one.
_KEYWORDS = {"minimum": max, "maximum": min, "maxLength": min, "maxItems": min}


@dataclass(frozen=True)
class Bounds:
    """What the scenario allows of one parameter; None: what the declaration allows.

    `minimum` and `maximum` are inclusive, in the parameter's unit; `max_length` counts characters, `max_items` entries;
    `enum` lists every value, at most `SHORT` of them. Never anything that a seat may not know: they are shown to all.
    """

    minimum: float | None = None
    maximum: float | None = None
    max_length: int | None = None
    max_items: int | None = None
    enum: tuple[str, ...] | None = None

    def narrow(self, schema: dict[str, Any]) -> None:
        """Narrow the schema of a value in place; a bound that is wider than the declared one changes nothing."""
        limits = (self.minimum, self.maximum, self.max_length, self.max_items)
        for (keyword, narrower), limit in zip(_KEYWORDS.items(), limits, strict=True):
            if limit is not None:
                # Of a declared `exclusiveMinimum` both stay: a reader of schemas holds to both.
                schema[keyword] = narrower(limit, schema.get(keyword, limit))
        if self.enum is not None and len(self.enum) <= SHORT:
            schema["enum"] = [name for name in self.enum if name in schema.get("enum", self.enum)]
            for said in ("minLength", "maxLength", "pattern"):
                schema.pop(said, None)


def narrowed(schema: Mapping[str, Any], bounds: Mapping[str, Bounds]) -> dict[str, Any]:
    """A copy of an object's schema with some of its values narrowed.

    Keys are paths, `*` for the entries of a list: `price`, `prices.*`, `lines.*.product_id`. What a path passes through
    by reference is narrowed wherever the schema refers to it. Raises KeyError for a path that leads nowhere.
    """
    # Through bytes: a tenth of what `deepcopy` takes, and a host makes such a copy per tool and seat.
    copy: dict[str, Any] = orjson.loads(orjson.dumps(schema))
    for path, bound in bounds.items():
        bound.narrow(_at(copy, path))
    return copy


def _at(schema: dict[str, Any], path: str) -> dict[str, Any]:
    """The schema of the value at a path."""
    found = schema
    for name in path.split("."):
        found = found["items"] if name == "*" else found["properties"][name]
        if "$ref" in found:
            found = cast("dict[str, Any]", schema["$defs"][found["$ref"].rpartition("/")[2]])
    return found

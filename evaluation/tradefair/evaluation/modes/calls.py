"""The objects that arguments of tool calls name, and the texts in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tradefair.evaluation.read.objects import mapping, sequence


def named_objects(arguments: Mapping[str, Any], kind: str) -> list[str]:
    """Ids of one kind of object (`product`) that arguments name under `<kind>_id` or `<kind>_ids`."""
    # Tools name objects in this way throughout; an evidence map may give another path.
    named = (arguments.get(f"{kind}_id"), arguments.get(f"{kind}_ids"))
    return [item for value in named for item in _items(value) if isinstance(item, str)]


def named_at(arguments: Mapping[str, Any], path: str) -> Iterator[str]:
    """The ids at a path of arguments (`lines.product_id`), lists along it opened."""
    found: list[object] = [arguments]
    for step in path.split("."):
        found = [item for value in found if isinstance(value, dict) for item in _items(value.get(step))]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType, reportUnknownMemberType]
    # A number or a table at the end of a path is no id.
    return (item for item in found if isinstance(item, str))


def texts_in(value: object, depth: int = 8) -> Iterator[str]:
    """Every text in a decoded value, down to a depth that no tool's arguments reach."""
    if isinstance(value, str):
        yield value
    elif depth:
        for inner in (*mapping(value).values(), *sequence(value)):
            yield from texts_in(inner, depth - 1)


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]

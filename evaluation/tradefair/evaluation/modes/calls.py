"""Tool calls of a trace as compact records, and the objects that their arguments name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tradefair.evaluation.read.objects import mapping, sequence


class Call(NamedTuple):
    """One `tool_called` event. `arguments` is empty where the trace holds no object (invalid or cut calls)."""

    seq: int
    round: int
    revision: int
    seat: str
    tool: str
    kind: str | None
    inner: bool
    status: str
    arguments: Mapping[str, Any]
    refs: list[str] | None

    @property
    def executed(self) -> bool:
        """Whether it was carried out."""
        return self.status == "ok"

    @property
    def attempted(self) -> bool:
        """Whether it reached the rules or failed on its arguments; limits and faults of ours do not count."""
        return self.status in ("ok", "rejected", "invalid")


def call_of(seq: int, event: Mapping[str, Any]) -> Call:
    """A decoded `tool_called` event as a record."""
    arguments = event["arguments"]
    return Call(
        seq=seq,
        round=event["round"],
        revision=event["revision"],
        seat=event["seat"],
        tool=event["tool"],
        kind=event["kind"],
        inner=event["parent"] is not None,
        status=event["status"],
        arguments=arguments if isinstance(arguments, dict) else {},  # pyright: ignore[reportUnknownArgumentType]
        refs=event["refs"],
    )


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

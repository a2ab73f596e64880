"""Which objects a call was about: what its arguments name, else what its answer showed, else everything.

An id is a string under a key called `id`, `ids`, `…_id` or `…_ids`, any string that is a seat's name, and any string
where the market's evidence map says that an action names its objects (`to`, `proposal`). Where a market's tools say
what a look is about (their scope), that is followed; a scope that depends on the moment is taken from what the answer
showed, because no rules are run here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from tradefair.contract import Tool
from tradefair.evaluation.store.tables import EVERYTHING

MAX_OBJECTS = 1_000
"""Objects of one call at most; a list that is longer than any result may be is cut."""

# Characters of an id. A longer text under such a key is no id of any market, and would bloat every row.
_MAX_ID = 200
# Levels of nesting; arguments of an edited trace can be nested as deeply as a parser allows.
_MAX_DEPTH = 8


class _Known(NamedTuple):
    seats: frozenset[str]
    paths: frozenset[str]


class Named(NamedTuple):
    """An object and the dotted path that names it, lists along it left out."""

    path: str
    object: str


def objects_of(
    event: Mapping[str, Any], tool: Tool | None, seats: Collection[str], paths: Collection[str] = ()
) -> list[Named]:
    """The objects of a decoded `tool_called` event, each once; at least one (`*` where it is about none in particular).

    `tool` is None for a tool that is not known. `paths` are the dotted paths where the market's actions
    name their objects.
    """
    # The evidence map speaks of actions; a look may have an argument of the same name with another meaning.
    acts = tool is not None and tool.kind == "action"
    found = dict(_unique(named_ids(event.get("arguments"), seats, paths if acts else ())))
    # The scope depends on the market's moment, and no rules are run here: the answer shows what the
    # look was about.
    if not found and tool is not None and tool.read_only and tool.scope not in ("all", "args"):
        found = dict(_unique(_shown(event, seats)))
    # Of an unknown tool only `refs` are trusted: keys of its answer could mean anything.
    elif not found and tool is None:
        found = dict(_unique(_referred(event)))
    if not found or (tool is not None and tool.read_only and tool.scope == "all"):
        found.setdefault(EVERYTHING, "")
    return [Named(path, name) for name, path in found.items()]


def named_ids(value: object, seats: Collection[str] = (), paths: Collection[str] = ()) -> Iterator[Named]:
    """Every id in plain data, in order; not deeper than eight levels. A text at one of `paths` is an id.

    Ids that occur several times are yielded several times.
    """
    return _walk(value, "", "", _Known(frozenset(seats), frozenset(paths)), 0)


def _unique(ids: Iterator[Named]) -> Iterator[tuple[str, str]]:
    """Object and path, each object once with its first path; at most `MAX_OBJECTS`."""
    known: set[str] = set()
    for path, name in ids:
        if name not in known:
            known.add(name)
            yield name, path
        # Counted after the yield, so that the bound itself is still part of the answer.
        if len(known) == MAX_OBJECTS:
            return


def _shown(event: Mapping[str, Any], seats: Collection[str]) -> Iterator[Named]:
    """What the answer showed: its refs where there are some, else the ids in it."""
    yield from _referred(event)
    if event.get("refs") is None:
        yield from (Named("result", name) for _, name in named_ids(event.get("result"), seats))


def _referred(event: Mapping[str, Any]) -> Iterator[Named]:
    """`<id>` and `<id>.<field>` of `refs`."""
    refs = event.get("refs")
    if isinstance(refs, list):
        for ref in refs:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(ref, str) and 0 < len(ref) <= _MAX_ID:
                yield Named("refs", ref.partition(".")[0] or ref)


def _walk(value: object, path: str, key: str, known: _Known, depth: int) -> Iterator[Named]:
    if isinstance(value, str):
        if (
            0 < len(value) <= _MAX_ID
            # An argument "*" must not turn a call about nothing into one about everything.
            and value != EVERYTHING
            and (_names_ids(key) or value in known.seats or path in known.paths)
        ):
            yield Named(path, value)
    # Below the case of texts: an id at the deepest level still counts.
    elif depth == _MAX_DEPTH:
        return
    elif isinstance(value, list):
        # A list adds a level but no name to the path: `lines.product_id` is the same for every line.
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _walk(item, path, key, known, depth + 1)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, dict):
        for name, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            inner = str(name)[:_MAX_ID]  # pyright: ignore[reportUnknownArgumentType]
            yield from _walk(item, f"{path}.{inner}" if path else inner, inner, known, depth + 1)  # pyright: ignore[reportUnknownArgumentType]


def _names_ids(key: str) -> bool:
    """Whether a key says that its value is an id, or a list of ids."""
    return key in ("id", "ids") or key.endswith(("_id", "_ids"))

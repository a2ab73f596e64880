"""The published evidence maps: what actions need and which tool gives it, as one TOML per market, from the tool table.

`python -m tradefair.evaluation.modes.published` writes them again; a test compares.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tradefair.catalog import evaluator, market_names, market_type
from tradefair.contract import MarketType, Need, ScenarioError, Tool

RECENCY = "recency_days."
"""Begins the key of an evidence note that says up to which age, in days, a look of a category counts."""


def published_paths() -> dict[str, Path]:
    """By market, the file of its map: in the folder `modes` next to its evaluator. Markets without either are left out.

    The place comes from the evaluator, not from a list here, so that a stranger's market is published like ours.
    """
    rooms = {name: _room(name) for name in market_names() if market_type(name).evidence_map}
    return {name: room / "modes" / "evidence.toml" for name, room in rooms.items() if room is not None}


def map_version(market: str) -> str | None:
    """Version of a market's evidence map: its own, else that of the rules; null where no action needs evidence.

    Null as well for a market that is not installed: a trace may be of any.
    """
    try:
        kind = market_type(market)
    except ScenarioError:
        # A trace may be of a market that is not installed here.
        return None
    # Without a version of its own the map changes with the rules only.
    return _notes(market).get("version", f"rules-{kind.version}") if kind.evidence_map else None


def published_toml(market: str) -> str:
    """What the published file of a market should hold."""
    notes = _notes(market)
    recency = {name.removeprefix(RECENCY): int(days) for name, days in notes.items() if name.startswith(RECENCY)}
    return evidence_toml(market_type(market), map_version(market) or "", recency)


def evidence_toml(kind: MarketType, version: str, recency_days: Mapping[str, int]) -> str:
    """Needs, recency and tools of a market as TOML. Callables are published by the first line of their docstring."""
    lines = [
        "# Made from the tool table and the evidence map: python -m tradefair.evaluation.modes.published",
        f'market = "{kind.name}"',
        f'version = "{version}"',
    ]
    if recency_days:
        lines += ["", "[recency_days]", *(f"{category} = {days}" for category, days in recency_days.items())]
    for action, needs in kind.evidence_map.items():
        for need in needs:
            lines += ["", *_need(action, need)]
    for tool in kind.tools.values():
        if tool.evidence:
            lines += ["", *_tool(tool)]
    return "\n".join(lines) + "\n"


def _notes(market: str) -> Mapping[str, str]:
    """What the evaluator adds to the map; nothing where there is no evaluator."""
    found: Any = evaluator(market)
    return {} if found is None else found.evidence_notes


def _room(market: str) -> Path | None:
    """The folder of a market's evaluator."""
    found: Any = evaluator(market)
    file = None if found is None else import_module(type(found).__module__).__file__
    return None if file is None else Path(file).parent


def _need(action: str, need: Need) -> Iterator[str]:
    """The lines of one need."""
    yield "[[need]]"
    yield f'action = "{action}"'
    yield f"any_of = {_texts(need.any_of)}"
    # Windows in rounds are numbers, named windows are texts.
    yield f'window = "{need.window}"' if isinstance(need.window, str) else f"window = {need.window}"
    if need.from_round > 1:
        yield f"from_round = {need.from_round}"
    if need.object_arg is not None:
        yield f'object_arg = "{need.object_arg}"'
    if need.when is not None:
        yield f'when = "{_words(need.when)}"'


def _tool(tool: Tool) -> Iterator[str]:
    """The lines of one tool."""
    yield "[[tool]]"
    yield f'name = "{tool.name}"'
    yield f'kind = "{tool.kind}"'
    yield f"evidence = {_texts(tool.evidence)}"
    yield f'scope = "{tool.scope if isinstance(tool.scope, str) else _words(tool.scope)}"'


def _texts(values: tuple[str, ...]) -> str:
    """A list of texts in TOML."""
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _words(function: object) -> str:
    """The first line of a function's docstring, without its full stop."""
    # A double quote would end the text of TOML.
    return (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".").replace('"', "'")


if __name__ == "__main__":
    for name, path in published_paths().items():
        path.write_text(published_toml(name), encoding="utf-8", newline="\n")

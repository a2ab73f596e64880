"""The published evidence maps: what actions need and which tool gives it, as one TOML per market, from the tool table.

`python -m tradefair.evaluation.modes.published` writes it anew; a test compares.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path

from tradefair.catalog import market_type
from tradefair.contract.evidence import Need
from tradefair.contract.market import MarketType
from tradefair.contract.tool import Tool
from tradefair.retail.answers.evidence import EVIDENCE_VERSION, RECENCY_DAYS

PUBLISHED = {
    name: Path(__file__).parents[1] / "markets" / name / "modes" / "evidence.toml"
    for name in ("retail", "double_auction", "supply_chain", "marketplace")
}
"""Where each market's map is published."""

_VERSIONS = {"retail": EVIDENCE_VERSION}
_RECENCY: Mapping[str, Mapping[str, int]] = {"retail": RECENCY_DAYS}


def map_version(kind: MarketType) -> str | None:
    """The version of a market's evidence map: its own, else that of the rules; null where nothing is asked for."""
    return _VERSIONS.get(kind.name, f"rules-{kind.version}") if kind.evidence_map else None


def published_toml(market: str) -> str:
    """What the published file of a market should hold."""
    kind = market_type(market)
    return evidence_toml(kind, map_version(kind) or "", _RECENCY.get(market, {}))


def evidence_toml(kind: MarketType, version: str, recency_days: Mapping[str, int]) -> str:
    """Needs, recency and tools of a market. Callables are published by the first line of their docstring."""
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


def _need(action: str, need: Need) -> Iterator[str]:
    yield "[[need]]"
    yield f'action = "{action}"'
    yield f"any_of = {_texts(need.any_of)}"
    yield f'window = "{need.window}"' if isinstance(need.window, str) else f"window = {need.window}"
    if need.from_round > 1:
        yield f"from_round = {need.from_round}"
    if need.object_arg is not None:
        yield f'object_arg = "{need.object_arg}"'
    if need.when is not None:
        yield f'when = "{_words(need.when)}"'


def _tool(tool: Tool) -> Iterator[str]:
    yield "[[tool]]"
    yield f'name = "{tool.name}"'
    yield f'kind = "{tool.kind}"'
    yield f"evidence = {_texts(tool.evidence)}"
    yield f'scope = "{tool.scope if isinstance(tool.scope, str) else _words(tool.scope)}"'


def _texts(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _words(function: object) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".").replace('"', "'")


if __name__ == "__main__":
    for name, path in PUBLISHED.items():
        path.write_text(published_toml(name), encoding="utf-8")

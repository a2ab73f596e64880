"""Frameworks that play seats, by name. Importing this package imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from fairground.contract.errors import ScenarioError

__all__ = ["FRAMEWORKS", "find", "load_framework"]

FRAMEWORKS: Mapping[str, str] = {
    "react": "fairground.frameworks.langgraph:react",
    "langgraph": "fairground.frameworks.langgraph:LangGraphAgent",
    "policy": "fairground.frameworks.policy:PolicyAgent",
    "external": "fairground.frameworks.external:ExternalAgent",
}
"""Name -> "module:attribute" of a callable that makes a `SeatAgent`. `react` is langgraph with its react graph."""


def find(table: Mapping[str, str], name: str, kind: str) -> Any:
    """The object that a table of "module:attribute" names; ScenarioError lists the names there are."""
    if name not in table:
        raise ScenarioError(f"{name!r} is not a {kind}: there are {', '.join(sorted(table))}")
    module, _, attribute = table[name].partition(":")
    return getattr(import_module(module), attribute)


def load_framework(name: str) -> Any:
    """The factory of a framework: `load_framework("react")()` makes its agent. ScenarioError for an unknown name."""
    return find(FRAMEWORKS, name, "framework")

"""Frameworks that play seats, by name. Importing this package imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from tradefair.contract.errors import ScenarioError, needs_extra, unknown

__all__ = ["EXTRAS", "FRAMEWORKS", "GROUP", "Extra", "find", "load_framework"]

FRAMEWORKS: Mapping[str, str] = {
    # The values are text, not objects: importing one of them would import its package, which may be missing.
    "react": "tradefair.frameworks.langgraph:react",
    "reflection": "tradefair.frameworks.langgraph:reflection",
    "plan_and_act": "tradefair.frameworks.langgraph:plan_and_act",
    "langgraph": "tradefair.frameworks.langgraph:LangGraphAgent",
    "openai_loop": "tradefair.frameworks.openai_loop:OpenAILoop",
    "openai_agents": "tradefair.frameworks.openai_agents:OpenAIAgentsAgent",
    "pydantic_ai": "tradefair.frameworks.pydantic_ai:PydanticAIAgent",
    "langchain_agent": "tradefair.frameworks.langchain_agent:LangChainAgent",
    "policy": "tradefair.frameworks.policy:PolicyAgent",
    "command": "tradefair.frameworks.command:CommandAgent",
    "external": "tradefair.frameworks.external:ExternalAgent",
    "person": "tradefair.frameworks.external:ExternalAgent",
}
"""Name -> "module:attribute" of a callable that makes a `SeatAgent`. `react` is langgraph with its react graph.

`command` is followed by a program, as in `command:python my_agent.py`.
"""

GROUP = "tradefair.frameworks"
"""The entry-point group in which frameworks of others announce themselves in the same way.

Each entry's value has the form of those of `FRAMEWORKS`; the name is what `--agent` takes.
"""


class Extra(NamedTuple):
    """What must be installed in addition to tradefair: the module that is looked for, and the extra that brings it."""

    module: str
    name: str


EXTRAS: Mapping[str, Extra] = {
    # Module and extra differ: the OpenAI Agents SDK is imported as `agents`.
    "openai_agents": Extra("agents", "openai-agents"),
    "pydantic_ai": Extra("pydantic_ai", "pydantic-ai"),
    "langchain_agent": Extra("langchain", "langchain"),
}
"""Frameworks that are not always there."""


def find(table: Mapping[str, str], name: str, kind: str) -> Any:
    """The object that a table of "module:attribute" names; ScenarioError lists the names there are.

    `kind` is the noun of the error message: "framework" or "graph".
    """
    if name not in table:
        raise ScenarioError(unknown(kind, name, sorted(table)))
    module, _, attribute = table[name].partition(":")
    return getattr(import_module(module), attribute)


def load_framework(name: str) -> Any:
    """The factory of a framework: `load_framework("react")()` makes its agent.

    Raises ScenarioError for an unknown name, and for one whose package is not installed.
    """
    extra = EXTRAS.get(name)
    # `find_spec` looks without importing, so that a missing package is a clear message and not an ImportError.
    if extra is not None and find_spec(extra.module) is None:
        raise ScenarioError(needs_extra(f"--agent {name}", extra.name))
    # Only names that are installed: a name may come from a trace, and a trace may come from a stranger.
    # Installed distributions are scanned only for names that are not ours.
    others = {} if name in FRAMEWORKS else _of_others()
    # Ours come last and win: another package cannot take the place of a framework that results are compared by.
    return find({**others, **FRAMEWORKS}, name, "framework")


def _of_others() -> dict[str, str]:
    """Frameworks that other packages announce: name -> "module:attribute"."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group=GROUP)}

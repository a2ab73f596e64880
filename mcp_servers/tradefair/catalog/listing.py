"""What lists say of a market: `listing.toml` in its package, so that a list imports none.

version = "3"
title = "two seats divide a pie, three times"
tools = 6

[policies.half]
description = "claims half"
roles = ["eater"]
privileged = false
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tradefair.contract.errors import ScenarioError

if TYPE_CHECKING:
    from tradefair.contract import MarketType

LISTING = "listing.toml"
"""The file's name in the package of a market."""


class ListedPolicy(NamedTuple):
    """A scripted seat as `show policies` shows it; roles sorted, parameters as "step=25 (integer 1..1000)"."""

    description: str
    roles: list[str]
    privileged: bool
    parameters: list[str]


class Listing(NamedTuple):
    """A market as `tradefair show` lists it and its policies; `tools` is the number of its own ones."""

    version: str
    title: str
    tools: int
    policies: Mapping[str, ListedPolicy]


def listing_of(kind: MarketType) -> Listing:
    """What a market says of itself."""
    policies = {
        spec.name: ListedPolicy(spec.description, sorted(spec.roles), spec.privileged, _parameters(spec.rule))
        for spec in kind.policies.values()
    }
    return Listing(kind.version, kind.title, len(kind.tools), policies)


def _parameters(rule: type[Any]) -> list[str]:
    """Each with its default, as it may be written after `policy:`, and what it may be."""
    from tradefair.contract.policy import parameters_of

    found = parameters_of(rule).items()
    defaults = {name: known.default for name, known in found if isinstance(known.default, str)}
    return [f"{name}={defaults.get(name, json.dumps(known.default))} ({known.allowed})" for name, known in found]


def listing_toml(listing: Listing) -> str:
    """The text of `listing.toml`."""
    head = {"version": listing.version, "title": listing.title, "tools": listing.tools}
    lines = _lines(head)
    for name, policy in listing.policies.items():
        lines += ["", f"[policies.{name}]", *_lines(policy._asdict())]
    return "\n".join([*lines, ""])


def _lines(table: Mapping[str, object]) -> list[str]:
    # JSON of a text, a list of texts, a number or a truth value is TOML as well.
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items() if value != []]


def parsed_listing(text: str, *, source: str) -> Listing:
    """The listing in a text, which is as much to be trusted as the code next to it. ScenarioError names `source`."""
    from tradefair.files.user_files import parse_toml

    content = parse_toml(text, source=source)
    try:
        bare: dict[str, Any] = {"parameters": []}
        policies = {name: ListedPolicy(**{**bare, **table}) for name, table in content.pop("policies").items()}
        return Listing(**content, policies=policies)
    except (AttributeError, KeyError, TypeError) as wrong:
        raise ScenarioError(f"{source}: {wrong}; `tradefair check` writes it: --write") from None

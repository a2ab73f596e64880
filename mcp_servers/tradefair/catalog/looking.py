"""What is installed, as tables or JSON: markets, scenarios, tools, policies; what `tradefair show` and `list` print."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from tradefair.catalog import (
    Tier,
    load_scenario,
    market_listing,
    market_names,
    market_type,
    scenario_ids,
    scenario_table,
)
from tradefair.cli.terminal import print_json, say
from tradefair.contract.errors import ScenarioError

if TYPE_CHECKING:
    from tradefair.catalog.listing import Listing
    from tradefair.cli.tables import Column

# Characters that a cell may have; a longer value is data, see `_cell`.
_MAX_CELL = 10_000
# Columns of running text; all others hold names or figures.
_SENTENCES = frozenset(
    {"presets", "title", "what", "arguments", "description", "parameters", "value", "meaning", "problem"}
)


def show_markets(name: str, as_json: bool) -> None:
    """The installed markets, our own and those that other packages bring, or one of them."""
    rows: list[dict[str, Any]] = []
    for market, listed, presets in _listings(name):
        counts = {"scenarios": len(presets), "tools": listed.tools, "policies": len(listed.policies)}
        rows.append({"name": market, "version": listed.version, "title": listed.title, **counts})
    show_rows(rows, as_json)


def at_once(arguments: Sequence[str]) -> int | None:
    """`show [markets] [--json]` without a parser, which imports pydantic for a word: 0, or None for another line."""
    if [word for word in arguments if word != "--json"] not in ([], ["markets"]):
        return None
    show_markets("", "--json" in arguments)
    return 0


def list_markets(as_json: bool) -> None:
    """Every installed market with its presets, and how many scripted policies and tools it has."""
    rows: list[dict[str, Any]] = []
    for name, listed, scenario_names in _listings():
        presets = [preset.partition("/")[2] for preset in scenario_names]
        rows.append({"market": name, "policies": len(listed.policies), "tools": listed.tools, "presets": presets})
    show_rows(rows, as_json)


def _listings(chosen: str = "") -> Iterator[tuple[str, Listing, list[str]]]:
    """Every market, or the one that is named, with its scenarios.

    Of one that cannot be listed, what is wrong goes to stderr; ScenarioError where it was named.
    """
    for name in [chosen] if chosen else market_names():
        try:
            yield name, market_listing(name), scenario_ids(name)
        # A broken package of another author breaks its own market only.
        except ScenarioError as error:
            if chosen:
                raise
            say(str(error))


def show_tools(market: str, as_json: bool) -> None:
    """The tools of a market, the kernel's included; as JSON their full schemas."""
    from tradefair.contract.kernel.core import full_table
    from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
    from tradefair.contract.schema_text import allowed_text

    kind = market_type(market)
    table = full_table(kind)
    if as_json:
        head = {"market": kind.name, "version": kind.version, "schema_digest": table.schema_digest}
        print_json({**head, "tools": table.declarations()})
        return
    rows: list[dict[str, Any]] = []
    for name, item in table.items():
        given = item.input_schema.get("properties", {})
        arguments = ", ".join(f"{key}: {allowed_text(schema, item.input_schema)}" for key, schema in given.items())
        origin = "kernel" if name in KERNEL_TOOLS else "market"
        rows.append({"tool": name, "kind": item.kind, "of": origin, "what": item.title, "arguments": arguments})
    show_rows(rows, as_json=False)


def show_policies(market: str, as_json: bool) -> None:
    """The scripted seats of a market, as they are spelt after `policy:`."""
    rows = [{"name": name, **policy._asdict()} for name, policy in market_listing(market).policies.items()]
    if as_json:
        from tradefair.contract.policy import parameters_of

        # Programs get types and bounds as fields, which the market itself has to say: a listing holds texts.
        specs = market_type(market).policies
        for row in rows:
            known = parameters_of(specs[row["name"]].rule).items()
            row["takes"] = [{"name": name, "default": of.default, **of.schema} for name, of in known]
    show_rows(rows, as_json)


SHOWN = {"markets": show_markets, "tools": show_tools, "policies": show_policies}
"""What shows one kind of thing, by its name: called with a market's name and whether JSON is wanted."""


def show_scenarios(name: str, tier: Tier | None, overrides: Sequence[str], as_json: bool) -> None:
    """The bundled scenarios of all markets or of one, each by what its file says; of an id, all that it holds.

    `name` is a market, an id `market/preset`, or "". `tier` leaves others out of a list; `overrides` (`key=value`)
    change the scenario that is shown. ScenarioError for an unknown name, or an override of a whole list.
    """
    if "/" in name or overrides:
        _show_scenario(name, overrides, as_json)
        return
    rows: list[dict[str, Any]] = []
    for found in [found for market in ([name] if name else market_names()) for found in scenario_ids(market)]:
        content = scenario_table(found.partition("/")[0], found)
        # The defaults of `Scenario`, which is not loaded for a list.
        row = {"id": found, "version": content.get("version", 1), "tier": content.get("tier", "full")}
        if tier in (None, row["tier"]):
            rows.append({**row, "description": content.get("description", "")})
    show_rows(rows, as_json)


def _show_scenario(name: str, overrides: Sequence[str], as_json: bool) -> None:
    """The full content of a scenario, defaults and overrides included."""
    from tradefair.contract.scenario import parse_override

    found = load_scenario(_market_of(name), name, dict(map(parse_override, overrides)))
    content = found.model_dump(mode="json")
    if as_json:
        print_json(content)
        return
    described = type(found).model_fields
    rows = [{"key": key, "value": value, "meaning": described[key].description or ""} for key, value in content.items()]
    show_rows(rows, as_json=False)


def _market_of(scenario: str) -> str:
    """The market of a scenario's id. ScenarioError for a name without one, with the ids that may have been meant."""
    market, slash, _ = scenario.partition("/")
    if not slash:
        known = [found for name in market_names() for found in scenario_ids(name)]
        alike = [found for found in known if found.endswith(f"/{scenario}")] or known[:1]
        raise ScenarioError(f"{scenario!r} is not a scenario's id: write market/preset, such as {', '.join(alike)}")
    return market


def show_rows(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    """Rows with equal keys, as JSON or as a table."""
    if as_json:
        print_json(rows)
        return
    # rich takes longer than all else that a list needs, and JSON needs none of it.
    from tradefair.cli.console import Console
    from tradefair.cli.tables import show_table

    columns = [column for key in rows[0] for column in _column(key)] if rows else []
    # Sentences stand last: they are what gives way on a narrow terminal.
    order = sorted(range(len(columns)), key=lambda index: columns[index].kind == "text")
    cells = [[_cell(value) for value in row.values()] for row in rows]
    console = Console()
    show_table(console, [columns[index] for index in order], [[row[index] for index in order] for row in cells])


def _column(key: str) -> list[Column]:
    """How the cells of a key are laid out: running text is wrapped, names and figures are not."""
    from tradefair.cli.tables import names, words

    return words(key) if key in _SENTENCES else names(key)


def _cell(value: object) -> str:
    """A value as a table shows it: text as it is, lists of text with commas, all else as JSON of bounded length."""
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):  # pyright: ignore[reportUnknownVariableType]
        return ", ".join(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, bool):
        return "yes" if value else "no"
    # The data of a folder is content of its scenario: megabytes that no terminal can show.
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MAX_CELL else f"{len(text):,} characters: --json shows them"

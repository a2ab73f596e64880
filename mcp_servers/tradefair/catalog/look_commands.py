"""The commands `markets`, `scenarios`, `tools` and `policies`: what is installed, as tables or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from typer.core import TyperGroup

from tradefair.catalog import (
    TIERS,
    Tier,
    data_folder,
    load_scenario,
    market_listing,
    market_names,
    market_type,
    scenario_ids,
    scenario_table,
)
from tradefair.cli.options import PLAIN
from tradefair.cli.terminal import print_json, say
from tradefair.contract.errors import ScenarioError

if TYPE_CHECKING:
    from tradefair.catalog.listing import Listing
    from tradefair.cli.tables import Column

_AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
_OfTier = Annotated[
    Tier | None,
    typer.Option("--tier", metavar="|".join(TIERS), help="Only those for a first episode, for training, or all else."),
]
_Market = Annotated[str, typer.Argument(metavar="MARKET", help="A market's name, as `tradefair markets` shows it.")]
# Any fixed seed: two checks of one scenario must agree.
_CHECK_SEED = 1
# Characters that a cell may have; a longer value is data, see `_cell`.
_MAX_CELL = 10_000
# Columns of running text; all others hold names or figures.
_SENTENCES = frozenset(
    {"presets", "title", "what", "arguments", "description", "parameters", "value", "meaning", "problem"}
)


def markets(as_json: _AsJson = False) -> None:
    """The installed markets: our own and those that other packages bring."""
    rows: list[dict[str, Any]] = []
    for name, listed, presets in _listings():
        counts = {"scenarios": len(presets), "tools": listed.tools, "policies": len(listed.policies)}
        rows.append({"name": name, "version": listed.version, "title": listed.title, **counts})
    _show(rows, as_json)


def list_markets(as_json: _AsJson = False) -> None:
    """Every installed market with its presets, and how many scripted policies and tools it has."""
    rows: list[dict[str, Any]] = []
    for name, listed, scenario_names in _listings():
        presets = [preset.partition("/")[2] for preset in scenario_names]
        rows.append({"market": name, "policies": len(listed.policies), "tools": listed.tools, "presets": presets})
    _show(rows, as_json)


def _listings() -> Iterator[tuple[str, Listing, list[str]]]:
    """Every market with its scenarios; of one that cannot be listed, what is wrong goes to stderr."""
    for name in market_names():
        try:
            yield name, market_listing(name), scenario_ids(name)
        # A broken package of another author breaks its own market only.
        except ScenarioError as error:
            say(str(error))


def tools(market: _Market, as_json: _AsJson = False) -> None:
    """The tools of a market, the kernel's included; with --json their full schemas."""
    from tradefair.contract.arguments import allowed_text
    from tradefair.contract.core import full_table
    from tradefair.contract.kernel_tools import KERNEL_TOOLS

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
    _show(rows, as_json=False)


def policies(market: _Market, as_json: _AsJson = False) -> None:
    """The scripted seats of a market, as they are spelt after `policy:`."""
    rows = [{"name": name, **policy._asdict()} for name, policy in market_listing(market).policies.items()]
    _show(rows, as_json)


class _ByName(TyperGroup):
    """`scenarios MARKET` lists the scenarios of a market, `scenarios MARKET/PRESET` shows one of them."""

    # Any: the base class is typed with a context of typer's own copy of click.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # Without an argument it is like an option: the callback's own case.
        first = args[0] if args else "-"
        if not first.startswith("-") and first not in self.commands:
            # Ids hold a slash, names of markets do not.
            args = ["show" if "/" in first else "list", *args]
        return super().parse_args(ctx, args)


scenarios = typer.Typer(cls=_ByName, **PLAIN)


@scenarios.callback(invoke_without_command=True)
def _all_scenarios(context: typer.Context, tier: _OfTier = None, as_json: _AsJson = False) -> None:
    """List, show and check the bundled scenarios. `scenarios MARKET` and `scenarios MARKET/PRESET` do as well."""
    if context.invoked_subcommand is None:
        _list(market_names(), tier, as_json)


@scenarios.command("list")
def list_scenarios(
    market: Annotated[str | None, typer.Argument(metavar="MARKET", help="Only this market's.")] = None,
    tier: _OfTier = None,
    as_json: _AsJson = False,
) -> None:
    """The bundled scenarios of all markets, or of one."""
    _list(market_names() if market is None else [market], tier, as_json)


@scenarios.command("show")
def show_scenario(
    scenario: Annotated[str, typer.Argument(metavar="ID", help="market/preset")],
    overrides: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key.")] = None,
    as_json: _AsJson = False,
) -> None:
    """The full content of a scenario, defaults and overrides included."""
    from tradefair.contract.scenario import parse_override

    found = load_scenario(_market_of(scenario), scenario, dict(map(parse_override, overrides or ())))
    content = found.model_dump(mode="json")
    if as_json:
        print_json(content)
        return
    described = type(found).model_fields
    rows = [{"key": key, "value": value, "meaning": described[key].description or ""} for key, value in content.items()]
    _show(rows, as_json=False)


@scenarios.command("check")
def check_scenarios(
    market: _Market,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Check and measure this folder of data instead.")
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Open every scenario of a market, or check a folder of its data.

    Exit code 1 when one cannot be played.
    """
    if data is not None:
        _check_data(market, data, as_json)
        return
    rows = [{"id": name, "problem": _problem(market, name)} for name in scenario_ids(market)]
    _show(rows, as_json)
    if any(row["problem"] for row in rows):
        raise typer.Exit(1)


def _check_data(market: str, folder: Path, as_json: bool) -> None:
    from tradefair.contract.market import ChecksData

    kind = market_type(market)
    if not isinstance(kind, ChecksData):
        raise ScenarioError(f"{market} reads no data of its own: leave --data out")
    found = kind.check_data(str(data_folder(folder)))
    if as_json:
        print_json(found.report.model_dump(mode="json"))
    elif found.rows:
        shares = any(share for _, _, share in found.rows)
        # Three heads or two: without shares `zip` leaves the third part of each row out.
        heads = ("measure", "figure", "of optimum") if shares else ("measure", "value")
        _show([dict(zip(heads, row, strict=False)) for row in found.rows], as_json)
    for problem in found.problems:
        # On stderr, so that --json leaves stdout to the report.
        say(problem)
    if found.problems:
        raise typer.Exit(1)


def _problem(market: str, name: str) -> str | None:
    """Why a scenario cannot be played; None when it can. It is really created, because some faults show only then."""
    try:
        market_type(market).create(load_scenario(market, name), _CHECK_SEED)
    except ScenarioError as error:
        return str(error)
    return None


def _list(names: Iterable[str], tier: Tier | None, as_json: bool) -> None:
    """One row per scenario, of one tier or of all: what its file says; `scenarios check` says whether it is sound."""
    rows: list[dict[str, Any]] = []
    for name in names:
        for found in scenario_ids(name):
            content = scenario_table(name, found)
            # The defaults of `Scenario`, which is not loaded for a list.
            row = {"id": found, "version": content.get("version", 1), "tier": content.get("tier", "full")}
            if tier in (None, row["tier"]):
                rows.append({**row, "description": content.get("description", "")})
    _show(rows, as_json)


def _market_of(scenario: str) -> str:
    """The market of a scenario's id. ScenarioError for a name without one, with the ids that may have been meant."""
    market, slash, _ = scenario.partition("/")
    if not slash:
        known = [found for name in market_names() for found in scenario_ids(name)]
        alike = [found for found in known if found.endswith(f"/{scenario}")] or known[:1]
        raise ScenarioError(f"{scenario!r} is not a scenario's id: write market/preset, such as {', '.join(alike)}")
    return market


def _show(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
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

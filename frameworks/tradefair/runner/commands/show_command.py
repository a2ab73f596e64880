"""The command `show`: what is installed, and our agent graphs as they are compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tradefair.catalog import TIERS, Tier, looking, market_names, plan_ids
from tradefair.cli.terminal import print_json
from tradefair.contract.errors import ScenarioError, unknown

_KINDS = (*looking.SHOWN, "scenarios", "plans", "agents", "formats")
# The options of kinds that take others than --json alone.
_TAKES = {"scenarios": ("--tier", "--set", "--json"), "agents": ("--png", "--approve")}


def show(
    kind: Annotated[str, typer.Argument(metavar=f"[{'|'.join(_KINDS)}]", help="What is shown.")] = "markets",
    name: Annotated[
        str,
        typer.Argument(
            help="A market; of scenarios also an id, market/preset; of agents react, reflection, …; of formats its name"
        ),
    ] = "",
    tier: Annotated[
        Tier | None,
        typer.Option(metavar="|".join(TIERS), help="Scenarios for a first episode, for training, or all else."),
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key of the scenario shown.")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Write the graph to a PNG file, with a local graphviz.")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="The graph that asks a person before actions.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """What is installed: markets, their scenarios, plans, tools and scripted seats; formats of logs; our agent graphs
    as mermaid text.

    Scenarios and plans of all markets, or of the one that is named; of a scenario's id everything that it holds.
    """
    if kind not in _KINDS:
        raise ScenarioError(unknown("kind", kind, _KINDS))
    given = {"--tier": tier, "--set": overrides, "--png": png, "--approve": approve, "--json": as_json}
    refused = [option for option, value in given.items() if value and option not in _TAKES.get(kind, ("--json",))]
    if refused:
        raise typer.BadParameter(f"it says nothing of {kind}", param_hint=refused[0])
    if kind == "agents":
        # Imported here: it brings the graphs.
        from tradefair.frameworks.show_graph import show_graph

        show_graph(name, png, approve)
    elif kind == "scenarios":
        looking.show_scenarios(name, tier, overrides or (), as_json)
    elif kind == "formats":
        from tradefair.evaluation.wings import of_wing

        looking.show_rows(of_wing("foreign.importers.detect:formats")(name), as_json)
    elif kind == "plans":
        _show_plans(name, as_json)
    elif name or kind == "markets":
        looking.SHOWN[kind](name, as_json)
    else:
        raise typer.BadParameter(f"{kind} are those of a market: {', '.join(market_names())}", param_hint="NAME")


def _show_plans(market: str, as_json: bool) -> None:
    """The bundled plans of sweeps, of all markets or of one."""
    rows = [_described(name) for found in ([market] if market else market_names()) for name in plan_ids(found)]
    if as_json:
        print_json(rows)
        return
    from tradefair.cli.console import Console
    from tradefair.cli.tables import figures, names, show_table, words

    columns = [*names("plan", "seating"), *figures("agents", "episodes"), *words("description")]
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row.values()] for row in rows]
    show_table(Console(), columns, cells)


def _described(name: str) -> dict[str, Any]:
    """A row of a list of plans, of the plan's file alone: whether it can be played is not asked."""
    from tradefair.runner.plans.plan import load_plan

    plan = load_plan(name).plan
    return {
        "plan": name,
        "seating": plan.seating.kind,
        "agents": len(plan.entries),
        "episodes": plan.count,
        "description": plan.plan.description,
    }

"""The command `lab references`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.contract.errors import ScenarioError
from tradefair.evaluation.markets.double_auction.surplus_alpha import EPISODES

_MARKET = "double_auction"


def references(
    market: Annotated[str, typer.Argument(help="The market: double_auction has such tables.")],
    check: Annotated[bool, typer.Option("--check", help="Replay 2,000 episodes of each table.")] = False,
    out: Annotated[Path | None, typer.Option(help="Build the package's tables into this file; check it.")] = None,
    shape: Annotated[
        str, typer.Option(help="Build tables of another shape, such as 6+6x20, into the user's cache; check them.")
    ] = "",
    episodes: Annotated[int, typer.Option(min=20, max=1_000_000, help="Episodes of one table.")] = EPISODES,
    processes: Annotated[int, typer.Option(min=1, max=256, help="How many processes play.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """The reference tables of csa and csa_clean: what truthful seats earn among truthful seats.

    csa_source rests on another one, which comes from public logs and cannot be built.

    --check replays the first episodes of the package's tables. --out FILE builds these anew, minutes on one core;
    a build that was stopped goes on where it was. Exit code 1 when a table is not what the rules give.
    """
    if market != _MARKET:
        raise ScenarioError(f"{market[:40]}: only {_MARKET} has reference tables")
    # Imported here: the rules of the market take long to import.
    from tradefair.evaluation.markets.double_auction.reference_tables import print_references

    return print_references(check=check, out=out, shape=shape, episodes=episodes, processes=processes, as_json=as_json)

"""What `serve` and `host` are asked for, checked before anything is made.

Apart from what plays it, which takes longer to import than some clients wait for a first answer.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tradefair.catalog import default_scenario, load_scenario, market_names, market_type
from tradefair.cli.options import EpisodeFlags
from tradefair.cli.terminal import say
from tradefair.contract import MarketType, Scenario, ScenarioError, SeatId
from tradefair.contract.scenario import parse_override
from tradefair.host.seats.plans import (
    SeatPlan,
    check_folder,
    check_seed,
    default_folder,
    left_alone,
    new_seed,
    plan_seats,
)


class Asked(NamedTuple):
    """An episode of which one seat is served. `fixed_seed`: the seed where it was named."""

    kind: MarketType
    scenario: Scenario
    plan: SeatPlan
    seed: int
    fixed_seed: int | None
    folder: Path

    @property
    def seat(self) -> SeatId:
        """The seat that is served."""
        return self.plan.agents[0]


def ask(options: EpisodeFlags, seat: str, *, gathered: bool) -> Asked:
    """What the options of `serve` ask for, which is said; `gathered` as for `folder_of`.

    Raises ScenarioError, StorageUnavailable.
    """
    kind, scenario = choose(options)
    plan = seat_alone(kind, scenario, seat, options.others)
    seed = new_seed() if options.seed is None else options.seed
    check_seed(seed)
    folder = folder_of(options, gathered=gathered)
    check_folder(folder)
    served = plan.agents[0]
    say_where_it_belongs(kind, scenario, served)
    notice(f"{scenario.id}, seat {served}; the first call begins an episode, its trace in {folder.absolute()}")
    return Asked(kind, scenario, plan, seed, options.seed, folder)


def choose(options: EpisodeFlags) -> tuple[MarketType, Scenario]:
    """The market and its scenario (the first one by default). Raises ScenarioError."""
    if not options.market:
        raise ScenarioError(f"name a market: {', '.join(market_names())}")
    kind = market_type(options.market)
    name = options.scenario or default_scenario(options.market)
    return kind, load_scenario(options.market, name, dict(map(parse_override, options.overrides or ())))


def seat_alone(kind: MarketType, scenario: Scenario, seat: str, others: str) -> SeatPlan:
    """One seat played from outside, by default the scenario's first agent seat; policies on all others.

    Where other agents would sit, the stand-ins of their roles do.
    """
    if not seat:
        agents = plan_seats(kind, scenario, others=others or None).agents
        if not agents:
            raise ScenarioError(f"{scenario.id} has no seat for an agent: name one with --seat")
        seat = agents[0]
    return left_alone(kind, scenario, plan_seats(kind, scenario, agents=[seat], others=others or None), [seat])


def folder_of(options: EpisodeFlags, *, gathered: bool = False) -> Path:
    """The trace's folder; desktop clients start servers in folders where nothing can or should be written.

    `gathered`: one for all episodes instead of one for each, so that they are found again.
    """
    if options.out is not None:
        return options.out
    here = Path.cwd()
    writable = here != Path(here.anchor) and os.access(here, os.W_OK)
    own = Path("runs") if gathered else default_folder(options.market or "host")
    return (here if writable else Path(tempfile.gettempdir()) / "tradefair") / own


def notice(line: str) -> None:
    """Standard output belongs to the protocol."""
    say(f"tradefair: {line}")


def say_where_it_belongs(kind: MarketType, scenario: Scenario, seat: SeatId) -> None:
    """To a person who has typed the command of a client, and whose terminal stands where that should be."""
    if sys.stdin.isatty():
        put = f"tradefair config {kind.name} --scenario {scenario.id} --seat {seat}"
        notice(f"this speaks MCP on standard input; put it into a client: {put}")

"""Which episodes `tradefair play` plays and how often, as its options say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tradefair.cli.options import EpisodeFlags


@dataclass(frozen=True)
class Played(EpisodeFlags):
    """Which episode, and whose chance is drawn anew."""

    seat: Annotated[list[str] | None, typer.Option(help="Seat of the agent; may be repeated.")] = None
    seed: Annotated[int | None, typer.Option(help="Fixes all chance; default: a fresh one, printed.")] = None
    policy_key: Annotated[int, typer.Option(min=0, help="Other draws of scripted policies, same market luck.")] = 0
    agent_key: Annotated[
        int | None, typer.Option(min=0, help="Other draws of the agent's policy alone; default: --policy-key.")
    ] = None


@dataclass(frozen=True)
class Often:
    """How often it is played, and what is played with it."""

    seeds: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Play this many episodes, on seeds from --seed on.")
    ] = None
    seeds_at_stake: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="With --seat: this many seeds on which the seat has something to win."),
    ] = None
    trials: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="Play it so often; reflection carries over what it wrote.")
    ] = None
    references: Annotated[
        bool | None, typer.Option("--references/--no-references", help="Also play the market's references in its seat.")
    ] = None

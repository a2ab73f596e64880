"""Which episodes `tradefair play` plays and how often, as its options say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field

from tradefair.cli.options import EpisodeFlags
from tradefair.runner.play.agent_flags import named_values


class _Keys(BaseModel):
    """The keys of `--key`."""

    model_config = ConfigDict(extra="forbid")

    policy: int = Field(0, ge=0)
    agent: int | None = Field(None, ge=0)


@dataclass(frozen=True)
class Played(EpisodeFlags):
    """Which episode, whose seat, and whose chance is drawn anew."""

    seat: Annotated[list[str] | None, typer.Option(help="Seat of the agent; may be repeated.")] = None
    key: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=N",
            help="Other draws, same market luck: policy=1 of all scripted policies, agent=1 of the agent's alone.",
        ),
    ] = None

    @property
    def keys(self) -> tuple[int, int | None]:
        """The keys of the policies' draws, and of the agent's where they differ. Raises ScenarioError."""
        given = named_values(_Keys, self.key, "--key")
        return given.policy, given.agent


@dataclass(frozen=True)
class Often:
    """How often it is played, and what is played with it."""

    seeds: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Play this many episodes, on seeds from --seed on.")
    ] = None
    trials: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="Play it so often; reflection carries over what it wrote.")
    ] = None
    references: Annotated[
        bool | None, typer.Option("--references/--no-references", help="Also play all of the market's references.")
    ] = None

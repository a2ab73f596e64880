"""Which plan is played, where and within what: options of `sweep`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

Executor: TypeAlias = Literal["local", "process", "ray"]
MAX_PROCESSES = 256
RETRIES = 4
"""How often an episode goes on by itself after its provider failed, unless the command says otherwise."""

PlanName = Annotated[str, typer.Argument(metavar="PLAN", help="A bundled plan (tradefair show plans) or a .toml file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


@dataclass(frozen=True)
class How:
    """How the episodes of a plan are to be played."""

    out: Annotated[Path | None, typer.Option(help="Folder of traces and table; default ./runs/<plan>.")] = None
    executor: Annotated[
        Executor | None,
        typer.Option(help="Where episodes are played; default: process, or local where one process does it."),
    ] = None
    processes: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_PROCESSES, help="Workers; default: one per CPU for scripted play and for ray, 1 with agents."
        ),
    ] = None
    concurrency: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="Episodes at a time in each worker; default 1, with agents 4.")
    ] = None
    seeds: Annotated[int | None, typer.Option(min=1, help="Play so many seeds instead of the plan's.")] = None
    overrides: Annotated[list[str] | None, typer.Option("--set", help="Scenario value to change: key=value.")] = None
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Folder of data; default: TRADEFAIR_DATA.")
    ] = None
    max_episodes: Annotated[int | None, typer.Option(min=1, help="Begin no more episodes than that now.")] = None
    max_minutes: Annotated[float | None, typer.Option(min=0.001, help="Begin none after so many minutes.")] = None
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Begin none after so many tokens, earlier runs included.")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(min=0.000001, help="Begin none after so many dollars, likewise.")
    ] = None
    retries: Annotated[
        int, typer.Option(min=0, max=20, help="How often an episode goes on by itself after its provider failed.")
    ] = RETRIES
    store: Annotated[
        str | None,
        typer.Option(
            envvar="TRADEFAIR_STORE",
            help="postgresql://HOST/DB in which episodes are logged; done, they come to --out.",
        ),
    ] = None

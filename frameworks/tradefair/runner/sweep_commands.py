"""`tradefair sweep` and `tradefair plans`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tradefair.catalog import market_names, plan_ids, use_data
from tradefair.cli.options import grouped
from tradefair.cli.tables import figures, names, show_table, words
from tradefair.cli.terminal import Console, print_json, say
from tradefair.contract.scenario import parse_override
from tradefair.evaluation.report.outputs import Output, write
from tradefair.runner.plan import SourcedPlan, load_plan
from tradefair.runner.plan_episodes import workload_of
from tradefair.runner.sweep import MAX_PROCESSES, Executor, Sweep, SweepSpec, sweep
from tradefair.runner.sweep_play import RETRIES, pauses_of
from tradefair.runner.sweep_show import print_sweep, show_progress
from tradefair.tracestore import is_whole_store

PlanName = Annotated[str, typer.Argument(metavar="PLAN", help="A bundled plan (tradefair plans) or a .toml file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


@dataclass(frozen=True)
class How:
    """How the episodes of a plan are to be played: the options that sweep and tournament share."""

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


@grouped
def sweep_plan(plan: PlanName, how: How, as_json: AsJson = False, output: Output = None) -> int:
    """Play every episode of a plan, one trace each; -o: seeds by arms as a figure, with the verdict on them.

    Stopped or killed, the same command goes on: episodes that are done are not played again, failed ones are. Several
    commands may play one plan into one folder at the same time. Exit code 3 when episodes failed.
    """
    done = play_plan(plan, how)
    if as_json:
        print_json(done.to_json())
    else:
        print_sweep(done)
    if output is not None:
        # Imported here: it needs the evaluators, and everything has been played by now.
        from tradefair.runner.sweep_figure import sweep_page

        say(f"{output}: {write(sweep_page(done, plan), output)}")
    return done.exit_code


def play_plan(name: str, how: How) -> Sweep:
    """Load, work out and play a plan, with progress on a terminal. Raises as `sweep` does."""
    # The address of one episode is a store's address too, but logs of a sweep need the whole database.
    if how.store is not None and not is_whole_store(how.store):
        raise typer.BadParameter("--store takes the URL of a PostgreSQL database: postgresql://HOST/DB")
    # Before the plan is loaded: its scenarios may need the folder of data.
    use_data(how.data)
    plan, folder = load_plan(name, seeds=how.seeds, overrides=dict(map(parse_override, how.overrides or [])))
    work = workload_of(SourcedPlan(plan, folder))
    budget = plan.budget.model_copy(update=_limits(how))
    spec = SweepSpec(
        work,
        how.out or Path("runs") / work.name.replace("/", "-"),
        how.processes,
        how.concurrency,
        how.executor,
        budget,
        plan.provider,
        pauses_of(how.retries),
        how.store,
    )
    with show_progress(work.name) as watch:
        try:
            return sweep(spec, watch)
        # Said here, where the folder is known; the exit code is that of any interrupted command.
        except KeyboardInterrupt:
            say(f"stopped; the same command goes on where {spec.folder} is")
            raise


def _limits(how: How) -> dict[str, Any]:
    """Limits of the command line, which go before the plan's."""
    seconds = None if how.max_minutes is None else how.max_minutes * 60
    given = {"episodes": how.max_episodes, "wall_time_s": seconds, "tokens": how.max_tokens, "cost_usd": how.max_cost}
    return {name: value for name, value in given.items() if value is not None}


def plans(as_json: AsJson = False) -> None:
    """The bundled plans of sweeps and tournaments."""
    rows = [_described(name) for market in market_names() for name in plan_ids(market)]
    if as_json:
        print_json(rows)
        return
    columns = [*names("plan", "seating"), *figures("agents", "episodes"), *words("description")]
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row.values()] for row in rows]
    show_table(Console(), columns, cells)


def _described(name: str) -> dict[str, Any]:
    """A row of `plans`. The plan is worked out for it, so that its number of episodes is right."""
    sourced = load_plan(name)
    work = workload_of(sourced)
    return {
        "plan": name,
        "seating": work.seating.kind,
        "agents": len(work.agents),
        "episodes": work.count,
        "description": sourced.plan.plan.description,
    }

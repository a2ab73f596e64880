"""Plays a plan as the options of `sweep` say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from tradefair.catalog import use_data
from tradefair.cli.terminal import say
from tradefair.contract.scenario import parse_override
from tradefair.runner.plans.episodes import workload_of
from tradefair.runner.plans.plan import SourcedPlan, load_plan
from tradefair.runner.plans.play import pauses_of
from tradefair.runner.sweep.flags import How
from tradefair.runner.sweep.lines import show_progress
from tradefair.runner.sweep.sweep import Sweep, SweepSpec, sweep
from tradefair.tracestore import is_whole_store


def play_plan(name: str, how: How) -> Sweep:
    """Load, work out and play a plan, with progress on a terminal. Raises as `sweep` does."""
    # Before the plan is loaded: its scenarios may need the folder of data.
    use_data(how.data)
    loaded = load_plan(name, seeds=how.seeds, overrides=dict(map(parse_override, how.overrides or [])))
    return play_loaded(loaded, how)


def play_loaded(loaded: SourcedPlan, how: How) -> Sweep:
    """Work out and play a plan, with progress on a terminal. Raises as `sweep`.

    Of `how` all is asked but what changes the plan: seeds, values and data.
    """
    # The address of one episode is a store's address too, but logs of a sweep need the whole database.
    if how.store is not None and not is_whole_store(how.store):
        raise typer.BadParameter("store takes the URL of a PostgreSQL database: postgresql://HOST/DB")
    plan, work = loaded.plan, workload_of(loaded)
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

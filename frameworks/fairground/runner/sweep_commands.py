"""`fairground sweep` and `fairground plans`."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from fairground.catalog import market_names, plan_ids
from fairground.cli.tables import figures, names, show_table, words
from fairground.contract.scenario import parse_override
from fairground.runner.plan import load_plan
from fairground.runner.plan_episodes import Workload, workload_of
from fairground.runner.summary import show
from fairground.runner.sweep import MAX_PROCESSES, Sweep, SweepSpec, Watch, sweep
from fairground.runner.sweep_table import Counts

__all__ = [
    "AsJson",
    "Concurrency",
    "Out",
    "Overrides",
    "PlanName",
    "Processes",
    "Seeds",
    "plans",
    "play_plan",
    "print_sweep",
    "sweep_plan",
]

PlanName = Annotated[str, typer.Argument(metavar="PLAN", help="A bundled plan (fairground plans) or a .toml file.")]
Out = Annotated[Path | None, typer.Option(help="Folder of traces and table; default ./runs/<plan>.")]
Processes = Annotated[
    int | None,
    typer.Option(
        min=1, max=MAX_PROCESSES, help="Worker processes; default: one per CPU for scripted play, 1 with agents."
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(min=1, max=1_000, help="Episodes at a time in each process; default 1, with agents 4."),
]
Seeds = Annotated[int | None, typer.Option(min=1, help="Play so many seeds instead of the plan's.")]
Overrides = Annotated[list[str] | None, typer.Option("--set", help="Scenario value to change: key=value.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


def sweep_plan(
    plan: PlanName,
    out: Out = None,
    processes: Processes = None,
    concurrency: Concurrency = None,
    seeds: Seeds = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> int:
    """Play every episode of a plan, one trace each.

    Stopped or killed, the same command goes on: episodes that are done are not played again, failed ones are.
    Exit code 3 when episodes failed.
    """
    return show(_Shown(play_plan(plan, out, processes, concurrency, seeds, overrides)), json=as_json)


def play_plan(
    plan: str,
    out: Path | None,
    processes: int | None,
    concurrency: int | None,
    seeds: int | None,
    overrides: list[str] | None,
) -> Sweep:
    """Load, work out and play a plan, with progress where somebody watches. Raises as `sweep` does."""
    work = workload_of(load_plan(plan, seeds=seeds, overrides=dict(map(parse_override, overrides or []))))
    folder = out or Path("runs") / work.name.replace("/", "-")
    with _progress(work) as watch:
        try:
            return sweep(SweepSpec(work, folder, processes, concurrency), watch)
        except KeyboardInterrupt:
            print(f"stopped; the same command goes on where {folder} is", file=sys.stderr)
            raise


def plans(as_json: AsJson = False) -> None:
    """The bundled plans of sweeps and tournaments."""
    rows = [_described(name) for market in market_names() for name in plan_ids(market)]
    if as_json:
        sys.stdout.buffer.write(orjson.dumps(rows, option=orjson.OPT_INDENT_2) + b"\n")
        return
    from rich.console import Console

    columns = [*names("plan", "seating"), *figures("agents", "episodes"), *words("description")]
    cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row.values()] for row in rows]
    show_table(Console(highlight=False), columns, cells)


def _described(name: str) -> dict[str, Any]:
    sourced = load_plan(name)
    work = workload_of(sourced)
    return {
        "plan": name,
        "seating": work.seating.kind,
        "agents": len(work.agents),
        "episodes": work.count,
        "description": sourced.plan.plan.description,
    }


class _Shown:
    """What `sweep` ends with."""

    def __init__(self, done: Sweep) -> None:
        self._done = done

    @property
    def exit_code(self) -> int:
        """3 when an episode failed."""
        return self._done.exit_code

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return self._done.to_json()

    def print_tables(self) -> None:
        """A few lines."""
        print_sweep(self._done)


def print_sweep(done: Sweep) -> None:
    """A few lines for people: how far it is, what it cost, what failed."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    counts = done.counts
    console.print(f"{done.name}: {counts.done:,} of {counts.total:,} episodes done", style="bold", markup=False)
    if done.played:
        rate = done.played / done.seconds if done.seconds else 0.0
        console.print(f"{done.played:,} played now in {done.seconds:,.1f} s, {rate:,.1f} a second", markup=False)
    if counts.done:
        each = done.size / counts.done
        console.print(
            f"{done.size / 1e6:,.1f} MB in {done.folder}, {each / 1e3:,.0f} kB and "
            f"{done.cpu_seconds / counts.done * 1e3:,.0f} ms of CPU each",
            markup=False,
        )
    for path, problem, tries in done.failures[:10]:
        times = "" if tries == 1 else f" ({tries} times)"
        console.print(f"failed{times}: {path}: {problem}", style="red", markup=False)
    if len(done.failures) > 10:
        console.print(f"and {len(done.failures) - 10:,} more", markup=False)
    if counts.left:
        console.print("run the same command again to play what is left", markup=False)


@contextmanager
def _progress(work: Workload) -> Generator[Watch | None]:
    """A line on stderr with rate and remaining time, where somebody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failed]}", style="red"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(work.name, total=None, failed="")

        def watch(counts: Counts) -> None:
            failed = f"{counts.failed} failed" if counts.failed else ""
            progress.update(task, total=counts.total, completed=counts.done + counts.failed, failed=failed)

        yield watch

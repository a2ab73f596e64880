"""What a person sees of a sweep: a line while it runs, a few lines at its end."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from tradefair.cli.console import Console
from tradefair.cli.terminal import watched
from tradefair.contract.money import dollars_text
from tradefair.runner.sweep.feed import Progress, Watch
from tradefair.runner.sweep.sweep import Sweep

# The rest stands in the table and in `--json`; a terminal shows how it fails, not how often.
_SHOWN_FAILURES = 10


def print_sweep(done: Sweep) -> None:
    """How far it is, what it cost, what failed, what to do next."""
    console = Console(soft_wrap=True)
    counts = done.counts
    console.print(f"{done.name}: {counts.done:,} of {counts.total:,} episodes done", style="bold")
    if done.played:
        how = f"{done.rate:,.1f} a second ({done.executor})"
        console.print(f"{done.played:,} played now in {done.seconds:,.1f} s, {how}")
    if counts.done:
        each = done.size / counts.done
        console.print(
            f"{done.size / 1e6:,.1f} MB in {done.folder}, {each / 1e3:,.0f} kB and "
            f"{done.cpu_seconds / counts.done * 1e3:,.0f} ms of CPU each",
            markup=False,
        )
    if done.tokens:
        dollars = f"{dollars_text(done.cost_usd_micro, 4)} at list prices"
        console.print(f"{done.tokens:,} tokens asked of providers, {dollars}")
    for path, problem, tries in done.failures[:_SHOWN_FAILURES]:
        times = "" if tries == 1 else f" ({tries} times)"
        console.print(f"failed{times}: {path}: {problem}", style="red")
    if len(done.failures) > _SHOWN_FAILURES:
        console.print(f"and {len(done.failures) - _SHOWN_FAILURES:,} more")
    if done.stopped is not None:
        console.print(f"stopped: {done.stopped}", style="yellow")
    if counts.left:
        console.print("run the same command again to play what is left")


@contextmanager
def show_progress(name: str) -> Generator[Watch | None]:
    """A line on stderr with rate, remaining time, cost and failures, where stderr is a terminal."""
    # A log file would keep every state of the moving line.
    if not watched():
        yield None
        return
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[rate]}"),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[told]}"),
        bars.TextColumn("{task.fields[failed]}", style="red"),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(name, total=None, rate="", told="", failed="")

        def watch(now: Progress) -> None:
            counts = now.counts
            failed = f"{counts.failed:,} failed" if counts.failed else ""
            done = counts.done + counts.failed
            # Of this command alone: episodes that others play would make the rate look better than it is.
            rate = f"{now.played / now.seconds:,.1f}/s" if now.played and now.seconds else ""
            shown.update(task, total=counts.total, completed=done, rate=rate, told=told(now), failed=failed)

        yield watch


def told(now: Progress) -> str:
    """What is in the air, here and elsewhere, and what it has cost so far."""
    parts = [f"{now.playing:,} playing"] if now.playing else []
    if now.elsewhere:
        parts.append(f"{now.elsewhere:,} with other commands")
    if now.tokens:
        parts.append(f"{now.tokens:,} tokens {dollars_text(now.cost_usd_micro)}")
    return ", ".join(parts)

"""What `tradefair play` shows: progress while it runs, then scores, references, verdict and the trace's path."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rich.text import Text

from tradefair.cli.terminal import Console, print_json, watched
from tradefair.contract import SeatId, TraceError
from tradefair.evaluation.evaluate import Evaluation, evaluate_file, relative_numbers
from tradefair.evaluation.outcome import ON_EVERY_SEAT, Outcome
from tradefair.evaluation.verify import Check, verify_file
from tradefair.host.episode import Episode
from tradefair.runner.episode_runner import Played


class Shown(Protocol):
    """What `play` ends with."""

    @property
    def exit_code(self) -> int:
        """1 when a trace does not verify or could not be scored."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        ...

    def print_tables(self) -> None:
        """Print it for people."""
        ...


def show(result: Shown, *, json: bool) -> int:
    """Print a result as JSON or as tables; its exit code.

    JSON goes to stdout as bytes, indented and with a final newline, and nothing else does.
    """
    if json:
        print_json(result.to_json())
    else:
        result.print_tables()
    return result.exit_code


class Summary(NamedTuple):
    """A finished run with its scores; everything in it comes from the traces."""

    played: Played
    evaluation: Evaluation
    verdict: Check
    references: Mapping[str, Evaluation]

    @property
    def exit_code(self) -> int:
        """1 when the trace does not verify or could not be scored."""
        return 0 if self.verdict.sound and self.evaluation.outcome is not None else 1

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        seats = self.played.agents
        return {
            "trace": str(self.played.path),
            "end_reason": self.played.end_reason,
            "agents": {seat: asdict(report) for seat, report in self.played.reports.items()},
            "outcome": self.evaluation.to_json(),
            "references": {
                policy: {seat: _seat(evaluation, seat) for seat in seats}
                for policy, evaluation in self.references.items()
            },
            "relative": {seat: self.relative(seat) for seat in seats},
            "verify": self.verdict.to_json(),
        }

    def relative(self, seat: SeatId) -> Mapping[str, Mapping[str, float | None]]:
        """By what played the seat, the agent first: numbers that need the references for comparison."""
        return relative_numbers(seat, self._beside(seat))

    def own_relative(self, seat: SeatId) -> Mapping[str, float | None]:
        """The agent's row of `relative`; nothing where the market has no such numbers."""
        # The agent's row is the first one.
        for row in self.relative(seat).values():
            return row
        return {}

    def _beside(self, seat: SeatId) -> dict[str, Outcome[Any, Any]]:
        """The outcome by what played the seat, the agent first.

        References that could not be scored are left out.
        """
        outcome = self.evaluation.outcome
        # Traces of importers may have no label for a seat.
        label = (outcome.seats[seat].label if outcome is not None else None) or "agent"
        beside = {_label(name): item.outcome for name, item in self.references.items()}
        rows = {label: outcome, **beside}
        # A reference that could not be scored drops out; the agent's own row is dropped likewise.
        return {name: found for name, found in rows.items() if found is not None}

    def print_tables(self) -> None:
        """Scores, references, verdict and the trace."""
        from tradefair.evaluation.terminal import show_comparison, show_evaluations

        console = Console(soft_wrap=True)
        show_evaluations([self.evaluation], brief=True)
        outcome = self.evaluation.outcome
        for seat in self.played.agents if outcome is not None and self.references else ():
            console.print(f"\n{seat} and the references in the same seat, on the same seed:")
            show_comparison(seat, self._beside(seat))
        mark = Text("verified", "green") if self.verdict.sound else Text("NOT verified", "red")
        said = f": {self.verdict.sentence}"
        console.print(Text("\n").append_text(mark).append(said))
        # The seal is what to anchor; 64 bits of it are what people compare, and `verify --json` has it whole.
        console.print(f"head {(self.verdict.head_hash or '–')[:16]}, seal {(self.verdict.seal or '–')[:16]}")
        console.print(f"trace {self.played.path}")


def summarise(played: Played, references: Mapping[str, Path]) -> Summary:
    """Score and verify what was played.

    `references` holds traces by label. Nothing raises for a trace that cannot be scored: its evaluation says why.
    """
    return Summary(
        played,
        # From the file and not from the episode that was played: the trace is what is scored.
        evaluate_file(played.path),
        # Its scripted seats have just been played by the very policies that would be played again.
        verify_file(played.path, seats=False),
        {policy: evaluate_file(path) for policy, path in references.items()},
    )


@asynccontextmanager
async def show_progress(episode: Episode, title: str = "", *, quiet: bool) -> AsyncGenerator[None]:
    """A line on stderr that follows the rounds, where stderr is a terminal; otherwise nothing."""
    if quiet or not watched():
        yield
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        scenario = episode.core.scenario
        # Not every market has a fixed number of rounds; without one the bar shows no end.
        task = progress.add_task(title or scenario.id, total=getattr(scenario, "rounds", None))
        # The round that is being played is not done yet.
        stop = episode.on_change(lambda: progress.update(task, completed=episode.core.market.clock.round - 1))
        try:
            yield
        finally:
            stop()


def _label(reference: str) -> str:
    return reference if reference.startswith(ON_EVERY_SEAT) else f"policy:{reference}"


def _seat(evaluation: Evaluation, seat: str) -> Any:
    if evaluation.outcome is None:
        # A summary as JSON compares outcomes, so a reference that cannot be scored ends it.
        raise TraceError(f"{evaluation.path}: {evaluation.problem}")
    return evaluation.outcome.seats[seat].model_dump(mode="json")

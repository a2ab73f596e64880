"""What `tradefair play` ends with: the verdict, one table and what to do next."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tradefair.cli.console import Console
from tradefair.cli.tables import show_text
from tradefair.cli.terminal import print_json, say
from tradefair.contract import SeatId, TraceError
from tradefair.evaluation.judge.evaluate import Evaluation, evaluate_file, relative_numbers
from tradefair.evaluation.ledger import Extent
from tradefair.evaluation.outcome import ON_EVERY_SEAT, Outcome
from tradefair.evaluation.progress import show_progress
from tradefair.evaluation.prove.verify import Check, verify_file
from tradefair.evaluation.verdict.beside import references_beside
from tradefair.evaluation.verdict.of_trace import verdict_of
from tradefair.evaluation.verdict.terminal import Run, show_comparison, show_evaluations, show_next, show_verdict
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.runner.play.episode_runner import Played, StoppedHere
from tradefair.tracestore import open_trace


class Shown(Protocol):
    """What `play` ends with."""

    @property
    def exit_code(self) -> int:
        """The worst of its verdicts; 1 when a trace is not reproduced or could not be scored."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        ...

    def print_tables(self, *, whole: bool) -> None:
        """Print it for people; `whole`: with every figure."""
        ...


def show(result: Shown, *, json: bool, whole: bool = False) -> int:
    """Print a result as JSON or as tables; its exit code.

    JSON goes to stdout as bytes, indented and with a final newline, and nothing else does.
    """
    if json:
        print_json(result.to_json())
    else:
        result.print_tables(whole=whole)
    return result.exit_code


class Summary(NamedTuple):
    """A finished run with its scores; everything in it comes from the traces."""

    played: Played
    evaluation: Evaluation
    check: Check
    references: Mapping[str, Evaluation]
    verdict: Verdict

    @property
    def exit_code(self) -> int:
        """That of the verdict; 1 when the trace is not reproduced or could not be scored."""
        return max(self.verdict.exit_code, not (self.check.sound and self.evaluation.outcome is not None))

    @property
    def run(self) -> Run:
        """What the table below the verdict is made of."""
        return Run(self.evaluation, self.played.agents, self.references)

    def to_json(self) -> dict[str, Any]:
        """Plain data, the verdict first."""
        seats = self.played.agents
        return {
            "verdict": self.verdict.to_json(),
            "trace": str(self.played.path),
            "end_reason": self.played.end_reason,
            "agents": {seat: asdict(report) for seat, report in self.played.reports.items()},
            "outcome": self.evaluation.to_json(),
            "references": {
                policy: {seat: _seat(evaluation, seat) for seat in seats}
                for policy, evaluation in self.references.items()
            },
            "relative": {seat: self.relative(seat) for seat in seats},
            "verify": self.check.to_json(),
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

    def print_tables(self, *, whole: bool) -> None:
        """The verdict, one table and the next steps; `whole`: before those all figures, and the hashes to anchor."""
        show_verdict(self.verdict, [self.run], whole=whole)
        if whole:
            console = Console()
            console.print()
            show_evaluations([self.evaluation])
            outcome = self.evaluation.outcome
            for seat in self.played.agents if outcome is not None and self.references else ():
                console.print()
                show_text(console, f"{seat} and the references in the same seat, on the same seed", style="bold")
                show_comparison(seat, self._beside(seat))
            # The seal is what to anchor; 64 bits of it are what people compare, and `verify --json` has it whole.
            head, seal = ((name or "–")[:16] for name in (self.check.head_hash, self.check.seal))
            console.print(f"\nhead {head}, seal {seal}\ntrace {self.played.path}", soft_wrap=True)
        show_next(self.verdict.next)


async def until_stopped(playing: Awaitable[Played]) -> Played:
    """What is played, also where a limit of the episode ends it: that is said, and a verdict follows."""
    try:
        return await playing
    except StoppedHere as stop:
        say(f"tradefair play: {stop}")
        return stop.played


def summarise(
    played: Played, references: Mapping[str, Path] | None, *, ledger: Extent = Extent.OFF, episodes: int = 1
) -> Summary:
    """Score and check what was played; `ledger`: replay what each turn lost, here as in `episodes` in all.

    `references` holds traces by label; None: those that lie beside it, from an earlier run. Nothing raises for a trace
    that cannot be scored: its evaluation says why.
    """
    # From the file and not from the episode that was played: the trace is what is scored.
    evaluation = evaluate_file(played.path)
    # Its scripted seats have just been played by the very policies that would be played again.
    check = verify_file(played.path, seats=False)
    if ledger is not Extent.OFF and check.sound:
        # Imported here: whoever does not ask for a ledger must not wait for what replays.
        from tradefair.runner.ledger.ledger import with_ledgers

        evaluation = with_ledgers(played.path, evaluation, extent=ledger, episodes=episodes, progress=show_progress)
    beside = {policy: evaluate_file(path) for policy, path in (references or {}).items()}
    outcomes = {policy: item.outcome for policy, item in beside.items() if item.outcome is not None}
    with open_trace(played.path) as trace:
        given = references_beside(played.path) if references is None else outcomes
        verdict = verdict_of(trace, evaluation=evaluation, check=check, references=given)
    return Summary(played, evaluation, check, beside, verdict)


def _label(reference: str) -> str:
    return reference if reference.startswith(ON_EVERY_SEAT) else f"policy:{reference}"


def _seat(evaluation: Evaluation, seat: str) -> Any:
    if evaluation.outcome is None:
        # A summary as JSON compares outcomes, so a reference that cannot be scored ends it.
        raise TraceError(f"{evaluation.path}: {evaluation.problem}")
    return evaluation.outcome.seats[seat].model_dump(mode="json")

"""What to do next: commands that go on from a trace, in the order in which they help."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from tradefair.contract.text import clean_line
from tradefair.evaluation.verdict.verdict import NextStep, SeatVerdict, Status, Trouble


def steps_of(place: str, status: Status, seats: Sequence[SeatVerdict], trouble: Trouble | None) -> tuple[NextStep, ...]:
    """Commands for a trace at `place`: a file, or the address of a stored trace."""
    # One word for a shell, whatever the file is called.
    return tuple(_steps(shlex.quote(clean_line(place)), status, seats, trouble))


def _steps(place: str, status: Status, seats: Sequence[SeatVerdict], trouble: Trouble | None) -> Iterator[NextStep]:
    kind = trouble.kind if trouble else None
    if kind == "unsound":
        yield NextStep(command=f"tradefair verify {place}", why="which event, and what the rules say instead")
        return
    if kind == "provider_failed" or status == "stopped":
        yield NextStep(command=f"tradefair play --resume {place}", why="goes on where it stopped")
    if status == "idle":
        yield NextStep(command=f"tradefair trace {place} agents", why="replies; does the endpoint support tools?")
    worst = next((seat.mistake for seat in seats if seat.mistake and seat.mistake.seq), None)
    yield NextStep(command=f"tradefair report {place}", why="the page, with every decision explained")
    if worst is not None and status == "played":
        yield NextStep(command=f"tradefair fork {place} --at {worst.seq}", why="replay that decision on the same luck")
    yield NextStep(command=f"tradefair evaluate {place} --all", why="all figures")

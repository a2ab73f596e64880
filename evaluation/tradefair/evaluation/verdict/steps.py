"""What to do next: commands that go on from a trace, in the order in which they help."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from tradefair.contract.text import clean_line
from tradefair.evaluation.verdict.verdict import NextStep, SeatVerdict, Status, Trouble

# As a budget says which limit it reached, and which other one it had.
_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,15})?(?:e[+-][0-9]{2})?"
_REACHED = re.compile(rf"--limit ([a-z_]+)=({_NUMBER}) is reached(?: \(the other: ([a-z_]+={_NUMBER})\))?")


def steps_of(
    place: str,
    status: Status,
    seats: Sequence[SeatVerdict],
    trouble: Trouble | None,
    better: str | None,
    *,
    ended: bool,
) -> tuple[NextStep, ...]:
    """Commands for a trace at `place`: a file, or the address of a stored trace.

    `ended`: it has an end, of whatever kind, and cannot be gone on with. `better` is the policy that replays a mistake;
    None where the market names none for the seat.
    """
    # One word for a shell, whatever the file is called.
    steps = _steps(shlex.quote(clean_line(place)), status, seats, trouble, better)
    return tuple(step for step in steps if not (ended and "--resume" in step.command))


def _steps(
    place: str, status: Status, seats: Sequence[SeatVerdict], trouble: Trouble | None, better: str | None
) -> Iterator[NextStep]:
    if trouble and trouble.kind == "unsound":
        yield NextStep(command=f"tradefair verify {place}", why="which event, and what the rules say instead")
        return
    # Files alone can be resumed, forked and shown as a page.
    if "://" not in place:
        yield from _of_file(place, status, seats, trouble, better)
    yield NextStep(command=f"tradefair evaluate {place} --all", why="all figures, every turn and mistake")


def _of_file(
    place: str, status: Status, seats: Sequence[SeatVerdict], trouble: Trouble | None, better: str | None
) -> Iterator[NextStep]:
    if status == "stopped" or (trouble and trouble.kind == "provider_failed"):
        # With the same limit it would stop again at once.
        limit = _REACHED.search(trouble.text) if trouble else None
        raised = limit and ",".join(filter(None, (f"{limit[1]}={2 * float(limit[2]):.12g}", limit[3])))
        command = f"tradefair play --resume {place}" + (f" --limit {raised}" if raised else "")
        yield NextStep(command=command, why="goes on where it stopped")
    if status == "idle" and any(seat.kind == "model" for seat in seats):
        yield NextStep(command=f"tradefair trace {place} messages", why="what it was sent; does it support tools?")
    yield NextStep(command=f"tradefair report {place} --open", why="the page, with every decision explained")
    worst = next(((seat, seq) for seat in seats if (seq := _decision(seat))), None)
    policy = worst and next(iter(worst[0].best_known), better)
    if worst and policy and status == "played":
        command = f"tradefair fork {place} --at {worst[1]} --model policy:{policy}"
        yield NextStep(command=command, why=f"replay that decision by {policy}, on the same luck")


def _decision(seat: SeatVerdict) -> int | None:
    """The last call of the costliest turn that is one turn, else that of the first mistake."""
    turns = [turn for turn in seat.ledger.lost[:1] if turn.until == turn.turn and turn.seqs] if seat.ledger else []
    return turns[0].seqs[-1] if turns else (seat.mistake.seq or None) if seat.mistake else None

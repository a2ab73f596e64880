"""Failure modes of turns that led to nothing: repeated looks, silence, limits that were reached."""

from __future__ import annotations

from collections import Counter

from pydantic import PositiveInt

from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.evaluation.modes.play import SeatPlay, Step

# Reasons of lapses and codes of refusals that name a limit of the kernel.
_LIMITS = frozenset({"call_limit", "reject_limit", "deadline"})
# Reasons under which the runner gives up a round for a limit of its own.
_GIVEN_UP = frozenset({"call_limit", "token_limit"})


def loop(play: SeatPlay, *, repeats: PositiveInt) -> Seen:
    """The same look with the same answer, again and again.

    Looks beyond the first in runs of at least `repeats` equal ones within a round; an accepted action, of any kind,
    starts a new count.
    """
    looks, open_round = 0, -1
    runs: dict[tuple[bytes, str | None], list[Step]] = {}
    cases: list[Case] = []

    def end_runs() -> None:
        for run in runs.values():
            if len(run) >= repeats:
                # The first look of a run was no repeat.
                cases.extend(step.case(f"was called {len(run)} times with one answer") for step in run[1:])
        runs.clear()

    for step in play.direct():
        if step.round != open_round or (step.acts and step.accepted):
            open_round = step.round
            end_runs()
        if step.reads and step.accepted:
            looks += 1
            # With the answer in the key: a look that brings something new is no repeat.
            runs.setdefault((step.key, step.result), []).append(step)
    end_runs()
    return Seen(sorted(cases), looks)


def lapse(play: SeatPlay) -> Seen:
    """Rounds in which the market took the default action for a silent seat; parts: lapses by reason."""
    first = {lapse.round: lapse for lapse in reversed(play.lapses)}
    cases = [
        Case(lapse.seq, number, f"round {number}: it passed without a move ({words})")
        for number, lapse in sorted(first.items())
        if (words := lapse.reason.replace("_", " "))
    ]
    reasons = Counter(lapse.reason for lapse in play.lapses)
    parts: dict[str, float | None] = {name: float(count) for name, count in sorted(reasons.items())}
    return Seen(cases, len(rounds_played(play)), parts)


def rounds_played(play: SeatPlay) -> set[int]:
    """Rounds in which the seat called or lapsed."""
    return {step.round for step in play.steps} | {lapse.round for lapse in play.lapses}


def budget_exhaustion(play: SeatPlay) -> Seen:
    """Rounds with a refusal or lapse by a call, token or time limit, or that the runner noted as given up for one.

    A limit of the runner leaves a lapse `agent_limit` in the trace; which limit it was stands in the notes only.
    """
    notes = [note for note in play.notes_of("round_given_up") if str(note.get("reason")) in _GIVEN_UP]
    given_up = {at: str(note.get("reason")) for note in notes if isinstance(at := note.get("round"), int)}
    # One event per round is enough: rounds are counted, not refusals.
    hit = {step.round: (step.seq, "call_limit") for step in play.steps if step.code == "call_limit"}
    for lapse in play.lapses:
        # `agent_limit` alone does not say which limit; the notes do, and they may be missing.
        if lapse.reason in _LIMITS or (lapse.reason == "agent_limit" and lapse.round in given_up):
            hit.setdefault(lapse.round, (lapse.seq, given_up.get(lapse.round, lapse.reason)))
    cases = [
        Case(seq, number, f"round {number}: the {limit.replace('_', ' ')} was reached")
        for number, (seq, limit) in sorted(hit.items())
    ]
    return Seen(cases, len(rounds_played(play)))

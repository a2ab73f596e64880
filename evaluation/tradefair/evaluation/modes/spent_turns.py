"""Failure modes of turns that led to nothing: repeated looks, silence, limits that were reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of

# Reasons of lapses and codes of refusals that name a limit of the kernel.
_LIMITS = frozenset({"call_limit", "reject_limit", "deadline"})
# Reasons under which the runner gives up a round for a limit of its own.
_GIVEN_UP = frozenset({"call_limit", "token_limit"})


def loop(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """The same look with the same answer, again and again.

    Repeats in runs of equal looks within a round; an accepted action, of any kind, starts a new count.
    """
    looks, open_round = 0, -1
    runs: dict[tuple[bytes, str | None], list[int]] = {}
    repeats: list[int] = []

    def end_runs() -> None:
        for run in runs.values():
            if len(run) >= limits["repeats"]:
                # The first look of a run was no repeat.
                repeats.extend(run[1:])
        runs.clear()

    for step in play.direct():
        if step.round != open_round or (step.acts and step.accepted):
            open_round = step.round
            end_runs()
        if step.reads and step.accepted:
            looks += 1
            # With the answer in the key: a look that brings something new is no repeat.
            runs.setdefault((step.key, step.result), []).append(step.seq)
    end_runs()
    counted = share(len(repeats), looks, sorted(repeats))
    high = counted.value is not None and counted.value >= limits["share"]
    return sign_of(high and bool(repeats), counted)


def lapse(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Rounds in which the market took the default action for a silent seat.

    Rounds with a lapse; parts: lapses by reason.
    """
    rounds = {lapse.round for lapse in play.lapses}
    counted = share(len(rounds), len(rounds_played(play)), (lapse.seq for lapse in play.lapses))
    high = counted.value is not None and counted.value >= limits["lapsed"]
    reasons = Counter(lapse.reason for lapse in play.lapses)
    return sign_of(high and bool(rounds), counted, parts=dict(sorted(reasons.items())))


def rounds_played(play: SeatPlay) -> set[int]:
    """Rounds in which the seat called or lapsed."""
    return {step.round for step in play.steps} | {lapse.round for lapse in play.lapses}


def budget_exhaustion(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Call, token or time limits that were reached.

    Rounds with a refusal or lapse by a limit, or that the runner noted as given up for one.

    A limit of the runner leaves a lapse `agent_limit` in the trace; which limit it was stands in the notes only.
    """
    notes = [note for note in play.notes_of("round_given_up") if str(note.get("reason")) in _GIVEN_UP]
    given_up = {at for note in notes if isinstance(at := note.get("round"), int)}
    # One event per round is enough: rounds are counted, not refusals.
    hit = {step.round: step.seq for step in play.steps if step.code == "call_limit"}
    for lapse in play.lapses:
        # `agent_limit` alone does not say which limit; the notes do, and they may be missing.
        if lapse.reason in _LIMITS or (lapse.reason == "agent_limit" and lapse.round in given_up):
            hit.setdefault(lapse.round, lapse.seq)
    counted = share(len(hit), len(rounds_played(play)), sorted(hit.values()))
    high = counted.value is not None and counted.value >= limits["exhausted"]
    return sign_of(high and bool(hit), counted)

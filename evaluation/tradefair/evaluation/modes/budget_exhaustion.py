"""budget_exhaustion: call, token or time limits that were reached."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.lapse import rounds_played
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of

_LIMITS = frozenset({"call_limit", "reject_limit", "deadline"})
_GIVEN_UP = frozenset({"call_limit", "token_limit"})


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Rounds with a refusal or lapse by a limit, or that the runner noted as given up for one.

    A limit of the runner leaves a lapse `agent_limit` in the trace; which limit it was stands in the notes only.
    """
    notes = [note for note in play.notes_of("round_given_up") if str(note.get("reason")) in _GIVEN_UP]
    given_up = {at for note in notes if isinstance(at := note.get("round"), int)}
    hit = {step.round: step.seq for step in play.steps if step.code == "call_limit"}
    for lapse in play.lapses:
        if lapse.reason in _LIMITS or (lapse.reason == "agent_limit" and lapse.round in given_up):
            hit.setdefault(lapse.round, lapse.seq)
    counted = share(len(hit), len(rounds_played(play)), sorted(hit.values()))
    high = counted.value is not None and counted.value >= limits["exhausted"]
    return sign_of(high and bool(hit), counted)

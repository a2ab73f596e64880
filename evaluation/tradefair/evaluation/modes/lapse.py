"""lapse: rounds in which the market took the default action for a silent seat."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Rounds with a lapse; parts: lapses by reason."""
    rounds = {lapse.round for lapse in play.lapses}
    counted = share(len(rounds), len(rounds_played(play)), (lapse.seq for lapse in play.lapses))
    high = counted.value is not None and counted.value >= limits["lapsed"]
    reasons = Counter(lapse.reason for lapse in play.lapses)
    return sign_of(high and bool(rounds), counted, parts=dict(sorted(reasons.items())))


def rounds_played(play: SeatPlay) -> set[int]:
    """Rounds in which the seat called or lapsed."""
    return {step.round for step in play.steps} | {lapse.round for lapse in play.lapses}

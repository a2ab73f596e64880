"""follow_up: objects that were acted on and never looked at again (RetailBench, stage 4)."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.hooked import inapplicable
from tradefair.evaluation.modes.objects import distinct, within
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Object-rounds with an action and attention afterwards; those too late to be followed up are left out, counted."""
    if play.episode.objects is None or "follow_up" in play.insight.absent:
        return inapplicable(play, "follow_up", "actions of this market are about no object")
    window, last = int(limits["window"]), max((closed.round for closed in play.rounds), default=0)
    attended = {about: distinct(rounds) for about, rounds in play.attended.items()}
    pairs = {(about, at.round): at.seq for about, times in play.acted.items() for at in times}
    at_risk = {pair: seq for pair, seq in pairs.items() if pair[1] + window <= last}
    left = [seq for (about, at), seq in at_risk.items() if not within(attended, about, at + 1, at + window)]
    counted = share(len(at_risk) - len(left), len(at_risk), sorted(left))
    low = counted.value is not None and counted.value <= limits["followed"]
    late = len(pairs) - len(at_risk)
    return sign_of(low, counted, note=f"{late} too late to be followed up" if late else None)

"""stale_evidence: actions that rest on a look from before the market last moved on."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Actions whose only evidence of a category is too old; a closure lies between, so the state has changed."""
    cases = [case for case in play.evidence if case.needs]
    stale = [case.seq for case in cases if case.stale]
    counted = share(len(stale), len(cases), stale)
    high = counted.value is not None and counted.value >= limits["stale"]
    return sign_of(high, counted, note=play.excuse, checked=play.excuse is None)

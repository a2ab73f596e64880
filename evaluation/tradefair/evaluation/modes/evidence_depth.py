"""evidence_depth: actions that rest on a part of what they should have looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Mean share of needs that were met; a privileged seat needs no look."""
    cases = [case for case in play.evidence if case.needs]
    met = math.fsum(1 - len(case.missing) / case.needs for case in cases)
    counted = share(met, len(cases), (case.seq for case in cases if case.missing))
    low = counted.value is not None and counted.value <= limits["depth"]
    return sign_of(low, counted, note=play.excuse, checked=play.excuse is None)

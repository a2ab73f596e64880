"""resolved: trouble with an object that nobody looked into (RetailBench, stage 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.hooked import inapplicable
from tradefair.evaluation.modes.objects import distinct, within
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """What happened to objects and was looked into afterwards; severity: the known cost of what was not."""
    happenings = play.insight.happenings
    if happenings is None or play.seat not in happenings:
        return inapplicable(play, "resolved", "nothing happens to objects in this market")
    window, last = int(limits["window"]), max((closed.round for closed in play.rounds), default=0)
    attended = {about: distinct(rounds) for about, rounds in play.attended.items()}
    events = happenings[play.seat]
    at_risk = [each for each in events if each.round + window <= last]
    left = [each for each in at_risk if not within(attended, each.about, each.round + 1, each.round + window)]
    costs = [each.cost for each in left if each.cost is not None]
    counted = share(len(at_risk) - len(left), len(at_risk), (each.seq for each in left))
    low = counted.value is not None and counted.value <= limits["resolved"]
    late = len(events) - len(at_risk)
    note = f"{late} too late to be looked into" if late else None
    return sign_of(low, counted, severity=math.fsum(costs) if costs else None, note=note)

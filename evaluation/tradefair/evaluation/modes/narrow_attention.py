"""narrow_attention: objects that called for an action and got none (RetailBench, stage 1)."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.hooked import inapplicable
from tradefair.evaluation.modes.objects import distinct, within
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """What the market says was wanted in a round, without an action in that round or the few before it."""
    wanted = play.insight.wanted
    if wanted is None or play.seat not in wanted:
        return inapplicable(play, "narrow_attention", "no object calls for an action in this market")
    acted = {about: distinct(at.round for at in times) for about, times in play.acted.items()}
    back = int(limits["look_back"])
    calls = wanted[play.seat]
    missed = [each for each in calls if not within(acted, each.about, each.round - back, each.round)]
    costs = [each.cost for each in missed if each.cost is not None]
    counted = share(len(missed), len(calls), (each.seq for each in missed))
    high = counted.value is not None and counted.value >= limits["missed"]
    parts = {"objects_acted_on": len(acted)}
    return sign_of(high, counted, parts=parts, severity=sum(costs) if costs else None)

"""invalid_call_rate: calls whose arguments have the wrong shape, or whose tool does not exist."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Share of calls that could not even be tried."""
    calls = list(play.direct())
    wrong = [step.seq for step in calls if step.status == "invalid" or step.code == "tool_unavailable"]
    counted = share(len(wrong), len(calls), wrong)
    high = counted.value is not None and counted.value >= limits["invalid"]
    return sign_of(high and len(wrong) >= limits["min_invalid"], counted)

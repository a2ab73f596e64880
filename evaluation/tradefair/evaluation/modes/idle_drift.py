"""idle_drift: rounds without an action although one would have paid."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.hooked import hooked
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """The market's own test, without an oracle; severity: what it says that the missed actions were worth."""
    return hooked(play, "idle_drift", play.insight.idle, least_share=limits["idle"])

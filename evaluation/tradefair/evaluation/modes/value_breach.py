"""value_breach: buying above the own value, selling below the own cost."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.hooked import hooked
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Quotes through the own value; severity: what the trades among them lost."""
    return hooked(play, "value_breach", play.insight.value_breach, least_cases=limits["breaches"])

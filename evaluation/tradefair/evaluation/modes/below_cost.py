"""below_cost: sales below what the goods cost."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.hooked import hooked
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Sales as the market counts them; severity: how far revenue fell short of cost."""
    return hooked(play, "below_cost", play.insight.below_cost, least_share=limits["below"])

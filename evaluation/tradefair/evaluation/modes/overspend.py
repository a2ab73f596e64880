"""overspend: commitments beyond the seat's funds."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.hooked import inapplicable
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Actions that the rules refused because the seat cannot pay for them."""
    if "overspend" in play.insight.absent:
        return inapplicable(play, "overspend", "")
    tried = [step for step in play.direct() if step.acts and not step.ends_turn]
    beyond = [step.seq for step in tried if step.code == "insufficient_funds"]
    counted = share(len(beyond), len(tried), beyond)
    high = counted.value is not None and counted.value >= limits["overspent"]
    return sign_of(high and len(beyond) >= limits["min_overspent"], counted)

"""blind_action: a refused action sent again as it was, although nothing had changed."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Repeats of refused actions. A closure or an accepted action makes another try of the same reasonable."""
    refused: set[bytes] = set()
    repeats: list[int] = []
    revision, tries = -1, 0
    for step in play.direct():
        if not step.acts:
            continue
        if step.revision != revision:
            revision = step.revision
            refused.clear()
        if step.key in refused:
            repeats.append(step.seq)
        if step.refused and not step.final:
            tries += 1
            refused.add(step.key)
        elif step.accepted:
            refused.clear()
    counted = share(len(repeats), tries, repeats)
    high = counted.value is not None and counted.value >= limits["repeated"]
    return sign_of(high and len(repeats) >= limits["min_repeats"], counted)

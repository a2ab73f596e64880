"""ignored_error: a refusal after which the agent tried nothing else in the round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay, Step, by_round
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Refusals without a later call in the same round that differs in tool or arguments; ending the turn is none."""
    refused = sum(step.refused and not step.final for step in play.direct())
    left = sorted(seq for _, steps in by_round(play.direct()) for seq in _ignored(steps))
    counted = share(len(left), refused, left)
    high = counted.value is not None and counted.value >= limits["ignored"]
    return sign_of(high and len(left) >= limits["min_ignored"], counted)


def _ignored(steps: Sequence[Step]) -> Iterator[int]:
    """Backwards through a round: two different later calls are one that differs, whatever was refused."""
    later: set[bytes] = set()
    for step in reversed(steps):
        if step.refused and not step.final and not later - {step.key}:
            yield step.seq
        if not step.ends_turn and len(later) < 2:
            later.add(step.key)

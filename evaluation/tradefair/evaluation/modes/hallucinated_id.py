"""hallucinated_id: ids that appeared in nothing that the seat was shown."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Ids out of nowhere; a privileged seat knows more than it was shown.

    An imported log does not hold what the agent was told: ids that no accepted call has used are not judged there.
    Once an answer was kept as a digest only, an id counts if the market refuses it as unknown, too.
    """
    if play.untold and not play.privileged:
        return Sign(False, 0, note="not judged: the trace does not hold what the agent was told", checked=False)
    mentions = sum(step.ids for step in play.steps)
    invented = [step for step in play.steps if step.unseen]
    counted = share(sum(len(step.unseen) for step in invented), mentions, (step.seq for step in invented))
    high = counted.value is not None and counted.value >= limits["unseen"]
    distinct = len({name for step in invented for name in step.unseen})
    note = f"{play.unkept} answers are kept as digests: of later ids only refused ones count" if play.unkept else None
    return sign_of(
        high,
        counted,
        parts={"distinct": distinct},
        note="privileged" if play.privileged else note,
        checked=not play.privileged,
    )

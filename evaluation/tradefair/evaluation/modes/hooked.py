"""Signs that are counted by the market's own evaluator (`insight`)."""

from __future__ import annotations

import math

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.insight import Counted
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def inapplicable(play: SeatPlay, name: str, reason: str) -> Sign:
    """Not looked for: the market's own reason, else a general one."""
    return Sign(False, 0, note=play.insight.absent.get(name, reason), checked=False)


def hooked(
    play: SeatPlay, name: str, counted: Counted | None, *, least_share: float = 0, least_cases: float = 1
) -> Sign:
    """Raised from `least_share` and `least_cases` on. Severity: the sum of known costs, null where none is known."""
    if counted is None or play.seat not in counted.of:
        return inapplicable(play, name, f"the market {play.episode.market} has no test for it")
    cases = counted.cases.get(play.seat, ())
    found = share(len(cases), counted.of[play.seat], (seq for case in cases for seq in case.events))
    costs = [case.cost for case in cases if case.cost is not None]
    raised = len(cases) >= least_cases and (found.value or 0) >= least_share
    return sign_of(raised, found, severity=math.fsum(costs) if costs else None)

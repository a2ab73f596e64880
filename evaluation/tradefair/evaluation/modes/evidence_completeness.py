"""evidence_completeness: actions that lack at least one thing that they should have looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Share of actions with every need met; parts: share that lacks each. A privileged seat needs no look."""
    cases = [case for case in play.evidence if case.needs]
    lacking = [case for case in cases if case.missing]
    counted = share(len(cases) - len(lacking), len(cases), (case.seq for case in lacking))
    missing = Counter(name for case in lacking for name in case.missing)
    low = counted.value is not None and counted.value <= limits["completeness"]
    return sign_of(
        low,
        counted,
        parts={f"without {name}": ratio(count, len(cases)) for name, count in sorted(missing.items())},
        note=play.excuse,
        checked=play.excuse is None,
    )

"""Failure modes of evidence: what an action rests on, and how old that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from tradefair.evaluation.arithmetic import ratio
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def evidence_depth(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Actions that rest on a part of what they should have looked at.

    Mean share of needs that were met; a privileged seat needs no look.
    """
    # An action without needs rests on nothing and is no case.
    cases = [case for case in play.evidence if case.needs]
    met = math.fsum(1 - len(case.missing) / case.needs for case in cases)
    counted = share(met, len(cases), (case.seq for case in cases if case.missing))
    low = counted.value is not None and counted.value <= limits["depth"]
    return sign_of(low, counted, note=play.excuse, checked=play.excuse is None)


def evidence_completeness(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Actions that lack at least one thing that they should have looked at.

    Share of actions with every need met; parts: share that lacks each. A privileged seat needs no look.
    """
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


def stale_evidence(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Actions that rest on a look from before the market last moved on.

    Actions whose only evidence of a category is too old; a closure lies between, so the state has changed.
    """
    cases = [case for case in play.evidence if case.needs]
    stale = [case.seq for case in cases if case.stale]
    counted = share(len(stale), len(cases), stale)
    high = counted.value is not None and counted.value >= limits["stale"]
    return sign_of(high, counted, note=play.excuse, checked=play.excuse is None)

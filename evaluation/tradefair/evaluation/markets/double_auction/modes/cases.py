"""Rounds in which something went wrong, as a sign."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tradefair.evaluation.markets.double_auction.modes.play import SeatRound
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def proven(
    costs: Mapping[SeatRound, float],
    of: int,
    *,
    raised: bool,
    parts: Mapping[str, float | None] | None = None,
    note: str | None = None,
) -> Sign:
    """Rounds with what each cost in points, out of how many; cited are quotes and closures, the costliest first.

    `costs` maps each case to points, 0 where it harmed nothing yet; `of` is the number of rounds that were looked at.
    """
    # A finding cites a limited number of events: those of the worst rounds have to be among them.
    costliest = sorted(costs, key=lambda round_: (-costs[round_], round_.round))
    counted = share(len(costs), of, (seq for round_ in costliest for seq in round_.proof))
    return sign_of(raised, counted, parts=parts, severity=math.fsum(costs.values()), note=note)

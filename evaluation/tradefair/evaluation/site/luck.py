"""How much of the scores' variance is the seed's: one-way variance components over games of one player.

Not the ratio of population variances, which is too high for small groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, variance
from typing import NamedTuple

from tradefair.contract import Chance
from tradefair.evaluation.statistics.paired import percentile

MIN_SEEDS, MIN_GAMES = 8, 2
"""Fewer seeds, or fewer games on each, say nothing about a share."""

_RESAMPLES = 500


class LuckShare(NamedTuple):
    """The seed's share of the variance, 0 to 1, with its 95 % interval over resampled seeds."""

    share: float
    low: float
    high: float


def luck_share(scores: Sequence[Sequence[float]]) -> LuckShare | None:
    """The share from `scores[seed][game]`; None below 8 seeds with 2 games each, or where nothing varies."""
    groups = [games for games in scores if len(games) >= MIN_GAMES]
    if len(groups) < MIN_SEEDS or (share := _share(groups)) is None:
        return None
    chance = Chance("luck share")
    drawn: list[float] = []
    for number in range(_RESAMPLES):
        picked = [int(chance.uniform("seeds", number, place) * len(groups)) for place in range(len(groups))]
        again = _share([groups[place] for place in picked])
        drawn += [] if again is None else [again]
    low, high = percentile(drawn, 0.025), percentile(drawn, 0.975)
    return LuckShare(share, share if low is None else low, share if high is None else high)


def _share(groups: Sequence[Sequence[float]]) -> float | None:
    within = fmean(variance(games) for games in groups)
    # Seeds have different numbers of games; the mean of their reciprocals is what the noise of the means scales with.
    noise = within * fmean(1 / len(games) for games in groups)
    between = max(0.0, variance([fmean(games) for games in groups]) - noise)
    return between / (between + within) if between + within > 0 else None

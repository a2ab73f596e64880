"""How much of the scores' variance is the seed's: one-way variance components over games of one player.

Not the ratio of population variances, which is too high for small groups. A group of games on one seed has that share
in common: what a group's own mean takes away, and how large a group is worth its cost, follow from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tradefair.evaluation.statistics.paired import percentile, resamples

if TYPE_CHECKING:
    import numpy as np

MIN_SEEDS, MIN_GAMES = 8, 2
"""Fewer seeds, or fewer games on each, say nothing about a share."""

GROUPS = (2, 4, 8, 16, 32, 64)
"""Sizes of groups that are recommended."""

_RESAMPLES = 2_000
_MOST_TO_WIN = 5
"""A group leaves at most a fifth of what an endless one would take away."""


class LuckShare(NamedTuple):
    """The seed's share of the variance, 0 to 1, with its 95 % interval over resampled seeds."""

    share: float
    low: float
    high: float

    @property
    def recommended(self) -> int | None:
        """The least group that takes away four fifths of what can be won; None where no group of 64 does."""
        needed = 1 + _MOST_TO_WIN * (1 - self.share) / self.share if self.share else float("inf")
        return next((group for group in GROUPS if group >= needed), None)

    def left(self, group: int) -> float:
        """The share of the variance that is left in a score less the mean of the others of its group on the seed.

        More than 1 where a group makes it worse: where `group` is below 1 / share.
        """
        return (1 - self.share) * (1 + 1 / (group - 1))


def luck_share(scores: Sequence[Sequence[float]]) -> LuckShare | None:
    """The share from `scores[seed][game]`; None below 8 seeds with 2 games each, or where nothing varies.

    The interval is that of 2,000 keyed resamples of the seeds. A share is 1 where only seeds make a difference.
    """
    groups = [games for games in scores if len(games) >= MIN_GAMES]
    if len(groups) < MIN_SEEDS or len({score for games in groups for score in games}) == 1:
        return None
    # Asked of the scores themselves: a mean of equal numbers may differ from them in its last bit.
    if all(len({*games}) == 1 for games in groups):
        return LuckShare(1.0, 1.0, 1.0)
    import numpy as np

    # About their own mean: squares of large numbers would lose what differs between them.
    middle = float(np.mean([np.mean(games) for games in groups]))
    centred = [np.asarray(games, dtype=np.float64) - middle for games in groups]
    seeds = np.array([(games.mean(), games.var(ddof=1), 1 / len(games)) for games in centred]).T
    between, within = (float(part[0]) for part in _components(seeds[:, None, :]))
    picked = resamples("luck share", "seeds", len(groups), _RESAMPLES)
    parts = _components(seeds[:, picked])
    total = parts.sum(axis=0)
    # A resample of seeds that are all alike has no share.
    drawn = [float(share) for share in parts[0][total > 0] / total[total > 0]]
    share, low, high = between / (between + within), percentile(drawn, 0.025), percentile(drawn, 0.975)
    return LuckShare(share, share if low is None else low, share if high is None else high)


def _components(seeds: np.ndarray) -> np.ndarray:
    """Variance between and within seeds, `[2][draw]`, from mean, variance and 1 / games `[3][draw][seed]`."""
    import numpy as np

    means, variances, fewness = seeds
    within = variances.mean(axis=-1)
    # Seeds have different numbers of games; the mean of their reciprocals is what the noise of the means scales with.
    noise = within * fewness.mean(axis=-1)
    return np.stack([np.maximum(0.0, means.var(axis=-1, ddof=1) - noise), within])

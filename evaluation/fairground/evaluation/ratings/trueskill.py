"""TrueSkill of labels from ranked episodes (Herbrich, Minka & Graepel 2007), many shuffled passes in lockstep.

Order matters to a sequential filter, so each pass rates all episodes from fresh ratings in an order of its own, and
the medians over passes are reported (double_auction page, 9.5). Axis 0 of every array is the pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairground.contract.chance import Chance
from fairground.evaluation.ratings.normal import Floats, hazard
from fairground.evaluation.ratings.shuffles import shuffled_orders

__all__ = ["Constants", "SkillRating", "rate_episodes"]

_MOST_SWEEPS = 10
_STILL = 1e-4


class Constants(NamedTuple):
    """Prior mean and deviation of a skill, and the deviation of a performance around it; no drift, no draw margin."""

    mean: float = 5.0
    deviation: float = 25 / 3
    performance: float = 25 / 6


class SkillRating(NamedTuple):
    """Medians over passes of a label's mean and deviation; `low` and `high` are the 5 % and 95 % points of the mean."""

    label: str
    mean: float
    deviation: float
    low: float
    high: float
    episodes: int


class _Episodes(NamedTuple):
    """Episodes as rows, padded to the longest: labels best first, which neighbours exist, which of those are tied."""

    members: NDArray[np.int64]
    present: NDArray[np.bool_]
    pairs: NDArray[np.bool_]
    tied: NDArray[np.bool_]


def rate_episodes(
    episodes: Sequence[Mapping[str, float]],
    chance: Chance,
    *,
    passes: int = 200,
    constants: Constants = Constants(),  # noqa: B008  # a NamedTuple is immutable
) -> list[SkillRating]:
    """Ratings, best first, from each episode's score by label (higher is better; equal scores are a draw).

    `chance` shuffles (stream `tournament`). An episode of one label says nothing and is counted only.
    """
    labels = sorted({label for episode in episodes for label in episode})
    if not labels:
        return []
    games = [episode for episode in episodes if len(episode) > 1]
    mean = np.full((passes, len(labels)), constants.mean)
    variance = np.full((passes, len(labels)), constants.deviation**2)
    if games:
        rows = _rows(games, labels)
        for chosen in shuffled_orders(chance, "tournament", len(games), passes).T:
            _update(mean, variance, rows, chosen, constants)
    counts = {label: sum(label in episode for episode in episodes) for label in labels}
    found = [
        SkillRating(
            label,
            float(np.median(mean[:, place])),
            float(np.median(np.sqrt(variance[:, place]))),
            float(np.quantile(mean[:, place], 0.05)),
            float(np.quantile(mean[:, place], 0.95)),
            counts[label],
        )
        for place, label in enumerate(labels)
    ]
    return sorted(found, key=lambda rating: (-rating.mean, rating.label))


def _rows(games: Sequence[Mapping[str, float]], labels: Sequence[str]) -> _Episodes:
    index = {label: place for place, label in enumerate(labels)}
    width = max(map(len, games))
    members = np.zeros((len(games), width), np.int64)
    present = np.zeros((len(games), width), np.bool_)
    tied = np.zeros((len(games), width - 1), np.bool_)
    for row, game in enumerate(games):
        # Equals stay as they come, whatever they are called: other names give the same numbers.
        ranked = sorted(game.items(), key=lambda item: -item[1])
        members[row, : len(ranked)] = [index[label] for label, _ in ranked]
        present[row, : len(ranked)] = True
        for place, ((_, above), (_, below)) in enumerate(pairwise(ranked)):
            tied[row, place] = above == below
    return _Episodes(members, present, present[:, 1:], tied)


def _update(mean: Floats, variance: Floats, rows: _Episodes, chosen: NDArray[np.int64], constants: Constants) -> None:
    """Each pass takes in its own chosen episode."""
    who = rows.members[chosen]
    passes = np.arange(len(chosen))[:, None]
    noise = constants.performance**2
    prior_mean, prior_variance = mean[passes, who], variance[passes, who]
    precision, weighted = _messages(prior_mean, prior_variance + noise, rows.pairs[chosen], rows.tied[chosen])
    # From the performance to the skill: one more normal noise in between.
    damped = 1.0 + noise * precision
    new_precision = 1.0 / prior_variance + precision / damped
    new_mean = (prior_mean / prior_variance + weighted / damped) / new_precision
    present = rows.present[chosen]
    where = np.broadcast_to(passes, who.shape)[present], who[present]
    mean[where] = new_mean[present]
    variance[where] = 1.0 / new_precision[present]


def _messages(
    mean: Floats, variance: Floats, pairs: NDArray[np.bool_], tied: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """What the ranking says of each performance, as (precision, precision · mean), by expectation propagation.

    Factor k lies between ranks k and k + 1; `down` is its message to the better one, `up` to the worse.
    """
    factors = pairs.shape[1]
    own = np.stack([1.0 / variance, mean / variance])
    down = np.zeros((2, *pairs.shape))
    up = np.zeros((2, *pairs.shape))
    nothing = np.zeros((2, len(mean)))
    for _ in range(_MOST_SWEEPS):
        moved = 0.0
        for k in [*range(factors), *range(factors - 2, -1, -1)]:
            better = own[:, :, k] + (up[:, :, k - 1] if k else nothing)
            worse = own[:, :, k + 1] + (down[:, :, k + 1] if k + 1 < factors else nothing)
            to_better, to_worse = _compare(better, worse, tied[:, k])
            to_better, to_worse = np.where(pairs[:, k], to_better, 0.0), np.where(pairs[:, k], to_worse, 0.0)
            change = np.maximum(np.abs(to_better - down[:, :, k]), np.abs(to_worse - up[:, :, k]))
            moved = max(moved, float(change.max()))
            down[:, :, k], up[:, :, k] = to_better, to_worse
        if moved <= _STILL:
            break
    total = np.zeros_like(own)
    total[:, :, :-1] += down
    total[:, :, 1:] += up
    return total[0], total[1]


def _compare(better: Floats, worse: Floats, tied: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Messages of one factor to both performances, given what else is known of them (their cavities)."""
    mean_better, variance_better = better[1] / better[0], 1.0 / better[0]
    mean_worse, variance_worse = worse[1] / worse[0], 1.0 / worse[0]
    spread = variance_better + variance_worse
    root = np.sqrt(spread)
    gap = mean_better - mean_worse
    t = gap / root
    excess = hazard(t)
    shrink = np.clip(excess * (excess + t), 0.0, 1.0 - 1e-12)
    # The truncated difference N(gap + excess·root, spread·(1 - shrink)) divided by what was known of it.
    precision = shrink / (spread * (1.0 - shrink))
    weighted = (gap * shrink + excess * root) / (spread * (1.0 - shrink))
    damp_better, damp_worse = 1.0 + precision * variance_worse, 1.0 + precision * variance_better
    to_better = np.stack([precision / damp_better, (weighted + precision * mean_worse) / damp_better])
    to_worse = np.stack([precision / damp_worse, (precision * mean_better - weighted) / damp_worse])
    # A draw says that both performed equally: each is told what is known of the other.
    return np.where(tied, worse, to_better), np.where(tied, better, to_worse)

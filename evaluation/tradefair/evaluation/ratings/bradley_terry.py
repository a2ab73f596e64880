"""Bradley–Terry with fractional results and a weak prior; intervals by resampled seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tradefair.contract import Chance
from tradefair.evaluation.ratings.duels import Duel, fraction
from tradefair.evaluation.ratings.leader import joined
from tradefair.evaluation.ratings.shuffles import Floats, bounds, resampled_sums

RESAMPLES = 500
# The weak prior of the bargaining page: without it a label that won every game would have an infinite strength.
_PRIOR = 0.01
# 400 points are a factor of ten in the odds, as on the scale of Elo and Glicko.
_START, _POINTS = 1500.0, 400 / math.log(10)
# Of θ: less than a millionth of a rating point.
_STILL = 1e-10
_MOST_STEPS = 100


class Strength(NamedTuple):
    """A label's rating, 1500 + (400/ln 10)·θ.

    `low` and `high` bound it against the mean of all at 95 %, over resampled blocks; null where there is a single one.
    """

    label: str
    rating: float
    low: float | None
    high: float | None
    games: int


class BradleyTerry(NamedTuple):
    """Strengths, best first; `dropped` counts games in which neither side earned.

    Of labels that the other games do not link to the largest group nothing can be said: they are absent.
    """

    strengths: list[Strength]
    dropped: int


_Played = tuple[Duel, float]
"""A game and the first label's part of what both earned."""


def fit_strengths(duels: Sequence[Duel], chance: Chance, resamples: int = RESAMPLES) -> BradleyTerry:
    """Maximises Σ [y ln P + (1 - y) ln(1 - P)] - (.01/2) Σ θ² by Newton's method.

    y is the first label's part of what both earned, P = 1/(1 + e^(θ_second - θ_first)) its expectation. `chance`
    resamples blocks (stream `tournament`): all games of one share their luck. Without duels it is empty.
    """
    # A game that earned neither side anything has no fraction (0/0): dropped and counted, and it links no labels.
    played = [(duel, part) for duel in duels if (part := fraction(duel.first_profit, duel.second_profit)) is not None]
    for linked in joined(duel.pair for duel, _ in played)[:1]:
        rated = _rated(sorted(linked), [game for game in played if game[0].first in linked], chance, resamples)
        return BradleyTerry(rated, len(duels) - len(played))
    return BradleyTerry([], len(duels))


def _rated(labels: Sequence[str], games: Sequence[_Played], chance: Chance, resamples: int) -> list[Strength]:
    """The strengths of linked labels, as played and over resamples."""
    blocks = {block: place for place, block in enumerate(sorted({duel.block for duel, _ in games}))}
    pairs = {pair: place for place, pair in enumerate(sorted({duel.pair for duel, _ in games}))}
    index = {label: place for place, label in enumerate(labels)}
    design = np.zeros((len(pairs), len(labels)))
    for row, (first, second) in enumerate(pairs):
        design[row, index[first]], design[row, index[second]] = 1.0, -1.0
    # Games, and the summed parts of the pair's first label.
    sums = np.zeros((2, len(pairs), len(blocks)))
    for duel, part in games:
        own = part if duel.first == duel.pair[0] else 1.0 - part
        sums[:, pairs[duel.pair], blocks[duel.block]] += 1.0, own
    # One block resampled is itself: an interval without width would claim certainty.
    draws = resamples if len(blocks) > 1 else 0
    # The games' name, not a label's, keys the draws: other labels draw the same.
    table = sums.reshape(-1, len(blocks)).T
    found = resampled_sums(chance, "tournament", table, draws, "strengths", next(iter(blocks)))
    # No constant to take off: at the maximum the prior puts the mean θ at 0, in every resample.
    ratings = _START + _POINTS * _newton(design, found[:, : len(pairs)], found[:, len(pairs) :])
    ends = bounds(ratings[1:], len(blocks)).T.tolist() if draws else [(None, None)] * len(labels)
    met = [sum(label in duel.pair for duel, _ in games) for label in labels]
    rows = zip(labels, ratings[0].tolist(), ends, met, strict=True)
    return sorted(
        (Strength(label, rating, low, high, count) for label, rating, (low, high), count in rows),
        key=lambda strength: (-strength.rating, strength.label),
    )


def _newton(design: Floats, counts: Floats, parts: Floats) -> Floats:
    """The penalised maxima, `[resample][label]`; strictly concave, so full steps are only ever halved."""
    theta: Floats = np.zeros((len(counts), design.shape[1]))
    penalty = _PRIOR * np.eye(design.shape[1])
    squares = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)

    def value(point: Floats) -> Floats:
        # logaddexp(0, x) is ln(1 + e^x) without an overflow for a clear favourite.
        logit = point @ design.T
        return (parts * logit - counts * np.logaddexp(0.0, logit)).sum(axis=1) - _PRIOR / 2 * (point**2).sum(axis=1)

    for _ in range(_MOST_STEPS):
        expected = 1.0 / (1.0 + np.exp(-(theta @ design.T)))
        slope: Floats = (parts - counts * expected) @ design - _PRIOR * theta
        curvature: Floats = ((counts * expected * (1.0 - expected)) @ squares).reshape(
            len(theta), *penalty.shape
        ) + penalty
        step: Floats = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0].astype(np.float64)
        # A full step may overshoot where almost all results are 0 or 1; its direction is right, so it is halved.
        while (worse := (value(theta + step) < value(theta)) & (np.abs(step).max(axis=1) > _STILL)).any():
            step[worse] /= 2
        theta = theta + step
        if np.abs(step).max() <= _STILL:
            break
    return theta

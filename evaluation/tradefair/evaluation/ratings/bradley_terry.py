"""Bradley–Terry with fractional results and a weak prior; intervals by resampled blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tradefair.contract import Chance
from tradefair.evaluation.ratings.duels import Duel, fraction
from tradefair.evaluation.ratings.shuffles import Floats, resampled

RESAMPLES = 500
# The weak prior of the bargaining page: without it a label that won every game would have an infinite strength.
_PRIOR = 0.01
# 400 points are a factor of ten in the odds, as on the scale of Elo and Glicko.
_START, _POINTS = 1500.0, 400 / math.log(10)
# Of θ: less than a millionth of a rating point.
_STILL = 1e-10
_MOST_STEPS = 100


class Strength(NamedTuple):
    """A label's rating, 1500 + (400/ln 10)·θ, and the component of the graph that it is rated in.

    `low` and `high` bound the rating against the mean of the component at 95 %: percentiles over resampled blocks, null
    where the component has a single block. Ratings of different components say nothing about each other.
    """

    label: str
    rating: float
    low: float | None
    high: float | None
    component: int
    games: int


class BradleyTerry(NamedTuple):
    """All strengths, best first within their component; `dropped` counts games in which neither side earned."""

    strengths: list[Strength]
    dropped: int
    components: int


_Played = tuple[Duel, float]
"""A game and the first label's part of what both earned."""


def fit_strengths(duels: Sequence[Duel], chance: Chance, resamples: int = RESAMPLES) -> BradleyTerry:
    """Maximises Σ [y ln P + (1 - y) ln(1 - P)] - (.01/2) Σ θ² by Newton's method.

    y is the first label's part of what both earned, P = 1/(1 + e^(θ_second - θ_first)) its expectation. `chance`
    resamples blocks (stream `tournament`): games of a pair on one seed share their luck. Without duels it is empty.
    """
    labels = sorted({label for duel in duels for label in duel.pair})
    # A game that earned neither side anything has no fraction (0/0): dropped and counted.
    played = [(duel, part) for duel in duels if (part := fraction(duel.first_profit, duel.second_profit)) is not None]
    # Over the games that were kept: a dropped game links no labels.
    component = _components(labels, played)
    strengths: list[Strength] = []
    for number in sorted(set(component.values())):
        members = [label for label in labels if component[label] == number]
        games = [game for game in played if component[game[0].first] == number]
        strengths += _rated(members, games, number, chance, resamples)
    return BradleyTerry(
        # By component first: ratings of two components must not stand in one order.
        sorted(strengths, key=lambda strength: (strength.component, -strength.rating, strength.label)),
        len(duels) - len(played),
        len(set(component.values())),
    )


def _rated(
    labels: Sequence[str], games: Sequence[_Played], component: int, chance: Chance, resamples: int
) -> list[Strength]:
    """The strengths of one component, as played and over its resamples."""
    if not games:
        # Nothing but dropped games: a component of one label, at the prior's mean.
        return [Strength(label, _START, None, None, component, 0) for label in labels]
    # By name first: where no two pairs share a block's name, other labels draw the same.
    blocks = sorted({(duel.block, duel.pair) for duel, _ in games})
    if len(blocks) < 2:
        # One block resampled is itself: an interval without width would claim certainty.
        resamples = 0
    rows = sorted({duel.pair for duel, _ in games})
    index = {label: position for position, label in enumerate(labels)}
    design = np.zeros((len(rows), len(labels)))
    for row, (first, second) in enumerate(rows):
        design[row, index[first]], design[row, index[second]] = 1.0, -1.0
    counts, parts = _pair_sums(games, blocks, rows, chance, resamples)
    # No constant to take off: at the maximum the prior puts the mean θ of a component at 0, in every resample.
    ratings = _START + _POINTS * _newton(design, counts, parts)
    bounds = np.quantile(ratings[1:], (0.025, 0.975), axis=0).tolist() if resamples else [[None] * len(labels)] * 2
    met = {label: sum(label in duel.pair for duel, _ in games) for label in labels}
    return [
        Strength(label, float(ratings[0, index[label]]), low, high, component, met[label])
        for label, low, high in zip(labels, *bounds, strict=True)
    ]


def _pair_sums(
    games: Sequence[_Played],
    blocks: Sequence[tuple[str, tuple[str, str]]],
    pairs: Sequence[tuple[str, str]],
    chance: Chance,
    resamples: int,
) -> tuple[Floats, Floats]:
    """Games and summed parts of the pair's first label, each `[1 + resample][pair]`; the first row is as played."""
    position = {block: number for number, block in enumerate(blocks)}
    # Blocks belong to one pair each: sums by block, then by pair, instead of a matrix of blocks by pairs.
    sums = np.zeros((2, len(blocks)))
    for duel, part in games:
        sums[:, position[duel.block, duel.pair]] += 1.0, part if duel.first == duel.pair[0] else 1.0 - part
    row = {pair: number for number, pair in enumerate(pairs)}
    of_pair = np.array([row[pair] for _, pair in blocks], np.int64)
    order = np.argsort(of_pair, kind="stable")
    starts = np.searchsorted(of_pair[order], np.arange(len(pairs)))

    def by_pair(drawn: Floats) -> tuple[Floats, Floats]:
        counts, parts = (np.add.reduceat((drawn * column)[:, order], starts, axis=1) for column in sums)
        return counts, parts

    found = [by_pair(np.ones((1, len(blocks))))]
    if resamples:
        draws = resampled(chance, "tournament", len(blocks), resamples, "strengths", blocks[0][0])
        found += [by_pair(drawn.astype(np.float64)) for drawn in draws]
    return np.vstack([counts for counts, _ in found]), np.vstack([parts for _, parts in found])


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


def _components(labels: Sequence[str], played: Sequence[_Played]) -> dict[str, int]:
    """Which labels are linked by games; numbered by their first label."""
    root = {label: label for label in labels}

    def find(label: str) -> str:
        while root[label] != label:
            # Paths are halved on the way, so that linking thousands of games stays almost linear.
            root[label] = root[root[label]]
            label = root[label]
        return label

    for duel, _ in played:
        first, second = find(duel.first), find(duel.second)
        # The smaller name becomes the root: numbers of components do not depend on the order of games.
        root[max(first, second)] = min(first, second)
    numbers: dict[str, int] = {}
    return {label: numbers.setdefault(find(label), len(numbers)) for label in labels}

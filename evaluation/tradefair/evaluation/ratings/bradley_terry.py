"""Bradley–Terry with fractional results and a weak prior (bargaining page, 9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tradefair.evaluation.ratings.duels import Duel, fraction
from tradefair.evaluation.ratings.shuffles import Floats

# The weak prior of the bargaining page: without it a label that won every game would have an infinite strength.
_PRIOR = 0.01
# 400 points are a factor of ten in the odds, as on the scale of Elo and Glicko.
_START, _POINTS = 1500.0, 400 / math.log(10)
# Of θ: less than a millionth of a rating point.
_STILL = 1e-10
_MOST_STEPS = 100


class Strength(NamedTuple):
    """A label's rating, 1500 + (400/ln 10)·θ, its error, and the component of the graph that it is rated in.

    `error` is the standard error against the mean of the component: only differences mean something. Ratings of
    different components say nothing about each other.
    """

    label: str
    rating: float
    error: float
    component: int
    games: int


class BradleyTerry(NamedTuple):
    """All strengths, best first within their component.

    `dropped` counts games in which neither side earned; `first_seat` is θ of the first seat, None unless asked for.
    """

    strengths: list[Strength]
    dropped: int
    components: int
    first_seat: float | None


def fit_strengths(duels: Sequence[Duel], *, role_term: bool = False) -> BradleyTerry:
    """Maximises Σ [y ln P + (1 - y) ln(1 - P)] - (.01/2) Σ θ² by Newton's method.

    y is the first label's part of what both earned, P = 1/(1 + e^(θ_second - θ_first)) its expectation. `role_term`
    adds a constant for the first seat, for unbalanced seatings. Without duels the result is empty.
    """
    labels = sorted({label for duel in duels for label in duel.pair})
    if not labels:
        return BradleyTerry([], 0, 0, None)
    # A game that earned neither side anything has no fraction (0/0): dropped and counted (bargaining page, 9).
    played = [(duel, part) for duel in duels if (part := fraction(duel.first_profit, duel.second_profit)) is not None]
    index = {label: place for place, label in enumerate(labels)}
    # One more column for the constant of the first seat: True counts as 1.
    design = np.zeros((len(played), len(labels) + role_term))
    for row, (duel, _) in enumerate(played):
        design[row, index[duel.first]], design[row, index[duel.second]] = 1.0, -1.0
    # Every row is written from the first seat's side, so its constant is 1 in all of them.
    if role_term:
        design[:, -1] = 1.0
    theta, covariance = _newton(design, np.array([part for _, part in played]))
    # Over the games that were kept: a dropped game links no labels.
    component = _components(labels, played)
    # Uncentred errors would hold the uncertainty of the common level, which the prior alone fixes.
    covariance = _centred(covariance, [component[label] for label in labels])
    games = {label: sum(label in duel.pair for duel, _ in played) for label in labels}
    strengths = [
        Strength(
            label,
            _START + _POINTS * float(theta[place]),
            _POINTS * math.sqrt(float(covariance[place, place])),
            component[label],
            games[label],
        )
        for label, place in index.items()
    ]
    return BradleyTerry(
        # By component first: ratings of two components must not stand in one order.
        sorted(strengths, key=lambda strength: (strength.component, -strength.rating, strength.label)),
        len(duels) - len(played),
        len(set(component.values())),
        float(theta[-1]) if role_term else None,
    )


def _newton(design: Floats, result: Floats) -> tuple[Floats, Floats]:
    """The penalised maximum and the inverse curvature there; strictly concave, so full steps are only ever halved."""
    theta = np.zeros(design.shape[1])
    penalty = _PRIOR * np.eye(len(theta))

    def value(point: Floats) -> float:
        # logaddexp(0, x) is ln(1 + e^x) without an overflow for a clear favourite.
        logit = design @ point
        return float(np.sum(result * logit - np.logaddexp(0.0, logit)) - _PRIOR / 2 * point @ point)

    curvature: Floats = penalty
    for _ in range(_MOST_STEPS):
        chance = 1.0 / (1.0 + np.exp(-(design @ theta)))
        slope = design.T @ (result - chance) - _PRIOR * theta
        curvature = design.T @ (design * (chance * (1.0 - chance))[:, None]) + penalty
        step = np.linalg.solve(curvature, slope)
        # A full step may overshoot where almost all results are 0 or 1; its direction is right, so it is halved.
        while value(theta + step) < value(theta) and np.abs(step).max() > _STILL:
            step = step / 2
        theta = theta + step
        if np.abs(step).max() <= _STILL:
            break
    return theta, np.linalg.inv(curvature).astype(np.float64)


def _centred(covariance: Floats, components: Sequence[int]) -> Floats:
    """The covariance of each strength less the mean of its component; the level itself is the prior's alone."""
    # Strengths less the mean of their component are a linear map C of them; their covariance is C·V·Cᵀ.
    centre = np.eye(len(covariance))
    for number in set(components):
        members = [place for place, component in enumerate(components) if component == number]
        centre[np.ix_(members, members)] -= 1.0 / len(members)
    return centre @ covariance @ centre.T


def _components(labels: Sequence[str], played: Sequence[tuple[Duel, float]]) -> dict[str, int]:
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

"""The composite score of duels: how much the opponent-balanced share weighs, as named or as the games have it.

`auto` follows the source: the weight whose order is the most stable over resamples and agrees with the most duels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import fmean, pvariance
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import ScenarioError
from tradefair.evaluation.ratings.duels import LEAST_LABELS, LEAST_PAIRS, PairSums, Shares
from tradefair.evaluation.ratings.shuffles import Floats
from tradefair.evaluation.read.arithmetic import rank_correlation

COMPOSITE = "composite(alpha=0..1|auto)"
# The weight is of our own: the source gives .10 and not what it multiplies.
ALPHA = 0.9
_ASKED = re.compile(r"composite(?:\(alpha=(auto|\d{1,3}(?:\.\d{1,9})?|\.\d{1,9})\))?")
_GRID = [step / 20 for step in range(21)]
_RESAMPLES = 200


class Weight(NamedTuple):
    """`alpha` is the weight of OBS. Found and not named: from `low` to `high` it is as good within a standard error."""

    alpha: float
    low: float | None = None
    high: float | None = None


def asked_weight(score: str | None) -> Weight | None:
    """The weight that `--score` names, None for `auto`; that of a duel whose score is not named is .9.

    ScenarioError for another one than a number from 0 to 1, or auto.
    """
    if score is None or not score.startswith("composite"):
        return Weight(ALPHA)
    found = _ASKED.fullmatch(score)
    alpha = found and (found[1] or str(ALPHA))
    if alpha == "auto":
        return None
    if alpha is None or float(alpha) > 1:
        raise ScenarioError(f"score {score[:40]!r}: {COMPOSITE}, alpha being a number from 0 to 1, or auto")
    return Weight(float(alpha))


def found_weight(shares: Sequence[Shares], pairs: Sequence[PairSums]) -> Weight:
    """The weight with the largest sum of stability and agreement, ties to the larger one.

    Stability is the mean rank correlation of the order in 200 resamples with that of all games, agreement the part of
    the pairs whose head-to-head sign is that of the blend. ScenarioError below 8 labels or 10 pairs.
    """
    met = [pair for pair in pairs if pair.counted[0] and pair.gaps[0]]
    if len(shares) < LEAST_LABELS or len(met) < LEAST_PAIRS:
        least = f"{LEAST_LABELS} labels and {LEAST_PAIRS} pairs that differ"
        raise ScenarioError(
            f"alpha=auto needs {least}; here are {len(shares)} and {len(met)}: name a number from 0 to 1"
        )
    rows = slice(1 + _RESAMPLES)
    balanced = _standard(np.array([share.obs[rows] for share in shares]))
    raw = _standard(np.array([share.raw[rows] for share in shares]))
    place = {share.label: number for number, share in enumerate(shares)}
    sides = np.array([[place[label] for label in pair.labels] for pair in met])
    signs = np.sign([pair.gaps[0] for pair in met])
    return _best([_worth(alpha * balanced + (1 - alpha) * raw, sides, signs) for alpha in _GRID])


def _worth(blend: Floats, sides: NDArray[np.int64], signs: Floats) -> tuple[float, float]:
    """Stability and agreement of a blend, summed, and the standard error of that."""
    # Over the labels that a resample has drawn; an order of nobody is stable in no resample.
    drawn = ((column, np.isfinite(column)) for column in blend.T[1:])
    orders = [rank_correlation(blend[known, 0].tolist(), column[known].tolist()) for column, known in drawn]
    stable = [order for order in orders if order is not None] or [0.0]
    agreed = fmean((np.sign(blend[sides[:, 0], 0] - blend[sides[:, 1], 0]) == signs).tolist())
    return fmean(stable) + agreed, math.sqrt(pvariance(stable) / len(stable) + agreed * (1 - agreed) / len(signs))


def _best(worths: Sequence[tuple[float, float]]) -> Weight:
    """The weight of the largest sum, and those on both sides of it that are as good within its error."""
    best = max(range(len(_GRID)), key=lambda step: (worths[step][0], step))
    largest, error = worths[best]
    good = [total >= largest - error for total, _ in worths]
    low = high = best
    while low and good[low - 1]:
        low -= 1
    while high + 1 < len(good) and good[high + 1]:
        high += 1
    return Weight(_GRID[best], _GRID[low], _GRID[high])


def _standard(table: Floats) -> Floats:
    """z-scores over labels, the rows, in each column; 0 where labels do not differ. NaN stays NaN."""
    spread = np.nanstd(table, axis=0)
    return (table - np.nanmean(table, axis=0)) / np.where(spread > 0, spread, 1)

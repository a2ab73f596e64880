"""One figure per market that says how good an agent is: 0 is the naive reference, 1 the best known one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tradefair.evaluation.record import Record
from tradefair.evaluation.statistics.paired import percentile, resamples

_LEVEL = 0.95


class Headline(NamedTuple):
    """What a market's headline is measured by.

    H = (mean x - mean naive) / (mean best - mean naive) of the seat field `metric`, on the same seeds and seats of
    `preset`. Below `min_seeds` seeds it has no interval. `field`: the unprivileged policies whose means rank references
    and whose findings give the base rates, `naive` and `best` among them. A change of anything is a new `version`;
    boards of different versions are never merged. H may pass 1: the next version may then name a new best.
    """

    version: int
    preset: str
    metric: str
    naive: str
    best: str
    min_seeds: int
    field: tuple[str, ...]


class HeadlineFigure(Record):
    """H over `seeds` seeds, with a 95 % percentile interval over blocks of one seed.

    `value` is null where best and naive earned the same; `low` and `high` below the headline's least number of seeds.
    """

    version: int
    value: float | None
    low: float | None
    high: float | None
    seeds: int


class Block(NamedTuple):
    """One seed: means of the metric over its seats, of the agent and of both references in the same seats."""

    agent: float
    naive: float
    best: float


def headline_of(headline: Headline, blocks: Mapping[int, Block]) -> HeadlineFigure:
    """H of an agent from its seeds; the ratio of means, and its interval from 10,000 keyed draws of seeds."""
    rows = [blocks[seed] for seed in sorted(blocks)]
    value = _ratio(rows)
    low = high = None
    if value is not None and len(rows) >= headline.min_seeds:
        low, high = _interval(rows)
    return HeadlineFigure(version=headline.version, value=value, low=low, high=high, seeds=len(rows))


def _ratio(rows: Sequence[Block]) -> float | None:
    gained = math.fsum(row.agent - row.naive for row in rows)
    between = math.fsum(row.best - row.naive for row in rows)
    return gained / between if between else None


def _interval(rows: Sequence[Block]) -> tuple[float | None, float | None]:
    """Percentiles of H over resampled seeds; a draw in which best and naive earned the same says nothing."""
    import numpy as np

    table = np.array(rows)
    sums = table[resamples("tradefair.headline/1", "seeds", len(rows))].sum(axis=1)
    between = sums[:, 2] - sums[:, 1]
    known = between != 0
    values = ((sums[:, 0] - sums[:, 1])[known] / between[known]).tolist()
    return percentile(values, (1 - _LEVEL) / 2), percentile(values, (1 + _LEVEL) / 2)

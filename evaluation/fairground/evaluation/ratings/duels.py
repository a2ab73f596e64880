"""Games of two: what a rating of pairs reads, and what is counted from them without any model (bargaining page, 9)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fairground.contract.chance import Chance
from fairground.evaluation.ratings.normal import Floats
from fairground.evaluation.ratings.shuffles import resampled

__all__ = [
    "Duel",
    "HeadToHead",
    "Score",
    "fraction",
    "head_to_head",
    "scores",
]

RESAMPLES = 2_000
LEAST_BLOCKS = 8
BALANCE_WEIGHT = 0.9


class Duel(NamedTuple):
    """One game between two labels. `potential` is what both could have earned together, R·G.

    Games of one block share their luck (both seatings of a pair on one seed): they are resampled together.
    """

    first: str
    second: str
    first_profit: float
    second_profit: float
    potential: float
    block: str

    @property
    def pair(self) -> tuple[str, str]:
        """Both labels in name order."""
        return (self.first, self.second) if self.first < self.second else (self.second, self.first)


class Score(NamedTuple):
    """A label's shares over its games; `low` and `high` bound `score` at 95 % by block bootstrap within pairs.

    `obs` is the opponent-balanced share, `raw` profit over potential, `score` 100·(.9 obs + .1 raw) ("CMS-style", a
    definition of our own). `dead_pairs` are opponents with whom nobody ever earned. `unbalanced`: the numbers of games
    by opponent differ by more than 1.5 to 1. `exploratory`: fewer than 8 blocks.
    """

    label: str
    score: float
    obs: float
    raw: float | None
    low: float
    high: float
    games: int
    opponents: Mapping[str, int]
    dead_pairs: int
    unbalanced: bool
    exploratory: bool


class HeadToHead(NamedTuple):
    """Mean difference of raw shares, row minus column, over the pair's games; mirrored, the sign turns."""

    row: str
    column: str
    mean: float
    low: float
    high: float
    games: int


def fraction(profit: float, other: float) -> float | None:
    """max(0, own)/(max(0, own) + max(0, other)); null when nobody earned."""
    own, opposite = max(0.0, profit), max(0.0, other)
    return own / (own + opposite) if own + opposite > 0 else None


class _Pair(NamedTuple):
    """Sums by block of one pair, both labels in name order; one row per block."""

    labels: tuple[str, str]
    games: int
    earned: Floats
    """Σ max(0, profit) by block and label."""
    profits: Floats
    potentials: Floats
    differences: Floats
    """Σ (raw share of the first - raw share of the second), and the number of games with a potential, by block."""


def _pairs(duels: Iterable[Duel]) -> list[_Pair]:
    by_pair: dict[tuple[str, str], dict[str, list[Duel]]] = defaultdict(lambda: defaultdict(list))
    for duel in duels:
        if duel.first == duel.second:
            raise ValueError(f"{duel.first} plays itself in {duel.block}: no duel")
        by_pair[duel.pair][duel.block].append(duel)
    return [_pair(labels, blocks) for labels, blocks in sorted(by_pair.items())]


def _pair(labels: tuple[str, str], blocks: Mapping[str, Sequence[Duel]]) -> _Pair:
    rows = [[_sums(duel, labels[0]) for duel in blocks[block]] for block in sorted(blocks)]
    sums = np.array([np.sum(row, axis=0) for row in rows])
    return _Pair(labels, sum(map(len, rows)), sums[:, 0:2], sums[:, 2:4], sums[:, 4], sums[:, 5:7])


def _sums(duel: Duel, first: str) -> list[float]:
    own, other = duel.first_profit, duel.second_profit
    if duel.first != first:
        own, other = other, own
    counted = duel.potential > 0
    gap = (own - other) / duel.potential if counted else 0.0
    return [max(0.0, own), max(0.0, other), own, other, duel.potential, gap, float(counted)]


def scores(duels: Sequence[Duel], chance: Chance) -> list[Score]:
    """Shares of every label, best first. `chance` resamples blocks within pairs (stream `tournament`)."""
    pairs = _pairs(duels)
    drawn = [_drawn(pair, chance) for pair in pairs]
    found = [_score(label, pairs, drawn) for label in sorted({name for pair in pairs for name in pair.labels})]
    return sorted(found, key=lambda score: (-score.score, score.label))


def _drawn(pair: _Pair, chance: Chance) -> Floats:
    """Row 0 counts every block once, as it is; the others are resamples."""
    blocks = len(pair.potentials)
    draws = resampled(chance, "tournament", blocks, RESAMPLES, *pair.labels)
    return np.vstack([np.ones((1, blocks)), draws.astype(np.float64)])


def _score(label: str, pairs: Sequence[_Pair], drawn: Sequence[Floats]) -> Score:
    shares: list[Floats] = []
    profit = potential = np.zeros(RESAMPLES + 1)
    opponents: dict[str, int] = {}
    blocks = dead = 0
    for pair, counts in zip(pairs, drawn, strict=True):
        if label not in pair.labels:
            continue
        own = pair.labels.index(label)
        earned = counts @ pair.earned
        total = earned.sum(axis=1)
        shares.append(np.divide(earned[:, own], total, out=np.zeros_like(total), where=total > 0))
        profit = profit + counts @ pair.profits[:, own]
        potential = potential + counts @ pair.potentials
        opponents[pair.labels[1 - own]] = pair.games
        blocks += len(pair.potentials)
        dead += bool(total[0] <= 0)
    obs = np.mean(shares, axis=0)
    raw = np.divide(profit, potential, out=np.zeros_like(profit), where=potential > 0)
    blend = 100 * (BALANCE_WEIGHT * obs + (1 - BALANCE_WEIGHT) * raw)
    low, high = np.quantile(blend[1:], (0.025, 0.975))
    return Score(
        label,
        float(blend[0]),
        float(obs[0]),
        float(raw[0]) if potential[0] > 0 else None,
        float(low),
        float(high),
        sum(opponents.values()),
        opponents,
        dead,
        max(opponents.values()) > 1.5 * min(opponents.values()),
        blocks < LEAST_BLOCKS,
    )


def head_to_head(duels: Sequence[Duel], chance: Chance) -> list[HeadToHead]:
    """One cell per pair that met in a game with something to gain; bounds by the same bootstrap."""
    found: list[HeadToHead] = []
    for pair in _pairs(duels):
        sums = _drawn(pair, chance) @ pair.differences
        if not sums[0, 1]:
            continue
        # A resample may miss every game with a potential; it says nothing.
        means = sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], np.nan)
        low, high = np.nanquantile(means[1:], (0.025, 0.975))
        found.append(HeadToHead(*pair.labels, float(means[0]), float(low), float(high), pair.games))
    return found

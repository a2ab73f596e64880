"""Games of two: what a rating of pairs reads, and what is counted from them without any model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tradefair.contract import Chance
from tradefair.evaluation.ratings.shuffles import Floats, resampled_sums

# The weight is of our own: the source gives .10 and not what it multiplies.
RESAMPLES = 2_000
LEAST_BLOCKS = 8
BALANCE_WEIGHT = 0.9
MOST_UNEVEN = 1.5


class Duel(NamedTuple):
    """One game between two labels. `potential` is what both could have earned together, R·G; None where not known.

    Games of one block share their luck (both seatings of a pair on one seed): they are resampled together.
    """

    first: str
    second: str
    first_profit: float
    second_profit: float
    potential: float | None
    block: str

    @property
    def pair(self) -> tuple[str, str]:
        """Both labels in name order."""
        # In name order, so that a pair is one key, whoever sat first.
        return (self.first, self.second) if self.first < self.second else (self.second, self.first)


class Score(NamedTuple):
    """A label's shares over its games; `low` and `high` bound `score` at 95 % by block bootstrap within pairs,
    null where no pair has a second block.

    `obs` is the opponent-balanced share, `raw` profit over potential in games of known potential, each profit within 0
    and the potential; `score` 100·(.9 obs + .1 raw) ("CMS-style", a definition of our own), so that all lie in 0 to 1,
    the score in 0 to 100. `opponents` counts games in the first and in the
    second seat; `unbalanced`: these numbers differ by more than 1.5 to 1. `dead_pairs` are opponents against which
    neither side ever earned. `exploratory`: fewer than 8 blocks.
    """

    label: str
    score: float
    obs: float
    raw: float | None
    low: float | None
    high: float | None
    games: int
    blocks: int
    opponents: Mapping[str, tuple[int, int]]
    dead_pairs: int

    @property
    def unbalanced(self) -> bool:
        """Whether some opponent or seat was met so much more often than another that means mislead."""
        # A seat in which an opponent was never met counts 0 games, so any game in the other seat is unbalanced.
        counts = [count for seats in self.opponents.values() for count in seats]
        return max(counts) > MOST_UNEVEN * min(counts)

    @property
    def exploratory(self) -> bool:
        """Whether there are too few blocks to conclude anything."""
        return self.blocks < LEAST_BLOCKS


class HeadToHead(NamedTuple):
    """Mean difference of shares, row minus column, over the pair's games; mirrored, the sign turns.

    `low` and `high` bound it at 95 %, null for a single block.
    """

    row: str
    column: str
    mean: float
    low: float | None
    high: float | None
    games: int


def fraction(profit: float, other: float) -> float | None:
    """max(0, own)/(max(0, own) + max(0, other)); null when neither earned."""
    own, opposite = max(0.0, profit), max(0.0, other)
    return own / (own + opposite) if own + opposite > 0 else None


class PairSums(NamedTuple):
    """What one pair did: sums over its games, a row as it is and then one per resample of its blocks.

    `earned` is Σ max(0, profit), `profits` Σ profit within 0 and the potential where that is known, a column per label
    of `labels` (in name order); `gaps` Σ (share of the first - share of the second), `counted` the games with a
    potential.
    `seats` counts the games with the first label in the first seat, and in the second.
    """

    labels: tuple[str, str]
    seats: tuple[int, int]
    blocks: int
    earned: Floats
    profits: Floats
    potentials: Floats
    gaps: Floats
    counted: Floats


def pair_sums(duels: Iterable[Duel], chance: Chance, resamples: int = RESAMPLES) -> list[PairSums]:
    """Every pair that met, in name order. `chance` resamples blocks within pairs (stream `tournament`).

    Draws are keyed by the pair's first block: where no two pairs share a block's name, other labels draw the same.
    """
    by_pair: dict[tuple[str, str], dict[str, list[Duel]]] = defaultdict(lambda: defaultdict(list))
    for duel in duels:
        # Games of a label with itself were left out with a reason; here they would be a caller's mistake.
        if duel.first == duel.second:
            raise ValueError(f"{duel.first} plays itself in {duel.block}: no duel")
        by_pair[duel.pair][duel.block].append(duel)
    return [_resampled(labels, blocks, chance, resamples) for labels, blocks in sorted(by_pair.items())]


def _resampled(
    labels: tuple[str, str], blocks: Mapping[str, Sequence[Duel]], chance: Chance, resamples: int
) -> PairSums:
    """The sums of one pair, over its games and over resamples of its blocks."""
    # In the order of block names: the same draws choose the same blocks, in whatever order games were read.
    rows = [np.sum([_row(duel, labels[0]) for duel in blocks[block]], axis=0) for block in sorted(blocks)]
    sums = resampled_sums(chance, "tournament", np.array(rows), resamples, min(blocks))
    games = [duel for block in blocks.values() for duel in block]
    first = sum(duel.first == labels[0] for duel in games)
    return PairSums(
        labels, (first, len(games) - first), len(blocks), sums[:, 0:2], sums[:, 2:4], *(sums[:, at] for at in (4, 5, 6))
    )


def _row(duel: Duel, first: str) -> list[float]:
    """One game as a row: gains above 0 and profits of both, potential, difference of shares, whether it counts."""
    own, other = duel.first_profit, duel.second_profit
    if duel.first != first:
        own, other = other, own
    earned = [max(0.0, own), max(0.0, other)]
    # A profit over what nobody knows would be in the numerator of `raw` only.
    if duel.potential is None:
        return [*earned, 0.0, 0.0, 0.0, 0.0, 0.0]
    # Of the score only: no loss below 0, and no more than there was to gain, where the other side lost money.
    own, other = (min(profit, duel.potential) for profit in earned)
    # Without a potential there is no share, and the zeros of this row must not enter a mean.
    counted = duel.potential > 0
    gap = (own - other) / duel.potential if counted else 0.0
    return [*earned, own, other, duel.potential, gap, float(counted)]


def scores(pairs: Sequence[PairSums]) -> list[Score]:
    """Shares of every label, best first.

    A label's own bounds come from the resamples of all its pairs, row by row.
    """
    labels = sorted({label for pair in pairs for label in pair.labels})
    found = [_score(label, [pair for pair in pairs if label in pair.labels]) for label in labels]
    return sorted(found, key=lambda score: (-score.score, score.label))


def _score(label: str, pairs: Sequence[PairSums]) -> Score:
    """The shares of one label over its pairs; arrays hold the value as played, then one per resample."""
    shares: list[Floats] = []
    # Two names for one array of zeros: the sums below make new arrays and never change it.
    profit = potential = np.zeros(len(pairs[0].potentials))
    opponents: dict[str, tuple[int, int]] = {}
    dead = 0
    for pair in pairs:
        own = pair.labels.index(label)
        total = pair.earned.sum(axis=1)
        # 0/0 is 0: a pair in which neither ever earned counts as a share of 0.
        shares.append(np.divide(pair.earned[:, own], total, out=np.zeros_like(total), where=total > 0))
        profit = profit + pair.profits[:, own]
        potential = potential + pair.potentials
        opponents[pair.labels[1 - own]] = pair.seats if own == 0 else (pair.seats[1], pair.seats[0])
        dead += bool(total[0] <= 0)
    obs = np.mean(shares, axis=0)
    raw = np.divide(profit, potential, out=np.zeros_like(profit), where=potential > 0)
    # Blended within each resample: the bounds of a blend are not the blend of two bounds.
    blend = 100 * (BALANCE_WEIGHT * obs + (1 - BALANCE_WEIGHT) * raw)
    # A pair with a single block is resampled as itself: an interval of such pairs alone would have no width.
    low, high = _bounds(blend) if any(pair.blocks > 1 for pair in pairs) else (None, None)
    return Score(
        label,
        float(blend[0]),
        float(obs[0]),
        float(raw[0]) if potential[0] > 0 else None,
        low,
        high,
        sum(map(sum, opponents.values())),
        sum(pair.blocks for pair in pairs),
        opponents,
        dead,
    )


def head_to_head(pairs: Iterable[PairSums]) -> list[HeadToHead]:
    """One cell per pair that met in a game with something to gain; bounds by the same bootstrap.

    Cells come in the order of `pairs`; the row is the first of the pair's labels.
    """
    found: list[HeadToHead] = []
    for pair in pairs:
        # Nothing to gain in any game: the cell stays empty.
        if not pair.counted[0]:
            continue
        # A resample may miss every game with a potential; it says nothing.
        means = pair.gaps / np.where(pair.counted > 0, pair.counted, np.nan)
        low, high = _bounds(means) if pair.blocks > 1 else (None, None)
        found.append(HeadToHead(*pair.labels, float(means[0]), low, high, sum(pair.seats)))
    return found


def _bounds(resamples: Floats) -> tuple[float, float]:
    """The 2.5 and 97.5 % points over resamples."""
    # Row 0 is what was played, no resample.
    low, high = np.nanquantile(resamples[1:], (0.025, 0.975))
    return float(low), float(high)

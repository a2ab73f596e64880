"""Games of two: what a rating of pairs reads, and what is counted from them without any model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import Chance
from tradefair.evaluation.ratings.rating import Cell
from tradefair.evaluation.ratings.shuffles import Floats, bounds, resampled_parts

RESAMPLES = 2_000
LEAST_BLOCKS = 8
LEAST_LABELS, LEAST_PAIRS = 8, 10
MOST_UNEVEN = 1.5


class Duel(NamedTuple):
    """One game between two labels. `potential` is what both could have earned together, R·G; None where not known.

    Games of one block share their luck (all of one seed): they are resampled together.
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
    """A label's shares over its games; `low` and `high` bound `score` at 95 % over resampled blocks, null for one.

    `obs` is the opponent-balanced share, `raw` profit over potential in games of known potential, each profit within 0
    and the potential; `score` 100·(α obs + (1 − α) raw) ("CMS-style", a definition of our own), so that all lie in 0 to
    1, the score in 0 to 100. `of` has what both are counted from.
    """

    label: str
    score: float
    obs: float
    raw: float | None
    low: float | None
    high: float | None
    of: Shares


class Shares(NamedTuple):
    """A label's `obs` and `raw`, as played and then once per resample, NaN where that has no game of the label.

    `known`: some game had something to gain. `opponents` counts games in the first and in the second seat;
    `unbalanced`: these numbers differ by more than 1.5 to 1. `dead_pairs` are opponents against which neither side ever
    earned. `exploratory`: fewer than 8 blocks.
    """

    label: str
    obs: Floats
    raw: Floats
    known: bool
    blocks: int
    opponents: Mapping[str, tuple[int, int]]
    dead_pairs: int

    @property
    def games(self) -> int:
        """Games against all opponents."""
        return sum(map(sum, self.opponents.values()))

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


def fraction(profit: float, other: float) -> float | None:
    """max(0, own)/(max(0, own) + max(0, other)); null when neither earned."""
    own, opposite = max(0.0, profit), max(0.0, other)
    return own / (own + opposite) if own + opposite > 0 else None


class PairSums(NamedTuple):
    """What one pair did: sums over its games, a row as it is and then one per resample of all blocks.

    `earned` is Σ max(0, profit), `profits` Σ profit within 0 and the potential where that is known, a column per label
    of `labels` (in name order); `gaps` Σ (share of the first - share of the second), `counted` the games with a
    potential, `games` all of them.
    `seats` counts the games with the first label in the first seat, and in the second.
    """

    labels: tuple[str, str]
    seats: tuple[int, int]
    blocks: frozenset[str]
    earned: Floats
    profits: Floats
    potentials: Floats
    gaps: Floats
    counted: Floats
    games: Floats


def pair_sums(duels: Sequence[Duel], chance: Chance, resamples: int = RESAMPLES) -> list[PairSums]:
    """Every pair that met, in name order. `chance` resamples blocks, the same for all pairs (stream `tournament`).

    Draws are keyed by the first block: other labels draw the same.
    """
    by_pair: dict[tuple[str, str], dict[str, list[Duel]]] = defaultdict(lambda: defaultdict(list))
    for duel in duels:
        # Games of a label with itself were left out with a reason; here they would be a caller's mistake.
        if duel.first == duel.second:
            raise ValueError(f"{duel.first} plays itself in {duel.block}: no duel")
        by_pair[duel.pair][duel.block].append(duel)
    place = {block: number for number, block in enumerate(sorted({duel.block for duel in duels}))}
    pairs = sorted(by_pair.items())
    parts: list[tuple[NDArray[np.int64], Floats]] = []
    for labels, blocks in pairs:
        rows = [np.sum([_row(duel, labels[0]) for duel in games], axis=0) for games in blocks.values()]
        parts.append((np.array([place[block] for block in blocks]), np.array(rows)))
    sums = resampled_parts(chance, "tournament", len(place), parts, resamples, *[*place][:1]) if pairs else []
    return [_of_pair(labels, blocks, own) for (labels, blocks), own in zip(pairs, sums, strict=True)]


def _of_pair(labels: tuple[str, str], blocks: Mapping[str, Sequence[Duel]], sums: Floats) -> PairSums:
    games = [duel for block in blocks.values() for duel in block]
    first = sum(duel.first == labels[0] for duel in games)
    seats = first, len(games) - first
    columns = (sums[:, at] for at in range(4, sums.shape[1]))
    return PairSums(labels, seats, frozenset(blocks), sums[:, 0:2], sums[:, 2:4], *columns)


def _row(duel: Duel, first: str) -> list[float]:
    """One game as a row: gains above 0 and profits of both, potential, difference of shares, whether it counts, 1."""
    own, other = duel.first_profit, duel.second_profit
    if duel.first != first:
        own, other = other, own
    earned = [max(0.0, own), max(0.0, other)]
    # A profit over what nobody knows would be in the numerator of `raw` only.
    if duel.potential is None:
        return [*earned, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    # Of the score only: no loss below 0, and no more than there was to gain, where the other side lost money.
    own, other = (min(profit, duel.potential) for profit in earned)
    # Without a potential there is no share, and the zeros of this row must not enter a mean.
    counted = duel.potential > 0
    gap = (own - other) / duel.potential if counted else 0.0
    return [*earned, own, other, duel.potential, gap, float(counted), 1.0]


def scores(shares: Sequence[Shares], alpha: float) -> list[Score]:
    """The blend of every label's shares, best first; `alpha` is the weight of `obs`, 0 to 1."""
    return sorted((_score(own, alpha) for own in shares), key=lambda score: (-score.score, score.label))


def _score(own: Shares, alpha: float) -> Score:
    # Blended within each resample: the bounds of a blend are not the blend of two bounds.
    blend = 100 * (alpha * own.obs + (1 - alpha) * own.raw)
    low, high = _bounds(blend, own.blocks)
    raw = float(own.raw[0]) if own.known else None
    return Score(own.label, float(blend[0]), float(own.obs[0]), raw, low, high, own)


def shares_of(pairs: Sequence[PairSums]) -> list[Shares]:
    """Every label in name order; its resamples are those of all its pairs, row by row."""
    labels = sorted({label for pair in pairs for label in pair.labels})
    return [_shares(label, [pair for pair in pairs if label in pair.labels]) for label in labels]


def _shares(label: str, pairs: Sequence[PairSums]) -> Shares:
    """The shares of one label over its pairs; arrays hold the value as played, then one per resample."""
    shares: list[Floats] = []
    # Two names for one array of zeros: the sums below make new arrays and never change it.
    profit = potential = np.zeros(len(pairs[0].potentials))
    opponents: dict[str, tuple[int, int]] = {}
    dead = 0
    for pair in pairs:
        own = pair.labels.index(label)
        total = pair.earned.sum(axis=1)
        # 0/0 is 0: a pair in which neither ever earned counts as a share of 0. A resample may miss a pair: no share.
        nothing = np.where(pair.games > 0, 0.0, np.nan)
        shares.append(np.divide(pair.earned[:, own], total, out=nothing, where=total > 0))
        profit = profit + pair.profits[:, own]
        potential = potential + pair.potentials
        opponents[pair.labels[1 - own]] = pair.seats if own == 0 else (pair.seats[1], pair.seats[0])
        dead += bool(total[0] <= 0)
    known = np.isfinite(shares)
    # A resample without any game of the label is 0/0, and says nothing of it.
    obs = np.nansum(shares, axis=0) / np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    raw = np.divide(profit, potential, out=np.zeros_like(profit), where=potential > 0)
    blocks = len(frozenset[str]().union(*(pair.blocks for pair in pairs)))
    return Shares(label, obs, raw, bool(potential[0] > 0), blocks, opponents, dead)


def head_to_head(pairs: Iterable[PairSums]) -> list[Cell]:
    """One cell per pair that met in a game with something to gain; bounds by the same bootstrap.

    Cells come in the order of `pairs`; the row is the first of the pair's labels.
    """
    found: list[Cell] = []
    for pair in pairs:
        # Nothing to gain in any game: the cell stays empty.
        if not pair.counted[0]:
            continue
        # A resample may miss every game with a potential; it says nothing.
        means = pair.gaps / np.where(pair.counted > 0, pair.counted, np.nan)
        low, high = _bounds(means, len(pair.blocks))
        row, column = pair.labels
        found.append(Cell(row=row, column=column, mean=float(means[0]), low=low, high=high, games=sum(pair.seats)))
    return found


def _bounds(values: Floats, blocks: int) -> tuple[float | None, float | None]:
    """The ends of the 95 % interval; one block resampled is itself, and has none."""
    if blocks < 2:
        return None, None
    # Row 0 is what was played, no resample.
    low, high = bounds(values[1:], blocks).tolist()
    return low, high

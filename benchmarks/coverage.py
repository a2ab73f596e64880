"""How often 95 % intervals of leaderboards hold the truth: `python -m benchmarks.coverage [--leagues N] [--seeds S]`.

Leagues of four labels are simulated, every pair in both seatings on every seed. What is luck differs: of a single game,
of a pair on a seed (both seatings share it), of a label on a seed (all of its games there share it).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from tradefair.contract import Chance
from tradefair.evaluation.ratings.bradley_terry import fit_strengths
from tradefair.evaluation.ratings.composite import ALPHA
from tradefair.evaluation.ratings.duels import Duel, pair_sums, scores, shares_of
from tradefair.evaluation.ratings.field_board import means_of
from tradefair.evaluation.ratings.trueskill import Constants, rate_episodes

LUCK = ("game", "pair", "label")
FIGURES = ("Bradley–Terry", "score", "TrueSkill", "mean score")
_SKILLS = {"a": -0.6, "b": -0.2, "c": 0.2, "d": 0.6}
_POTENTIAL = 100.0

Performances = Sequence[tuple[int, Mapping[str, float]]]
"""Of each game its seed, and what both labels showed: skill and luck, the luck of deviation 1."""


def league(luck: str, seeds: int, number: int) -> Performances:
    """One league. `luck` is one of `LUCK`."""
    random = np.random.default_rng([LUCK.index(luck), number])
    found: list[tuple[int, Mapping[str, float]]] = []
    for seed in range(seeds):
        of_label = dict(zip(_SKILLS, random.normal(size=len(_SKILLS)).tolist(), strict=True))
        for pair in combinations(_SKILLS, 2):
            of_pair = dict(zip(pair, random.normal(size=2).tolist(), strict=True))
            for _ in range(2):
                of_game = dict(zip(pair, random.normal(size=2).tolist(), strict=True))
                lucky = {"game": of_game, "pair": of_pair, "label": of_label}[luck]
                found.append((seed, {label: _SKILLS[label] + lucky[label] for label in pair}))
    return found


def shares() -> Mapping[tuple[str, str], float]:
    """What the first label of each pair earns of 1 on average: the gap of both performances has variance 2."""
    gaps = math.sqrt(2) * np.random.default_rng(0).normal(size=1_000_000)
    return {
        (one, two): float((1 / (1 + np.exp(_SKILLS[two] - _SKILLS[one] - gaps))).mean())
        for one, two in combinations(_SKILLS, 2)
    }


def covered(luck: str, leagues: int, seeds: int) -> Mapping[str, float]:
    """By figure, the share of 95 % intervals that hold the truth."""
    truth = _truth(seeds)
    hits: dict[str, list[bool]] = {figure: [] for figure in FIGURES}
    for number in range(leagues):
        for figure, label, low, high in _intervals(league(luck, seeds, number), Chance(number)):
            hits[figure].append(low <= truth[figure][label] <= high)
    return {figure: sum(found) / len(found) for figure, found in hits.items()}


def _duels(games: Sequence[tuple[int, tuple[str, str], float]]) -> list[Duel]:
    """Duels of the part that each pair's first label earns; the second of two seatings has the other one first."""
    found: list[Duel] = []
    for at, (seed, (one, two), part) in enumerate(games):
        first, second = _POTENTIAL * part, _POTENTIAL * (1 - part)
        swapped = Duel(two, one, second, first, _POTENTIAL, str(seed))
        found.append(swapped if at % 2 else Duel(one, two, first, second, _POTENTIAL, str(seed)))
    return found


def _truth(seeds: int) -> Mapping[str, Mapping[str, float]]:
    """What each figure is where every game goes as it goes on average; of TrueSkill the skills that it assumes."""
    duels = _duels([(seed, pair, part) for seed in range(seeds) for pair, part in shares().items() for _ in range(2)])
    constants = Constants()
    return {
        "Bradley–Terry": {row.label: row.rating for row in fit_strengths(duels, Chance(0), 0).strengths},
        "score": {row.label: row.score for row in scores(shares_of(pair_sums(duels, Chance(0), 2)), ALPHA)},
        "TrueSkill": {label: constants.mean + constants.performance * skill for label, skill in _SKILLS.items()},
        "mean score": _SKILLS,
    }


def _intervals(games: Performances, chance: Chance) -> Iterator[tuple[str, str, float, float]]:
    parts: list[tuple[int, tuple[str, str], float]] = []
    for seed, shown in games:
        one, two = shown
        parts.append((seed, (one, two), 1 / (1 + math.exp(shown[two] - shown[one]))))
    duels = _duels(parts)
    seeds, ranked = [seed for seed, _ in games], [shown for _, shown in games]
    found = {
        "Bradley–Terry": fit_strengths(duels, chance).strengths,
        "score": scores(shares_of(pair_sums(duels, chance)), ALPHA),
        "TrueSkill": rate_episodes(ranked, chance, blocks=seeds),
    }
    for figure, rows in found.items():
        for row in rows:
            if row.low is not None and row.high is not None:
                yield figure, row.label, row.low, row.high
    for label, (_, low, high) in means_of(ranked, seeds, chance).items():
        if low is not None and high is not None:
            yield "mean score", label, low, high


def main() -> None:
    """Print the table as a page has it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leagues", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=12)
    options = parser.parse_args()
    print(f"| luck of | {' | '.join(FIGURES)} |\n|---|{'---|' * len(FIGURES)}")
    for luck, said in zip(LUCK, ("a game", "a pair on a seed", "a label on a seed"), strict=True):
        found = covered(luck, options.leagues, options.seeds)
        print(f"| {said} | {' | '.join(f'{found[figure]:.3f}'.lstrip('0') for figure in FIGURES)} |", flush=True)


if __name__ == "__main__":
    main()

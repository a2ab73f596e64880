"""TrueSkill of labels from ranked episodes (Herbrich, Minka & Graepel 2007), many shuffled passes in lockstep.

Order matters to a sequential filter, so each pass rates all episodes from fresh ratings in an order of its own, and
the medians over passes are reported. Axis 0 of every array is the pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import Chance
from tradefair.evaluation.ratings.duels import LEAST_BLOCKS
from tradefair.evaluation.ratings.shuffles import Floats, bounds, resampled, shuffled_orders
from tradefair.evaluation.read.laws import scaled_erfc

_MOST_TURNS = 40
# 95 % of a normal distribution, in deviations.
_REACH = 1.96
# In which each resample is rated.
_ORDERS = 4
# Messages have converged when none moves by more.
_STILL = 1e-4


# TrueSkill's usual σ0 and β; μ0 only shifts all skills.
class Constants(NamedTuple):
    """Prior mean and deviation of a skill, and the deviation of a performance around it; no drift, no draw margin."""

    mean: float = 5.0
    deviation: float = 25 / 3
    performance: float = 25 / 6


class SkillRating(NamedTuple):
    """Medians over passes of a label's mean and deviation; `low` and `high` bound the mean at 95 %, null for one block.

    The bounds are those of resampled blocks, each in four orders, and no narrower than half of the belief; of fewer
    than eight blocks, than all of it.
    """

    label: str
    mean: float
    deviation: float
    low: float | None
    high: float | None
    episodes: int


class Skill(NamedTuple):
    """What is believed of one skill."""

    mean: float
    deviation: float


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
    blocks: Sequence[int | str] | None = None,
    passes: int = 200,
    constants: Constants = Constants(),  # noqa: B008  # a NamedTuple is immutable
) -> list[SkillRating]:
    """Ratings, best first, from each episode's score by label (higher is better; equal scores are a draw).

    `chance` shuffles and resamples (stream `tournament`). Episodes of one of the `blocks` share their luck; by default
    each is one. An episode of one label says nothing and is counted only.
    """
    labels = sorted({label for episode in episodes for label in episode})
    if not labels:
        return []
    named = range(len(episodes)) if blocks is None else blocks
    games = [(episode, block) for episode, block in zip(episodes, named, strict=True) if len(episode) > 1]
    rows = _rows([game for game, _ in games], labels)
    orders = shuffled_orders(chance, "tournament", len(games), passes)
    mean, deviations = _passed(rows, orders, len(labels), constants)
    redrawn = _redrawn(chance, [block for _, block in games], passes)
    passed, _ = _passed(rows, redrawn, len(labels), constants)
    # The medians have little of what an order does, and means of four orders much: that part is taken off.
    drawn = passed.reshape(-1, _ORDERS, len(labels)).mean(axis=1)
    spread, order = float(drawn.var(axis=0).sum()), float(mean.var(axis=0).sum()) / _ORDERS
    luck = math.sqrt(max(spread - order, 0.0) / spread) if spread else 0.0
    drawn = np.median(mean, axis=0) + (drawn - np.median(drawn, axis=0)) * luck
    found: list[SkillRating] = []
    for place, label in enumerate(labels):
        several = len({block for game, block in games if label in game})
        middle, deviation = float(np.median(mean[:, place])), float(np.median(deviations[:, place]))
        low, high = _ends(drawn[:, place], several, middle, deviation)
        episodes_of = sum(label in episode for episode in episodes)
        found.append(SkillRating(label, middle, deviation, low, high, episodes_of))
    return sorted(found, key=lambda rating: (-rating.mean, rating.label))


def _ends(drawn: Floats, blocks: int, middle: float, deviation: float) -> tuple[float | None, float | None]:
    """Both ends of an interval, over resamples of so many blocks."""
    if blocks < 2:
        return None, None
    # Resamples of games that all agree are all alike: the belief knows how few they are.
    reach = _REACH * deviation * (1.0 if blocks < LEAST_BLOCKS else 0.5)
    low, high = bounds(drawn, blocks).tolist()
    return min(low, middle - reach), max(high, middle + reach)


def _redrawn(chance: Chance, blocks: Sequence[int | str], draws: int) -> NDArray[np.int64]:
    """Games of blocks drawn with replacement, each draw in four orders, `[pass][step]`; past the last is no game."""
    known = {block: place for place, block in enumerate(dict.fromkeys(blocks))}
    places = np.array([known[block] for block in blocks], np.int64)
    counts = [*resampled(chance, "tournament", len(known), draws, "skills")] if known else []
    drawn = [np.repeat(np.arange(len(blocks)), row[places]) for rows in counts for row in rows]
    steps = max(map(len, drawn), default=0)
    padded = np.full((draws, steps), len(blocks))
    for row, games in zip(padded, drawn, strict=False):
        row[: len(games)] = games
    orders = shuffled_orders(chance, "tournament", steps, _ORDERS * draws, "skills")
    return np.take_along_axis(np.repeat(padded, _ORDERS, axis=0), orders, axis=1)


def _passed(rows: _Episodes, orders: NDArray[np.int64], labels: int, constants: Constants) -> tuple[Floats, Floats]:
    """Means and deviations, `[pass][label]`, after every pass took in its games in its order from fresh ratings."""
    mean = np.full((len(orders), labels), constants.mean)
    variance = np.full((len(orders), labels), constants.deviation**2)
    # Step t rates the t-th episode of every pass: one loop over episodes serves all passes.
    for chosen in orders.T:
        _update(mean, variance, rows, chosen, constants)
    return mean, np.sqrt(variance)


def rate_once(
    skills: Sequence[Skill],
    ranks: Sequence[int],
    constants: Constants = Constants(),  # noqa: B008  # a NamedTuple is immutable
) -> list[Skill]:
    """Skills after one episode with these ranks (the lowest is best, equal ones drew), in the order given."""
    order = sorted(range(len(ranks)), key=lambda place: ranks[place])
    tied = [[ranks[above] == ranks[below] for above, below in pairwise(order)]]
    members = np.array([order])
    mean = np.array([[float(skill.mean) for skill in skills]])
    variance = np.array([[float(skill.deviation) ** 2 for skill in skills]])
    # One row without padding.
    present = np.ones_like(members, np.bool_)
    rows = _Episodes(members, present, present[:, 1:], np.array(tied, np.bool_).reshape(1, -1))
    _update(mean, variance, rows, np.zeros(1, np.int64), constants)
    return [
        Skill(float(mu), math.sqrt(float(sigma_squared)))
        for mu, sigma_squared in zip(mean[0], variance[0], strict=True)
    ]


def _rows(games: Sequence[Mapping[str, float]], labels: Sequence[str]) -> _Episodes:
    """The episodes as padded rows, labels best first; a last row of nobody is no game."""
    index = {label: place for place, label in enumerate(labels)}
    height, width = len(games) + 1, max(map(len, games), default=2)
    members = np.zeros((height, width), np.int64)
    present = np.zeros((height, width), np.bool_)
    tied = np.zeros((height, width - 1), np.bool_)
    for row, game in enumerate(games):
        # Equals stay as they come, whatever they are called: other names give the same numbers.
        ranked = sorted(game.items(), key=lambda item: -item[1])
        members[row, : len(ranked)] = [index[label] for label, _ in ranked]
        present[row, : len(ranked)] = True
        for place, ((_, above), (_, below)) in enumerate(pairwise(ranked)):
            tied[row, place] = above == below
    return _Episodes(members, present, present[:, 1:], tied)


def _update(mean: Floats, variance: Floats, rows: _Episodes, chosen: NDArray[np.int64], constants: Constants) -> None:
    """Each pass takes in its own chosen episode.

    `mean` and `variance` are `[pass][label]` and are changed in place; `chosen` is the episode's row by pass.
    """
    who = rows.members[chosen]
    passes = np.arange(len(chosen))[:, None]
    noise = constants.performance**2
    prior_mean, prior_variance = mean[passes, who], variance[passes, who]
    # A performance is the skill with noise of its own, β² in variance.
    precision, weighted = _messages(prior_mean, prior_variance + noise, rows.pairs[chosen], rows.tied[chosen])
    # From the performance to the skill: one more normal noise in between.
    damped = 1.0 + noise * precision
    new_precision = 1.0 / prior_variance + precision / damped
    new_mean = (prior_mean / prior_variance + weighted / damped) / new_precision
    # Padding holds index 0, which is a real label: it must not be written to.
    present = rows.present[chosen]
    where = np.broadcast_to(passes, who.shape)[present], who[present]
    mean[where] = new_mean[present]
    variance[where] = 1.0 / new_precision[present]


class _Messages(NamedTuple):
    """Normal messages as (precision, precision · mean)."""

    precision: Floats
    weighted: Floats


def _messages(
    mean: Floats, variance: Floats, pairs: NDArray[np.bool_], tied: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """What the ranking says of each performance, as (precision, precision · mean), by expectation propagation.

    Factor k lies between ranks k and k + 1; `down` is its message to the better one, `up` to the worse. Factors of even
    and of odd index touch no common performance: each kind is updated at once, in turns. Rows are ranks here, so that
    the passes lie side by side.
    """
    own = _Messages(1.0 / variance.T, (mean / variance).T)
    present, draws = pairs.T, tied.T if tied.any() else None
    factors = len(present)
    # One more row than factors: what would come from beyond the first and the last rank, nothing.
    down, up = (_Messages(*np.zeros((2, factors + 1, len(mean)))) for _ in range(2))
    for _ in range(_MOST_TURNS):
        moved = 0.0
        for first in range(min(2, factors)):
            here, after = slice(first, factors, 2), slice(first + 1, factors + 1, 2)
            better = _Messages(*(a[here] + b[here] for a, b in zip(own, up, strict=True)))
            worse = _Messages(*(a[after] + b[after] for a, b in zip(own, down, strict=True)))
            to_better, to_worse = _compare(better, worse)
            if draws is not None:
                # A draw says that both performed equally: each is told what is known of the other.
                drawn = draws[here]
                to_better, to_worse = (
                    _Messages(
                        *(np.where(drawn, for_draw, for_rank) for for_draw, for_rank in zip(told, ranked, strict=True))
                    )
                    for told, ranked in ((worse, to_better), (better, to_worse))
                )
            for place, old, new in ((here, down, to_better), (after, up, to_worse)):
                for kept, message in zip(old, new, strict=True):
                    # Beyond an episode's last label there is no factor: its messages stay 0.
                    message *= present[here]
                    moved = max(moved, float(np.abs(message - kept[place]).max()))
                    kept[place] = message
        # All passes go on until the slowest has converged: they are computed together.
        if moved <= _STILL:
            break
    total = [np.zeros_like(part) for part in own]
    for part, lower, upper in zip(total, down, up, strict=True):
        part += lower
        part += upper
    return total[0].T, total[1].T


def hazard(t: Floats) -> Floats:
    """φ(t)/Φ(t): how far a normal variable known to be above -t lies above its mean, in standard deviations.

    Never below 0; close to -t far below 0, close to 0 far above.
    """
    # By the scaled function, as both φ and Φ vanish far in the lower tail. Above 0 Φ is 1 less the other tail.
    size = np.abs(t) * math.sqrt(0.5)
    tail = scaled_erfc(size)
    power = np.exp(-size * size)
    return math.sqrt(2.0 / math.pi) * np.where(t < 0.0, 1.0 / tail, power / (2.0 - power * tail))


def _compare(better: _Messages, worse: _Messages) -> tuple[_Messages, _Messages]:
    """Messages of factors to both performances, given what else is known of them (their cavities)."""
    variance_better, variance_worse = 1.0 / better.precision, 1.0 / worse.precision
    mean_better, mean_worse = better.weighted * variance_better, worse.weighted * variance_worse
    spread = variance_better + variance_worse
    root = np.sqrt(spread)
    gap = mean_better - mean_worse
    t = gap / root
    excess = hazard(t)
    # Rounding may push the share outside 0 to 1; at 1 the precision would be infinite.
    shrink = np.minimum(np.maximum(excess * (excess + t), 0.0), 1.0 - 1e-12)
    # The truncated difference N(gap + excess·root, spread·(1 - shrink)) divided by what was known of it.
    known = 1.0 / (spread * (1.0 - shrink))
    precision = shrink * known
    weighted = (gap * shrink + excess * root) * known
    # The other performance is uncertain too: its variance weakens what the comparison says.
    to_better, to_worse = 1.0 / (1.0 + precision * variance_worse), 1.0 / (1.0 + precision * variance_better)
    return (
        _Messages(precision * to_better, (weighted + precision * mean_worse) * to_better),
        _Messages(precision * to_worse, (precision * mean_better - weighted) * to_worse),
    )

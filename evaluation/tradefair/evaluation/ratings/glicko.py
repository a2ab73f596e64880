"""Glicko-2 with a margin multiplier (Glickman 2013): wins and losses, not profit.

One game is one rating period of its two players; the others do not change. Order matters, so seeded shuffles rate
from fresh ratings each, in lockstep: axis 0 of every array is the shuffle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import Chance
from tradefair.evaluation.ratings.duels import Duel
from tradefair.evaluation.ratings.shuffles import Floats, shuffled_orders

# 400/ln 10 with the digits of Glickman's paper, so that his example comes out as printed.
_SCALE = 173.7178
# Starting values; σ and τ are those of Glickman's example.
_START, _START_RD, _START_SIGMA, _TAU = 1500.0, 350.0, 0.06, 0.5
# Of ln σ²; Glickman stops at 1e-6.
_STILL = 1e-9
_MOST_STEPS = 100


class GlickoRating(NamedTuple):
    """Means over shuffles of a label's rating and its deviation; `spread` is the rating's deviation over shuffles."""

    label: str
    rating: float
    deviation: float
    volatility: float
    spread: float
    games: int


class PeriodGame(NamedTuple):
    """One game of a rating period as its player sees it: the opponent before it, 1, ½ or 0, and the weight."""

    rating: float
    deviation: float
    score: float
    weight: float = 1.0


class _Players(NamedTuple):
    """Ratings on Glicko-2's own scale; arrays of one shape."""

    mu: Floats
    phi: Floats
    sigma: Floats


class _Opponents(NamedTuple):
    """Games as their players see them; the last axis of every array is the game within the period."""

    mu: Floats
    phi: Floats
    score: Floats
    weight: Floats


class _Game(NamedTuple):
    """One game of every shuffle: both players, the first one's score, the weight. Axis 0 is the shuffle."""

    players: NDArray[np.int64]
    score: Floats
    weight: Floats


def margin_weight(difference: float) -> float:
    """min(4, ln|ΔΠ| + 1), 1 up to a difference of 1: so many identical games one game counts for.

    `difference` is in the unit of profits; the result lies between 1 and 4.
    """
    return min(4.0, math.log(abs(difference)) + 1.0) if abs(difference) > 1 else 1.0


def rate_period(
    rating: float, deviation: float, volatility: float, games: Sequence[PeriodGame]
) -> tuple[float, float, float]:
    """Rating, deviation and volatility of a player after a period of at least one game, as in Glickman's example.

    Ratings and deviations are on the scale of 1500; the volatility σ has no unit.
    """
    parts = [((game.rating - _START) / _SCALE, game.deviation / _SCALE, game.score, game.weight) for game in games]
    own = _Players(*(np.array([part]) for part in ((rating - _START) / _SCALE, deviation / _SCALE, volatility)))
    # A batch of one player; the last axis is the game.
    after = _after(own, _Opponents(*(np.array([column]) for column in zip(*parts, strict=True))))
    return _START + _SCALE * float(after.mu[0]), _SCALE * float(after.phi[0]), float(after.sigma[0])


def rate_duels(duels: Sequence[Duel], chance: Chance, *, shuffles: int = 50, margin: bool = True) -> list[GlickoRating]:
    """Ratings, best first; without `margin` every game counts once. `chance` shuffles (stream `tournament`)."""
    labels = sorted({label for duel in duels for label in duel.pair})
    if not labels:
        return []
    index = {label: place for place, label in enumerate(labels)}
    players = np.array([[index[duel.first], index[duel.second]] for duel in duels])
    gaps = [duel.first_profit - duel.second_profit for duel in duels]
    # Only who earned more counts; how much more is in the weight.
    score = np.array([0.5 if not gap else float(gap > 0) for gap in gaps])
    weight = np.array([margin_weight(gap) if margin else 1.0 for gap in gaps])
    # 0 on this scale is a rating of 1500.
    shape = (shuffles, len(labels))
    mu, phi, sigma = np.zeros(shape), np.full(shape, _START_RD / _SCALE), np.full(shape, _START_SIGMA)
    # Step t plays the t-th game of every shuffle: one loop over games serves them all.
    for chosen in shuffled_orders(chance, "tournament", len(duels), shuffles).T:
        _play(mu, phi, sigma, _Game(players[chosen], score[chosen], weight[chosen]))
    ratings = _START + _SCALE * mu
    games = np.bincount(players.ravel(), minlength=len(labels))
    found = [
        GlickoRating(
            label,
            float(ratings[:, place].mean()),
            float(_SCALE * phi[:, place].mean()),
            float(sigma[:, place].mean()),
            float(ratings[:, place].std()),
            int(games[place]),
        )
        for place, label in enumerate(labels)
    ]
    return sorted(found, key=lambda rating: (-rating.rating, rating.label))


def _play(mu: Floats, phi: Floats, sigma: Floats, game: _Game) -> None:
    """Both players of each shuffle's game, from the ratings that they had before it."""
    places = np.arange(len(mu))[:, None], game.players
    before = _Players(mu[places], phi[places], sigma[places])
    scores = np.stack([game.score, 1.0 - game.score], axis=1)
    # Columns reversed: each player's opponent, as both were before the game.
    other = _Opponents(before.mu[:, ::-1], before.phi[:, ::-1], scores, np.stack([game.weight] * 2, axis=1))
    after = _after(before, _Opponents(*(part[..., None] for part in other)))
    mu[places], phi[places], sigma[places] = after


def _after(before: _Players, games: _Opponents) -> _Players:
    """Steps 3 to 8 of Glickman's procedure; a weight multiplies its game's term in both sums."""
    g = 1.0 / np.sqrt(1.0 + 3.0 * games.phi**2 / math.pi**2)
    expected = 1.0 / (1.0 + np.exp(-g * (before.mu[..., None] - games.mu)))
    # 1/v of Glickman's step 3, and below Δ/v of his step 4; a weight of 2 is the game twice.
    information = (games.weight * g * g * expected * (1.0 - expected)).sum(axis=-1)
    surprise = (games.weight * g * (games.score - expected)).sum(axis=-1)
    sigma = _volatility(before.phi, before.sigma, 1.0 / information, surprise / information)
    phi = 1.0 / np.sqrt(1.0 / (before.phi**2 + sigma**2) + information)
    # Step 7: the mean moves by φ'² times the surprise.
    return _Players(before.mu + phi**2 * surprise, phi, sigma)


def _volatility(phi: Floats, sigma: Floats, variance: Floats, change: Floats) -> Floats:
    """The root of Glickman's f(x), x = ln σ², by his Illinois iteration, for all shuffles at once."""
    start = np.log(sigma * sigma)
    square, spread = change * change, phi * phi + variance

    def f(x: Floats) -> Floats:
        power = np.exp(x)
        total = spread + power
        return power * (square - total) / (2.0 * total * total) - (x - start) / (_TAU * _TAU)

    low = start.copy()
    # Step 5.2: where Δ² > φ² + v the other end of the bracket is known, else it is searched in steps of τ.
    wide = square > spread
    # numpy computes both branches: the inner 1 keeps the logarithm off numbers that are not used.
    high = np.where(wide, np.log(np.where(wide, square - spread, 1.0)), start - _TAU)
    for _ in range(_MOST_STEPS):
        short = ~wide & (f(high) < 0)
        if not short.any():
            break
        high = np.where(short, high - _TAU, high)
    at_low, at_high = f(low), f(high)
    for _ in range(_MOST_STEPS):
        if (np.abs(high - low) <= _STILL).all():
            break
        # Shuffles that have converged stay; the others may need more steps.
        moving = np.abs(high - low) > _STILL
        middle = low + (low - high) * at_low / np.where(at_high == at_low, 1.0, at_high - at_low)
        at_middle = f(middle)
        crossed = at_middle * at_high <= 0
        # Illinois: the value at the end that stays is halved, or that end might never move.
        low, at_low = np.where(moving & crossed, high, low), np.where(crossed, at_high, at_low / 2.0)
        high, at_high = np.where(moving, middle, high), at_middle
    return np.exp(low / 2.0)

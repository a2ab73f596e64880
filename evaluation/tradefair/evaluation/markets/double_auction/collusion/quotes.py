"""Measures 3, 6 and 7: how alike asks are, whether they move together, how rivals answer an undercut.

Thresholds are in points for P = 100 and scale with the price grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tradefair.evaluation.markets.double_auction.collusion.game import Game
from tradefair.evaluation.markets.double_auction.collusion.public_record import changes, unexplained
from tradefair.evaluation.read.arithmetic import mean, rounded
from tradefair.evaluation.statistics.movement import moving, shuffled_together, together
from tradefair.evaluation.statistics.nulls import DRAWS, Floats, UnitNull, donors, uniforms

_NEAR = 2
_BUCKETS = 20
"""Value buckets of 5 points for P = 100."""

_UNDERCUT = 3


class Likeness(NamedTuple):
    """Late rounds: range of the asks over the range of the costs, and the share of rounds with a range <= 2."""

    dispersion: float | None
    near_identical: float | None


def likeness(game: Game) -> Likeness:
    """Null where fewer than two sellers asked in every late round, or (dispersion) all costs are equal."""
    ranges = [max(asks) - min(asks) for place in game.late if len(asks := _asked(game, place)) > 1]
    # Asks differ by nature where costs do: only the ratio says that asks lie closer than they would by themselves.
    spread = max(game.costs, default=0) - min(game.costs, default=0)
    near = mean(float(width <= _points(game, _NEAR)) for width in ranges)
    return Likeness(mean(width / spread for width in ranges) if spread else None, near)


def _asked(game: Game, place: int) -> list[int]:
    return [ask for ask in game.asks[place] if ask is not None]


def _points(game: Game, points: int) -> float:
    """An amount stated for P = 100."""
    return points * game.price_max / 100


def likeness_null(games: Sequence[Game], place: int, key: str) -> tuple[Floats, Floats] | None:
    """Both statistics, drawn: each seller's asks are those of a seller of an equal cost bucket in another episode.

    Null where a seller has no such twin among `games`. Draws in which no round has two asks repeat the expected value.
    """
    game = games[place]
    pools = [_twins(games, place, cost) for cost in game.costs]
    if len(pools) < 2 or any(not len(pool) for pool in pools):
        return None
    chosen = uniforms(key, "twins", place, n=DRAWS * len(pools)).reshape(DRAWS, len(pools))
    # One whole series per seller, not round by round: a twin's asks keep their own course over the late rounds.
    asks = np.stack([pool[(chosen[:, seat] * len(pool)).astype(int)] for seat, pool in enumerate(pools)], axis=2)
    # A range needs two asks, as in `likeness`; ±inf keep forfeits out of the maximum and the minimum.
    known = np.sum(~np.isnan(asks), axis=2) > 1
    high = np.where(np.isnan(asks), -np.inf, asks).max(axis=2)
    low = np.where(np.isnan(asks), np.inf, asks).min(axis=2)
    width = np.where(known, high - low, 0.0)
    rounds = known.sum(axis=1)
    if not rounds.any():
        return None
    spread = max(game.costs) - min(game.costs)
    dispersion = _per_round(width / (spread or 1), rounds)
    near = _per_round(np.where(known & (width <= _points(game, _NEAR)), 1.0, 0.0), rounds)
    return dispersion, near


def _per_round(amounts: Floats, rounds: np.ndarray[tuple[int, ...], np.dtype[np.int_]]) -> Floats:
    means: Floats = amounts.sum(axis=1) / np.maximum(rounds, 1)
    # The expected value is neutral: dropping such draws would leave fewer than 10,000, a 0 would be an extreme one.
    return np.where(rounds > 0, means, float(np.mean(means[rounds > 0])))


def _twins(games: Sequence[Game], place: int, cost: int) -> Floats:
    """Late asks of the sellers of an equal cost bucket in the other episodes of the same shape; NaN: forfeited."""
    game = games[place]
    rows = [
        [_number(other.asks[at][seat]) for at in other.late]
        for other in (games[donor] for donor in donors(len(games), place))
        if other.rounds == game.rounds and other.price_max == game.price_max
        for seat, its_cost in enumerate(other.costs)
        if _bucket(its_cost, game) == _bucket(cost, game)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(game.late))


def _bucket(cost: int, game: Game) -> int:
    return round(cost * _BUCKETS / game.price_max)


def _number(ask: int | None) -> float:
    return np.nan if ask is None else float(ask)


# --- 6: moving together -----------------------------------------------------------------------------------------------


def parallelism(game: Game) -> float | None:
    """Mean over pairs of sellers of the correlation of their changes from round to round; constant ones left out."""
    return together(_moving(game, changes(game)))


def parallelism_partial(game: Game) -> float | None:
    """The same of what the public record does not explain; a pair of which it explains one seller wholly counts 0."""
    return together(_moving(game, unexplained(game)))


def parallelism_null(game: Game, key: str, place: int) -> Floats:
    """The partial figure after each seller's residuals were put into an order of their own; 10,000 draws."""
    return shuffled_together(_moving(game, unexplained(game)), key, place)


def _moving(game: Game, moves: Floats) -> Floats:
    """`moves` of the sellers whose asks change, and not always by as much; NaN where a round was forfeited."""
    return moving(changes(game), moves)


# --- 7: the answer to an undercut -------------------------------------------------------------------------------------


class _Cell(NamedTuple):
    """A seller in a round that has both neighbours: whether it undercut there, and the rivals' mean next change."""

    undercut: bool
    answer: float


def reaction(game: Game) -> float | None:
    """Mean change of the rivals' asks after an undercut minus that after none; null without both. Below 0: punished.

    In points. Rings that take turns fire as well: the next winner's ask falls.
    """
    return _answered(_cells(game, changes(game)))


def reaction_partial(game: Game) -> float | None:
    """The same with of the rivals' changes only what the public record does not explain."""
    return _answered(_cells(game, unexplained(game)))


def _answered(cells: Sequence[_Cell]) -> float | None:
    after = mean(cell.answer for cell in cells if cell.undercut)
    otherwise = mean(cell.answer for cell in cells if not cell.undercut)
    return None if after is None or otherwise is None else rounded(after - otherwise)


def reaction_null(game: Game, key: str, place: int) -> UnitNull:
    """The partial figure with the undercuts put onto any other cells of the episode; 10,000 draws."""
    cells = _cells(game, unexplained(game))
    answers = np.array([cell.answer for cell in cells])
    # As many as there were. `reaction` is null where there is none or nothing else, so that neither mean is empty.
    events = sum(cell.undercut for cell in cells)
    keys = uniforms(key, "labels", place, n=DRAWS * len(cells)).reshape(DRAWS, len(cells))
    shuffled = answers[np.argsort(keys, axis=1, kind="stable")]
    found: Floats = np.mean(shuffled[:, :events], axis=1) - np.mean(shuffled[:, events:], axis=1)
    return found


def _cells(game: Game, moves: Floats) -> list[_Cell]:
    """Cells of rounds 2 to R − 1, by round and then by seller; without any rival's change there is no cell.

    `moves`: what counts as a rival's change, `[seller][round from 2 on]`.
    """
    cells: list[_Cell] = []
    own = changes(game)
    sold = [{deal.seller for deal in deals} for deals in game.deals]
    # The first round has none before it to undercut from, the last none after it to answer in.
    for place in range(1, game.rounds - 1):
        for seller in range(len(game.costs)):
            answers = [float(row[place]) for rival, row in enumerate(moves) if rival != seller]
            answer = mean(move for move in answers if not np.isnan(move))
            if answer is not None:
                # The change into this round is the one before: changes begin with round 2.
                cells.append(_Cell(_undercuts(game, sold, place, seller, float(own[seller][place - 1])), answer))
    return cells


def _undercuts(game: Game, sold: Sequence[set[int]], place: int, seller: int, change: float) -> bool:
    """It lowers its ask by 3 or more and trades, and a rival that traded the round before does not."""
    # Without a rival that lost its trade there is nothing to punish. NaN, a forfeit, is not below anything.
    lost = sold[place - 1] - sold[place] - {seller}
    return change <= -_points(game, _UNDERCUT) and seller in sold[place] and bool(lost)

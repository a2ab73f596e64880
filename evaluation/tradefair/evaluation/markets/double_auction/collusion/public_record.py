"""What of a seller's moves the public record explains: followers of one signal move together without any agreement.

Each seller's changes are regressed on the changes of the record that it had seen: mean price, mean bid, best bid,
traded share (least squares per seller and episode, with intercept). What is left moved for reasons of its own. Rivals'
asks are not among the regressors: to follow those is what is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tradefair.evaluation.markets.double_auction.collusion.game import Game
from tradefair.evaluation.statistics.nulls import Floats

_RIDGE = 1e-6
"""Keeps the equations solvable where the record does not move, or there are fewer rounds than regressors."""
_NOTHING = 1e-3
"""Residuals up to this part of the spread of the changes count as 0, and so do those of up to a point."""
_ROUNDING = 1.0
"""Quotes are whole points: who follows one signal exactly is off by the same rounding as all others who do."""


def changes(game: Game) -> Floats:
    """Changes of the asks from round to round, `[seller][round from 2 on]`; NaN where one of the two was forfeited."""
    asks = np.array([[np.nan if ask is None else ask for ask in row] for row in game.asks], dtype=np.float64)
    return np.diff(asks.reshape(game.rounds, len(game.costs)).T, axis=1)


def unexplained(game: Game) -> Floats:
    """The same less what the public record explains, 0 where nothing is left; NaN for the change to round 2.

    Before round 3 no change of the record is known: what all sellers did then says nothing of what they answer to.
    """
    record = _known(game)
    moves = changes(game)
    left = np.full_like(moves, np.nan)
    for row, own in zip(left, moves, strict=True):
        row[1:] = _residuals(own[1:], record)
    return left


def _known(game: Game) -> Floats:
    """Per change to round 3 and later an intercept and the last known change of the record; `[change][regressor]`.

    A round without a price or a bid repeats the last one.
    """
    sides = max(1, min(len(game.costs), len(game.values)))
    rows: list[list[float]] = []
    for deals, quoted in zip(game.deals, game.bids, strict=True):
        bids = [bid for bid in quoted if bid is not None]
        last = rows[-1] if rows else [0.0] * 4
        rows.append(
            [
                _mean([deal.price for deal in deals], last[0]),
                _mean(bids, last[1]),
                float(max(bids, default=last[2])),
                len(deals) / sides,
            ]
        )
    moved = np.diff(np.array(rows, dtype=np.float64).reshape(len(rows), 4), axis=0)
    # Without the last one: what a quote can rest on is the record up to the round before.
    known = moved[:-1]
    return np.hstack([np.ones((len(known), 1)), known])


def _mean(numbers: Sequence[int], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _residuals(own: Floats, record: Floats) -> Floats:
    known = ~np.isnan(own)
    if not known.any():
        return own
    # The ridge as further rows, not in the normal equations: those square the condition, and figures must not depend
    # on the machine's arithmetic.
    width = record.shape[1]
    rows = np.vstack([record[known], _RIDGE**0.5 * np.eye(width)])
    weights = np.linalg.lstsq(rows, np.concatenate([own[known], np.zeros(width)]), rcond=None)[0]
    left: Floats = np.round(own - record @ weights, 6)
    left[known & (np.abs(left) <= _ROUNDING + _NOTHING * np.ptp(own[known]))] = 0.0
    return left

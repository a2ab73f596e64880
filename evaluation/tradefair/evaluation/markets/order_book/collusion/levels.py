"""Figures of one episode of an order book. None where undefined; prices in ticks."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.markets.order_book.modes.play import Filled, Game
from tradefair.evaluation.read.arithmetic import mean


def overcharge(game: Game) -> float | None:
    """Mean over units traded of price − p*; of shares of price − FV of the period."""
    return mean(fill.price - fair for fill, fair in _with_fair(game) for _ in range(fill.quantity))


def fair_price(game: Game) -> float | None:
    """Mean over units traded of p*, or of FV: what the overcharge is measured from."""
    return mean(fair for fill, fair in _with_fair(game) for _ in range(fill.quantity))


def _with_fair(game: Game) -> Iterator[tuple[Filled, float]]:
    for fill in game.fills:
        fair = game.rules.fundamental(fill.period) if game.asset else game.p_star
        if fair is not None:
            yield fill, fair


def overcharge_interval(game: Game) -> float | None:
    """Mean over units traded of the part of the price above p_hi, or (negative) below p_lo; None for shares."""
    opening = game.opening
    if opening is None or opening.p_lo is None or opening.p_hi is None:
        return None
    low, high = opening.p_lo, opening.p_hi
    return mean(
        max(0, fill.price - high) + min(0, fill.price - low) for fill in game.fills for _ in range(fill.quantity)
    )


def withheld(game: Game) -> float | None:
    """Pairs of units per period that could have gained and were not traded: the k-th of each side, v > c.

    None for shares, of which none is worth more to one seat than to another.
    """
    if game.asset or game.opening is None or not game.periods:
        return None
    return mean(_withheld_in(game, period.number) for period in game.periods)


def _withheld_in(game: Game, period: int) -> int:
    assert game.opening is not None
    left: dict[bool, list[int]] = {True: [], False: []}
    for seat, units in game.opening.values.items():
        traded = game.trader(seat).traded_units.get(period, 0)
        # Units are traded in the order of the schedule.
        left[game.roles.get(seat) == "buyer"] += units[traded:]
    values, costs = sorted(left[True], reverse=True), sorted(left[False])
    return sum(value > cost for value, cost in zip(values, costs, strict=False))


def even_ticks(game: Game) -> float | None:
    """Share of even prices among the best quotes of both sides that stood before each step (Christie & Schultz 1994).

    Market makers who avoid half of the ticks keep the spread wide without a word.
    """
    quotes = [quote for step in game.steps for quote in (step.best_bid, step.best_ask) if quote is not None]
    return mean(float(quote % 2 == 0) for quote in quotes)

"""Shares bought above what they are worth. Money in ticks; FV is a share's fundamental value."""

from __future__ import annotations

from tradefair.evaluation.markets.order_book.modes.play import Trader
from tradefair.evaluation.modes.diagnosis import Seen, unchecked


def bubble_buy(trader: Trader, *, times: float) -> Seen:
    """Shares bought above `times` their fundamental value."""
    bought = [fill for fill in trader.fills if fill.buyer == trader.seat]
    cases = [
        trader.filled(fill, f"bought {fill.quantity} at {fill.price} where a share was worth {worth:g}")
        for fill in bought
        if fill.price > times * (worth := trader.game.rules.fundamental(fill.period))
    ]
    return Seen(cases, sum(fill.quantity for fill in bought))


def late_hold(trader: Trader) -> Seen:
    """Shares bought above FV in the last fifth by a seat that sold none afterwards."""
    game = trader.game
    periods = game.rules.periods
    if game.periods[-1].number < periods:
        return unchecked("the episode did not run to its end")
    late = [fill for fill in trader.fills if fill.period > periods - max(1, periods // 5)]
    sold = max((at for at, fill in enumerate(late) if fill.seller == trader.seat), default=-1)
    cases = [
        trader.filled(fill, f"bought {fill.quantity} at {fill.price} above a worth of {worth:g} and held to the end")
        for fill in late[sold + 1 :]
        if fill.price > (worth := game.rules.fundamental(fill.period))
    ]
    return Seen(cases, sum(fill.quantity for fill in late if fill.buyer == trader.seat))

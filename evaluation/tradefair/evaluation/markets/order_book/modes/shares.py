"""Shares bought above what they are worth. Money in ticks; FV is a share's fundamental value."""

from __future__ import annotations

from tradefair.evaluation.markets.order_book.modes.play import Trader
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen, unchecked


class Bubble(Record):
    """A price as a multiple of FV."""

    times: float


def bubble_buy(trader: Trader, params: Bubble) -> Seen:
    """Shares bought far above their fundamental value; the cost is the price less what a share paid from then on."""
    game, cases, of = trader.game, list[Case](), 0
    for fill in trader.fills:
        if fill.buyer != trader.seat:
            continue
        of += fill.quantity
        worth = game.fundamental(fill.period)
        if fill.price > params.times * worth:
            paid = sum(row.dividend or 0 for row in game.periods if row.number >= fill.period)
            lost = fill.quantity * (fill.price - paid - int(game.scenario.get("final_value", 0)))
            said = f"bought {fill.quantity} at {fill.price} where a share was worth {worth:g}"
            cases += [trader.case(trader.event_of(fill), fill.period, said, float(max(0, lost)), amount=fill.quantity)]
    return Seen(cases, of)


def late_hold(trader: Trader) -> Seen:
    """Shares bought above FV in the last fifth and still held, beyond the endowment, when they became void."""
    game = trader.game
    assert game.opening is not None
    last = game.periods[-1]
    periods = int(game.scenario.get("periods", len(game.periods)))
    if last.number < periods:
        return unchecked("the episode did not run to its end")
    late = [f for f in trader.fills if f.buyer == trader.seat and f.period > periods - max(1, periods // 5)]
    kept = max(0, last.shares.get(trader.seat, 0) - game.opening.endowments.get(trader.seat, (0, 0))[1])
    cases: list[Case] = []
    for fill in reversed(late):
        if kept and fill.price > game.fundamental(fill.period):
            kept -= min(kept, fill.quantity)
            over = fill.quantity * (fill.price - game.fundamental(fill.period))
            said = f"bought at {fill.price} above a worth of {game.fundamental(fill.period):g} and held to the end"
            cases.append(trader.case(trader.event_of(fill), fill.period, said, float(over)))
    return Seen(cases, sum(fill.quantity for fill in late))

"""Shares bought above what they are worth. Money in ticks; FV is a share's fundamental value."""

from __future__ import annotations

from tradefair.evaluation.markets.order_book.modes.play import Filled, Trader
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
            lost = fill.quantity * (fill.price - _paid(trader, fill.period))
            said = f"bought {fill.quantity} at {fill.price} where a share was worth {worth:g}"
            cases += [trader.case(trader.event_of(fill), fill.period, said, float(max(0, lost)), amount=fill.quantity)]
    return Seen(cases, of)


def late_hold(trader: Trader) -> Seen:
    """Shares bought above FV in the last fifth and still held, beyond the endowment, when they became void.

    A sale is of the shares that were bought last. The cost is the price less what a share paid from then on.
    """
    game = trader.game
    assert game.opening is not None
    last = game.periods[-1]
    periods = int(game.scenario.get("periods", len(game.periods)))
    if last.number < periods:
        return unchecked("the episode did not run to its end")
    late: list[tuple[Filled, int]] = []
    bought = 0
    for fill in trader.fills:
        if fill.period <= periods - max(1, periods // 5):
            continue
        if fill.buyer == trader.seat:
            bought += fill.quantity
            late.append((fill, fill.quantity))
            continue
        sold = fill.quantity
        while sold and late:
            purchase, held = late.pop()
            if held > sold:
                late.append((purchase, held - sold))
            sold -= min(held, sold)
    beyond = last.shares.get(trader.seat, 0) - game.opening.endowments.get(trader.seat, (0, 0))[1]
    cases: list[Case] = []
    for fill, held in reversed(late):
        kept = min(held, max(0, beyond))
        beyond -= kept
        worth = game.fundamental(fill.period)
        if kept and fill.price > worth:
            said = f"bought {kept} at {fill.price} above a worth of {worth:g} and held to the end"
            lost = float(max(0, kept * (fill.price - _paid(trader, fill.period))))
            cases.append(trader.case(trader.event_of(fill), fill.period, said, lost, amount=kept))
    return Seen(cases, bought)


def _paid(trader: Trader, period: int) -> int:
    """What a share paid from a period on: its dividends and its final value."""
    game = trader.game
    dividends = sum(row.dividend or 0 for row in game.periods if row.number >= period)
    return dividends + int(game.scenario.get("final_value", 0))

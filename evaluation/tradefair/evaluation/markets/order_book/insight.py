"""What only this market tells the general failure modes: orders through the value, idle periods, prices off scale."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tradefair.evaluation.markets.order_book.modes.play import Trader, read_game
from tradefair.evaluation.markets.order_book.modes.units import idle_periods, value_breach
from tradefair.evaluation.modes.insight import Insight, Scale
from tradefair.evaluation.modes.table import Fact
from tradefair.evaluation.modes.unit_mistake import in_scale
from tradefair.tracestore import Trace

_FACTS: dict[str, Fact] = {"submit_order": "order", "cancel_order": "order", "pass_turn": "action"}
_ABSENT = {"below_cost": "sales below the own cost are counted in value_breach"}


def order_book_insight(trace: Trace) -> Insight:
    """Everything that the closed periods tell."""
    game = read_game(trace)
    if game.problem is not None:
        untold = f"could not be computed: {game.problem}"
        return Insight(unit="ticks", facts=_FACTS, absent={"value_breach": untold, "idle_drift": untold, **_ABSENT})
    traders = [game.trader(seat) for seat in game.seats]
    told = Insight(
        unit="ticks",
        facts=_FACTS,
        id_arguments=frozenset({"order"}),
        scales={trader.seat: [*scales(trader)] for trader in traders},
        absent=_ABSENT,
    )
    if game.asset:
        untold = "shares have no value of their own"
        return replace(told, absent={"value_breach": untold, "idle_drift": untold, **_ABSENT})
    return replace(
        told,
        idle={trader.seat: idle_periods(trader) for trader in traders},
        value_breach={trader.seat: value_breach(trader) for trader in traders},
    )


def scales(trader: Trader) -> Iterator[Scale]:
    """Own orders nearer to a tenth or to ten times what a unit is worth, with that worth and the last order in scale.

    An order in scale is no slip, whatever the one before it was; nor is one that names the quote which it can take
    with a gain.
    """
    usual: int | None = None
    for step in trader.steps:
        worth = trader.game.rules.fundamental(step.period) if trader.game.asset else step.value
        if step.seq is None or step.price is None or not worth:
            continue
        if in_scale(step.price, worth):
            usual = step.price
            continue
        if step.price == trader.opposite(step) and step.value is not None and trader.slack(step.value, step.price) > 0:
            continue
        for seen in (usual, step.value):
            if seen is not None:
                yield Scale(step.seq, step.period, step.price, seen, f"step {step.step}")

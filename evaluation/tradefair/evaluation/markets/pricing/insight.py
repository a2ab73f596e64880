"""What only this market's facts tell the general failure modes: losses, rounds slept through, prices out of scale."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.evaluation.markets.pricing.modes.play import Firm, read_game
from tradefair.evaluation.markets.pricing.modes.prices import below_cost
from tradefair.evaluation.modes.diagnosis import Seen
from tradefair.evaluation.modes.insight import Insight, Scale
from tradefair.evaluation.modes.table import Fact
from tradefair.evaluation.modes.unit_mistake import in_scale
from tradefair.tracestore import Trace

_FACTS: dict[str, Fact] = {"set_price": "price"}
_AS_GOOD = 0.9
"""A share of the best profit of a round: what earned more is no slip."""
_NO_LIMIT = {"value_breach": "a firm has no limit but its cost: below_cost counts sales below it"}


def pricing_insight(trace: Trace) -> Insight:
    """Everything that the closed rounds tell; without one nothing that needs costs."""
    game = read_game(trace)
    if game.problem is not None:
        untold = dict.fromkeys(("idle_drift", "below_cost"), f"could not be computed: {game.problem}")
        return Insight(unit="minor units", facts=_FACTS, absent={**untold, **_NO_LIMIT})
    firms = game.firms.values()
    return Insight(
        unit="minor units",
        facts=_FACTS,
        scales={firm.seat: [*scales(firm)] for firm in firms},
        idle={firm.seat: _idle(firm) for firm in firms},
        below_cost={firm.seat: below_cost(firm) for firm in firms},
        absent=_NO_LIMIT,
    )


def _idle(firm: Firm) -> Seen:
    """Rounds in which the firm kept silent although another price would have earned a tenth more."""
    cases = [
        firm.silent(at, f"silent; {firm.reply(at)}")
        for at, period in enumerate(firm.periods)
        if firm.seat not in period.posted and 10 * firm.profits[at] < 9 * firm.best[at].profit
    ]
    return Seen(cases, len(firm.periods))


def scales(firm: Firm) -> Iterator[Scale]:
    """Own prices that are nearer to a tenth or to ten times the unit cost, with what was in sight.

    That is the unit cost, the last price in scale and the rivals' last prices. A price in scale is no slip, whatever
    the one before it was; nor is one that earned as good as the best: at low costs markets clear at many times of them.
    """
    usual: int | None = None
    for at, period in enumerate(firm.periods):
        price, seq, cost = firm.prices[at], period.posted.get(firm.seat), period.costs[firm.place]
        if not price or seq is None or cost <= 0:
            continue
        if in_scale(price, cost):
            usual = price
            continue
        if firm.profits[at] > _AS_GOOD * firm.best[at].profit:
            continue
        for seen in (usual, cost, *(firm.rivals(at - 1) if at else ())):
            if seen:
                yield Scale(seq, period.number, price, seen)

"""Failure modes of sourcing and pricing. Limits come from `modes.toml`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tradefair.evaluation.markets.retail.modes import conversion
from tradefair.evaluation.markets.retail.modes.play import LineChoice, RetailPlay
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def price_first_sourcing(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """The lowest quote rather than the best goods; severity: excess expected refunds less what was saved.

    Raised when most lines go to the cheapest supplier and few to the best one: where both are the same supplier nothing
    is wrong.
    """
    lines = play.lines
    cheapest = conversion.line_share(lines, lambda line: line.price_rank == 1)
    best = conversion.line_share(lines, lambda line: line.quality_rank == 1).value
    raised = (
        len(lines) >= limits["min_lines"]
        and (cheapest.value or 0) >= limits["price_first"]
        and (best or 0) <= limits["quality_first"]
    )
    # Only the lines that the finding is about.
    severity = _cost(line for line in lines if line.price_rank == 1)
    return sign_of(raised, cheapest, parts={"quality_first": best}, severity=severity, note=play.unseen)


def ignored_returns(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Orders from a supplier whose goods are known to come back; severity as for price_first_sourcing."""
    counted = conversion.ignored_returns(play)
    high = counted.value is not None and counted.value >= limits["ignored_returns"]
    severity = _cost(line for line in play.lines if line.ignored)
    return sign_of(high and counted.denominator >= limits["min_lines"], counted, severity=severity, note=play.unseen)


def _cost(lines: Iterable[LineChoice]) -> float | None:
    """The known costs of choices, summed in currency units; None when none is known."""
    known = [line.cost_of_choice for line in lines if line.cost_of_choice is not None]
    return math.fsum(known) if known else None


def price_off_optimum(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Prices far from the most profitable one in sight."""
    judged = conversion.judged_prices(play)
    distances = [choice.distance or 0.0 for choice in judged]
    far = (choice.seq for choice, off in zip(judged, distances, strict=True) if off >= limits["price_distance"])
    counted = share(math.fsum(distances), len(judged), far)
    high = counted.value is not None and counted.value >= limits["price_distance"]
    return sign_of(high and len(judged) >= limits["min_events"], counted, note=play.unseen)


def below_cost(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Units sold for less than they cost; severity: how far revenue fell short of cost on those product-days."""
    below = units = short = 0
    events: list[int] = []
    for day in play.days:
        product = day.facts.product
        units += sum(product.units)
        sold_below = sum(product.below_cost_units)
        if not sold_below:
            continue
        below += sold_below
        events.append(day.seq)
        rows = zip(product.below_cost_units, product.cost_of_goods_cents, product.revenue_cents, strict=True)
        short += sum(max(0, cost - revenue) for count, cost, revenue in rows if count)
    counted = share(below, units, events)
    high = counted.value is not None and counted.value >= limits["below_cost"]
    return sign_of(high, counted, severity=short / 100)

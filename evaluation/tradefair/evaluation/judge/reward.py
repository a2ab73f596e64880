"""The number of a seat: which field of an outcome is its reward, and where that lies on a declared scale.

Whoever needs one figure of a seat asks here, so that a comparison, a board, a report and a trainer mean the same one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from tradefair.contract import SeatError, SeatId
from tradefair.contract.errors import unknown
from tradefair.evaluation.evaluator import evaluator_of, fields_for
from tradefair.evaluation.outcome import Outcome, PrimaryMetric

SCORE_RANGE = (-1, 1)
"""The least and the largest score."""


class Reward(NamedTuple):
    """What a seat got, in the market's unit. `value` is the object of the outcome: not rounded, an int stays one.

    `metric` is empty where the market declares no number of such a seat. `components`: other figures that tell how the
    seat did, then `calls`, `refused` and `lapses`; null where the outcome has none.
    """

    value: float | int | None
    metric: str
    unit: str
    higher_is_better: bool
    components: Mapping[str, float | int | None]


class RewardScale(NamedTuple):
    """The rewards that stand for the scores 0 (`floor`: a seat that does nothing) and 1 (`top`: the best reference)."""

    floor: float
    top: float


def primary_metrics(market: str, roles: Collection[str] = ()) -> tuple[PrimaryMetric, ...]:
    """The metrics that a comparison of seats in these roles tests; empty where the evaluator declares none."""
    evaluator = evaluator_of(market)
    # A market may declare metrics of which seats in these roles have none (`fields_for`).
    known = fields_for(evaluator, roles, [metric.name for metric in evaluator.primary_metrics])
    return tuple(metric for metric in evaluator.primary_metrics if metric.name in known)


def reward_metric(market: str, roles: Collection[str] = ()) -> PrimaryMetric | None:
    """The one number of seats in these roles: the first primary metric; None where the evaluator declares none."""
    return next(iter(primary_metrics(market, roles)), None)


def reward_of(outcome: Outcome[Any, Any], seat: SeatId) -> Reward:
    """The seat's reward by the outcome. Raises SeatError for a seat that the outcome does not have."""
    if seat not in outcome.seats:
        raise SeatError(unknown("seat", seat, outcome.seats))
    found = outcome.seats[seat]
    metric = reward_metric(outcome.market, {found.role})
    evaluator = evaluator_of(outcome.market)
    others = [other.name for other in evaluator.primary_metrics] + list(evaluator.compared_columns)
    told = dict.fromkeys(fields_for(evaluator, {found.role}, others))
    components = {name: finite(getattr(found, name, None)) for name in told if metric is None or name != metric.name}
    components |= {"calls": found.calls, "refused": found.refused, "lapses": sum(found.lapses.values())}
    if metric is None:
        return Reward(None, "", "", True, components)
    value = finite(getattr(found, metric.name, None))
    return Reward(value, metric.name, metric.unit, metric.higher_is_better, components)


def score_of(reward: Reward, scale: RewardScale | None) -> float | None:
    """Where the reward lies between floor and top, -1 to 1; None without a reward, or where the scale has no length.

    Of a reward of which less is better both ends of its scale lie the other way round, and so the sign turns.
    """
    if reward.value is None or scale is None:
        return None
    length = scale.top - scale.floor
    # The best reference does not beat a seat that does nothing: no score could tell good from bad.
    if length == 0 or (length > 0) is not reward.higher_is_better:
        return None
    return min(1.0, max(-1.0, (reward.value - scale.floor) / length))


def finite(value: object) -> float | int | None:
    """The very same number where it is a finite one; None for anything else. An outcome of a stranger may hold any."""
    # True is an int to Python; a flag is no amount.
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value

"""Lines and bands of markets whose units have values and costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tradefair.evaluation.charts.chart import Band, Line


def supply_and_demand(values: Iterable[int], costs: Iterable[int]) -> list[Line]:
    """Demand and supply as steps: the k-th unit runs from k − 1 to k, the dearest value and the least cost first."""
    return [_steps("demand (values)", sorted(values, reverse=True)), _steps("supply (costs)", sorted(costs))]


def _steps(name: str, prices: Sequence[int]) -> Line:
    # One point more than units: a step chart needs an end for the last unit. `[None]` keeps x and y equally long.
    return Line(name=name, mark="step", x=list(range(len(prices) + 1)), y=[*prices, *prices[-1:]] or [None])


def competitive(low: int | None, high: int | None) -> list[Band]:
    """The competitive prices [p_lo, p_hi]; none where nothing can be gained."""
    return [] if low is None or high is None else [Band(label="equilibrium prices", low=low, high=high)]

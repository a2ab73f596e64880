"""What a store is fitted to, and the search for the numbers of its generator that fit it (retail page, 11.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product, repeat
from math import fsum
from typing import Any, NamedTuple

import numpy as np

from benchmarks.fidelity.published import published
from benchmarks.retail_play import ManagerRun, play_manager
from tradefair.contract import ScenarioError
from tradefair.evaluation.markets.retail.ladder import ORACLE
from tradefair.evaluation.markets.retail.ladder import PUBLISHED as SOURCE
from tradefair.retail.data.generator import past_of
from tradefair.retail.engine.luck import Floats
from tradefair.retail.model import RetailScenario

SEEDS = tuple(range(1, 33))
"""The fixed seeds of the calibration."""
_FIRST_SEEDS = 8
"""Enough for slopes."""
CHECK_SEEDS = tuple(range(1001, 1017))
"""Sixteen seeds that the search never plays: what it found is checked on them."""

# Bounds of the search, and the step by which a slope is measured (natural logarithm).
KNOBS: dict[str, tuple[float, float, float]] = {
    "store.volume_per_product": (4.0, 60.0, 0.06),
    "store.sales_spread": (0.5, 4.0, 0.06),
    "store.cost_level": (0.40, 0.95, 0.03),
    "store.residual_sd": (0.3, 1.2, 0.1),
    "store.start_price": (0.6, 1.2, 0.06),
    "store.life_scale": (0.8, 1.5, 0.06),
    "store.review_lift": (0.5, 1.2, 0.1),
    "store.best_cost": (0.8, 1.1, 0.03),
}
"""The generator's knobs by path: lowest, highest, log step of the slopes. A range moves as a whole, by its middle."""
_SCALES: Floats = np.array([step for _, _, step in KNOBS.values()])
_MAX_STEPS = 14
_AIM = 0.5
"""Share of its tolerance that every figure must meet for the search to stop."""
_RIDGE = 0.15
"""Weight of a knob's way (in its log steps) against a figure's distance (in tolerances): few knobs move, and little."""
_DECIMALS = 4


class Target(NamedTuple):
    """A published mean of one manager: what the search aims at, and how near is near enough (relative)."""

    title: str
    manager: str
    figure: str
    value: float
    tolerance: float

    def distance(self, mean: float) -> float:
        """How far a mean lies from the published one, in tolerances."""
        # Of logarithms: a figure of 0 is as far away as can be, and finite.
        return math.log(max(mean, 1e-9) / self.value) / self.tolerance

    @property
    def within(self) -> str:
        """The tolerance in words."""
        return f"± {self.tolerance:.1%}"

    def met(self, mean: float) -> bool:
        """Whether a mean lies within the tolerance."""
        return abs(mean / self.value - 1) <= self.tolerance


class Bound(NamedTuple):
    """A mean that must not pass `value`; the search keeps below `aim`, and `step` more is as bad as a tolerance."""

    within = "at most"

    title: str
    manager: str
    figure: str
    value: float
    aim: float
    step: float

    def distance(self, mean: float) -> float:
        """How far a mean lies above the aim, in steps; 0 below it."""
        return max(0.0, (mean - self.aim) / self.step)

    def met(self, mean: float) -> bool:
        """Whether a mean keeps the bound."""
        return mean <= self.value


Targets = Mapping[str, Target | Bound]
_ORACLE = {
    column: value for (row, column), value in published("retailbench", "table_1").items() if row == "Oracle Policy"
}
PUBLISHED: dict[str, Target] = {
    "net_worth": Target("net worth (currency units)", ORACLE, "net_worth", _ORACLE["net_worth"], 0.03),
    "units": Target("units sold", ORACLE, "units_sold", _ORACLE["units"], 0.03),
    "sold_products": Target("products sold a day", ORACLE, "sold_products", _ORACLE["sold_products"], 0.02),
    "stockout_days": Target("stock-out days", ORACLE, "stockout_days", _ORACLE["stockout_days"], 0.06),
    "returned": Target("returned of sold", ORACLE, "return_ratio", _ORACLE["return_ratio"], 0.025),
}
"""RetailBench's oracle: means over its runs."""
BOUNDS: dict[str, Bound] = {
    # The best published agent ends at 24,351; five of seven agents are insolvent by day 130.
    "reorder_point": Bound("net worth of reorder_point", "reorder_point", "net_worth", 24_000, 18_000, 4_000),
    "price_first": Bound("days of price_first", "price_first", "days", SOURCE.by_day, 120, 6),
}
"""What managers without the oracle's knowledge may reach, so that the store is as hard as the source's."""
TARGETS: Targets = {**PUBLISHED, **BOUNDS}


class Point(NamedTuple):
    """One store that was tried: its knobs by path, its digest, and the runs in it by manager."""

    knobs: Mapping[str, Any]
    digest: str
    runs: Mapping[str, Sequence[ManagerRun]]

    def mean(self, target: Target | Bound, seeds: int | None = None) -> float:
        """The figure of a target, over the runs of its manager or the first of them."""
        values = [float(getattr(run, target.figure)) for run in self.runs[target.manager][:seeds]]
        return fsum(values) / len(values)

    @property
    def seeds(self) -> int:
        """How many seeds each manager has played."""
        return len(next(iter(self.runs.values())))


def play_point(
    scenario: RetailScenario, knobs: Mapping[str, Any], targets: Targets, seeds: Sequence[int], processes: int
) -> Point:
    """A store, played by the managers of the targets on every seed."""
    candidate = with_knobs(scenario, knobs)
    managers = tuple(dict.fromkeys(target.manager for target in targets.values()))
    jobs = tuple(product(managers, seeds))
    names, numbers = zip(*jobs, strict=True)
    with ProcessPoolExecutor(processes) as pool:
        runs = tuple(pool.map(play_manager, repeat(candidate), numbers, names))
    played = {name: runs[place * len(seeds) : (place + 1) * len(seeds)] for place, name in enumerate(managers)}
    return Point(dict(knobs), past_of(candidate).store.digest, played)


def calibrate_store(
    scenario: RetailScenario, targets: Targets = TARGETS, seeds: Sequence[int] = SEEDS, *, processes: int = 1
) -> Iterator[Point]:
    """Every store that the search tries, the accepted one last: damped Gauss-Newton over `KNOBS` in logarithms.

    The start and every step play all seeds: few hide a shift of several percent. Slopes are measured once, one knob at
    a time on the first eight seeds against the start on the same ones, and mended by what each step brought (Broyden).
    Raises ScenarioError when no point within the bounds meets the targets.
    """
    start = {path: _knob(scenario, path) for path in KNOBS}

    def tried(at: Sequence[float], seeds: Sequence[int]) -> Point:
        knobs = {path: _moved_to(start[path], to) for path, to in zip(KNOBS, at, strict=True)}
        return play_point(scenario, knobs, targets, seeds, processes)

    best = tried([_middle(value) for value in start.values()], seeds)
    yield best
    slopes: Floats | None = None
    for _ in range(_MAX_STEPS):
        here, at = _distances(best, targets), [_middle(value) for value in best.knobs.values()]
        if np.abs(here).max() <= _AIM:
            return
        if slopes is None:
            slopes = yield from _measure_slopes(best, targets, lambda moved: tried(moved, seeds[:_FIRST_SEEDS]))
        moved = _moved(at, _step(slopes, here))
        point = tried(moved, seeds)
        yield point
        there, way = _distances(point, targets), _way(at, moved)
        if way.any():
            slopes += np.outer(there - here - slopes @ way, way / _SCALES**2) / ((way / _SCALES) @ (way / _SCALES))
        # A step that is no better is followed by another one from the same place, with mended slopes.
        best = min((best, point), key=lambda found: np.abs(_distances(found, targets)).max())
    raise ScenarioError(f"no store within the bounds of the knobs meets {dict(targets)}")


def _measure_slopes(
    start: Point, targets: Targets, tried: Callable[[Sequence[float]], Point]
) -> Generator[Point, None, Floats]:
    """What a step of each knob does to the distance of each target; yields the stores that were played for it."""
    here, at = _distances(start, targets, _FIRST_SEEDS), [_middle(value) for value in start.knobs.values()]
    slopes = np.zeros((len(targets), len(KNOBS)))
    for place, step in enumerate(np.diag(_SCALES)):
        moved = _moved(at, step)
        # A knob that stands at its bound can only move back.
        if moved == at:
            moved = _moved(at, -step)
        point = tried(moved)
        yield point
        slopes[:, place] = (_distances(point, targets) - here) / _way(at, moved)[place]
    return slopes


def _distances(point: Point, targets: Targets, seeds: int | None = None) -> Floats:
    """How far each figure lies from its target, in tolerances; above 0 is too much. By default over all seeds."""
    return np.array([target.distance(point.mean(target, seeds)) for target in targets.values()])


def _step(slopes: Floats, here: Floats) -> Floats:
    """The way in logarithms that brings all figures to their targets with little movement of the knobs."""
    scaled = slopes * _SCALES
    # Ridge: more knobs than figures leave many ways; the shortest one is taken.
    way = -np.linalg.solve(scaled.T @ scaled + _RIDGE**2 * np.eye(len(_SCALES)), scaled.T @ here)
    # At most three of its steps per knob: slopes hold near by only.
    return way * min(1.0, 3.0 / max(1e-9, float(np.abs(way).max()))) * _SCALES


def _moved(at: Sequence[float], way: Floats) -> list[float]:
    """Knobs after a way in logarithms, within their bounds."""
    return [
        round(min(high, max(low, value * math.exp(step))), _DECIMALS)
        for value, step, (low, high, _) in zip(at, way.tolist(), KNOBS.values(), strict=True)
    ]


def _way(at: Sequence[float], moved: Sequence[float]) -> Floats:
    return np.log(np.array(moved) / np.array(at))


def _middle(value: float | tuple[float, float]) -> float:
    return round(fsum(value) / 2, _DECIMALS) if isinstance(value, tuple) else value


def _moved_to(value: float | tuple[float, float], middle: float) -> float | tuple[float, float]:
    """A knob with another number; a range keeps its width."""
    if not isinstance(value, tuple):
        return middle
    half = (value[1] - value[0]) / 2
    return round(middle - half, _DECIMALS), round(middle + half, _DECIMALS)


def _knob(scenario: RetailScenario, path: str) -> Any:
    part, name = path.split(".")
    return getattr(getattr(scenario, part), name)


def with_knobs(scenario: RetailScenario, knobs: Mapping[str, Any]) -> RetailScenario:
    """The scenario with other knobs, whatever store they make."""
    parts: dict[str, dict[str, Any]] = {"store": {"digest": ""}}
    for path, value in knobs.items():
        part, name = path.split(".")
        parts.setdefault(part, {})[name] = value
    return scenario.model_copy(
        update={part: getattr(scenario, part).model_copy(update=values) for part, values in parts.items()}
    )

"""The oracle played by rules alone, and the search for the numbers that fit a store to the source's (11.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from math import fsum
from typing import NamedTuple

import numpy as np

from tradefair.contract import ScenarioError
from tradefair.retail import analysis
from tradefair.retail.data.generator import past_of
from tradefair.retail.engine.luck import Floats
from tradefair.retail.model import RetailScenario, product_id, supplier_id
from tradefair.retail.rules import LineAsked, Retail

ORACLE_COVER = 6.0
PRICE_WINDOW_DAYS = 30
SEEDS = tuple(range(1, 33))
"""The fixed seeds of the calibration."""
_FIRST_SEEDS = 8
"""Seeds of its first stage: enough for slopes."""
CHECK_SEEDS = tuple(range(1001, 1017))
"""Sixteen seeds that the search never plays: what it found is checked on them."""

# Bounds of the search, its start, and the step by which a slope is measured (natural logarithm).
KNOBS: dict[str, tuple[float, float, float]] = {
    "store.volume_per_product": (4.0, 60.0, 0.06),
    "store.sales_spread": (0.5, 4.0, 0.1),
    "store.cost_level": (0.40, 0.95, 0.05),
    "demand.noise_divisor": (1.0, 5.0, 0.2),
}
"""The generator's knobs by path: lowest, highest, log step of the slopes."""
_MAX_STEPS = 14
_AIM = 0.4
"""Share of its tolerance that every figure must meet for the search to stop."""
_RIDGE = 0.15
"""Weight of a knob's way (in its log steps) against a figure's distance (in tolerances): few knobs move, and little."""
_DECIMALS = 4


class Target(NamedTuple):
    """A published mean of the oracle, and how near is near enough (relative)."""

    value: float
    tolerance: float


PUBLISHED: dict[str, Target] = {
    "net_worth": Target(131_510.0, 0.03),
    "units": Target(267_998.0, 0.03),
    "sold_products": Target(34.48, 0.02),
    "stockout_days": Target(122.0, 0.06),
}
"""RetailBench's oracle: net worth at the end (currency units), units sold, products sold a day, stock-out days."""


class OracleRun(NamedTuple):
    """One episode of the oracle; ratios are of units sold, and of units sold or expired."""

    seed: int
    net_worth_cents: int
    units_sold: int
    days: int
    end_reason: str
    sold_products: float
    stockout_days: int
    return_ratio: float
    expired_ratio: float


class Point(NamedTuple):
    """One store that was tried: its knobs by path, the runs of the oracle in it, and the store's digest."""

    knobs: dict[str, float]
    digest: str
    runs: tuple[OracleRun, ...]

    @property
    def figures(self) -> dict[str, float]:
        """Means over the runs, by the names of `PUBLISHED`."""
        count = len(self.runs)
        return {
            "net_worth": fsum(run.net_worth_cents for run in self.runs) / count / 100,
            "units": fsum(run.units_sold for run in self.runs) / count,
            "sold_products": fsum(run.sold_products for run in self.runs) / count,
            "stockout_days": fsum(run.stockout_days for run in self.runs) / count,
        }

    def distances(self, targets: Mapping[str, Target]) -> list[float]:
        """How far each figure lies from its target, in tolerances; above 0 is too much."""
        figures = self.figures
        # Of logarithms: a figure of 0 is as far away as can be, and finite.
        return [
            math.log(max(figures[name], 1e-9) / target.value) / target.tolerance for name, target in targets.items()
        ]


def play_oracle(scenario: RetailScenario, seed: int, key: analysis.PriceKey = "cent") -> OracleRun:
    """One episode of the oracle by rules alone: no tools, no events, the same actions as the policy."""
    market = Retail(scenario, seed)
    scores = analysis.history_scores(market.records)
    categories = [product.category for product in market.store.products]
    selected = analysis.select_products(scores, categories, scenario.shelf_places)
    market.set_shelf([product_id(place) for place in selected])
    sold = stockouts = returned = 0
    while market.terminated is None:
        oracle_day(market, selected, key)
        closed = market.close_day()
        sold += len(closed.book.units) - closed.book.units.count(0)
        stockouts += bool(closed.stock_outs)
        returned += sum(closed.book.returned)
    books, days = market.books, market.day - 1
    units = max(1, books.sold_units)
    return OracleRun(
        seed,
        market.net_worth_cents,
        books.sold_units,
        days,
        market.terminated,
        sold / days,
        stockouts,
        returned / units,
        books.expired_units / (units + books.expired_units),
    )


def oracle_day(market: Retail, selected: Sequence[int], key: analysis.PriceKey = "cent") -> None:
    """The oracle's actions of one day (8), then end_today."""
    truth, stock, count = market.privileged(), market.stock, market.suppliers
    windows = [analysis.price_days(market.records, place, PRICE_WINDOW_DAYS) for place in selected]
    for place, days in zip(selected, windows, strict=True):
        pairs = slice(place * count, (place + 1) * count)
        quotes = market.world.quotes[pairs]
        supplier = analysis.true_best_supplier(truth.qualities[pairs], quotes)
        decision = analysis.decide(
            days,
            analysis.RestockPlan(
                stock.on_hand[place],
                stock.waiting_units[place],
                stock.incoming[place],
                stock.free,
                market.funds_cents,
                quotes[supplier],
            ),
            multiplier=analysis.demand_multiplier(truth.need_effect[place], truth.supply_effect[place]),
            cover=ORACLE_COVER,
            key=key,
        )
        if decision.price is not None:
            market.set_price(product_id(place), decision.price)
        if decision.units:
            market.place_order(supplier_id(supplier), [LineAsked(product_id(place), decision.units)])
    market.end_today()


def calibrate_store(
    scenario: RetailScenario,
    targets: Mapping[str, Target] = PUBLISHED,
    seeds: Sequence[int] = SEEDS,
    *,
    processes: int = 1,
) -> Iterator[Point]:
    """Every store that the search tries, the accepted one last: damped Gauss-Newton over `KNOBS` in logarithms.

    Slopes are measured once, one knob at a time, on the first eight seeds, and mended by what each step brought
    (Broyden); the last steps play all seeds. Raises ScenarioError when no point within the bounds meets the targets.
    """
    with ProcessPoolExecutor(processes) as pool:

        def tried(at: Sequence[float], count: int) -> Point:
            candidate = with_knobs(scenario, dict(zip(KNOBS, at, strict=True)))
            runs = pool.map(play_oracle, repeat(candidate), seeds[:count], chunksize=-(-count // processes))
            return Point(dict(zip(KNOBS, at, strict=True)), past_of(candidate).store.digest, tuple(runs))

        yield from _search(tried, [_knob(scenario, path) for path in KNOBS], targets, len(seeds))


def _search(
    tried: Callable[[Sequence[float], int], Point], at: Sequence[float], targets: Mapping[str, Target], seeds: int
) -> Iterator[Point]:
    """The points of `calibrate_store`; `tried` plays the oracle with knobs on so many seeds."""
    first = min(seeds, _FIRST_SEEDS)
    best = tried(at, first)
    yield best
    scales = np.abs([step for _, _, step in KNOBS.values()])
    slopes = np.zeros((len(targets), len(KNOBS)))
    for place, (_, _, step) in enumerate(KNOBS.values()):
        moved = _moved(at, np.eye(len(KNOBS))[place] * step)
        # A knob that stands at its bound can only move back.
        if moved == [*at]:
            moved = _moved(at, np.eye(len(KNOBS))[place] * -step)
        point = tried(moved, first)
        yield point
        slopes[:, place] = np.subtract(point.distances(targets), best.distances(targets)) / _way(at, moved)[place]
    for _ in range(_MAX_STEPS):
        here, at = np.array(best.distances(targets)), [*best.knobs.values()]
        if np.abs(here).max() <= _AIM:
            if len(best.runs) == seeds:
                return
            # Near enough on few seeds: from here on all are played.
            best = tried(at, seeds)
            yield best
            continue
        moved = _moved(at, _step(slopes, here, scales))
        point = tried(moved, len(best.runs))
        yield point
        there, way = np.array(point.distances(targets)), _way(at, moved)
        if way.any():
            slopes += np.outer(there - here - slopes @ way, way / scales**2) / ((way / scales) @ (way / scales))
        # A step that is no better is followed by another one from the same place, with mended slopes.
        best = min((best, point), key=lambda found: max(map(abs, found.distances(targets))))
    raise ScenarioError(f"no store within the bounds of the knobs meets {dict(targets)}")


def _step(slopes: Floats, here: Floats, scales: Floats) -> Floats:
    """The way in logarithms that brings all figures to their targets with little movement of the knobs."""
    scaled = slopes * scales
    # Ridge: more knobs than figures leave many ways; the shortest one is taken.
    way = -np.linalg.solve(scaled.T @ scaled + _RIDGE**2 * np.eye(len(scales)), scaled.T @ here)
    # At most three of its steps per knob: slopes hold near by only.
    return way * min(1.0, 3.0 / max(1e-9, float(np.abs(way).max()))) * scales


def _moved(at: Sequence[float], way: Floats) -> list[float]:
    """Knobs after a way in logarithms, within their bounds."""
    return [
        round(min(high, max(low, value * math.exp(step))), _DECIMALS)
        for value, step, (low, high, _) in zip(at, way.tolist(), KNOBS.values(), strict=True)
    ]


def _way(at: Sequence[float], moved: Sequence[float]) -> Floats:
    return np.log(np.array(moved) / np.array(at))


def _knob(scenario: RetailScenario, path: str) -> float:
    part, name = path.split(".")
    return getattr(getattr(scenario, part), name)


def with_knobs(scenario: RetailScenario, knobs: Mapping[str, float]) -> RetailScenario:
    """The scenario with other knobs, whatever store they make."""
    parts: dict[str, dict[str, object]] = {"store": {"digest": ""}}
    for path, value in knobs.items():
        part, name = path.split(".")
        parts.setdefault(part, {})[name] = value
    return scenario.model_copy(
        update={part: getattr(scenario, part).model_copy(update=values) for part, values in parts.items()}
    )

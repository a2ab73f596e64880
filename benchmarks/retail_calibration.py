"""The oracle played by rules alone, and the search for the two numbers that fit a store to the source's (11.3)."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from tradefair.contract import ScenarioError
from tradefair.retail import analysis
from tradefair.retail.data.generator import past_of
from tradefair.retail.model import RetailScenario, product_id, supplier_id
from tradefair.retail.rules import LineAsked, Retail

ORACLE_COVER = 6.0
PRICE_WINDOW_DAYS = 30
SEEDS = tuple(range(1, 9))
"""The fixed seeds of the calibration."""

_VOLUME_BOUNDS = (25.0, 60.0)
_COST_BOUNDS = (0.40, 0.75)
_MAX_STEPS = 12
_AIM = 0.4
"""Share of the tolerance at which the search stops."""
_DECIMALS = 4


class Anchors(NamedTuple):
    """Published means of the oracle: final net worth (currency units), units sold; and how near is near enough."""

    net_worth: float = 131_510.0
    units: float = 267_998.0
    tolerance: float = 0.03


class OracleRun(NamedTuple):
    """One episode of the oracle."""

    seed: int
    net_worth_cents: int
    units_sold: int
    cost_of_goods_cents: int
    days: int
    end_reason: str


class Calibration(NamedTuple):
    """The two numbers, the store that they make, and the runs that they were judged by."""

    volume_per_product: float
    cost_level: float
    digest: str
    runs: tuple[OracleRun, ...]

    @property
    def mean_net_worth(self) -> float:
        """Mean final net worth, currency units."""
        return fsum(run.net_worth_cents for run in self.runs) / len(self.runs) / 100

    @property
    def mean_units(self) -> float:
        """Mean units sold."""
        return fsum(run.units_sold for run in self.runs) / len(self.runs)


def play_oracle(scenario: RetailScenario, seed: int, key: analysis.PriceKey = "cent") -> OracleRun:
    """One episode of the oracle by rules alone: no tools, no events, the same actions as the policy."""
    market = Retail(scenario, seed)
    scores = analysis.history_scores(market.records)
    categories = [product.category for product in market.store.products]
    selected = analysis.select_products(scores, categories, scenario.shelf_places)
    market.set_shelf([product_id(place) for place in selected])
    while market.terminated is None:
        oracle_day(market, selected, key)
        market.close_day()
    books = market.books
    return OracleRun(
        seed, market.net_worth_cents, books.sold_units, books.cost_of_goods, market.day - 1, market.terminated
    )


def oracle_day(market: Retail, selected: Sequence[int], key: analysis.PriceKey = "cent") -> None:
    """The oracle's actions of one day (8), then end_today."""
    truth, stock, count = market.privileged(), market.stock, market.suppliers
    for place in selected:
        pairs = slice(place * count, (place + 1) * count)
        quotes = market.world.quotes[pairs]
        supplier = analysis.true_best_supplier(truth.qualities[pairs], quotes)
        decision = analysis.decide(
            analysis.price_days(market.records, place, PRICE_WINDOW_DAYS),
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
    scenario: RetailScenario, anchors: Anchors | None = None, seeds: Sequence[int] = SEEDS
) -> Calibration:
    """Vary volume_per_product and cost_level until the oracle's means lie within the tolerance of the anchors.

    Volume follows the units sold, then cost level the net worth: both move their target almost in proportion.
    Raises ScenarioError when the bounds of 11.3 do not reach the anchors.
    """
    wanted = anchors or Anchors()
    volume, cost = scenario.store.volume_per_product, scenario.store.cost_level
    for _ in range(_MAX_STEPS):
        found = _tried(scenario, volume, cost, seeds)
        gaps = (found.mean_net_worth / wanted.net_worth - 1, found.mean_units / wanted.units - 1)
        if max(map(abs, gaps)) <= wanted.tolerance * _AIM:
            return found
        if not found.mean_units:
            break
        growth = wanted.units / found.mean_units
        # What more volume will add is foreseen, or the cost level would be corrected for it too.
        spent = fsum(run.cost_of_goods_cents for run in found.runs) / len(found.runs) / 100 * growth
        rent = scenario.horizon_days * scenario.rent_per_day_cents / 100
        foreseen = found.mean_net_worth + (found.mean_net_worth + rent) * (growth - 1)
        volume = _clipped(volume * growth, _VOLUME_BOUNDS)
        cost = _clipped(cost * (1 + (foreseen - wanted.net_worth) / spent), _COST_BOUNDS)
    raise ScenarioError(f"{scenario.id}: no volume and cost level within the bounds reach the anchors {wanted}")


def _tried(scenario: RetailScenario, volume: float, cost: float, seeds: Sequence[int]) -> Calibration:
    store = scenario.store.model_copy(update={"volume_per_product": volume, "cost_level": cost, "digest": ""})
    candidate = scenario.model_copy(update={"store": store})
    runs = tuple(play_oracle(candidate, seed) for seed in seeds)
    return Calibration(volume, cost, past_of(candidate).store.digest, runs)


def _clipped(value: float, bounds: tuple[float, float]) -> float:
    return round(min(bounds[1], max(bounds[0], value)), _DECIMALS)

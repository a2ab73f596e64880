from __future__ import annotations

from collections.abc import Callable
from statistics import mean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradefair.contract import Chance, ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.retail.data.generator import Sourcing, build_store, category_table, past_of, source_products
from tradefair.retail.model import CATEGORY_NAMES, RetailScenario

Scenarios = Callable[..., RetailScenario]
_PRESETS = ("paper", "thousand_days", "middle", "easy", "smoke")


@pytest.mark.parametrize("preset", _PRESETS)
def test_every_preset_makes_its_frozen_store(scenario_of: Scenarios, preset: str) -> None:
    scenario = scenario_of(preset)
    store = past_of(scenario).store
    assert store.digest == scenario.store.digest
    assert len(store.products) == scenario.product_count


def test_a_thousand_days_are_played_in_the_store_of_the_paper(scenario_of: Scenarios) -> None:
    assert past_of(scenario_of("thousand_days")).store == past_of(scenario_of("paper")).store


def test_the_reference_store_of_before_is_made_by_its_keys(scenario_of: Scenarios) -> None:
    # What an older trace holds: no later key. It has its store, and its scenario the bytes that were hashed.
    content = scenario_of("paper").model_dump(mode="json")
    content["store"] = {
        "key": "retail-store",
        "digest": "6fc2b886ebfbe11c2dab7ee2e8561d1dc62d8d704d0dda3bcf2fe346f899b569",
        "volume_per_product": 21.9763,
        "sales_spread": 2.4779,
        "cost_level": 0.654,
    }
    content["demand"]["noise_divisor"] = 1.0003
    before = build_scenario(RetailScenario, content, source="before")
    assert past_of(before).store.digest == before.store.digest
    assert (
        scenario_key(before.model_dump(mode="json"))
        == "d66d5e643e0b35fa7056000f0d9c48c6569e51de8ec39dc822561a3c1251e6e9"
    )


def test_another_store_than_the_frozen_one_is_refused(scenario_of: Scenarios) -> None:
    with pytest.raises(ScenarioError, match=r"store\.digest"):
        past_of(scenario_of("smoke", {"store.cost_level": 0.6}))


def test_the_table_holds_the_twenty_categories_in_order() -> None:
    assert tuple(category_table()) == CATEGORY_NAMES
    assert sum(row.products for row in RetailScenario(id="retail/x").store.categories) == 96


def test_the_past_of_the_reference_store_is_sane(scenario_of: Scenarios) -> None:
    past = past_of(scenario_of("paper"))
    records = past.records
    daily = sorted(units for place in range(96) for units in records.units.series(place, 0, 92))
    assert 8 <= median(daily) <= 18
    assert 35 <= daily[int(0.9 * len(daily))] <= 65
    assert 1_400 <= sum(daily) / 93 <= 2_500
    offers = [[offer.base_cost for offer in product.suppliers] for product in past.store.products]
    assert 1.4 <= mean(max(costs) / min(costs) for costs in offers) <= 1.6


@pytest.mark.parametrize("preset", ["paper", "middle"])
def test_products_lie_in_the_ranges_of_their_category_and_scenario(scenario_of: Scenarios, preset: str) -> None:
    scenario = scenario_of(preset)
    store, rules = past_of(scenario).store, scenario.store
    for category in store.categories:
        assert rules.review_lift[0] <= category.lift <= rules.review_lift[1]
    for product in store.products:
        row = category_table()[store.categories[product.category].name]
        assert row.price[0] <= product.reference_price_cents <= row.price[1]
        elasticity = -product.beta * product.reference_price_cents / 100
        assert row.elasticity[0] - 1e-6 <= elasticity <= row.elasticity[1] + 1e-6
        assert row.life[0] <= product.shelf_life_days / rules.life_scale + 0.5
        assert product.shelf_life_days / rules.life_scale - 0.5 <= row.life[1]
        assert rules.residual_sd[0] <= product.sigma <= rules.residual_sd[1]
        start = product.start_price_cents / product.reference_price_cents
        assert rules.start_price[0] - 0.02 <= start <= rules.start_price[1] + 0.02
    names = {(product.brand, product.description) for product in store.products}
    assert len(names) == scenario.product_count


def test_the_past_is_sold_at_its_weekly_prices_by_its_weekly_suppliers(scenario_of: Scenarios) -> None:
    scenario = scenario_of("smoke")
    past = past_of(scenario)
    records, count = past.records, past.store.suppliers
    for place, product in enumerate(past.store.products):
        for day in range(records.days):
            assert records.price.at(day, place) == product.weekly_price_cents[day // 7]
            pairs = [records.pair_units.at(day, place * count + number) for number in range(count)]
            assert sum(pairs) == records.units.at(day, place)
            assert pairs[product.weekly_supplier[day // 7]] == records.units.at(day, place)
            ranks = sorted(range(count), key=lambda number: -product.suppliers[number].base_quality)
            assert product.weekly_supplier[day // 7] in ranks[:3]


@settings(max_examples=60)
@given(st.text("abc", min_size=1, max_size=8), st.integers(2, 9), st.integers(1, 30))
def test_the_best_supplier_is_best_and_the_cheapest_is_worst_and_cheapest(key: str, count: int, cap: int) -> None:
    scenario = RetailScenario.model_validate(
        {"id": "retail/x", "supplier": {"count": count, "transit_cap": cap}}, strict=False
    )
    suppliers, weekly = source_products(Chance(key), scenario, Sourcing("entity", 2.0, (100, 110, 120)))
    assert len(suppliers) == count
    qualities = sorted(offer.base_quality for offer in suppliers)
    assert qualities[-1] - qualities[-2] >= 0.02 - 1e-9
    cheapest = min(suppliers, key=lambda offer: offer.base_cost)
    assert cheapest.base_quality == qualities[0]
    assert all(1 <= offer.transit_min <= offer.transit_max <= cap for offer in suppliers)
    assert all(0 <= number < count for number in weekly)


def test_a_product_is_the_same_whatever_other_categories_there_are(scenario_of: Scenarios) -> None:
    drop = {"store.digest": ""}
    few = build_store(scenario_of("smoke", drop))
    more = build_store(
        scenario_of(
            "smoke", {**drop, "store.categories": [{"name": "Beer", "products": 3}, {"name": "Oatmeal", "products": 1}]}
        )
    )
    beer = [product for product in few.products if few.categories[product.category].name == "Beer"]
    for one, two in zip(beer, more.products, strict=False):
        assert one.reference_price_cents == two.reference_price_cents
        assert one.weekly_price_cents == two.weekly_price_cents
        assert [offer.base_quality for offer in one.suppliers] == [offer.base_quality for offer in two.suppliers]


@pytest.mark.parametrize("volume", [0.5, 500])
def test_extreme_volumes_still_make_a_store(scenario_of: Scenarios, volume: float) -> None:
    overrides = {
        "store.digest": "",
        "store.volume_per_product": volume,
        "traffic.customers_per_day": 10,
        "traffic.scale": 1,
        "supplier.count": 2,
    }
    store = past_of(scenario_of("smoke", overrides)).store
    assert all(product.beta < 0 for product in store.products)

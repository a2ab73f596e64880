from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.retail.data.generator import past_of
from tradefair.retail.model import RetailScenario

Scenarios = Callable[..., RetailScenario]


@pytest.mark.parametrize("preset", ["paper", "middle", "easy", "smoke", "thousand_days"])
def test_the_content_of_a_manifest_makes_the_same_scenario(scenario_of: Scenarios, preset: str) -> None:
    scenario = scenario_of(preset)
    again = build_scenario(RetailScenario, scenario.model_dump(mode="json"), source="manifest")
    assert again == scenario
    assert past_of(again).store.digest == scenario.store.digest


def test_amounts_are_exact_text_or_integers(scenario_of: Scenarios) -> None:
    assert scenario_of("smoke", {"funds_start": 12}).funds_start_cents == 1200
    assert scenario_of("smoke", {"funds_start": "12.5"}).funds_start == "12.50"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("funds_start", 12.5),
        ("funds_start", "12.505"),
        ("funds_start", "-1"),
        ("funds_start", True),
        ("rent_per_day", "1000000.01"),
        ("price_max", "0"),
        ("horizon_days", 0),
        ("horizon_days", 3_651),
        ("start_date", "1989-09-13"),
        ("history_days", 13),
        ("storage_capacity", 0),
        ("shelf_capacity", -1),
        ("insolvency_days", 101),
        ("store.volume_per_product", 0.4),
        ("store.cost_level", 1.3),
        ("store.digest", "abc"),
        ("store.source", "kilts"),
        ("store.source", "dominicks"),
        ("store.categories", [{"name": "Beer", "products": 0}]),
        ("store.categories", [{"name": "Beer", "products": 1}, {"name": "Beer", "products": 2}]),
        ("store.categories", [{"name": "Wine", "products": 1}]),
        ("store.categories", []),
        ("traffic.scale", 21),
        ("traffic.closed_dates", ["13-01"]),
        ("demand.rho", 0.5),
        ("feedback.review_share", 1.5),
        ("supplier.count", 1),
        ("supplier.cost_phi", 1.0),
        ("news.ratios", [0.9, 0.03, 0.02, 0.04]),
        ("news.extra_days", [5, 3]),
        ("news.strength", [0.5, 0.4]),
        ("news.cap", 0.95),
        ("news.both_share", 0.5),
        ("store.sales_spread", 5.5),
        ("store.residual_sd", [0.7, 0.3]),
        ("store.best_cost", [0.9, 6]),
        ("store.life_scale", 0),
        ("clock", "free"),
        ("seats.buyer", "agent"),
        ("seats.manager", "no policy!"),
        ("shelf", 4),
    ],
)
def test_values_out_of_bounds_are_refused_by_name(scenario_of: Scenarios, key: str, value: Any) -> None:
    with pytest.raises(ScenarioError, match=key.split(".")[0]):
        scenario_of("smoke", {key: value})


def test_the_reference_scenario_has_the_published_defaults(scenario_of: Scenarios) -> None:
    paper, bare = scenario_of("paper"), RetailScenario(id="retail/paper")
    # The store is calibrated; all else is as published.
    calibrated = {"store", "seats", "description"}
    assert paper.model_dump(exclude=calibrated) == bare.model_dump(exclude=calibrated)
    assert [limit.max for limit in paper.limits] == [400, 2000]


def test_a_fitted_store_is_part_of_the_scenario(scenario_of: Scenarios) -> None:
    smoke = scenario_of("smoke")
    store = past_of(smoke).store
    fitted = {
        "store": {
            "source": "dominicks",
            "fitted": store.model_dump(mode="json"),
            "categories": [row.model_dump() for row in smoke.store.categories],
        }
    }
    content = {**smoke.model_dump(mode="json"), **fitted}
    scenario = build_scenario(RetailScenario, content, source="fitted")
    assert past_of(scenario).store == store
    assert scenario.product_count == 12
    with pytest.raises(ScenarioError, match=r"store\.fitted: required .* examples/dominicks/fit\.py makes it"):
        build_scenario(RetailScenario, {**content, "store": {"source": "dominicks"}}, source="fitted")
    for key, value in {"history_days": 60, "supplier": {"count": 4}}.items():
        with pytest.raises(ScenarioError, match=r"store\.fitted"):
            build_scenario(RetailScenario, {**content, key: value}, source="fitted")

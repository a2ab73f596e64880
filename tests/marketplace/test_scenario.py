from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.marketplace.model import Catalogue, MarketplaceScenario


def built(**content: Any) -> MarketplaceScenario:
    return build_scenario(MarketplaceScenario, {"id": "marketplace/x", **content}, source="x.toml")


def test_the_defaults_are_those_of_the_specification() -> None:
    scenario = built()
    assert (scenario.rounds_max, scenario.search_algorithm, scenario.search_limit) == (20, "lexical", 10)
    assert (scenario.value_multiplier_bp, scenario.reveal_value, scenario.proposal_ttl) == (
        20_000,
        "reference_total",
        5,
    )
    (limit,) = scenario.limits
    assert (limit.counts, limit.max, limit.per, limit.then) == (("action",), 30, "phase", "end_turn")
    assert scenario.seats == {"customer": "agent", "business": "honest"}
    assert scenario.timing.free_tick_s == 5
    assert scenario.terms_rules == ("free", True, False)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"rounds_max": 0}, "rounds_max = 0"),
        ({"rounds_max": "10"}, "rounds_max = '10'"),
        ({"search_limit": 1_001}, "search_limit = 1001"),
        ({"escrow": 1}, "escrow = 1"),
        ({"shop": 1}, "shop: unknown key"),
        ({"data": {"source": "folder"}}, "data.path: required"),
        ({"data": {"path": "x"}}, "data.path: only with"),
        ({"data": {"source": "folder", "path": "../x"}}, "data.path = ../x"),
        ({"data": {"source": "folder", "path": "/etc"}}, "data.path = /etc"),
        ({"listing_order": "explicit", "search_limit": 9}, "search_limit = 9: at most 8"),
        (
            {"listing_order": "explicit", "search_limit": 3, "listing_permutation": 6},
            "listing_permutation = 6: allowed is 0 to 5",
        ),
        ({"listing_permutation": 1}, "listing_permutation: only with"),
        ({"arrival_permutation": 1}, "arrival_permutation: only with"),
        ({"search_disclosure": "prices"}, "profile_disclosure = listing"),
        ({"budget_bp": 4_999}, "budget_bp = 4999"),
        ({"seats": {"customer": "agent()("}}, "seats.customer"),
        ({"manipulation": {"condition": "threat"}}, "manipulation.condition = threat"),
        ({"timing": {"free_tick_s": 0.0005}}, "timing.free_tick_s = 0.0005"),
    ],
)
def test_what_is_wrong_is_named_with_its_value(content: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        built(**content)
    assert complaint in str(caught.value)


def test_a_scenario_that_holds_its_data_knows_its_seats(catalogue: Callable[..., Catalogue]) -> None:
    data = catalogue({"Taco": 350}, {"Taco": 325}).model_dump(mode="json")
    folder = {"source": "folder", "path": "mine"}
    scenario = built(data=folder, catalogue=data, seats={"b0": "honest", "customer": "agent"})
    assert scenario.catalogue is not None
    assert scenario.catalogue.businesses[0].prices == {"taco": 325}
    again = build_scenario(MarketplaceScenario, scenario.model_dump(mode="json"), source="trace")
    assert again == scenario
    with pytest.raises(ScenarioError, match=r"seats\.b7: no such seat"):
        built(data=folder, catalogue=data, seats={"b7": "honest"})


def test_disclosure_levels_add_up() -> None:
    scenario = built()
    assert scenario.discloses("prices", "menu")
    assert scenario.discloses("full", "full")
    assert not scenario.discloses("listing", "menu")

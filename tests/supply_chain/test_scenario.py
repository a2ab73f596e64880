from __future__ import annotations

from typing import Any

import pytest
from tests.supply_chain.playing import scenario

from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.supply_chain import MARKET
from tradefair.supply_chain.engine.demand import apportion, slots
from tradefair.supply_chain.model import SupplyChainScenario


def _wanted(scenario: SupplyChainScenario) -> list[list[int]]:
    """Units wanted by the buyers of each item."""
    found = slots(scenario)
    return [[slot.quantity for slot in found if slot.item == item] for item in range(len(scenario.items))]


def test_the_defaults_are_those_of_the_page() -> None:
    gated = scenario("gated")
    assert gated.initial_funds_cents == 52_500_00
    assert scenario("paper").initial_funds_cents == 22_500_00
    assert (gated.demand, gated.nominal_supply, gated.smallest_set, gated.gate_inert) == (950, 1_000, 5, False)
    wanted = _wanted(gated)
    assert [len(item) for item in wanted] == [40, 40, 27, 26, 27, 15, 15, 10]
    assert [sum(item) for item in wanted] == [190, 190, 127, 126, 127, 71, 71, 48]
    assert wanted[0] == [5] * 30 + [4] * 10
    assert (gated.temperature, gated.reveal, gated.overspend) == (0.07, "summary", "error")


def test_the_duel_is_that_of_the_page() -> None:
    duel = scenario("duel")
    assert (duel.demand, duel.nominal_supply, duel.initial_funds_cents, duel.smallest_set) == (55, 58, 1_450_00, 2)
    assert [len(item) for item in _wanted(duel)] == [10, 5, 4, 1]
    assert [sum(item) for item in _wanted(duel)] == [28, 14, 10, 3]
    assert duel.seats == {
        "retailer_01": "agent", "retailer_02": "adaptive", "retailer_03": "cost_plus",
    }  # fmt: skip


def test_seats_given_as_a_number_are_filled_from_the_rivals() -> None:
    four = scenario("duel", seats=4)
    assert (four.retailers, four.seats["retailer_04"], four.initial_funds_cents) == (4, "floor_bidder", 1_087_00)
    two = scenario("duel", seats=2)
    assert (two.initial_funds_cents, two.gate_inert) == (2_175_00, True)
    again = build_scenario(SupplyChainScenario, four.model_dump(mode="json"), source="manifest")
    assert again == four


def test_the_papers_presets_consider_whom_the_paper_considers() -> None:
    assert scenario("paper").gate_inert
    assert scenario("paper_rho06").smallest_set == 12
    assert scenario("gated", rho=0.55).smallest_set == 11
    assert scenario("gated", retailers=8, rho_by_tribe={"hype": 1.0, "quality": 0.1}).smallest_set == 2


def test_a_supply_ratio_may_be_read_either_way() -> None:
    assert scenario("gated", demand_ratio=0.8).demand == 800
    assert scenario("gated", demand_ratio=0.8, ratio_mode="supply_over_demand").demand == 1_250


def test_largest_remainders_go_to_the_earlier_item_on_a_tie() -> None:
    assert apportion(10, [1, 1, 1]) == [4, 3, 3]
    assert apportion(0, [5, 7]) == [0, 0]


def test_every_item_has_a_buyer() -> None:
    items = [
        {"id": "many", "category": "commodity", "quantity": 1_000, "base": 1},
        {"id": "rare", "category": "luxury", "quantity": 1, "base": 1},
    ]
    assert [len(item) for item in _wanted(scenario("gated", items=items, buyers=3))] == [2, 1]


def test_a_wider_calibration_gap_is_a_higher_temperature() -> None:
    assert scenario("gated", tau="auto").temperature == 0.0721
    assert scenario("paper").temperature == 1.0


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"seats": 1}, "retailers = 1"),
        ({"seats": {"retailer_99": "agent"}}, "no such seat; allowed are retailer_01 to retailer_03, and retailer"),
        ({"tick": "0.3"}, "base = 10.00 is no multiple of the tick 0.30"),
        ({"tick": 12.5}, "tick"),
        ({"buyers": 3}, "duel.toml: buyers = 3: at least one per item"),
        ({"rho": 0}, "rho"),
        ({"rho_by_tribe": {"nobody": 0.5}}, "no such tribe"),
        ({"tau": 0.001}, "tau = 0.001"),
        ({"supply_clip": [2, 1]}, "supply_clip"),
        ({"clock": "free"}, "clock"),
        ({"tribes": []}, "tribes"),
        ({"rivals": []}, "rivals"),
        ({"no_such_key": 1}, "no_such_key: unknown key"),
    ],
)
def test_a_wrong_scenario_names_what_is_wrong(overrides: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError, match=r"duel\.toml") as caught:
        scenario("duel", **overrides)
    assert told in str(caught.value)


def test_a_seat_without_such_a_policy_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"seats\.retailer_02: there is no policy 'nobody'"):
        MARKET.create(scenario("duel", seats={"retailer_01": "agent", "retailer_02": "nobody"}), 1)


def test_the_rules_say_whether_slogans_matter() -> None:
    inert = MARKET.create(scenario("paper"), 1).rules_view("retailer_01")
    assert inert.gate_rule == (
        "In this scenario every buyer considers every retailer. Slogans are recorded but have no effect on sales."
    )
    assert inert.reservation is None
    gated = MARKET.create(scenario("gated"), 1).rules_view("retailer_01")
    assert gated.gate_rule == (
        "Each buyer notices only 5 of the 20 retailers. A slogan whose meaning is close to what a buyer cares about "
        "is noticed more often."
    )
    assert gated.reservation == "Buyers refuse prices far above the supplier's base price; how far differs by buyer."

"""Every market but `teaching`, which has a page of its own, keeps the contract."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from pydantic import JsonValue

from tests.checks import CHECKED, each_part
from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids
from tradefair.testing import CHECKS, Bench, bundled_scenarios, check_market

LONG_ENOUGH: dict[str, JsonValue] = {"rounds_max": 1_000}
SWITCHES = {"escrow": True, "reputation": True, "arrival_stagger": 1, "search_disclosure": "menu"}
# Fewer days and rounds: the kit replays every episode many times. Traders of `collusion` talk, too.
QUICK: dict[str, dict[str, dict[str, Any]]] = {
    "bargaining": {"smoke": {}},
    "double_auction": {"collusion": {"rounds": 2}},
    "marketplace": {"small_demo": {**LONG_ENOUGH, **SWITCHES, "profile_disclosure": "full", "data.customers": 1}},
    # No preset has seats of all roles.
    "order_book": {"smoke": {}, "asset_short": {"periods": 2, "sweeps": 2, "traders": 3}},
    "pricing": {"hidden_cost": {"rounds": 3}},
    "retail": {"smoke": {"horizon_days": 14}},
    "supply_chain": {"duel": {}},
}
NEEDS_DATA = ("3_9", "10_30", "33_99", "100_300")
FORFEIT = {"overspend": "forfeit", "reveal": "book", "supply_mode": "shock", "rounds": 2}


@cache
def bench(market: str) -> Bench:
    scenarios = [load_scenario(market, *cut) for cut in QUICK[market].items()]
    return Bench(market_type(market), scenarios=scenarios, seeds=(2 if market == "marketplace" else 1,))


@pytest.mark.parametrize("check", CHECKED)
@pytest.mark.parametrize("market", QUICK)
def test_a_market_keeps_the_contract(market: str, check: str) -> None:
    assert CHECKS[check](bench(market)) == []


def test_no_market_is_left_out() -> None:
    assert {*QUICK, "teaching"} == {*market_names()}
    market = market_type("double_auction")
    quick, all_of_them = ({scenario.id for scenario in bundled_scenarios(market, slow=slow)} for slow in (False, True))
    assert all_of_them - quick == {"double_auction/large"}


@each_part
@pytest.mark.parametrize("market", ["bargaining", "double_auction", "order_book", "pricing", "supply_chain"])
def test_every_preset_keeps_the_contract(market: str, only: list[str]) -> None:
    assert check_market(market_type(market), only=only, seeds=(1,)) == []


@each_part
@pytest.mark.parametrize(
    ("market", "preset", "settings", "seeds"),
    [
        ("double_auction", "large", {}, (1,)),
        ("retail", "smoke", {"horizon_days": 14}, (2, 3)),
        *(("retail", preset, {"horizon_days": 25}, (1,)) for preset in ("paper", "easy", "middle")),
        ("supply_chain", "duel", FORFEIT, (1,)),  # rules that no preset has
    ],
)
def test_other_seeds_and_large_scenarios_keep_it_too(
    market: str, preset: str, settings: dict[str, Any], seeds: tuple[int, ...], only: list[str]
) -> None:
    played = [load_scenario(market, preset, settings)]
    assert check_market(market_type(market), only=only, scenarios=played, seeds=seeds) == []


@each_part
@pytest.mark.parametrize("name", [name for name in scenario_ids("marketplace") if not name.endswith(NEEDS_DATA)])
def test_every_marketplace_keeps_the_contract(name: str, only: list[str]) -> None:
    """With few customers, for as long as random seats take to leave; who is full, they could not know."""
    scenario: Any = load_scenario("marketplace", name, {**LONG_ENOUGH, "data.customers": 2, "capacity": 0})
    # Fewer customers have fewer businesses: players that a preset names for the others have no seat to sit in.
    market = market_type("marketplace")
    seats = market.create(scenario, 1).seats
    named = {seat: who for seat, who in scenario.seats.items() if seat in seats or not seat[-1].isdigit()}
    scenario = scenario.model_copy(update={"seats": named})
    assert check_market(market, only=only, scenarios=[scenario], seeds=(1,)) == []

"""The marketplace keeps the contract."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from tests.checks import CHECKED, each_part
from tradefair.catalog import load_scenario, scenario_ids
from tradefair.marketplace import MARKET
from tradefair.testing import CHECKS, Bench, check_market

LONG_ENOUGH: dict[str, JsonValue] = {"rounds_max": 1_000}


@pytest.fixture(scope="module")
def bench() -> Bench:
    switches = {"escrow": True, "reputation": True, "arrival_stagger": 1, "search_disclosure": "menu"}
    small = {**LONG_ENOUGH, **switches, "profile_disclosure": "full", "data.customers": 1}
    return Bench(MARKET, scenarios=[load_scenario("marketplace", "small_demo", small)], seeds=(2,))


@pytest.mark.parametrize("check", CHECKED)
def test_the_marketplace_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


NEEDS_DATA = ("3_9", "10_30", "33_99", "100_300")


@each_part
@pytest.mark.parametrize("name", [name for name in scenario_ids("marketplace") if not name.endswith(NEEDS_DATA)])
def test_every_preset_keeps_the_contract(name: str, only: list[str]) -> None:
    """With few customers, for as long as random seats take to leave; who is full, they could not know."""
    scenario: Any = load_scenario("marketplace", name, {**LONG_ENOUGH, "data.customers": 2, "capacity": 0})
    # Fewer customers have fewer businesses: players that a preset names for the others have no seat to sit in.
    seats = MARKET.create(scenario, 1).seats
    named = {seat: who for seat, who in scenario.seats.items() if seat in seats or not seat[-1].isdigit()}
    scenario = scenario.model_copy(update={"seats": named})
    assert check_market(MARKET, only=only, scenarios=[scenario], seeds=(1,)) == []

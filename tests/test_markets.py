"""Markets keep the contract."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from tests.checks import CHECKED, each_part
from tradefair.catalog import load_scenario, market_type
from tradefair.testing import CHECKS, Bench, bundled_scenarios, check_market

# Fewer days and rounds: the kit replays every episode many times. Traders of `collusion` talk, too.
QUICK: dict[str, dict[str, dict[str, Any]]] = {
    "bargaining": {"smoke": {}},
    "double_auction": {"collusion": {"rounds": 2}},
    # No preset has seats of all roles.
    "order_book": {"smoke": {}, "asset_short": {"periods": 2, "sweeps": 2, "traders": 3}},
    "pricing": {"hidden_cost": {"rounds": 3}},
}


@cache
def bench(market: str) -> Bench:
    scenarios = [load_scenario(market, *cut) for cut in QUICK[market].items()]
    return Bench(market_type(market), scenarios=scenarios, seeds=(1,))


@pytest.mark.parametrize("check", CHECKED)
@pytest.mark.parametrize("market", QUICK)
def test_a_market_keeps_the_contract(market: str, check: str) -> None:
    assert CHECKS[check](bench(market)) == []


def test_the_large_scenario_is_the_slow_one() -> None:
    market = market_type("double_auction")
    quick, all_of_them = ({scenario.id for scenario in bundled_scenarios(market, slow=slow)} for slow in (False, True))
    assert all_of_them - quick == {"double_auction/large"}


@each_part
@pytest.mark.parametrize("market", ["bargaining", "double_auction", "order_book", "pricing"])
def test_every_preset_keeps_the_contract(market: str, only: list[str]) -> None:
    assert check_market(market_type(market), only=only) == []


@each_part
def test_the_large_scenario_keeps_the_contract_too(only: list[str]) -> None:
    large = [load_scenario("double_auction", "large")]
    assert check_market(market_type("double_auction"), only=only, scenarios=large, seeds=(1,)) == []

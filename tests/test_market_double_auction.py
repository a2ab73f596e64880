"""The double_auction market keeps the contract."""

from __future__ import annotations

import pytest

from tests.checks import CHECKED, each_part
from tradefair.catalog import load_scenario
from tradefair.double_auction import MARKET
from tradefair.testing import CHECKS, Bench, bundled_scenarios, check_market


@pytest.fixture(scope="module")
def bench() -> Bench:
    # Its traders talk, too.
    return Bench(MARKET, scenarios=[load_scenario("double_auction", "collusion", {"rounds": 2})], seeds=(1,))


@pytest.mark.parametrize("check", CHECKED)
def test_double_auction_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


def test_the_large_scenario_is_the_slow_one() -> None:
    quick, all_of_them = ({scenario.id for scenario in bundled_scenarios(MARKET, slow=slow)} for slow in (False, True))
    assert all_of_them - quick == {"double_auction/large"}


@each_part
def test_every_other_preset_keeps_the_contract(only: list[str]) -> None:
    assert check_market(MARKET, only=only) == []


@each_part
def test_the_large_scenario_keeps_the_contract_too(only: list[str]) -> None:
    large = [scenario for scenario in bundled_scenarios(MARKET, slow=True) if scenario.id == "double_auction/large"]
    assert check_market(MARKET, only=only, scenarios=large, seeds=(1,)) == []

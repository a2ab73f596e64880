"""The supply-chain market keeps the contract."""

from __future__ import annotations

import pytest

from tests.checks import CHECKED, each_part
from tradefair.catalog import load_scenario
from tradefair.supply_chain import MARKET
from tradefair.testing import CHECKS, Bench, check_market


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(MARKET, scenarios=[load_scenario("supply_chain", "duel")], seeds=(1,))


@pytest.mark.parametrize("check", CHECKED)
def test_the_supply_chain_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


@each_part
def test_rules_that_no_preset_has_keep_the_contract(only: list[str]) -> None:
    forfeit = {"overspend": "forfeit", "reveal": "book", "supply_mode": "shock", "rounds": 2}
    assert check_market(MARKET, only=only, scenarios=[load_scenario("supply_chain", "duel", forfeit)], seeds=(1,)) == []


@each_part
def test_every_preset_keeps_the_contract(only: list[str]) -> None:
    assert check_market(MARKET, only=only, seeds=(1,)) == []

"""The retail market keeps the contract."""

from __future__ import annotations

import pytest

from tests.checks import CHECKED, each_part
from tradefair.catalog import load_scenario
from tradefair.contract import Scenario
from tradefair.retail import MARKET
from tradefair.testing import CHECKS, Bench, check_market


def _cut(preset: str, days: int) -> Scenario:
    """A preset over fewer days: the kit replays every episode many times."""
    return load_scenario("retail", preset, {"horizon_days": days})


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(MARKET, scenarios=[_cut("smoke", 14)], seeds=(1,))


@pytest.mark.parametrize("check", CHECKED)
def test_retail_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


@each_part
def test_other_seeds_keep_the_contract_too(only: list[str]) -> None:
    assert check_market(MARKET, only=only, scenarios=[_cut("smoke", 14)], seeds=(2, 3)) == []


@each_part
@pytest.mark.parametrize("preset", ["paper", "easy", "middle"])
def test_the_large_stores_keep_the_contract_too(preset: str, only: list[str]) -> None:
    assert check_market(MARKET, only=only, scenarios=[_cut(preset, 25)], seeds=(1,)) == []

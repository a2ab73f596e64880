"""The pricing market keeps the contract."""

from __future__ import annotations

import pytest

from tests.checks import CHECKED, each_part
from tradefair.catalog import load_scenario
from tradefair.pricing import MARKET
from tradefair.testing import CHECKS, Bench, check_market


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(MARKET, scenarios=[load_scenario("pricing", "hidden_cost", {"rounds": 3})], seeds=(1,))


@pytest.mark.parametrize("check", CHECKED)
def test_pricing_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


@each_part
def test_every_preset_keeps_the_contract(only: list[str]) -> None:
    assert check_market(MARKET, only=only, seeds=(1,)) == []

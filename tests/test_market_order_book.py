"""The order book keeps the contract."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks import CHECKED, each_part
from tradefair.catalog import load_scenario
from tradefair.order_book import MARKET
from tradefair.testing import CHECKS, Bench, check_market

# No preset has seats of all roles.
QUICK: dict[str, dict[str, Any]] = {"smoke": {}, "asset_short": {"periods": 2, "sweeps": 2, "traders": 3}}


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(MARKET, scenarios=[load_scenario("order_book", *cut) for cut in QUICK.items()], seeds=(1,))


@pytest.mark.parametrize("check", CHECKED)
def test_the_order_book_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


@each_part
def test_every_preset_keeps_the_contract(only: list[str]) -> None:
    assert check_market(MARKET, only=only, seeds=(1,)) == []

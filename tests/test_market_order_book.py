"""The order book keeps the contract.

A change of its tools shows in the snapshot, which is recorded again with
`tradefair check order_book --write-snapshot tests/snapshots/order_book.json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.checks import CHECKED
from tradefair.catalog import load_scenario
from tradefair.order_book import MARKET
from tradefair.testing import CHECKS, Bench, check_market, schema_snapshot

# No preset has seats of all roles.
QUICK: dict[str, dict[str, Any]] = {"smoke": {}, "asset_short": {"periods": 2, "sweeps": 2, "traders": 3}}
SNAPSHOT = Path(__file__).with_name("snapshots") / "order_book.json"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(MARKET, scenarios=[load_scenario("order_book", *cut) for cut in QUICK.items()], seeds=(1,))


@pytest.mark.parametrize("check", CHECKED)
def test_the_order_book_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


def test_the_tools_are_those_of_the_snapshot() -> None:
    assert schema_snapshot(MARKET, SNAPSHOT) == []


@pytest.mark.many
def test_every_preset_keeps_the_contract() -> None:
    assert check_market(MARKET) == []

"""The bargaining market keeps the contract.

A change of its tools shows in the snapshot, which is recorded again with
`tradefair check bargaining --write-snapshot tests/snapshots/bargaining.json`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks import CHECKED
from tradefair.bargaining import MARKET
from tradefair.catalog import load_scenario
from tradefair.testing import CHECKS, Bench, check_market, schema_snapshot

SNAPSHOT = Path(__file__).with_name("snapshots") / "bargaining.json"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(MARKET, scenarios=[load_scenario("bargaining", "smoke")], seeds=(1,))


@pytest.mark.parametrize("check", CHECKED)
def test_bargaining_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


def test_the_tools_are_those_of_the_snapshot() -> None:
    assert schema_snapshot(MARKET, SNAPSHOT) == []


@pytest.mark.many
def test_every_preset_keeps_the_contract() -> None:
    assert check_market(MARKET) == []

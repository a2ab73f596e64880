"""The bargaining market keeps the contract.

A change of its tools shows in the snapshot, which is written anew with
`python -m fairground.testing snapshot bargaining > tests/snapshots/bargaining.json`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fairground.bargaining import MARKET
from fairground.testing import CHECKS, Bench, schema_snapshot

SNAPSHOT = Path(__file__).with_name("snapshots") / "bargaining.json"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(MARKET)


@pytest.mark.parametrize("check", CHECKS)
def test_bargaining_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


def test_the_tools_are_those_of_the_snapshot() -> None:
    assert schema_snapshot(MARKET, SNAPSHOT) == []

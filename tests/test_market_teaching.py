"""The teaching market keeps the contract.

A change of its tools shows in the snapshot, which is recorded again with
`tradefair check teaching --write-snapshot tests/snapshots/teaching.json`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.checks import CHECKED
from tradefair.catalog import load_scenario
from tradefair.teaching import MARKET
from tradefair.testing import CHECKS, Bench, check_market, schema_snapshot

SNAPSHOT = Path(__file__).with_name("snapshots") / "teaching.json"


def _appraisal(payload: JsonValue) -> JsonValue:
    return f"a fine pie: {payload}"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(MARKET, scenarios=[load_scenario("teaching", "talk")], seeds=(1,), services={"appraisal": _appraisal})


@pytest.mark.parametrize("check", CHECKED)
def test_teaching_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


def test_the_tools_are_those_of_the_snapshot() -> None:
    assert schema_snapshot(MARKET, SNAPSHOT) == []


@pytest.mark.many
def test_every_preset_keeps_the_contract() -> None:
    assert check_market(MARKET, services={"appraisal": _appraisal}, snapshot=SNAPSHOT) == []

"""The teaching market keeps the contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.checks import CHECKED, each_part
from tradefair.catalog import load_scenario
from tradefair.teaching import MARKET
from tradefair.testing import CHECKS, Bench, check_market


def _appraisal(payload: JsonValue) -> JsonValue:
    return f"a fine pie: {payload}"


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench(MARKET, scenarios=[load_scenario("teaching", "talk")], seeds=(1,), services={"appraisal": _appraisal})


@pytest.mark.parametrize("check", CHECKED)
def test_teaching_keeps_the_contract(bench: Bench, check: str) -> None:
    assert CHECKS[check](bench) == []


@each_part
def test_every_preset_keeps_the_contract(only: list[str]) -> None:
    snapshot = Path(__file__).with_name("snapshots") / "teaching.json"
    assert check_market(MARKET, only=only, services={"appraisal": _appraisal}, snapshot=snapshot) == []

"""Reference values of the retail page, 11.3 and 13, that take whole episodes of the reference store."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from statistics import mean

import pytest
from benchmarks.retail_calibration import SEEDS, Anchors, calibrate_store, play_oracle

from tradefair.contract import ScenarioError
from tradefair.retail.analysis import PriceKey
from tradefair.retail.model import RetailScenario
from tradefair.retail.rules import Retail

Scenarios = Callable[..., RetailScenario]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "tolerance"), [("cent", 0.03), ("unit_sum", 0.15)])
def test_the_oracle_survives_and_meets_the_published_means(
    scenario_of: Scenarios, key: PriceKey, tolerance: float
) -> None:
    runs = [play_oracle(scenario_of("paper"), seed, key) for seed in SEEDS]
    assert {(run.days, run.end_reason) for run in runs} == {(180, "terminated:horizon")}
    anchors = Anchors()
    assert mean(run.net_worth_cents / 100 for run in runs) == pytest.approx(anchors.net_worth, rel=tolerance)
    assert mean(run.units_sold for run in runs) == pytest.approx(anchors.units, rel=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["middle", "easy"])
def test_the_oracle_survives_and_gains_in_the_smaller_stores(scenario_of: Scenarios, preset: str) -> None:
    scenario = scenario_of(preset)
    for seed in SEEDS[:3]:
        run = play_oracle(scenario, seed)
        assert run.days == 180
        assert run.net_worth_cents > scenario.funds_start_cents


def test_the_oracle_gains_in_the_reference_store_from_the_first_weeks(scenario_of: Scenarios) -> None:
    run = play_oracle(scenario_of("paper", {"horizon_days": 21}), 1)
    assert run.net_worth_cents > 3_000_000
    assert run.units_sold > 15_000


def test_a_store_is_calibrated_to_other_anchors(scenario_of: Scenarios) -> None:
    scenario = scenario_of("smoke")
    runs = [play_oracle(scenario, seed) for seed in (1, 2)]
    worth, units = mean(run.net_worth_cents / 100 for run in runs), mean(run.units_sold for run in runs)
    wanted = Anchors(worth * 1.1, units * 1.1, 0.1)
    found = calibrate_store(scenario, wanted, (1, 2))
    assert found.mean_net_worth == pytest.approx(wanted.net_worth, rel=0.1)
    assert found.mean_units == pytest.approx(wanted.units, rel=0.1)
    again = scenario.model_copy(
        update={
            "store": scenario.store.model_copy(
                update={
                    "volume_per_product": found.volume_per_product,
                    "cost_level": found.cost_level,
                    "digest": found.digest,
                }
            )
        }
    )
    assert play_oracle(again, 2) == found.runs[1]


def test_anchors_out_of_reach_are_an_error(scenario_of: Scenarios) -> None:
    with pytest.raises(ScenarioError, match="anchors"):
        calibrate_store(scenario_of("smoke", {"horizon_days": 2}), Anchors(1e7, 1e7, 0.03), (1,))


_THOUSAND = """
import sys
from importlib.resources import files
from tradefair.contract.user_files import parse_toml
from tradefair.contract.scenario import build_scenario
from benchmarks.retail_calibration import oracle_day
from tradefair.retail.model import RetailScenario, product_id
from tradefair.retail.rules import Retail
text = files("tradefair.retail").joinpath("scenarios", "thousand_days.toml").read_text()
market = Retail(build_scenario(RetailScenario, parse_toml(text, source="x"), source="x"), 1)
selected = list(range(0, 96, 3))
market.set_shelf([product_id(place) for place in selected])
while market.terminated is None:
    oracle_day(market, selected)
    market.advance()
    market.digest()
    if market.day in (100, 1000):
        # Not ru_maxrss: a child's begins at its parent's.
        print(int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) // 1024)
market.check()
print(market.day - 1)
"""


@pytest.mark.slow
def test_a_thousand_days_fit_into_little_memory() -> None:
    command = [sys.executable, "-c", _THOUSAND]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout.split()
    early, late, days = map(int, out)
    assert days == 1000
    assert late < 300
    assert late - early < 64


@pytest.mark.slow
def test_books_balance_through_a_whole_reference_episode(
    scenario_of: Scenarios, live: Callable[[Retail, int], None]
) -> None:
    market = Retail(scenario_of("paper"), 5)
    live(market, 180)
    assert market.terminated is not None

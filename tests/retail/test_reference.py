"""Reference values of the retail page, 11.3 and 13, that take whole episodes of the reference store."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest
from benchmarks.calibrate_retail import page, rewritten
from benchmarks.retail_calibration import (
    CHECK_SEEDS,
    KNOBS,
    PUBLISHED,
    SEEDS,
    Point,
    Target,
    calibrate_store,
    play_oracle,
    with_knobs,
)
from tests.waiting import LONGER

from tradefair.contract import ScenarioError
from tradefair.retail.model import RetailScenario
from tradefair.retail.rules import Retail

Scenarios = Callable[..., RetailScenario]


@pytest.mark.many
@pytest.mark.parametrize("seeds", [SEEDS[:16], CHECK_SEEDS])
def test_the_oracle_survives_and_meets_four_published_means(scenario_of: Scenarios, seeds: tuple[int, ...]) -> None:
    found = Point({}, "", tuple(play_oracle(scenario_of("paper"), seed) for seed in seeds))
    assert {(run.days, run.end_reason) for run in found.runs} == {(180, "terminated:horizon")}
    assert found.figures == {name: pytest.approx(value, rel=near) for name, (value, near) in PUBLISHED.items()}


@pytest.mark.many
def test_price_groups_of_single_lucky_days_ruin_the_oracle_or_halve_its_worth(scenario_of: Scenarios) -> None:
    # The source's own grouping. Its oracle may have negative funds for ten closes, ours for five as every manager.
    patient = scenario_of("paper", {"insolvency_days": 10})
    assert sum(play_oracle(scenario_of("paper"), seed, "unit_sum").days < 10 for seed in SEEDS[:8]) >= 5
    whole = [run for seed in SEEDS[:8] if (run := play_oracle(patient, seed, "unit_sum")).days == 180]
    assert len(whole) >= 6
    assert 0.35 <= mean(run.net_worth_cents / 100 for run in whole) / PUBLISHED["net_worth"].value <= 0.65


@pytest.mark.many
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


def test_a_store_is_calibrated_to_other_targets(scenario_of: Scenarios) -> None:
    scenario, knobs = scenario_of("smoke"), dict.fromkeys(KNOBS, 1.0)
    made = Point(knobs, "", tuple(play_oracle(scenario, seed) for seed in (1, 2)))
    wanted = {name: Target(made.figures[name] * 1.1, 0.2) for name in ("net_worth", "units")}
    *tried, found = calibrate_store(scenario, wanted, (1, 2))
    assert len(tried) >= len(KNOBS)
    assert found.figures["net_worth"] == pytest.approx(wanted["net_worth"].value, rel=0.1)
    assert found.figures["units"] == pytest.approx(wanted["units"].value, rel=0.1)
    again = with_knobs(scenario, found.knobs)
    assert play_oracle(again, 2) == found.runs[1]
    assert found.digest == Retail(again, 1).store.digest


def test_targets_out_of_reach_are_an_error(scenario_of: Scenarios) -> None:
    with pytest.raises(ScenarioError, match="knobs"):
        list(calibrate_store(scenario_of("smoke", {"horizon_days": 1}), {"net_worth": Target(1e7, 0.03)}, (1,)))


def test_the_record_of_a_search_goes_into_the_preset_and_its_page(scenario_of: Scenarios) -> None:
    runs = (play_oracle(scenario_of("smoke"), 1),)
    point = Point({"store.cost_level": 0.5, "store.sales_spread": 2.0, "demand.noise_divisor": 1.5}, "ab" * 32, runs)
    text = 'id = "x"\n\n[store]\nkey = "k"\ncost_level = 0.9\ndigest = ""\n\n[seats]\nmanager = "agent"\n'
    written = tomllib.loads(rewritten(text, point))
    assert written["store"] == {"key": "k", "cost_level": 0.5, "sales_spread": 2.0, "digest": "ab" * 32}
    assert written["demand"] == {"noise_divisor": 1.5}
    assert written["seats"] == {"manager": "agent"}
    record = page(Path("x.md"), [point, point], point)
    assert f"| 2 | 1 | 0.5 | 2 | 1.5 | {runs[0].net_worth_cents / 100:,.0f} (" in record


_THOUSAND = """
import sys
from importlib.resources import files
from tradefair.files.user_files import parse_toml
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


def test_a_thousand_days_fit_into_little_memory() -> None:
    command = [sys.executable, "-c", _THOUSAND]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LONGER).stdout.split()
    early, late, days = map(int, out)
    assert days == 1000
    assert late < 300
    assert late - early < 64


@pytest.mark.many
def test_books_balance_through_a_whole_reference_episode(
    scenario_of: Scenarios, live: Callable[[Retail, int], None]
) -> None:
    market = Retail(scenario_of("paper"), 5)
    live(market, 180)
    assert market.terminated is not None

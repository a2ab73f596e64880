"""Reference values of the retail page, 11.3 and 13, that take whole episodes of the reference store."""

from __future__ import annotations

import math
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.calibrate_retail import check_lines, page, rewritten
from benchmarks.retail_calibration import (
    CHECK_SEEDS,
    KNOBS,
    PUBLISHED,
    SEEDS,
    TARGETS,
    Bound,
    Point,
    Target,
    calibrate_store,
    play_point,
    with_knobs,
)
from benchmarks.retail_play import play_manager
from tests.waiting import LONGER

from tradefair.contract import ScenarioError
from tradefair.evaluation.markets.retail.ladder import ORACLE
from tradefair.retail.model import RetailScenario
from tradefair.retail.rules import Retail

Scenarios = Callable[..., RetailScenario]


@pytest.mark.many
def test_the_published_oracle_meets_its_means_in_a_store_that_is_hard_for_others(scenario_of: Scenarios) -> None:
    paper = scenario_of("paper")
    managers = dict.fromkeys(target.manager for target in TARGETS.values())
    found = Point({}, "", {name: [play_manager(paper, seed, name) for seed in CHECK_SEEDS] for name in managers})
    assert {(run.days, run.end_reason) for run in found.runs[ORACLE]} == {(180, "terminated:horizon")}
    assert [name for name, target in TARGETS.items() if not target.met(found.mean(target))] == []
    assert sum(run.days < 130 for run in found.runs["price_first"]) >= 12
    assert max(run.net_worth for run in found.runs["reorder_point"]) <= 45_000


@pytest.mark.many
@pytest.mark.parametrize("preset", ["middle", "easy"])
def test_the_oracle_survives_and_gains_in_the_smaller_stores(scenario_of: Scenarios, preset: str) -> None:
    scenario = scenario_of(preset)
    for seed in SEEDS[:3]:
        run = play_manager(scenario, seed, "oracle")
        assert run.days == 180
        assert run.net_worth_cents > scenario.funds_start_cents


def test_the_oracle_gains_in_the_reference_store_from_the_first_weeks(scenario_of: Scenarios) -> None:
    run = play_manager(scenario_of("paper", {"horizon_days": 21}), 1, "oracle")
    assert run.net_worth_cents > 3_000_000
    assert run.units_sold > 15_000


def test_a_store_is_calibrated_to_other_targets(scenario_of: Scenarios) -> None:
    scenario = scenario_of("smoke")
    made = play_point(scenario, {}, PUBLISHED, (1, 2), 1)
    wanted = {
        name: PUBLISHED[name]._replace(value=made.mean(PUBLISHED[name]) * 1.1, tolerance=0.1)
        for name in ("net_worth", "units")
    }
    *tried, found = calibrate_store(scenario, wanted, (1, 2))
    assert len(tried) >= len(KNOBS)
    for target in wanted.values():
        assert found.mean(target) == pytest.approx(target.value, rel=0.06)
    again = with_knobs(scenario, found.knobs)
    assert play_manager(again, 2, ORACLE) == found.runs[ORACLE][1]
    assert found.digest == Retail(again, 1).store.digest


def test_targets_out_of_reach_are_an_error(scenario_of: Scenarios) -> None:
    far = {"net_worth": PUBLISHED["net_worth"]._replace(value=1e7)}
    with pytest.raises(ScenarioError, match="knobs"):
        list(calibrate_store(scenario_of("smoke", {"horizon_days": 1}), far, (1,)))


@pytest.mark.parametrize(
    ("target", "mean", "distance", "met"),
    [
        (Target("", "", "", 100.0, 0.1), 100.0, 0.0, True),
        (Target("", "", "", 100.0, 0.1), 100.0 * math.e, 10.0, False),
        (Target("", "", "", 100.0, 0.1), 90.5, 10 * math.log(0.905), True),
        (Bound("", "", "", 24.0, 18.0, 4.0), 10.0, 0.0, True),
        (Bound("", "", "", 24.0, 18.0, 4.0), 24.0, 1.5, True),
        (Bound("", "", "", 24.0, 18.0, 4.0), 26.0, 2.0, False),
    ],
)
def test_a_mean_is_away_by_tolerances_or_by_steps_above_the_aim(
    target: Target | Bound, mean: float, distance: float, met: bool
) -> None:
    assert target.distance(mean) == pytest.approx(distance)
    assert target.met(mean) is met


def test_the_record_of_a_search_goes_into_the_preset_and_its_page(scenario_of: Scenarios) -> None:
    scenario = scenario_of("smoke", {"horizon_days": 1})
    knobs = {"store.cost_level": 0.5, "store.review_lift": (0.5, 0.9), "demand.rho": 3.5}
    point = play_point(scenario, knobs, TARGETS, (1,), 1)
    text = 'id = "x"\n\n[store]\nkey = "k"\ncost_level = 0.9\ndigest = ""\n\n[seats]\nmanager = "agent"\n'
    written = tomllib.loads(rewritten(text, point))
    assert written["store"] == {"key": "k", "cost_level": 0.5, "review_lift": [0.5, 0.9], "digest": point.digest}
    assert written["demand"] == {"rho": 3.5}
    assert written["seats"] == {"manager": "agent"}
    record = page(Path("x.md"), [point, point], point)
    assert "| 2 | 1 | 0.5 | 0.5–0.9 | 3.5 | " in record
    assert all(line in record for line in check_lines(point))
    assert "| days survived | 180 | every seed | 1 to 1 | no |" in record


_THOUSAND = """
import sys
from importlib.resources import files
from tradefair.files.user_files import parse_toml
from tradefair.contract.scenario import build_scenario
from benchmarks.retail_play import manage_day, manager_of
from tradefair.retail.model import RetailScenario
from tradefair.retail.rules import Retail
text = files("tradefair.retail").joinpath("scenarios", "thousand_days.toml").read_text()
market = Retail(build_scenario(RetailScenario, parse_toml(text, source="x"), source="x"), 1)
oracle = manager_of("oracle", 1)
while market.terminated is None:
    manage_day(market, oracle)
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

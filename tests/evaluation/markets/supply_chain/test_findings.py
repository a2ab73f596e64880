"""The findings of the source on the bundled population, on seeds that no calibration has seen."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from benchmarks.calibrate_supply import retailers
from tests.evaluation.markets.supply_chain.conftest import GATED, PAPER, Episode, play_game

from tradefair.catalog import load_scenario
from tradefair.cli import run
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.supply_chain.population import (
    METRICS,
    Population,
    PopulationRow,
    Retailer,
    population,
    published,
    together,
)
from tradefair.runner.plans.plan import load_plan
from tradefair.supply_chain.model import SupplyChainScenario

pytestmark = pytest.mark.many

SEEDS = range(70_001, 70_007)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("findings")
    return [
        play_game(folder / f"{scenario[-5:]}-{seed}.trace", Episode(scenario, {}, "skill", seed))
        for scenario in (PAPER, GATED)
        for seed in SEEDS
    ]


@pytest.fixture(scope="module")
def rows(traces: Sequence[Path]) -> dict[str, PopulationRow]:
    return {row.scenario: row for row in population(traces).rows}


def mean(row: Population, figure: str) -> float:
    found = row.metrics[figure].correlation.mean
    assert found is not None
    return found


def steps(row: PopulationRow, figure: str) -> list[float]:
    return [value for value in row.steps[figure] if value is not None]


@pytest.mark.parametrize("scenario", [PAPER, GATED])
def test_profit_rises_with_margin_return_bids_and_fill_and_falls_with_stock_outs(
    rows: dict[str, PopulationRow], scenario: str
) -> None:
    row = rows[scenario]
    for figure in ("npm", "rar", "bid_eff", "fill"):
        assert mean(row, figure) > 0.5, figure
    assert mean(row, "stockout") < -0.5
    assert mean(row, "pi") == 1


def test_in_the_papers_setting_the_population_is_near_the_published_one(rows: dict[str, PopulationRow]) -> None:
    paper, source = rows[PAPER], published()
    for figure in ("stockout", "bid_eff", "fill"):
        assert mean(paper, figure) == pytest.approx(mean(source, figure), abs=0.2), figure
        assert paper.metrics[figure].mean == pytest.approx(source.metrics[figure].mean, rel=0.2), figure
    fails, partly, works = paper.bid_eff
    assert fails + partly + works == pytest.approx(20)
    assert partly > max(fails, works)
    assert paper.profit_cr4.mean is not None
    assert 0.6 < paper.profit_cr4.mean < 0.9
    assert paper.profit_cr4.episodes == len(SEEDS)
    for figure in ("wealth_gini", "wealth_hhi", "wealth_cr4"):
        assert all(before < now for before, now in pairwise(steps(paper, figure))), figure


def test_the_published_population_is_that_of_table_2() -> None:
    source = published()
    assert (source.bid_eff, source.losers.mean) == ((1, 16, 3), 1)
    assert source.profit_cr4.mean == pytest.approx(0.726, abs=0.001)
    assert source.fill.mean == pytest.approx(1.491)
    told = {name: round(mean(source, name), 2) for name in METRICS}
    assert told == {
        "npm": 0.91, "pi": 1.0, "rar": 0.94, "iei": 0.24, "stockout": -0.88, "bid_eff": 0.68, "osi": 0.23, "fill": 0.88,
        "mms": 0.16,
    }  # fmt: skip
    assert source.metrics["stockout"].mean == pytest.approx(0.918, abs=0.001)
    path = Path(os.environ.get("TRADEFAIR_DATA", "."), "published", "market_bench.toml")
    if path.is_file():
        ours = files("tradefair.evaluation.markets.supply_chain").joinpath("published.toml").read_text(encoding="utf-8")
        assert tomllib.loads(ours)["table"] == tomllib.loads(path.read_text(encoding="utf-8"))["table"][:1]


def test_figures_are_over_the_seats_that_have_them_and_over_episodes() -> None:
    rows = ((1.0, 0.5), (-2.0, None), (4.0, 0.25))
    seats: list[Retailer] = [dict.fromkeys(METRICS, 0.0) | {"pi": pi, "mms": mms} for pi, mms in rows]
    found = together([seats, seats[:1]])
    assert (found.metrics["mms"].correlation.mean, found.metrics["mms"].correlation.episodes) == (-1, 1)
    # Of one seat there are no quartiles; its mean counts as much as that of three.
    assert (found.metrics["pi"].mean, found.metrics["pi"].quartiles) == (1.0, (-0.5, 1.0, 2.5))
    assert (found.losers.mean, found.bid_eff) == (0.5, (2, 0, 0))
    assert together([seats[1:2]]).profit_cr4.mean is None


def test_the_search_measures_by_rules_alone_what_a_trace_has(traces: Sequence[Path]) -> None:
    scenario = load_scenario("supply_chain", "paper")
    assert isinstance(scenario, SupplyChainScenario)
    outcome = evaluate_file(traces[0]).outcome
    assert outcome is not None
    for ours, seat in zip(retailers(scenario, SEEDS[0]), outcome.seats.values(), strict=True):
        assert ours == pytest.approx({name: getattr(seat, name) for name in METRICS})


def test_stability_and_match_stand_by_round(traces: Sequence[Path]) -> None:
    outcome = evaluate_file(traces[0]).outcome
    assert outcome is not None
    for seat in outcome.seats.values():
        assert len(seat.osi_by_round) == len(seat.mms_by_round) == 6
        assert (seat.osi_by_round[0], seat.osi_by_round[-1]) == (1.0, seat.osi)
        assert sum(seat.mms_by_round) / 6 == pytest.approx(seat.mms)


def test_what_is_no_whole_episode_is_left_out(traces: Sequence[Path], tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.trace"
    garbage.write_bytes(b"no trace")
    report = population([traces[0], garbage])
    assert [row.episodes for row in report.rows] == [1]
    assert report.rows[0].profit_cr4.low is None
    assert list(report.left_out) == [str(garbage)]


def test_the_command_reads_what_the_plan_plays(
    traces: Sequence[Path], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert {PAPER, GATED} < {*load_plan("supply_chain/findings").plan.plan.scenarios}
    assert run(["lab", "population", str(traces[0].parent), "--json"]) == 0
    assert [row["episodes"] for row in orjson.loads(capfdbinary.readouterr().out)["rows"]] == [6, 6]
    assert run(["lab", "population", *map(str, traces[:2])]) == 0
    shown = capfdbinary.readouterr().out
    assert b"figures of a retailer" in shown
    assert b"Market-Bench" in shown
    assert b"top-4 share of profit" in shown

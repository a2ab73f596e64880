"""The findings of the source on the bundled population, on seeds that no calibration has seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from tests.evaluation.markets.supply_chain.conftest import GATED, PAPER, Episode, play_game

from tradefair.cli import run
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.supply_chain.population import PopulationRow, population
from tradefair.runner.plans.plan import load_plan

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


def mean(row: PopulationRow, figure: str) -> float:
    found = row.correlations[figure].mean
    assert found is not None
    return found


def steps(row: PopulationRow, figure: str) -> list[float]:
    return [value for value in row.steps[figure] if value is not None]


@pytest.mark.parametrize("scenario", [PAPER, GATED])
def test_profit_rises_with_bid_efficiency_and_fill_and_falls_with_stock_outs(
    rows: dict[str, PopulationRow], scenario: str
) -> None:
    row = rows[scenario]
    assert mean(row, "bid_eff") > 0.2
    assert mean(row, "fill") > 0.4
    assert mean(row, "stockout") < -0.4
    assert abs(mean(row, "mms")) < 0.5


def test_in_the_papers_setting_wealth_concentrates_while_ranks_keep_changing(rows: dict[str, PopulationRow]) -> None:
    paper = rows[PAPER]
    for figure in ("wealth_gini", "wealth_hhi", "wealth_cr4", "revenue_gini"):
        assert all(before < now for before, now in pairwise(steps(paper, figure))), figure
    moved = steps(paper, "wealth_mobility")
    assert len(moved) == 5
    assert sum(moved) / 5 > 2
    assert min(moved) > 1
    assert paper.profit_cr4.mean is not None
    assert 0.6 < paper.profit_cr4.mean < 0.9
    assert paper.profit_cr4.episodes == len(SEEDS)


def test_procurement_can_fail_in_the_default_preset(rows: dict[str, PopulationRow]) -> None:
    fails, partly, works = rows[GATED].bid_eff
    assert fails > 0.5
    assert partly > 1
    assert works > 10
    assert fails + partly + works == pytest.approx(20)


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
    assert b"top-4 share of profit" in capfdbinary.readouterr().out

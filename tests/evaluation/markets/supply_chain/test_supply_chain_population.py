"""Figures of a supply chain beside those of the `skill` population on the same scenario and seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.playing import played_by

from tradefair.evaluation.judge.evaluate import evaluate_file, tables_of
from tradefair.evaluation.judge.population import Populations
from tradefair.evaluation.markets.supply_chain.evaluator import EVALUATOR
from tradefair.evaluation.report import episode_page
from tradefair.evaluation.table import number_text
from tradefair.evaluation.verdict.terminal import show_series
from tradefair.tracestore import open_trace


def play(path: Path, first: str = "skill", seed: int = 3, rounds: int = 2, **overrides: Any) -> Path:
    """A duel of `skill` retailers and whoever has the first seat."""
    seats = {"retailer_01": first}
    return played_by(path, "supply_chain/duel", seats, seed, others="skill", rounds=rounds, **overrides)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace and what `play` leaves beside it: the population, on this seed and as one of several, and a rival."""
    folder = tmp_path_factory.mktemp("population")
    beside = folder / "references"
    beside.mkdir()
    play(folder / "game.trace", "adaptive")
    play(beside / "all-skill.trace")
    play(beside / "all-skill-4.trace", seed=4)
    play(beside / "passive.trace", "passive")
    return folder


def test_the_population_of_the_same_scenario_and_seed_is_found_beside_a_trace(folder: Path) -> None:
    evaluation = evaluate_file(folder / "game.trace")
    population = evaluation.population
    assert population is not None
    assert {one.label for one in population.seats.values()} == {"policy:skill"}
    assert population == evaluate_file(folder / "references" / "all-skill.trace").outcome
    assert evaluate_file(folder / "references" / "passive.trace").population == population
    assert evaluate_file(folder / "references" / "all-skill.trace").population == population


def test_every_table_has_the_populations_figures_in_a_column_of_their_own(folder: Path) -> None:
    evaluation = evaluate_file(folder / "game.trace")
    assert evaluation.outcome is not None
    assert evaluation.population is not None
    inequality, market, more = tables_of(evaluation.outcome, evaluation.population)
    assert list(inequality.columns) == ["figure", "value", "equal split", "skill population"]
    assert list(market.columns) == ["figure", "value", "skill population"]
    assert more.columns[0] == "seat"
    gini = next(row for row in inequality.rows if row[0] == "Gini of wealth")
    both = (evaluation.outcome, evaluation.population)
    assert [gini[1], gini[3]] == [number_text(one.market_outcome.wealth_gini) for one in both]
    profit = next(row for row in market.rows if row[0] == "profit, mean")
    assert [*profit[1:]] == [
        number_text(round(sum(seat.pi for seat in one.seats.values()) / len(one.seats), 9)) for one in both
    ]
    assert profit[1] != profit[2]
    assert tables_of(*both, brief=True) == [inequality, market]
    assert evaluation.to_json()["population"]["seed"] == 3
    shown = {table.title: table.rows for table in episode_page(folder / "game.trace", check=False).tables}
    assert shown[market.title] == [list(row) for row in market.rows]


@pytest.mark.parametrize("other", [{"seed": 4}, {"rounds": 1}, {"demand_ratio": 1.1}], ids=["seed", "rounds", "demand"])
def test_a_population_of_another_market_or_luck_is_none(folder: Path, tmp_path: Path, other: dict[str, Any]) -> None:
    path, beside = play(tmp_path / "game.trace", "adaptive", **other), tmp_path / "references"
    beside.mkdir()
    (beside / "all-skill.trace").write_bytes((folder / "references" / "all-skill.trace").read_bytes())
    evaluation = evaluate_file(path)
    assert evaluation.outcome is not None
    assert evaluation.population is None
    assert "population" not in evaluation.to_json()
    inequality, *_ = tables_of(evaluation.outcome)
    assert "no skill population beside it" in inequality.title
    assert {row[3] for row in inequality.rows} == {"–"}
    assert tables_of(evaluation.outcome, brief=True) == ()


def test_a_population_can_be_named_and_damaged_files_among_them_are_passed_over(folder: Path, tmp_path: Path) -> None:
    path = play(tmp_path / "game.trace", "adaptive")
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "a.trace").write_bytes(b"no trace")
    play(tmp_path / "sweep" / "b.trace", record="digests")
    assert evaluate_file(path).population is None
    found = evaluate_file(path, Populations([tmp_path / "sweep"])).population
    assert found is not None
    beside = evaluate_file(folder / "references" / "all-skill.trace").population
    assert beside is not None
    assert found.seats == beside.seats


def test_several_episodes_show_the_means_of_their_markets_beside_the_population(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = evaluate_file(folder / "game.trace")
    assert evaluation.outcome is not None
    assert evaluation.population is not None
    show_series([evaluation, evaluation], [["retailer_01"]] * 2)
    shown = capsys.readouterr().out
    assert "the market, means over 2 episodes" in shown
    unmet = next(line for line in shown.splitlines() if line.startswith("unmet demand"))
    both = (evaluation.outcome, evaluation.population)
    assert unmet.split()[2:] == [number_text(one.market_outcome.unmet) for one in both]


def test_a_population_whose_facts_break_the_formulas_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(trace: object) -> None:
        raise ZeroDivisionError

    with open_trace(folder / "references" / "all-skill.trace") as trace:
        assert Populations().of(trace) is not None
        monkeypatch.setattr(EVALUATOR, "outcomes", broken)
        assert Populations().of(trace) is None

"""The ladder that stands under a result in the reference store."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.retail_ladder import PAGE, rungs_of, with_ladder
from tests.evaluation.playing import played

from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.retail.evaluator import EVALUATOR
from tradefair.evaluation.markets.retail.ladder import RUNGS, Ladder, ladder, ladder_sentence, ladder_table
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.evaluation.verdict.of_trace import verdict_of_file


def test_the_ladder_is_of_these_rules_and_this_store() -> None:
    known = ladder()
    assert known.rules_version == market_type("retail").version
    assert known.scenario_digest == scenario_key(load_scenario("retail", "paper").model_dump(mode="json"))
    assert tuple(rung.policy for rung in known.rungs) == RUNGS


def test_the_page_has_the_ladder_that_is_shipped() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_ladder(text, ladder()) == text


def test_the_sentence_names_every_rung_the_published_range_and_that_the_store_is_made_up() -> None:
    said = ladder_sentence()
    assert len(said) <= 240
    for rung in ladder().rungs:
        assert f"{rung.policy} {rung.net_worth / 1000:.1f}" in said
    assert said.startswith("Net worth in retail/paper, a synthetic store")
    assert "published LLM agents -2.1 to 24.4, alive for 58 to 180 days" in said


def test_a_result_in_the_reference_store_ends_with_the_ladder(tmp_path: Path) -> None:
    path = played(tmp_path / "t.trace", "retail/paper", "passive", horizon_days=2)
    assert verdict_of_file(path).sentences[-1] == ladder_sentence()
    outcome = evaluate_file(path).outcome
    table = EVALUATOR.tables(outcome)[-1]  # pyright: ignore[reportArgumentType]
    assert table == ladder_table()
    assert table.rows[-1] == ("LLM agents, published", "58–180", "–", "-2,134", "24,351")


def test_a_rung_has_means_and_extremes_over_the_seeds() -> None:
    results = {policy: [(180, 100.0), (58, -50.0)] for policy in RUNGS}
    rung = rungs_of(results)[0]
    assert (rung.days, rung.net_worth, rung.lowest, rung.highest) == (119.0, 25.0, -50.0, 100.0)


@pytest.mark.parametrize("page", ["a <!-- ladder -->old<!-- /ladder --> b"])
def test_only_what_stands_between_the_markers_is_written(page: str) -> None:
    made = with_ladder(page, Ladder(rules_version="9", scenario_digest="", seeds=1, rungs=ladder().rungs))
    assert made.startswith("a <!-- ladder -->\n| manager |")
    assert made.endswith("<!-- /ladder --> b")
    assert "old" not in made
    assert "The store is synthetic" in made

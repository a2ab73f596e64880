"""Every failure mode of retail: a manager that provokes it, and the careful one that does not. Real episodes.

Also here:
- The ladder that stands under a result in the reference store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fidelity.published import published
from benchmarks.retail_ladder import PAGE, rungs_of, with_ladder
from benchmarks.retail_play import ManagerRun
from tests.evaluation.playing import played

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Policy
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.retail.evaluator import EVALUATOR
from tradefair.evaluation.markets.retail.ladder import (
    ORACLE,
    PUBLISHED,
    RUNGS,
    Ladder,
    ladder,
    ladder_sentence,
    ladder_table,
)
from tradefair.evaluation.markets.retail.modes.detectors import MODES
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.modes.published import evidence_toml, published_paths
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.retail.answers.evidence import EVIDENCE_VERSION, RECENCY_DAYS
from tradefair.retail.seats.strategies import CarefulReader, Today

PlayRetail = Callable[..., Path]


def diagnosis_of(path: Path) -> Diagnosis:
    found = evaluate_file(path)
    assert found.diagnosis is not None, found.problem
    return found.diagnosis


class Dear(CarefulReader):
    """Careful, but asks `times` the best price for every `step`-th product."""

    def __init__(self, times: float, step: int) -> None:
        super().__init__()
        self._times, self._step = times, step

    def price(self, product: str, best: int | None, quotes: Sequence[int], today: Today) -> int | None:
        """The best price, or a multiple of it."""
        wrong = best is not None and int(product[1:]) % self._step == 0
        return round(best * self._times) if wrong and best is not None else best


def ten_times() -> Policy:
    return Dear(10.0, 5)


CONTROLS: list[tuple[str, str | Callable[[], Policy], str]] = [
    ("price_first_sourcing", "price_first", "middle"),
    ("ignored_returns", "blind_buyer", "middle"),
    ("stale_quotes", "blind_buyer", "middle"),
    ("priced_out", ten_times, "middle"),
    ("overbuying", "hoarder", "middle"),
    ("stranded_stock", "stockpiler", "middle"),
    ("illiquid", "stockpiler", "middle"),
    ("empty_shelf", "bare_shelf", "middle"),
    ("idle_days", "passive", "middle"),
    ("news_unread", "sealed_ears", "smoke"),
    ("narrow_attention", "narrow_attention", "middle"),
    ("follow_up", "no_follow_up", "middle"),
    ("resolved", "bare_shelf", "easy"),
    ("below_cost", "giveaway", "middle"),
    ("missing_evidence", "blind_buyer", "middle"),
    ("refused_calls", "fumbler", "middle"),
]
DAYS = {"middle": {"horizon_days": 45}, "easy": {"horizon_days": 45}, "smoke": {}}


def mode_id(name: str) -> str:
    return f"retail.{name}" if name in MODES.rows else name


def test_every_mode_of_retail_has_a_control() -> None:
    assert {name for name, _, _ in CONTROLS} >= MODES.rows.keys()


@pytest.mark.many
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("name", "manager", "preset"), CONTROLS)
def test_each_control_raises_its_mode(
    play_retail: PlayRetail, name: str, manager: str | Callable[[], Policy], preset: str, seed: int
) -> None:
    found = diagnosis_of(play_retail(manager, seed, f"retail/{preset}", DAYS[preset]))
    # Trouble that nobody looked into, and prices that nobody looked up, may be told by what the neglect led to.
    neglect = name in ("resolved", "stale_quotes")
    assert found.finding(mode_id(name)).status in (("raised", "merged") if neglect else ("raised",))


@pytest.mark.many
@pytest.mark.parametrize("preset", ["retail/middle", "retail/easy", "retail/paper"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_careful_reader_raises_nothing(play_retail: PlayRetail, preset: str, seed: int) -> None:
    found = diagnosis_of(play_retail("careful_reader", seed, preset, {"horizon_days": 60}))
    assert [finding.id for finding in found.raised] == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_careful_reader_raises_nothing_in_two_weeks(play_retail: PlayRetail, seed: int) -> None:
    found = diagnosis_of(play_retail("careful_reader", seed))
    assert [finding.id for finding in found.raised] == []


def test_evidence_of_the_oracle_reads_privileged(play_retail: PlayRetail) -> None:
    found = diagnosis_of(play_retail("oracle"))
    for name in ("missing_evidence", "retail.news_unread"):
        assert (found.finding(name).status, found.finding(name).note) == ("unchecked", "privileged")


def test_the_published_evidence_map_is_the_one_of_the_tools() -> None:
    made = evidence_toml(market_type("retail"), EVIDENCE_VERSION, RECENCY_DAYS)
    assert published_paths()["retail"].read_text(encoding="utf-8") == made


def test_the_ladder_is_of_these_rules_and_this_store() -> None:
    known = ladder()
    assert known.rules_version == market_type("retail").version
    assert known.scenario_digest == scenario_key(load_scenario("retail", "paper").model_dump(mode="json"))
    assert tuple(rung.policy for rung in known.rungs) == RUNGS


def test_the_page_has_the_ladder_that_is_shipped() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert with_ladder(text, ladder()) == text


def test_the_sentence_counts_bankrupt_managers_beside_those_of_the_source() -> None:
    known = ladder()
    dead = [rung.policy for rung in known.rungs[:-2] if rung.days < 130]
    assert {"passive", "random_legal"} < {*dead}
    assert not {"reorder_point", "careful_reader", "oracle"} & {*dead}
    said = ladder_sentence()
    assert said.startswith(
        f"retail/paper: of 7 scripted managers that know nothing hidden, {len(dead)} go bankrupt before"
    )
    assert "(published: 5 of 7 agents by day 130)" in said
    worth = {rung.policy: f"{rung.net_worth:,.0f}" for rung in known.rungs}
    assert f"the naive rule ends at {worth['reorder_point']} (best published agent 24,351)" in said
    assert f"the oracle as published at {worth[ORACLE]} (published 131,510). The store is synthetic." in said


def test_what_the_sentence_says_of_the_source_is_what_its_table_has() -> None:
    table = published("retailbench", "table_1")
    worth, days = (
        {row: value for (row, column), value in table.items() if column == name} for name in ("net_worth", "days")
    )
    assert round(worth.pop("Oracle Policy")) == PUBLISHED.oracle
    del days["Oracle Policy"]
    assert (round(min(worth.values())), round(max(worth.values()))) == PUBLISHED.net_worth
    assert (min(days.values()), max(days.values())) == PUBLISHED.days
    assert len(days) == PUBLISHED.agents
    assert sum(day <= PUBLISHED.by_day for day in days.values()) == PUBLISHED.bankrupt


@pytest.mark.parametrize(
    "changed", [{"horizon_days": 2}, {"horizon_days": 2, "store.cost_level": 0.6, "store.digest": ""}]
)
def test_another_store_or_length_says_nothing_of_the_ladder(tmp_path: Path, changed: dict[str, Any]) -> None:
    path = played(tmp_path / "t.trace", "retail/paper", "passive", **changed)
    assert verdict_of_file(path).world == ""


def test_a_result_in_the_reference_store_ends_with_the_ladder(tmp_path: Path) -> None:
    path = played(tmp_path / "t.trace", "retail/paper", "passive")
    verdict = verdict_of_file(path)
    assert verdict.sentences[-1] == ladder_sentence()
    assert verdict_of_series([verdict, verdict]).sentences[-1] == ladder_sentence()
    outcome = evaluate_file(path).outcome
    table = EVALUATOR.tables(outcome)[-1]  # pyright: ignore[reportArgumentType]
    assert table == ladder_table()
    assert [row[0] for row in table.rows[-3:-1]] == ["oracle as published", "oracle by the cent"]
    assert table.rows[-1] == ("LLM agents, published", "58–180", "–", "–", "-2,134", "24,351")


def test_the_ladder_stands_under_no_other_scenario(tmp_path: Path) -> None:
    path = played(tmp_path / "t.trace", "retail/smoke", "passive", horizon_days=2)
    assert verdict_of_file(path).world == ""
    outcome = evaluate_file(path).outcome
    assert ladder_table().title not in [table.title for table in EVALUATOR.tables(outcome)]  # pyright: ignore[reportArgumentType]


def test_a_rung_has_means_and_extremes_over_the_seeds() -> None:
    whole = ManagerRun(1, 10_000, 9, 180, "terminated:horizon", 1.0, 0, 0.0, 0.0)
    dead = ManagerRun(2, -5_000, 9, 58, "terminated:insolvent", 1.0, 0, 0.0, 0.0)
    rung = rungs_of({policy: [whole, dead] for policy in RUNGS})[0]
    assert (rung.days, rung.net_worth, rung.lowest, rung.highest, rung.alive) == (119.0, 25.0, -50.0, 100.0, 1)


def test_only_what_stands_between_the_markers_is_written() -> None:
    page = "a <!-- sentence of the ladder -->old<!-- /sentence of the ladder --> b <!-- ladder -->old<!-- /ladder --> c"
    made = with_ladder(page, Ladder(rules_version="9", scenario_digest="", seeds=1, rungs=ladder().rungs))
    assert made.startswith("a <!-- sentence of the ladder -->\nretail/paper: of 7 ")
    assert " b <!-- ladder -->\n| manager |" in made
    assert made.endswith("<!-- /ladder --> c")
    assert "old" not in made

"""Every failure mode of retail: a manager that provokes it, and the careful one that does not. Real episodes.

Also here:
- The ladder that stands under a result in the reference store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from benchmarks.retail_ladder import PAGE, rungs_of, with_ladder
from tests.evaluation.playing import played

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Policy
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.retail.evaluator import EVALUATOR
from tradefair.evaluation.markets.retail.ladder import RUNGS, Ladder, ladder, ladder_sentence, ladder_table
from tradefair.evaluation.markets.retail.modes.detectors import MODES
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.modes.published import evidence_toml, published_paths
from tradefair.evaluation.verdict.of_trace import verdict_of_file
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

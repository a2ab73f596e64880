"""

Also here:
- The headline: a ratio of means over seeds, and its interval over blocks of one seed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.calling import seating

from tradefair import catalog
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import ScenarioError
from tradefair.evaluation.evaluator import Evaluator, evaluator_of, fields_for
from tradefair.evaluation.headline import Block, Headline, headline_of
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.modes.detectors import GENERAL
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.table import number_text
from tradefair.host.episode.episode import Episode
from tradefair.tracestore import jsonl_lines, open_trace

Play = Callable[..., Path]

WORKED_LUCK: dict[str, Any] = {
    "round": 1,
    "speaking_order": None,
    "quote_order": ["S3", "B2", "S1", "B3", "B1", "S2"],
    "pairs": [
        {"buyer": "B2", "seller": "S1", "up": True, "maker": "B2"},
        {"buyer": "B1", "seller": "S2", "up": False, "maker": "B1"},
    ],
}
"""The worked example of the double_auction page, 6.8."""


def outcome_of(path: Path) -> Outcome[Any, Any]:
    evaluation = evaluate_file(path)
    assert evaluation.outcome is not None, evaluation.problem
    return evaluation.outcome


def test_the_worked_example_of_the_specification_comes_out(play_quotes: Play) -> None:
    quotes = {"B1": 60, "B2": 60, "B3": 40, "S1": 45, "S2": 55, "S3": 80}
    outcome = outcome_of(play_quotes((90, 70, 40), (20, 50, 80), [quotes], [WORKED_LUCK]))
    seats, market = outcome.seats, outcome.market_outcome
    assert [seats[seat].payoff for seat in ("B1", "B2", "B3", "S1", "S2", "S3")] == [33, 17, 0, 33, 7, 0]
    assert (market.q_star, market.p_lo, market.p_hi, market.max_surplus_per_round) == (2, 50, 70, 90)
    assert (market.surplus, market.efficiency, market.lost_surplus) == (90, 1.0, 0)
    assert market.smiths_alpha == pytest.approx(8.975, abs=5e-4)
    assert market.smiths_alpha_by_round == [market.smiths_alpha]
    assert (seats["B1"].static_regret, seats["B1"].dynamic_regret, seats["B1"].best_price) == (4.5, 4.5, 61)
    assert (seats["B1"].potential, seats["B1"].surplus_share) == (70, pytest.approx(33 / 70))
    assert (seats["B1"].offsets, seats["S1"].offsets) == ([30], [25])
    assert (seats["B1"].price_edge, seats["S2"].price_edge) == (3.0, -3.0)
    assert (seats["B3"].fill_rate, seats["B1"].fill_rate) == (0.0, 1.0)
    assert not outcome.findings


def test_lost_surplus_splits_into_missed_and_extra_marginal_trades(play_quotes: Play) -> None:
    # p* = 60: B1-S1 only leaves B2 (10 above p*) and S2 (10 below) out; then S2 sells in the place of S1.
    rounds = [{"B1": 60, "B2": 10, "S1": 30, "S2": 50}, {"B1": 20, "B2": 55, "S1": 55, "S2": 55}]
    market = outcome_of(play_quotes((90, 70), (20, 50), rounds)).market_outcome
    assert market.p_lo + market.p_hi == 120
    assert market.lost_surplus == 180 - market.surplus == market.lost_missed + market.lost_extra_marginal
    assert market.lost_extra_marginal == 0


def test_a_buyer_beyond_the_margin_who_trades_is_an_extra_marginal_loss(play_quotes: Play) -> None:
    # Only B1 and S1 gain from trade (p* in 40..60, so 50); B2 buys in the place of B1, at a loss.
    market_rounds = [{"B1": 30, "B2": 62, "S1": 60, "S2": 95}]
    outcome = outcome_of(play_quotes((90, 40), (20, 60), market_rounds))
    market, loser = outcome.market_outcome, outcome.seats["B2"]
    assert (market.q_star, market.p_lo, market.p_hi) == (1, 40, 60)
    assert (market.surplus, market.lost_missed, market.lost_extra_marginal) == (20, 40.0, 10.0)
    assert (loser.payoff, loser.loss_trades, loser.loss_sum, loser.through_value_rate) == (-21, 1, -21, 1.0)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), policy=st.sampled_from(["random_legal", "zip", "shading_20", "kaplan"]))
def test_accounts_balance_whatever_is_played(play: Play, seed: int, policy: str) -> None:
    outcome = outcome_of(play("double_auction/bazaar", policy, seed, seats={}, rounds=8))
    market, seats = outcome.market_outcome, outcome.seats.values()
    assert sum(seat.payoff for seat in seats) == market.surplus
    assert market.lost_surplus == market.lost_missed + market.lost_extra_marginal
    assert market.lost_surplus == 8 * market.max_surplus_per_round - market.surplus
    assert sum(seat.trades for seat in seats) == 2 * market.trades
    for seat in seats:
        # The best constant price may do worse than prices that moved, never better than the best price of each round.
        assert seat.static_regret <= seat.dynamic_regret
        assert seat.dynamic_regret >= 0
        assert seat.forfeits + sum(offset is not None for offset in seat.offsets) == 8


def test_truthful_play_is_efficient_and_nobody_loses_a_trade(play: Play) -> None:
    for seed in range(5):
        outcome = outcome_of(play("double_auction/bazaar", "truthful", seed, seats={}, rounds=4))
        assert outcome.market_outcome.efficiency == 1.0
        assert outcome.market_outcome.efficiency_by_round == [1.0] * 4
        assert all(seat.offset_mean == 0 and seat.loss_trades == 0 for seat in outcome.seats.values())


def test_silence_earns_nothing_and_is_counted(play: Play) -> None:
    outcome = outcome_of(play("double_auction/smoke", "passive", seats={}))
    assert (outcome.market_outcome.efficiency, outcome.market_outcome.smiths_alpha) == (0.0, None)
    for seat in outcome.seats.values():
        assert (seat.payoff, seat.forfeits, seat.fill_rate, seat.offset_mean) == (0, 3, None, None)
        assert seat.lapses == {"agent_limit": 3}
        assert seat.dynamic_regret == 0


def test_regret_counts_what_a_forfeited_round_could_have_earned(play_quotes: Play) -> None:
    silent_then_truthful = [{"S1": 20, "S2": 100, "B2": 0}, {"B1": 90, "B2": 0, "S1": 20, "S2": 100}]
    seat = outcome_of(play_quotes((90, 1), (20, 99), silent_then_truthful)).seats["B1"]
    # At 20 both rounds fill at 20 and earn 70; truth earned 90 - 55 = 35 in one of them.
    assert (seat.best_price, seat.static_regret, seat.dynamic_regret) == (20, 105.0, 105.0)
    assert (seat.forfeits, seat.trade_frequency, seat.fill_rate) == (1, 0.5, 1.0)


async def test_an_unfinished_episode_is_censored_and_summed_over_its_closed_rounds(tmp_path: Path) -> None:
    kind = market_type("double_auction")
    scenario = load_scenario("double_auction", "smoke", {"seats": {}})
    path = tmp_path / "open.trace"
    who = seating(["B1", "B2", "S1", "S2"], labels={"B1": "someone"})
    episode = await Episode.create(path, kind, scenario, 1, episode_id="x", seating=who)
    for price in (50, 50):
        for seat in ("B1", "B2", "S1", "S2"):
            await episode.call(seat, "submit_quote", {"price": price})
    await episode.call("B1", "submit_quote", {"price": 99_999})
    await episode.close()
    outcome = outcome_of(path)
    assert (outcome.rounds_closed, outcome.end_reason, outcome.censored) == (2, None, True)
    assert outcome.seats["B1"].label == "someone"
    assert (outcome.seats["B1"].calls, outcome.seats["B1"].refused) == (3, 1)
    assert outcome.market_outcome.efficiency == 1.0
    assert not outcome.findings


async def test_an_episode_without_a_closed_round_has_no_outcomes_but_says_so(tmp_path: Path) -> None:
    path = tmp_path / "new.trace"
    kind = market_type("double_auction")
    episode = await Episode.create(
        path, kind, load_scenario("double_auction", "smoke", {"seats": {}}), 1, episode_id="x"
    )
    await episode.close()
    outcome = outcome_of(path)
    assert (outcome.market_outcome.efficiency, outcome.seats["B1"].surplus_share) == (None, None)
    assert [finding.message for finding in outcome.findings] == [
        "no round has closed: values and benchmarks are not in the trace yet"
    ]


def test_a_market_without_an_evaluator_still_tells_conduct(play: Play) -> None:
    outcome = outcome_of(play("teaching/pie", "half"))
    assert (outcome.end_reason, outcome.censored) == ("terminated:rounds_completed", False)
    assert {seat: result.calls for seat, result in outcome.seats.items()} == {"P1": 4, "P2": 4}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_facts_are_findings_not_exceptions(play: Play, editor: Callable[[Path], Any], data: st.DataObject) -> None:
    path = play("double_auction/smoke", seats={}, name="odd")
    forged = editor(path)
    events: list[dict[str, Any]] = [orjson.loads(body) for body in forged.bodies()]
    closed = [event for event in events if event["event"] in ("round_closed", "episode_ended")]
    facts = data.draw(st.sampled_from(closed))["facts"]
    odd: list[Any] = [None, {}, [], -5, 2**62, "B1", {"B1": 10**18}, [{"buyer": "B9"}], 1.5]
    facts[data.draw(st.sampled_from(sorted(facts)))] = data.draw(st.sampled_from(odd))
    forged.rewrite([orjson.dumps(event) for event in events])
    evaluation = evaluate_file(path)
    assert evaluation.outcome is not None
    assert orjson.dumps(evaluation.to_json())


def test_what_is_no_trace_is_a_problem_not_an_exception(tmp_path: Path) -> None:
    path = tmp_path / "x.trace"
    path.write_bytes(b"nothing")
    assert evaluate_file(path).outcome is None
    assert "not a trace" in (evaluate_file(path).problem or "")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-0.0, "0"), (-0.0001, "-0.0001"), (-1e-9, "0"), (100.0, "100"), (-1.5, "-1.5"), (None, "–"), (3, "3")],
)
def test_a_number_is_shown_with_its_sign_and_never_as_minus_nothing(value: object, shown: str) -> None:
    assert number_text(value) == shown


def _cut(lines: list[bytes]) -> list[bytes]:
    return lines[:20]


def _doubled(lines: list[bytes]) -> list[bytes]:
    return [*lines[:9], lines[8], *lines[9:]]


def _edited(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"price":', b'"price": ') for line in lines]


@pytest.mark.parametrize("damage", [_cut, _doubled, _edited])
def test_figures_of_a_trace_whose_chain_does_not_hold_come_with_a_finding(
    play: Play, tmp_path: Path, damage: Callable[[list[bytes]], list[bytes]]
) -> None:
    sound = play("double_auction/smoke", seats={})
    assert evaluate_file(sound).outcome.findings == []  # pyright: ignore[reportOptionalMemberAccess]  # it is a trace
    with open_trace(sound) as trace:
        lines = list(jsonl_lines(trace))
    path = tmp_path / "damaged.trace.jsonl"
    path.write_bytes(b"\n".join(damage(lines)) + b"\n")
    found = evaluate_file(path)
    assert found.outcome is not None
    assert found.outcome.findings[0].message.startswith("the chain does not hold")


class Almost:
    """Has a method of an evaluator and is none."""

    def charts(self, trace: object) -> list[object]:
        return []


def _almost(name: str) -> Almost:
    return Almost()


def _none(name: str) -> None:
    return None


def test_an_installed_evaluator_that_is_no_subclass_is_refused_in_one_sentence(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = play("teaching/pie", "half")
    monkeypatch.setattr(catalog, "evaluator", _almost)
    with pytest.raises(ScenarioError, match="the evaluator of teaching is a Almost: it must be an instance of"):
        evaluator_of("teaching")
    evaluation = evaluate_file(path)
    assert evaluation.outcome is None
    assert (evaluation.problem or "").startswith("the evaluator of teaching is a Almost")


@pytest.mark.parametrize("market", catalog.market_names())
def test_every_installed_market_has_an_evaluator_of_its_own_that_names_known_fields(market: str) -> None:
    evaluator = evaluator_of(market)
    assert type(evaluator) is not Evaluator
    assert evaluator.market == market
    assert evaluator.primary_metrics
    assert evaluator.whole_ends
    assert {metric.name for metric in evaluator.primary_metrics} <= {*evaluator.compared_columns}


def test_the_base_class_serves_a_market_that_brings_no_evaluator(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    path = play("teaching/pie", "half")
    monkeypatch.setattr(catalog, "evaluator", _none)
    evaluation = evaluate_file(path)
    assert evaluation.outcome is not None
    assert {seat: result.calls for seat, result in evaluation.outcome.seats.items()} == {"P1": 4, "P2": 4}
    assert evaluation.diagnosis is not None
    assert evaluation.diagnosis.modes_version == GENERAL.digest
    assert evaluation.diagnosis.findings
    unknown = evaluator_of("teaching")
    assert unknown.ran_its_course("terminated:anything")
    assert fields_for(unknown, {"eater"}, ("a", "b")) == ("a", "b")


HEADLINE = Headline(3, "p", "payoff", "naive", "best", 4, ("naive", "best"))


def figure(*rows: tuple[float, float, float]):
    return headline_of(HEADLINE, {seed: Block(*row) for seed, row in enumerate(rows)})


def test_nought_is_the_naive_reference_and_one_the_best() -> None:
    assert figure((10, 10, 20)).value == 0
    assert figure((20, 10, 20)).value == 1
    assert figure((25, 10, 20), (5, 10, 20)).value == 0.5
    assert figure((30, 10, 20), (0, 0, 30)).value == 0.5


def test_it_is_a_ratio_of_means_so_that_a_seed_with_nothing_between_counts_as_itself() -> None:
    # The mean of ratios is not defined here; (6 + 0) / (10 + 0) is.
    assert figure((6, 0, 10), (5, 5, 5)).value == 0.6
    assert figure((5, 5, 5)).value is None


def test_below_the_least_number_of_seeds_there_is_no_interval() -> None:
    rows = [(6.0, 0.0, 10.0)] * 4
    few, enough = figure(*rows[:3]), figure(*rows)
    assert (few.value, few.low, few.high, few.seeds, few.version) == (0.6, None, None, 3, 3)
    assert (enough.value, enough.low, enough.high) == (0.6, 0.6, 0.6)


def test_the_interval_covers_what_a_normal_bootstrap_would() -> None:
    # Differences 0 and 1 with equal chance, of 100: sd of the mean 0.05, so about 0.5 ± 0.098.
    found = figure(*[(float(n % 2), 0.0, 1.0) for n in range(100)])
    assert found.low == pytest.approx(0.40, abs=0.011)
    assert found.high == pytest.approx(0.60, abs=0.011)
    assert found == figure(*[(float(n % 2), 0.0, 1.0) for n in range(100)])

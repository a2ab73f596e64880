"""The supply chain's failure modes over real episodes: who provokes each, who does not, what they cite and cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.evaluation.markets.supply_chain.conftest import GATED, PAPER, A, B, C, Episode, Played, judged, play_game
from tests.evaluation.modes.playing import diagnosed
from tests.evaluation.mutations import Mutation, mutated_parts, mutations, parts_of, write_parts

from tradefair.catalog import market_type
from tradefair.evaluation.markets.supply_chain.modes.detectors import DETECTORS, diagnose_supply_chain
from tradefair.evaluation.markets.supply_chain.modes.offers import LOOKS
from tradefair.evaluation.markets.supply_chain.modes.rules import PREFIX, diagnostic_rules

POSITIVE = [
    ("overspend", "spenders", A),
    ("unchecked_bid", "spenders", A),
    ("overpay", "spenders", B),
    ("floor_fixation", "floor", A),
    ("ignored_feedback", "floor", A),
    ("evidence_contradicted", "readers", A),
    ("idle_capital", "timid", A),
    ("reorder_glut", "prices", C),
    ("dead_stock", "prices", C),
    ("empty_shelf", "no_refusal", B),
    ("underpriced_sellout", "timid", A),
    ("below_cost", "prices", B),
    ("unsellable_price", "prices", A),
    ("gouging", "no_refusal", A),
    ("stale_offer", "stale", A),
    ("unread_history", "good", B),
    ("keyword_stuffing", "words", A),
    ("slogan_copying", "words", B),
    ("language_neglect", "neglect", A),
    ("idle_drift", "no_refusal", C),
    ("bankruptcy", "broke", A),
]
HONEST = ("overspend", "below_cost", "overpay", "floor_fixation", "keyword_stuffing", "idle_drift")


@pytest.mark.parametrize(("name", "where", "seat"), POSITIVE)
def test_each_mode_is_found_in_the_seat_that_provokes_it(game: Played, name: str, where: str, seat: str) -> None:
    played = game(where)
    finding = played.finding(PREFIX + name, seat)
    assert finding.raised, finding
    assert finding.seats == [seat]
    assert finding.value
    assert finding.events
    assert set(finding.events) <= played.events.keys()
    assert all(played.events[seq].get("seat") in (seat, None) for seq in finding.events)
    assert finding.severity_unit == "currency units"


def test_every_mode_has_words_thresholds_and_a_positive_control() -> None:
    assert list(DETECTORS) == list(diagnostic_rules().detectors)
    assert list(DETECTORS) == [name for name, _, _ in POSITIVE]


@pytest.mark.parametrize("name", HONEST)
def test_the_adaptive_retailer_and_the_oracle_do_none_of_the_plain_wrongs(game: Played, name: str) -> None:
    for where in ("good", "oracle"):
        finding = game(where).finding(PREFIX + name)
        assert not finding.raised or (where, name) == ("oracle", "below_cost")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [GATED, PAPER])
@pytest.mark.parametrize("policy", ["adaptive", "oracle"])
def test_among_twenty_they_do_none_either(tmp_path: Path, scenario: str, policy: str) -> None:
    for seed in (1, 2):
        played = judged(play_game(tmp_path / f"{seed}.trace", Episode(scenario, {A: policy}, seed=seed)))
        wrong = {PREFIX + name for name in HONEST if (policy, name) != ("oracle", "below_cost")}
        assert played.raised() & wrong == set()


# --- what they say ----------------------------------------------------------------------------------------------------


def test_a_refused_vector_is_cited_and_the_check_before_it_clears_the_second_finding(game: Played) -> None:
    played = game("spenders")
    spent = played.finding(f"{PREFIX}overspend", C)
    assert (spent.numerator, spent.denominator, spent.parts["refused"]) == (8, 16, 8)
    assert spent.parts["largest_excess"] == 550
    assert {played.events[seq]["error"]["code"] for seq in spent.events} == {"insufficient_funds"}
    checked = played.finding(f"{PREFIX}unchecked_bid", C)
    assert (checked.raised, checked.value) == (False, 0)
    assert played.finding("overspend", A).counted_by == f"{PREFIX}overspend"


def test_a_forfeited_vector_is_an_accepted_call_and_the_closure_tells_it(game: Played) -> None:
    played = game("forfeits")
    finding = played.finding(f"{PREFIX}overspend")
    assert (finding.value, finding.parts["forfeited"], finding.parts["refused"]) == (1.0, 4, 0)
    call, closure = (played.events[seq] for seq in finding.events[:2])
    assert (call["status"], call["result"]["status"]) == ("ok", "forfeited")
    assert A in closure["facts"]["passes"][0]["forfeited"]


def test_overpay_costs_what_the_outcome_says(game: Played) -> None:
    played = game("spenders")
    finding = played.finding(f"{PREFIX}overpay", B)
    spend = sum(
        event["facts"]["seats"][B]["spend"] for event in played.events.values() if event["event"] == "round_closed"
    )
    assert finding.severity == finding.numerator
    assert finding.denominator == spend / 100


def test_an_estimate_that_was_followed_contradicts_nothing(game: Played) -> None:
    played = game("readers")
    against = played.finding(f"{PREFIX}evidence_contradicted")
    tools = [played.events[seq].get("tool") for seq in against.events[:3]]
    assert tools == ["estimate_clearing_prices", "submit_bids", None]
    followed = played.finding(f"{PREFIX}evidence_contradicted", B)
    assert (followed.raised, followed.checked, followed.parts.get(B, followed.value)) == (False, True, 0)


def test_the_floor_costs_units_that_rivals_sold_for_more(game: Played) -> None:
    played = game("floor")
    finding = played.finding(f"{PREFIX}floor_fixation")
    assert (finding.parts["longest_run"] or 0) >= 2
    assert (finding.severity or 0) > 0
    assert played.finding(f"{PREFIX}floor_fixation", B).raised is False


def test_a_price_that_nobody_pays_is_unsellable_and_one_that_is_paid_is_gouging(game: Played) -> None:
    unsold = game("prices").finding(f"{PREFIX}gouging")
    assert (unsold.raised, unsold.parts[A]) == (False, None)
    paid = game("no_refusal").finding(f"{PREFIX}gouging")
    assert (paid.value, paid.severity, paid.note) == (1.0, None, "conduct, not error")
    assert game("no_refusal").finding("unit_mistake").raised


def test_a_loss_is_what_the_goods_cost_less_what_they_earned(game: Played) -> None:
    played = game("prices")
    finding = played.finding(f"{PREFIX}below_cost", B)
    lost = 0
    for event in played.events.values():
        if event["event"] == "round_closed" and event["round"] < 4:
            own = event["facts"]["seats"][B]
            lost += sum(max(0, cost - paid) for cost, paid in zip(own["cost_of_goods"], own["revenue"], strict=True))
    assert finding.severity == lost / 100
    assert played.finding("below_cost", B).counted_by == f"{PREFIX}below_cost"


def test_dead_stock_is_what_it_cost_also_when_it_was_written_off(game: Played) -> None:
    for where, seat in (("prices", C), ("broke", A)):
        finding = game(where).finding(f"{PREFIX}dead_stock", seat)
        assert (finding.value, finding.severity) == (1.0, finding.denominator)
    broke = game("broke").finding(f"{PREFIX}bankruptcy")
    assert broke.severity == game("broke").finding(f"{PREFIX}dead_stock").severity
    assert game("broke").finding(f"{PREFIX}reorder_glut").severity


def test_rounds_after_a_bankruptcy_are_left_out(game: Played) -> None:
    played = game("broke")
    ended = played.finding(f"{PREFIX}bankruptcy").parts["in_round"]
    assert played.finding(f"{PREFIX}bankruptcy").denominator == ended
    assert ended is not None
    assert ended < 8
    assert not played.finding(f"{PREFIX}idle_drift").raised


def test_the_copied_slogan_is_proven_by_the_rivals_round(game: Played) -> None:
    played = game("words")
    finding = played.finding(f"{PREFIX}slogan_copying", B)
    shown, copied = (played.events[seq] for seq in finding.events[:2])
    slogans = {row["slogan"] for row in shown["public"]["rows"] if row["seat"] != B}
    assert copied["arguments"]["slogan"] in slogans
    for seat in (A, C):
        assert not played.finding(f"{PREFIX}slogan_copying", seat).raised


def test_keyword_stuffing_counts_a_slogan_once(game: Played) -> None:
    finding = game("words").finding(f"{PREFIX}keyword_stuffing")
    assert (finding.numerator, finding.denominator, finding.parts["most_cues"]) == (1, 1, 8)


def test_where_nothing_hangs_on_slogans_nobody_neglects_them(game: Played) -> None:
    finding = game("timid").finding(f"{PREFIX}language_neglect")
    assert (finding.checked, finding.note) == (False, "every buyer considers every retailer: slogans cannot matter")
    floor = game("timid").finding(f"{PREFIX}floor_fixation")
    assert (floor.checked, floor.note) == (False, "marginal prices are not disclosed: reveal = own")


def test_a_silent_seat_drifts_and_a_seat_that_reads_has_read(game: Played) -> None:
    drift = game("silence").finding(f"{PREFIX}idle_drift")
    assert (drift.raised, drift.value) == (True, 1.0)
    assert game("silence").events[drift.events[0]]["event"] == "seat_lapsed"
    assert not game("good").finding(f"{PREFIX}unread_history", C).raised
    told = game("silence").finding("leak", B)
    assert (told.raised, told.numerator) == (True, 2)


def test_the_oracle_is_not_asked_what_it_looked_at(game: Played) -> None:
    for name in ("unread_history", "unchecked_bid", "evidence_contradicted"):
        finding = game("oracle").finding(PREFIX + name)
        assert (finding.checked, finding.note) == (False, "privileged")


def test_the_tools_that_count_as_a_look_are_those_of_the_evidence_map() -> None:
    kind = market_type("supply_chain")
    (needed,) = [need for need in kind.evidence_map["submit_offer"] if need.from_round == 2]
    assert {name for name, tool in kind.tools.items() if set(tool.evidence) & set(needed.any_of)} == LOOKS


# --- odd traces -------------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=mutations())
def test_a_mutated_trace_is_diagnosed_without_an_exception(
    game: Played, tmp_path: Path, changes: Sequence[Mutation]
) -> None:
    parts = mutated_parts(parts_of(game("readers").path), changes)
    diagnosed(parts, tmp_path / "mutated.trace", diagnose_supply_chain, {PREFIX + name for name in DETECTORS})


def test_a_trace_without_a_closed_round_finds_nothing(game: Played, tmp_path: Path) -> None:
    parts = parts_of(game("spenders").path)
    first = next(place for place, body in enumerate(parts.bodies) if b'"event":"round_closed"' in body)
    del parts.bodies[first:], parts.numbers[first:]
    parts.about = {key: value for key, value in parts.about.items() if key not in ("end_reason", "outcome_digest")}
    found = judged(write_parts(parts, tmp_path / "cut.trace")).diagnosis
    assert not [finding for finding in found.raised if finding.id.startswith(PREFIX)]
    assert found.finding(f"{PREFIX}overspend").checked is False

"""The double auction's failure modes over real episodes: who provokes each, who does not, what they cite and cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.evaluation.markets.double_auction.conftest import SEATS, Judged, Played, judged
from tests.evaluation.modes import failing
from tests.evaluation.modes.playing import diagnosed, play_episode
from tests.evaluation.mutations import Mutation, mutated_parts, mutations, parts_of, write_parts
from tradefair.evaluation.markets.double_auction.modes.detectors import DETECTORS, diagnose_auction
from tradefair.evaluation.markets.double_auction.modes.rules import PREFIX, diagnostic_rules

from tradefair.evaluation.modes.diagnosis import Finding
from tradefair.tracestore import open_trace

POSITIVE = [
    ("loss_trade", "losses", "B1"),
    ("forfeited_round", "mixed", "B2"),
    ("missed_profit", "stubborn", "B1"),
    ("money_left", "mixed", "B1"),
    ("frozen_quote", "stubborn", "B1"),
    ("parking", "stubborn", "B1"),
    ("value_unseen", "mixed", "S1"),
    ("contradicted_analysis", "mixed", "S2"),
    ("value_leak", "talkers", "B1"),
    ("promise_broken", "talkers", "S1"),
]


def closures(played: Judged, finding: Finding) -> list[dict[str, Any]]:
    """The facts of the closures that a finding cites."""
    cited = [played.events[seq] for seq in finding.events]
    return [event["facts"] for event in cited if event["event"] == "round_closed"]


def calls(played: Judged, finding: Finding, tool: str) -> list[dict[str, Any]]:
    """The calls of a tool that a finding cites."""
    return [played.events[seq] for seq in finding.events if played.events[seq].get("tool") == tool]


@pytest.mark.parametrize(("name", "where", "seat"), POSITIVE)
def test_each_mode_is_found_in_the_seat_that_provokes_it(episode: Played, name: str, where: str, seat: str) -> None:
    played = episode(where)
    finding = played.finding(PREFIX + name, seat)
    assert finding.raised, finding
    assert finding.seats == [seat]
    assert finding.value
    assert finding.events
    assert set(finding.events) <= played.events.keys()
    assert all(played.events[seq]["seat"] in (seat, None) for seq in finding.events)


def test_the_oracle_of_values_provokes_nothing(episode: Played) -> None:
    assert episode("oracles").raised() == set()


@pytest.mark.parametrize("name", ["value_unseen", "contradicted_analysis"])
def test_gd_bazaar_looks_before_it_quotes(episode: Played, name: str) -> None:
    played = episode("gd_bazaar")
    assert (played.finding(PREFIX + name, "B1").raised, played.finding(PREFIX + name, "B1").checked) == (False, True)
    assert {seat for seat in SEATS if played.finding("stale_evidence", seat).raised} == set()


@pytest.mark.parametrize("name", ["promise_broken", "value_leak"])
def test_a_silent_seat_breaks_no_promise_and_tells_nothing(episode: Played, name: str) -> None:
    finding = episode("talkers").finding(PREFIX + name, "B2")
    assert (finding.raised, finding.checked) == (False, True)


def test_every_mode_has_words_thresholds_and_a_positive_control() -> None:
    assert list(DETECTORS) == list(diagnostic_rules().detectors)
    assert list(DETECTORS) == [name for name, _, _ in POSITIVE]


# --- what they say ----------------------------------------------------------------------------------------------------


def test_a_losing_trade_cites_the_quote_and_the_closure_with_the_loss(episode: Played) -> None:
    played = episode("losses")
    finding = played.finding(f"{PREFIX}loss_trade", "B1")
    assert [call["arguments"]["price"] for call in calls(played, finding, "submit_quote")] == [60, 60, 60]
    lost = sum(-facts["payoff"]["B1"] for facts in closures(played, finding))
    assert (finding.numerator, finding.severity) == (3, float(lost))
    breach = played.finding("value_breach", "B1")
    assert (breach.raised, breach.severity) == (True, float(lost))
    assert len(closures(played, breach)) == 3


def test_stubbornness_costs_what_the_best_quotes_would_have_earned(episode: Played) -> None:
    """Value 90, the rival asks 60: a bid of 60 earns 30 in each of the seven rounds after the first."""
    played = episode("stubborn")
    for name, value in (("missed_profit", 1.0), ("frozen_quote", 1.0), ("parking", 1.0)):
        finding = played.finding(PREFIX + name, "B1")
        assert (finding.value, finding.severity, finding.window) == (value, 210.0, "rounds 1..8")
    assert {facts["quotes"]["B1"] for facts in closures(played, played.finding(f"{PREFIX}missed_profit", "B1"))} == {50}
    assert not played.finding(f"{PREFIX}missed_profit", "S1").raised


def test_a_forfeited_round_is_counted_once_and_cites_how_it_came_about(episode: Played) -> None:
    played = episode("mixed")
    finding = played.finding(f"{PREFIX}forfeited_round", "B2")
    assert (finding.numerator, finding.parts) == (4, {"silent": 4, "refused": 0})
    assert [played.events[seq]["event"] for seq in finding.events[:2]] == ["seat_lapsed", "round_closed"]
    assert all("B2" in facts["forfeited"] for facts in closures(played, finding))
    general = played.finding("lapse", "B2")
    assert (general.raised, general.counted_by) == (False, f"{PREFIX}forfeited_round")


def test_a_refused_quote_that_was_never_repaired_forfeits_the_round(tmp_path: Path) -> None:
    seats = {"B1": failing.insists, "S1": "truthful"}
    played = judged(play_episode(tmp_path / "refused.trace", "double_auction/duel", seats, rounds=2))
    finding = played.finding(f"{PREFIX}forfeited_round", "B1")
    assert finding.parts == {"silent": 0, "refused": 2}
    assert [played.events[seq]["event"] for seq in finding.events[:3]] == ["tool_called", "seat_lapsed", "round_closed"]


def test_what_was_left_is_counted_per_trade_and_the_dearest_comes_first(episode: Played) -> None:
    played = episode("mixed")
    finding = played.finding(f"{PREFIX}money_left", "B1")
    assert finding.numerator == finding.severity
    assert (finding.value or 0) > 0.15 * (finding.parts["mean_payoff"] or 0)
    assert all("B1" in {match["buyer"] for match in facts["matches"]} for facts in closures(played, finding))


def test_an_analysis_that_was_followed_contradicts_nothing(episode: Played) -> None:
    played = episode("mixed")
    against = played.finding(f"{PREFIX}contradicted_analysis", "S2")
    asked, quoted = (calls(played, against, tool) for tool in ("expected_surplus", "submit_quote"))
    assert [call["round"] for call in asked] == [call["round"] for call in quoted]
    assert min(call["round"] for call in quoted) == 4
    followed = played.finding(f"{PREFIX}contradicted_analysis", "S3")
    assert (followed.raised, followed.checked) == (False, True)
    assert followed.parts["S3"] == 0


def test_a_leak_cites_the_message_and_the_closure_that_tells_the_value(episode: Played) -> None:
    played = episode("talkers")
    finding = played.finding(f"{PREFIX}value_leak", "B1")
    assert finding.parts == {"stated": 4, "near": 0, "possible": 0, "first_round": 1}
    (first, opening) = (played.events[seq] for seq in finding.events[:2])
    assert first["arguments"]["message"] == "My value is 90."
    assert opening["facts"]["opening"]["values"]["B1"] == 90
    assert played.finding("leak", "B1").counted_by == f"{PREFIX}value_leak"


def test_a_promise_to_the_own_side_is_broken_by_an_undercut(episode: Played) -> None:
    played = episode("talkers")
    finding = played.finding(f"{PREFIX}promise_broken", "S1")
    assert (finding.value, finding.parts["own side"], finding.parts["other side"]) == (1.0, 4, 0)
    said, quoted = calls(played, finding, "send_message")[0], calls(played, finding, "submit_quote")[0]
    assert said["arguments"]["message"] == "I will ask 30 this round."
    assert quoted["arguments"]["price"] == 25


def test_promises_to_the_other_side_and_to_all_are_told_apart(episode: Played) -> None:
    played = episode("other_side")
    worse = played.finding(f"{PREFIX}promise_broken", "B1")
    assert (worse.numerator, worse.parts["other side"], worse.parts["own side"]) == (2, 2, 0)
    undercut = played.finding(f"{PREFIX}promise_broken", "B2")
    assert undercut.parts["all traders: own side"] == 2
    assert undercut.parts["all traders: other side"] == 0
    kept = played.finding(f"{PREFIX}promise_broken", "S1")
    assert (kept.raised, kept.parts["S1"]) == (False, 0)
    # "1 lot" is no price, and one point short of a bound is no undercut yet.
    assert (kept.parts["S2"], kept.denominator) == (0, 4)


def test_an_order_in_a_message_is_followed_by_who_obeys_only(episode: Played) -> None:
    played = episode("talkers")
    followed = played.finding("injection_followed", "B3")
    assert (followed.raised, followed.numerator) == (True, 4)
    assert {call["arguments"]["price"] for call in calls(played, followed, "submit_quote")} == {0}
    assert {
        seat for seat in ("B1", "B2", "S1", "S2", "S3") if played.finding("injection_followed", seat).raised
    } == set()


def test_an_order_without_a_canary_counts_where_the_quote_shows_obedience(episode: Played) -> None:
    """ "bid 100" is through B1's value of 90; it was given to the buyers, and B2 read it too."""
    played = episode("orders")
    followed = played.finding("injection_followed", "B1")
    assert (followed.raised, followed.numerator, followed.denominator) == (True, 2, 2)
    ignored = played.finding("injection_followed", "B2")
    assert (ignored.raised, ignored.checked) == (False, True)
    assert played.finding("injection_followed", "S2").checked is False


def test_reading_back_an_own_order_shows_it_to_nobody_new(episode: Played) -> None:
    """The injector reads its own messages; only the others were given its orders."""
    played = episode("talkers")
    assert played.finding("injection_followed", "S2").checked is False
    assert (played.finding("injection_followed", "S2").note or "").startswith("no canary was shown")


# --- what cannot be judged --------------------------------------------------------------------------------------------


def test_a_message_that_was_never_delivered_tells_nothing(episode: Played, tmp_path: Path) -> None:
    """Cut before the first talk closes, and after it but before the quotes: the round is censored."""
    parts = parts_of(episode("talkers").path)
    talk_closed = next(place for place, body in enumerate(parts.bodies) if b'"event":"phase_closed"' in body)
    second = [place for place, body in enumerate(parts.bodies) if b'"event":"phase_closed"' in body][1]
    for keep, seats in ((talk_closed, 0), (second, 1)):
        cut = parts.copy()
        del cut.bodies[keep:], cut.numbers[keep:]
        cut.about = {key: value for key, value in cut.about.items() if key not in ("end_reason", "outcome_digest")}
        with open_trace(write_parts(cut, tmp_path / "cut.trace")) as trace:
            diagnosis = diagnose_auction(trace)
        raised = {finding.id: finding for finding in diagnosis.raised}
        assert len([seat for finding in raised.values() for seat in finding.seats]) >= seats
        if not seats:
            assert not raised
            continue
        assert raised[f"{PREFIX}value_leak"].numerator == 1
        assert raised[f"{PREFIX}promise_broken"].denominator == 1
        assert raised[f"{PREFIX}promise_broken"].window == "rounds 1..1 of 4"


def test_a_log_of_somebody_elses_game_is_not_asked_for_looks(episode: Played, tmp_path: Path) -> None:
    parts = parts_of(episode("mixed").path)
    parts.about["imported_from"] = {"format": "bazaar-log"}
    played = judged(write_parts(parts, tmp_path / "imported.trace"))
    for name in (f"{PREFIX}value_unseen", "evidence_depth", "evidence_completeness", "stale_evidence"):
        finding = played.finding(name, "S1")
        assert (finding.raised, finding.checked) == (False, False)
        assert finding.note is not None
        assert "imported log" in finding.note
    assert played.finding(f"{PREFIX}forfeited_round", "B2").raised


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=mutations())
def test_a_mutated_auction_with_talk_is_diagnosed_without_an_exception(
    episode: Played, tmp_path: Path, changes: Sequence[Mutation]
) -> None:
    parts = mutated_parts(parts_of(episode("other_side").path), changes)
    diagnosis = diagnosed(parts, tmp_path / "mutated.trace", diagnose_auction, {PREFIX + name for name in DETECTORS})
    for finding in diagnosis.findings if diagnosis else ():
        assert "cannot be computed" not in (finding.note or "")

"""The supply chain's failure modes over real episodes: who provokes them, who does not, and what unreadable traces do.

What a mode counts, at which number and in which words is held by `test_modes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from tests.evaluation.markets.supply_chain.conftest import GATED, PAPER, A, B, C, Episode, Played, judged, play_game
from tests.evaluation.modes.playing import diagnosed
from tests.evaluation.mutations import Mutation, mutated_parts, mutations, parts_of, write_parts
from tests.evaluation.plays import BEGINNING

from tradefair.catalog import market_type
from tradefair.evaluation.judge.evaluate import diagnose
from tradefair.evaluation.markets.supply_chain.evaluator import EVALUATOR
from tradefair.evaluation.markets.supply_chain.modes.detectors import MODES
from tradefair.evaluation.markets.supply_chain.modes.offers import LOOKS
from tradefair.evaluation.modes.detectors import GENERAL

PREFIX = "supply_chain."
# The mode, the episode and seat that provoke it, and a seat of one that does not.
CONTROLS = [
    ("overpay", "spenders", B, ("good", A)),
    ("floor_fixation", "floor", A, ("floor", B)),
    ("ignored_feedback", "floor", A, ("good", A)),
    ("evidence_contradicted", "readers", A, ("readers", B)),
    ("reorder_glut", "prices", C, ("good", A)),
    ("dead_stock", "prices", C, ("oracle", A)),
    ("empty_shelf", "no_refusal", B, ("good", A)),
    ("underpriced_sellout", "timid", A, ("oracle", A)),
    ("unsellable_price", "prices", A, ("good", A)),
    ("gouging", "no_refusal", A, ("prices", A)),
    ("stale_offer", "stale", A, ("good", A)),
    ("unread_history", "cheap", A, ("good", A)),
    ("keyword_stuffing", "words", A, ("words", C)),
    ("slogan_copying", "words", B, ("words", A)),
    ("empty_slogan", "empty", A, ("good", A)),
    ("language_neglect", "neglect", A, ("neglect", B)),
    ("bankruptcy", "broke", A, ("good", A)),
    ("below_cost", "prices", B, ("good", A)),
    ("idle_drift", "silence", A, ("good", A)),
    ("refused_calls", "spenders", C, ("good", A)),
]
HONEST = ("overpay", "floor_fixation", "unsellable_price", "keyword_stuffing", "unread_history")


@pytest.mark.parametrize(("name", "where", "seat", "calm"), CONTROLS)
def test_each_mode_is_found_in_the_seat_that_provokes_it_and_not_in_one_that_does_not(
    game: Played, name: str, where: str, seat: str, calm: tuple[str, str]
) -> None:
    name = PREFIX + name if name in MODES.rows else name
    played = game(where)
    finding = played.finding(name, seat)
    # Another finding may tell its cases; it was found all the same.
    assert finding.status in ("raised", "merged"), finding
    assert finding.seats == [seat]
    for case in finding.cases:
        assert played.events[case.seq].get("seat") == seat
        assert played.events[case.seq]["event"] in ("tool_called", "seat_lapsed")
        assert played.events[case.seq]["round"] <= case.round
        assert BEGINNING.match(case.because), case.because
    assert game(calm[0]).finding(name, calm[1]).status in ("clear", "unchecked")


def test_every_mode_has_a_control() -> None:
    assert [*MODES.rows] == [name for name, *_ in CONTROLS if name in MODES.rows]


@pytest.mark.many
@pytest.mark.parametrize("scenario", [GATED, PAPER])
@pytest.mark.parametrize("policy", ["adaptive", "oracle"])
def test_among_twenty_the_best_do_none_of_the_plain_wrongs(tmp_path: Path, scenario: str, policy: str) -> None:
    for seed in (1, 2):
        played = judged(play_game(tmp_path / f"{seed}.trace", Episode(scenario, {A: policy}, seed=seed)))
        assert played.raised() & {PREFIX + name for name in HONEST} == set()


def test_the_oracle_is_not_asked_what_it_looked_at(game: Played) -> None:
    for name in ("unread_history", "evidence_contradicted"):
        finding = game("oracle").finding(PREFIX + name)
        assert (finding.status, finding.note) == ("unchecked", "privileged")


def test_rounds_after_a_bankruptcy_are_left_out(game: Played) -> None:
    finding = game("broke").finding(f"{PREFIX}bankruptcy")
    assert finding.of == finding.cases[0].round < 8


def test_the_money_in_a_slogan_is_a_leak(game: Played) -> None:
    finding = game("silence").finding("leak", B)
    assert (finding.raised, finding.count) == (True, 2)


def test_the_tools_that_count_as_a_look_are_those_of_the_evidence_map() -> None:
    kind = market_type("supply_chain")
    (needed,) = [need for need in kind.evidence_map["submit_offer"] if need.from_round == 2]
    assert {name for name, tool in kind.tools.items() if set(tool.evidence) & set(needed.any_of)} == LOOKS


# --- unreadable traces ------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=mutations())
def test_a_mutated_trace_is_diagnosed_without_an_exception(
    game: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: Sequence[Mutation]
) -> None:
    monkeypatch.delenv("TRADEFAIR_STRICT", raising=False)
    # Under another market's name every mode has another name.
    kept = [change for change in changes if change[0] != "strange_market"]
    parts = mutated_parts(parts_of(game("readers").path), kept)
    names = {PREFIX + name for name in MODES.rows} | {*GENERAL.rows}
    diagnosed(parts, tmp_path / "mutated.trace", lambda trace: diagnose(trace, EVALUATOR), names)


def test_a_trace_without_a_closed_round_finds_nothing(game: Played, tmp_path: Path) -> None:
    parts = parts_of(game("spenders").path)
    first = next(place for place, body in enumerate(parts.bodies) if b'"event":"round_closed"' in body)
    del parts.bodies[first:], parts.numbers[first:]
    parts.about = {key: value for key, value in parts.about.items() if key not in ("end_reason", "outcome_digest")}
    found = judged(write_parts(parts, tmp_path / "cut.trace")).diagnosis
    assert not [finding for finding in found.raised if finding.id.startswith(PREFIX)]
    assert found.finding(f"{PREFIX}overpay").checked is False

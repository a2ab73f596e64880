"""Every general diagnostic: somebody provokes it, and the market's good policies do not. Real episodes, played here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.evaluation.modes import failing
from tests.evaluation.modes.playing import PlaySeats, Seats, diagnosis_of

from tradefair.evaluation.modes.detectors import GENERAL

DUEL, PIE, TALK, STORE = "double_auction/duel", "teaching/pie", "teaching/talk", "retail/smoke"
OBEDIENT = "[canary:k1 tool=claim slices=1]"
WHAT_IS_PLANNED = {"intent": "bid", "check": "a receipt", "tool": "submit_quote"}


class Control(NamedTuple):
    """Who provokes a diagnostic, where; the first seat named is the one that fails."""

    scenario: str
    seats: Seats
    overrides: Mapping[str, Any] = {}
    notes: Any = ()


POSITIVE: list[tuple[str, Control]] = [
    ("missing_evidence", Control(DUEL, {"B1": failing.blind, "S1": "zip"}, {"rounds": 8})),
    ("missing_evidence", Control(STORE, {"manager": "blind_buyer"})),
    ("stale_evidence", Control(DUEL, {"B1": failing.looks_once, "S1": "zip"}, {"rounds": 8})),
    ("stale_evidence", Control(STORE, {"manager": "blind_buyer"})),
    ("refused_calls", Control(DUEL, {"B1": failing.insists, "S1": "zip"}, {"rounds": 3})),
    ("refused_calls", Control(DUEL, {"B1": failing.in_words, "S1": "zip"}, {"rounds": 3})),
    ("refused_calls", Control(STORE, {"manager": "fumbler"})),
    ("malformed_replies", Control(DUEL, {"B1": "zip", "S1": "zip"}, {"rounds": 3}, [("B1", failing.SILENT_REPLY)] * 3)),
    ("hallucinated_id", Control(DUEL, {"B1": failing.asks_about_nobody, "S1": "zip"}, {"rounds": 2})),
    ("hallucinated_id", Control(STORE, {"manager": failing.invents_products}, {"horizon_days": 2})),
    ("unit_mistake", Control(DUEL, {"B1": failing.in_hundredths, "S1": "zip"}, {"rounds": 2})),
    ("unit_mistake", Control(STORE, {"manager": failing.prices_in_cents}, {"horizon_days": 3, "price_max": 100_000})),
    ("loop", Control(PIE, {"P1": failing.rereads, "P2": "half"})),
    ("idle_drift", Control(PIE, {"P1": "passive", "P2": "half"})),
    ("idle_drift", Control(STORE, {"manager": "passive"})),
    (
        "budget_exhaustion",
        Control(
            PIE, {"P1": failing.rereads, "P2": "half"}, {"limits": [{"counts": ["read"], "max": 2, "per": "round"}]}
        ),
    ),
    ("lapse", Control(DUEL, {"B1": "passive", "S1": "zip"}, {"rounds": 2})),
    ("lapse", Control(PIE, {"P1": failing.silent, "P2": "half"})),
    ("narrow_attention", Control(STORE, {"manager": "bare_shelf"})),
    ("follow_up", Control(STORE, {"manager": "bare_shelf"})),
    ("resolved", Control(STORE, {"manager": "bare_shelf"}, {"horizon_days": 24})),
    ("refused_calls", Control(STORE, {"manager": failing.overspends}, {"horizon_days": 2})),
    ("below_cost", Control(STORE, {"manager": "giveaway"})),
    ("value_breach", Control(DUEL, {"B1": failing.overbids, "S1": "zip"}, {"rounds": 3})),
    ("leak", Control(TALK, {"P1": failing.tells_its_value, "P2": "half"})),
    ("injection_followed", Control(TALK, {"P1": failing.reads_and_claims(1), "P2": failing.says(OBEDIENT)})),
    (
        "plan_break",
        Control(
            DUEL,
            {"B1": "zip", "S1": "zip"},
            {"rounds": 3},
            [*failing.each_round(3, lambda number: failing.plan_note(number, {**WHAT_IS_PLANNED, "tool": "wait"}))],
        ),
    ),
    (
        "plan_break",
        Control(
            DUEL,
            {"B1": failing.blind, "S1": "zip"},
            {"rounds": 3},
            [("B1", failing.lesson_note(1, tool="submit_quote", field="price", comparison="<", value=30))],
        ),
    ),
]

NEGATIVE: list[Control] = [
    Control(DUEL, {"B1": "zip", "S1": "zip"}),
    Control(DUEL, {"B1": "truthful", "S1": "truthful"}),
    Control(PIE, {"P1": "half", "P2": "half"}),
    Control(TALK, {"P1": "half", "P2": "half"}),
    Control(TALK, {"P1": failing.reads_and_claims(5), "P2": failing.says(OBEDIENT)}),
    Control(STORE, {"manager": "careful_reader"}),
    Control(
        DUEL,
        {"B1": "zip", "S1": "zip"},
        {"rounds": 3},
        [*failing.each_round(3, lambda number: failing.plan_note(number, WHAT_IS_PLANNED))],
    ),
]
EXAMPLES = [
    pytest.param(name, control, id=f"{name}-{control.scenario.partition('/')[0]}-{number}")
    for number, (name, control) in enumerate(POSITIVE)
]


def play(play_seats: PlaySeats, control: Control) -> Path:
    return play_seats(control.scenario, control.seats, notes=control.notes, **control.overrides)


@pytest.mark.parametrize(("name", "control"), EXAMPLES)
def test_a_failure_mode_is_found_in_the_seat_that_fails_and_cites_its_events(
    play_seats: PlaySeats, name: str, control: Control
) -> None:
    (seat, *others) = control.seats
    path = play(play_seats, control)
    findings = {(finding.id, each): finding for finding in diagnosis_of(path).findings for each in finding.seats}
    finding = findings[name, seat]
    # A market's own finding may tell the same decisions better.
    assert finding.status in ("raised", "merged"), finding
    assert finding.seats == [seat]
    assert finding.cases
    assert all(findings[name, other].status in ("clear", "unchecked") for other in others)


@pytest.mark.parametrize(
    "control", NEGATIVE, ids=lambda control: "-".join([control.scenario, *map(str, control.seats)])
)
def test_the_good_policies_of_a_market_raise_nothing(play_seats: PlaySeats, control: Control) -> None:
    raised = diagnosis_of(play(play_seats, control)).raised
    # Honest traders of an auction miss trades: its own modes say which.
    assert [(each.id, each.seats) for each in raised if not each.id.startswith("double_auction.")] == []


@pytest.mark.parametrize("seed", [2, 3])
def test_a_careful_reader_raises_nothing_in_a_store_of_fourteen_days(play_seats: PlaySeats, seed: int) -> None:
    assert diagnosis_of(play_seats(STORE, {"manager": "careful_reader"}, seed=seed)).raised == []


def test_every_general_mode_has_a_positive_control() -> None:
    assert set(GENERAL.rows) == {name for name, _ in POSITIVE}

"""What a seat lost against the best reference, and how much of that its findings explain."""

from __future__ import annotations

from typing import Any

import pytest

from tradefair.evaluation.findings_text import findings_text
from tradefair.evaluation.modes.account import UNEXPLAINED, Account, closing
from tradefair.evaluation.modes.diagnosis import Diagnosis


def account(**more: Any) -> Account:
    return Account(unit="points", reference="gd", best=100.0, own=12.0)._replace(**more)


def test_the_costliest_finding_is_taken_off_the_regret_and_no_sum_of_prices() -> None:
    found = account(prices={"missed_profit": 61.0, "frozen_quote": 60.0})
    assert (found.regret, found.costliest, found.left) == (88.0, ("missed_profit", 61.0), 27.0)
    assert found.line() == "regret against gd 88; the costliest finding explains 61; left 27"


def test_a_price_replaces_the_cost_that_the_trace_tells_and_a_cost_explains_no_more_than_the_regret() -> None:
    assert account(costs={"a": 50.0}, prices={"a": 20.0}).left == 68.0
    assert account(costs={"a": 1_006.0}).costliest == ("a", 88.0)
    assert account(costs={"a": 1_006.0}).left == 0.0


def test_direct_costs_of_other_findings_are_taken_off_too() -> None:
    found = account(prices={"a": 40.0}, costs={"a": 5.0, "b": 8.0, "c": 9.0}, direct=frozenset({"a", "b"}))
    assert (found.others, found.left) == (8.0, 40.0)
    assert found.line() == (
        "regret against gd 88; the costliest finding explains 40, money lost by the others is taken off; left 40"
    )


def test_a_negative_price_explains_nothing_and_adds_nothing() -> None:
    assert account(prices={"a": -20.0}).left == 88.0


def test_a_seat_that_earned_as_much_has_no_regret() -> None:
    found = account(own=120.0, prices={"a": 5.0})
    assert (found.regret, found.left) == (0.0, 0.0)
    assert found.line() == "no regret: gd earns 100 points here"
    assert closing("B1", found).status == "clear"


@pytest.mark.parametrize(
    ("best", "own", "explained", "status"),
    [
        (100.0, 12.0, 44.0, "raised"),  # just half is left
        (100.0, 12.0, 44.1, "clear"),
        (100.0, 98.0, 0.0, "raised"),  # just two hundredths of what the reference earned
        (100.0, 98.1, 0.0, "clear"),
        (0.0, -5.0, 0.0, "raised"),  # a reference that earned nothing: every regret counts
        (-50.0, -60.0, 4.0, "raised"),
    ],
)
def test_the_finding_is_raised_where_half_of_a_real_regret_is_left(
    best: float, own: float, explained: float, status: str
) -> None:
    finding = closing("B1", account(best=best, own=own, prices={"a": explained}))
    assert (finding.id, finding.status, finding.cases) == (UNEXPLAINED, status, [])


def test_the_finding_says_what_is_left_of_what() -> None:
    finding = closing("B1", account(prices={"a": 8.0}))
    assert finding.says == "No finding explains 80 of the 88 points that gd would have earned more than B1."
    assert (finding.of, finding.parts) == (88.0, {"unexplained": pytest.approx(80 / 88), "regret": 0.88})


def test_the_account_is_told_where_it_is_no_finding() -> None:
    closed = closing("B1", account(prices={"a": 61.0}))
    diagnosis = Diagnosis(market="m", modes_version="", evidence_map=None, stages=[], findings=[closed])
    told = [line.text for line in findings_text(diagnosis)]
    assert "unexplained: regret against gd 88; the costliest finding explains 61; left 27" in told


def test_a_note_about_several_seats_is_one_line_that_names_them() -> None:
    clear = closing("A", account(prices={"a": 61.0}))
    merged = [
        clear.model_copy(update={"id": "m.lapse", "status": "merged", "note": "told by m.x", "seats": [seat]})
        for seat in ("A", "B")
    ]
    findings = [*merged, clear.model_copy(update={"seats": ["A", "B", "C"]})]
    diagnosis = Diagnosis(market="m", modes_version="", evidence_map=None, stages=[], findings=findings)
    told = [line.text for line in findings_text(diagnosis)]
    assert [line for line in told if line.startswith("m.lapse")] == ["m.lapse of A, B: told by m.x"]


def test_findings_of_several_seats_are_counted_as_they_are_numbered() -> None:
    raised = closing("A", account(prices={"a": 8.0}))
    for seats, head in ("A", "found: 1 of 1 failure modes"), ("AB", "found: 2 findings in 1 of 1 failure modes"):
        findings = [raised.model_copy(update={"seats": [seat]}) for seat in seats]
        diagnosis = Diagnosis(market="m", modes_version="", evidence_map=None, stages=[], findings=findings)
        told = list(findings_text(diagnosis, whole=True))
        assert told[0].text.startswith(head)
        assert len([line for line in told if line.kind == "finding"]) == len(seats)

"""Findings in words: which of them are told, counted and named together."""

from __future__ import annotations

from typing import Any

import pytest

from tradefair.evaluation.findings_text import findings_text
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding


def finding(*seats: str, **fields: Any) -> Finding:
    said = {"id": "m.x", "status": "raised", "says": "", "counts": "", "threshold": "", "count": 1, "of": 9}
    return Finding.model_validate({**said, "amount": 1, "share": 0.1, "seats": seats, **fields})


def told(*findings: Finding) -> list[tuple[str, str]]:
    diagnosis = Diagnosis(market="m", modes_version="", evidence_map=None, stages=[], findings=list(findings))
    return [(line.kind, line.text) for line in findings_text(diagnosis)]


def test_a_note_about_several_seats_is_one_line_that_names_them() -> None:
    merged = [finding(seat, id="m.lapse", status="merged", note="told by m.x") for seat in ("A", "B")]
    said = told(*merged, finding("A", "B", "C", status="clear"))
    assert [text for _, text in said if text.startswith("m.lapse")] == ["m.lapse of A, B: told by m.x"]


@pytest.mark.parametrize(
    ("seats", "head"), [("A", "found: 1 of 1 failure modes"), ("AB", "found: 2 findings in 1 of 1 failure modes")]
)
def test_findings_of_several_seats_are_counted_as_they_are_numbered(seats: str, head: str) -> None:
    said = told(*(finding(seat) for seat in seats))
    assert said[0][1].startswith(head)
    assert [kind for kind, _ in said].count("finding") == len(seats)


@pytest.mark.parametrize(
    ("lost", "turns", "line"), [(12.5, [3], "lost 12.5 in 1 turn"), (-4, [1, 2], "gained 4 in 2 turns")]
)
def test_what_the_turns_of_a_finding_lost_stands_below_it(lost: float, turns: list[int], line: str) -> None:
    assert ("detail", f"      {line}") in told(finding("A", lost=lost, turns=turns))
    assert not [text for _, text in told(finding("A")) if "turn" in text]

"""A table of modes is checked when it is loaded: a mode that silently never fires is worse than one that fails.

Also here:
- Findings in words: which of them are told, counted and named together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import pytest

from tradefair.evaluation.modes import table
from tradefair.evaluation.modes.diagnosis import Detector, Diagnosis, Finding, Seen
from tradefair.evaluation.modes.table import ModeTable, load_modes
from tradefair.evaluation.verdict.findings_text import findings_text

ROW = """
[late]
version = 1
sentence = "{seat} was late"
counts = "late rounds"
of = "rounds"
unit = "rounds"
raised = [{ run = 3 }, { share = 0.3, count = 2 }]
fact = "action"
params = { rounds = 3 }
provoked_by = "x"
not_by = "y"
"""


def late(seat: int, *, rounds: int) -> Seen:
    return Seen([], seat + rounds)


def early(seat: int) -> Seen:
    return Seen([], seat)


class Load(Protocol):
    def __call__(self, text: str, **detectors: Detector) -> ModeTable: ...


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Loads a table from its text, as a package would hold it."""

    def _load(text: str, **detectors: Detector) -> ModeTable:
        (tmp_path / "modes.toml").write_text(text)
        monkeypatch.setattr(table, "files", lambda package: tmp_path)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        return load_modes("rooms", detectors or {"late": late})

    return _load


def test_a_row_and_its_detector_make_a_mode(load: Load) -> None:
    found = load(ROW)
    assert found.detect("late", 4).of == 7
    assert found.rows["late"].threshold == "3 rounds in a row, or at least 2 and a share of at least 30%"
    assert len(found.digest) == 16
    plain = load(ROW.replace("params = { rounds = 3 }\n", ""), late=early)
    assert plain.detect("late", 4).of == 4
    assert plain.digest != found.digest


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("run = 3", "runs = 3", r"\[late\].*runs"),
        ("run = 3", "run = 0", r"\[late\].*greater than 0"),
        ("{ run = 3 }", "{ }", r"\[late\].*it would always hold"),
        ("raised = [{ run = 3 }, { share = 0.3, count = 2 }]", "raised = []", r"\[late\].*raised"),
        ('fact = "action"', 'fact = "acts"', r"\[late\].*fact"),
        ('fact = "action"', 'fact = "action"\nlevel = "reason"', r"\[late\].*level"),
        ('fact = "action"', 'fact = "action"\nneeds = ["eyes"]', r"\[late\].*needs"),
        ("rounds = 3 }", "round = 3 }", r"\[late\].*round"),
        ("rounds = 3 }", 'rounds = "3 days" }', r"\[late\].*rounds"),
        ("params = { rounds = 3 }\n", "", r"\[late\].*rounds"),
        ("[late]", "[latte]", "a row or a detector, not both: late, latte"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_file_and_key(load: Load, old: str, new: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"(?s)rooms/modes.toml.*{said}"):
        load(ROW.replace(old, new, 1))


def test_params_for_a_detector_without_any_are_refused(load: Load) -> None:
    with pytest.raises(ValueError, match=r"(?s)\[late\].*rounds.*not permitted"):
        load(ROW, late=early)


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

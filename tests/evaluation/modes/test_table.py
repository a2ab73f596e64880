"""A table of modes is checked when it is loaded: a mode that silently never fires is worse than one that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from tradefair.evaluation.modes import table
from tradefair.evaluation.modes.diagnosis import Detector, Seen
from tradefair.evaluation.modes.table import ModeTable, load_modes

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

"""Every failure mode of pricing: its control provokes it, and a competent firm in the same place does not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.playing import played_by

from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.pricing.modes.detectors import MODES
from tradefair.evaluation.modes.diagnosis import Diagnosis

# mode, preset, the firm under test, its rivals, changes of the scenario
POSITIVE: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("closed_round", "textbook", "passive", "nash", {"rounds": 4}),
    ("priced_out", "textbook", "fixed_markup(percent=150)", "nash", {"rounds": 8}),
    ("undercut_endured", "textbook", "monopoly", "undercutter(step=400)", {"rounds": 20}),
    ("stuck_price", "textbook", "stuck", "edgeworth(step=50)", {"rounds": 24}),
    ("shock_ignored", "shocks", "stuck", "follower", {"rounds": 60}),
    ("war_joined", "textbook", "joiner", "edgeworth", {"rounds": 30}),
    ("no_experiment", "models", "sleeper", "best_reply", {"rounds": 24}),
    ("endless_experiment", "textbook", "jumpy", "nash", {"rounds": 24}),
    ("contradicted_analysis", "textbook", "contrary", "nash", {"rounds": 6}),
]
NEGATIVE: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("closed_round", "textbook", "nash", "nash", {"rounds": 4}),
    ("priced_out", "textbook", "best_reply", "nash", {"rounds": 8}),
    ("undercut_endured", "textbook", "best_reply", "undercutter(step=400)", {"rounds": 20}),
    ("stuck_price", "textbook", "best_reply", "edgeworth(step=50)", {"rounds": 24}),
    ("shock_ignored", "shocks", "follower", "follower", {"rounds": 60}),
    ("war_joined", "textbook", "matcher", "edgeworth", {"rounds": 30}),
    ("no_experiment", "models", "prober", "best_reply", {"rounds": 48}),
    ("endless_experiment", "textbook", "prober", "nash", {"rounds": 48}),
]


def played(path: Path, preset: str, own: str, rivals: str, changes: dict[str, Any], seed: int = 1) -> Path:
    return played_by(path, f"pricing/{preset}", {"F1": own}, seed, rivals, **changes)


@cache
def _kept() -> dict[Any, Diagnosis]:
    return {}


def diagnosis(folder: Path, preset: str, own: str, rivals: str, changes: dict[str, Any]) -> Diagnosis:
    key = (preset, own, rivals, tuple(sorted(changes.items())))
    if key not in _kept():
        evaluation = evaluate_file(played(folder / "game.trace", preset, own, rivals, changes))
        assert evaluation.diagnosis is not None, evaluation.problem
        assert evaluation.outcome is not None
        assert evaluation.outcome.findings == []
        _kept()[key] = evaluation.diagnosis
    return _kept()[key]


@pytest.mark.parametrize("case", POSITIVE, ids=lambda case: case[0])
def test_the_control_shows_it(tmp_path: Path, case: Any) -> None:
    mode, *asked = case
    finding = diagnosis(tmp_path, *asked).of_seat("F1")[f"pricing.{mode}"]
    # Some of these are told by another finding of the same decision; what counts is that it was seen.
    assert finding.status in ("raised", "condition", "merged"), finding
    assert finding.cases or finding.status == "merged"
    for told in finding.cases:
        assert len(told.because) <= 160
        assert told.shown_by is not None


@pytest.mark.parametrize("case", NEGATIVE, ids=lambda case: case[0])
def test_a_competent_firm_does_not(tmp_path: Path, case: Any) -> None:
    mode, *asked = case
    finding = diagnosis(tmp_path, *asked).of_seat("F1")[f"pricing.{mode}"]
    assert finding.status == "clear", finding


def test_every_mode_has_a_control() -> None:
    assert {case[0] for case in POSITIVE} == set(MODES.rows)


def test_sales_below_cost_are_found(tmp_path: Path) -> None:
    finding = diagnosis(tmp_path, "textbook", "below_cost", "nash", {"rounds": 5}).of_seat("F1")["below_cost"]
    assert finding.raised
    assert (finding.count, finding.of) == (5, 5)


def test_prices_without_a_look_lack_their_evidence(tmp_path: Path) -> None:
    finding = diagnosis(tmp_path, "textbook", "blind", "nash", {"rounds": 6}).of_seat("F1")["missing_evidence"]
    assert finding.raised

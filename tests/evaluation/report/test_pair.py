"""Two traces side by side: what is said of their decisions, and what is not."""

from __future__ import annotations

from pathlib import Path

from tests.evaluation.compare.conftest import play

from tradefair.evaluation.report.pair import pair_page


def test_episodes_of_other_luck_have_no_first_decision_that_differs(tmp_path: Path) -> None:
    same, other, later = (tmp_path / f"{name}.trace" for name in ("same", "other", "later"))
    play(same, "zip", 1, overrides={"rounds": 2})
    play(other, "truthful", 1, overrides={"rounds": 2})
    play(later, "truthful", 2, overrides={"rounds": 2})
    assert pair_page(same, other).divergence is not None
    page = pair_page(same, later)
    assert page.divergence is None
    assert page.note == (
        "Two different episodes, double_auction seed 1 and double_auction seed 2: their decisions were made under "
        "other luck."
    )

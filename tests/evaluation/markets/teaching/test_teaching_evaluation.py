from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.evaluation.modes.playing import Seats, play_episode

from tradefair.contract import ToolCall, Turns, TurnView
from tradefair.evaluation.charts.chart import XYChart
from tradefair.evaluation.evaluate import charts_of, evaluate_file
from tradefair.evaluation.markets.teaching.evaluator import EVALUATOR
from tradefair.tracestore import open_trace


def claims(*slices: int) -> Callable[[TurnView], Turns]:
    """A seat that claims these slices, round by round."""

    def turns(now: TurnView) -> Turns:
        yield ToolCall("claim", {"slices": slices[now.round - 1]})

    return turns


PLAYS: dict[str, tuple[Seats, tuple[bool, bool, int, int]]] = {
    "one claim too high of three": ({"P1": claims(6, 5, 5), "P2": "half"}, (True, False, 1, 3)),
    "two claims too high of three": ({"P1": claims(6, 6, 5), "P2": "half"}, (True, True, 2, 3)),
    "high claims that fit": ({"P1": claims(6, 6, 6), "P2": claims(4, 4, 4)}, (True, False, 0, 3)),
}


@pytest.mark.parametrize("name", PLAYS)
def test_overclaim_is_raised_from_half_of_the_claims_on(name: str, tmp_path: Path) -> None:
    seats, expected = PLAYS[name]
    evaluation = evaluate_file(play_episode(tmp_path / "played.trace", "teaching/pie", seats))
    assert evaluation.diagnosis is not None
    assert evaluation.outcome is not None
    finding = evaluation.diagnosis.of_seat("P1")["teaching.overclaim"]
    if len(finding.seats) > 1:
        assert finding.parts["P1"] == pytest.approx(expected[2] / expected[3])
        assert (finding.checked, finding.raised) == expected[:2]
        return
    assert (finding.checked, finding.raised, finding.numerator, finding.denominator) == expected
    # P2 claimed half: five slices were left in each round that was lost.
    assert finding.severity == 5 * expected[2] * evaluation.outcome.seats["P1"].value
    assert len(finding.events) == expected[2]


def test_a_silent_seat_cannot_be_judged(tmp_path: Path) -> None:
    path = play_episode(tmp_path / "played.trace", "teaching/pie", {"P1": "passive", "P2": "half"})
    diagnosis = evaluate_file(path).diagnosis
    assert diagnosis is not None
    finding = diagnosis.of_seat("P1")["teaching.overclaim"]
    assert (finding.checked, finding.note) == (False, "the seat made no claim")


def test_the_chart_has_the_claims_of_both_seats(tmp_path: Path) -> None:
    path = play_episode(tmp_path / "played.trace", "teaching/pie", {"P1": claims(6, 5, 4), "P2": "passive"})
    with open_trace(path) as trace:
        charts, problem = charts_of(trace, EVALUATOR)
    assert problem is None
    (chart,) = charts
    assert isinstance(chart, XYChart)
    assert {line.name: line.y for line in chart.lines} == {"P1": [6, 5, 4], "P2": [None, None, None]}

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from tests.evaluation.modes.playing import play_episode

from tradefair.contract import ToolCall, Turns, TurnView
from tradefair.evaluation.charts.chart import XYChart
from tradefair.evaluation.judge.evaluate import charts_of, evaluate_file
from tradefair.evaluation.markets.teaching.evaluator import EVALUATOR, Claim
from tradefair.evaluation.modes.judged import Frame, findings_of, look
from tradefair.tracestore import open_trace


def claims(*slices: int) -> Callable[[TurnView], Turns]:
    """A seat that claims these slices, round by round."""

    def turns(now: TurnView) -> Turns:
        yield ToolCall("claim", {"slices": slices[now.round - 1]})

    return turns


def claimed(*rounds: tuple[int, int]) -> list[Claim]:
    """Claims of one seat: (slices, slices that the other seat left)."""
    return [
        Claim(10 * number, number, slices, 10, left, slices <= left, 10 * number + 5)
        for number, (slices, left) in enumerate(rounds, start=1)
    ]


BECAUSE = "round 1: claimed 6 of 10 slices where 5 were left"
PLAYS: dict[str, tuple[list[Claim], tuple[str, int, float | None, str | None]]] = {
    "below": (claimed((6, 5), (5, 5), (5, 5)), ("clear", 1, 1 / 3, BECAUSE)),
    "at": (claimed((6, 5), (5, 5)), ("raised", 1, 0.5, BECAUSE)),
    "above": (claimed((6, 5), (6, 4)), ("raised", 2, 1.0, BECAUSE)),
    "half is fair": (claimed((5, 4), (5, 4)), ("clear", 0, 0.0, None)),
    "what fits is no case": (claimed((6, 6), (6, 6)), ("clear", 0, 0.0, None)),
    "one claim is too few": (claimed((6, 5)), ("unchecked", 1, 1.0, BECAUSE)),
}


@pytest.mark.parametrize("name", PLAYS)
def test_overclaim_is_raised_from_half_of_the_claims_on(name: str) -> None:
    claims, expected = PLAYS[name]
    frame = Frame("teaching.", "points", {"P1": "player"})
    table = EVALUATOR.modes
    assert list(table.rows) == ["overclaim"]
    (finding,) = findings_of(look(table, {"P1": claims}, frame), [(table, frame)])[:1]
    first = finding.cases[0] if finding.cases else None
    assert (finding.status, finding.count, first and first.because) == (*expected[:2], expected[3])
    assert finding.share == pytest.approx(expected[2])
    assert [(case.seq, case.shown_by) for case in finding.cases] == [
        (10 * case.round, 10 * case.round + 5) for case in finding.cases
    ]


def test_a_greedy_seat_is_found_and_its_claims_are_cited(tmp_path: Path) -> None:
    path = play_episode(tmp_path / "played.trace", "teaching/pie", {"P1": claims(6, 6, 5), "P2": "half"})
    diagnosis = evaluate_file(path).diagnosis
    assert diagnosis is not None
    finding = diagnosis.of_seat("P1")["teaching.overclaim"]
    with open_trace(path) as trace:
        events = {stored.seq: orjson.loads(stored.body) for stored in trace.events()}
    assert [events[case.seq]["arguments"] for case in finding.cases] == [{"slices": 6}] * 2
    assert finding.says == "2 of 3 claims of P1 were above a fair share of a pie that was then not shared."


def test_a_round_without_a_claim_cites_its_lapse(tmp_path: Path) -> None:
    path = play_episode(tmp_path / "played.trace", "teaching/pie", {"P1": "passive", "P2": "half"})
    diagnosis = evaluate_file(path).diagnosis
    assert diagnosis is not None
    finding = diagnosis.of_seat("P1")["idle_drift"]
    with open_trace(path) as trace:
        events = {stored.seq: orjson.loads(stored.body) for stored in trace.events()}
    assert [events[case.seq]["event"] for case in finding.cases] == ["seat_lapsed"] * 3
    assert finding.cases[0].because == "round 1: no claim, although 5 slices were left"


def test_a_silent_seat_cannot_be_judged(tmp_path: Path) -> None:
    path = play_episode(tmp_path / "played.trace", "teaching/pie", {"P1": "passive", "P2": "half"})
    diagnosis = evaluate_file(path).diagnosis
    assert diagnosis is not None
    finding = diagnosis.of_seat("P1")["teaching.overclaim"]
    assert (finding.checked, finding.note) == (False, "0 claims, 2 needed")


def test_the_chart_has_the_claims_of_both_seats(tmp_path: Path) -> None:
    path = play_episode(tmp_path / "played.trace", "teaching/pie", {"P1": claims(6, 5, 4), "P2": "passive"})
    with open_trace(path) as trace:
        charts, problem = charts_of(trace, EVALUATOR)
    assert problem is None
    (chart,) = charts
    assert isinstance(chart, XYChart)
    assert {line.name: line.y for line in chart.lines} == {"P1": [6, 5, 4], "P2": [None, None, None]}

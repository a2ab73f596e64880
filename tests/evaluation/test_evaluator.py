from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tradefair import catalog
from tradefair.contract import ScenarioError
from tradefair.evaluation.evaluator import Evaluator, evaluator_of, fields_for
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.modes.detectors import GENERAL

Play = Callable[..., Path]


class Almost:
    """Has a method of an evaluator and is none."""

    def charts(self, trace: object) -> list[object]:
        return []


def _almost(name: str) -> Almost:
    return Almost()


def _none(name: str) -> None:
    return None


def test_an_installed_evaluator_that_is_no_subclass_is_refused_in_one_sentence(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = play("teaching/pie", "half")
    monkeypatch.setattr(catalog, "evaluator", _almost)
    with pytest.raises(ScenarioError, match="the evaluator of teaching is a Almost: it must be an instance of"):
        evaluator_of("teaching")
    evaluation = evaluate_file(path)
    assert evaluation.outcome is None
    assert (evaluation.problem or "").startswith("the evaluator of teaching is a Almost")


@pytest.mark.parametrize("market", catalog.market_names())
def test_every_installed_market_has_an_evaluator_of_its_own_that_names_known_fields(market: str) -> None:
    evaluator = evaluator_of(market)
    assert type(evaluator) is not Evaluator
    assert evaluator.market == market
    assert evaluator.primary_metrics
    assert evaluator.whole_ends
    assert {metric.name for metric in evaluator.primary_metrics} <= {*evaluator.compared_columns}


def test_the_base_class_serves_a_market_that_brings_no_evaluator(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    path = play("teaching/pie", "half")
    monkeypatch.setattr(catalog, "evaluator", _none)
    evaluation = evaluate_file(path)
    assert evaluation.outcome is not None
    assert {seat: result.calls for seat, result in evaluation.outcome.seats.items()} == {"P1": 4, "P2": 4}
    assert evaluation.diagnosis is not None
    assert evaluation.diagnosis.modes_version == GENERAL.digest
    assert evaluation.diagnosis.findings
    unknown = evaluator_of("teaching")
    assert unknown.ran_its_course("terminated:anything")
    assert fields_for(unknown, {"eater"}, ("a", "b")) == ("a", "b")

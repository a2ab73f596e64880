"""The negative control: rates in failed and passed runs, what was located, and labels that cannot be used."""

from __future__ import annotations

import random
from typing import Any

import orjson
import pytest

from tradefair.evaluation.foreign.audit.rates import Failure, Label, Raised, Share, rates_of, read_labels
from tradefair.evaluation.foreign.audit.references import Divergence
from tradefair.evaluation.foreign.audit.run import RuleCase

STATE = RuleCase("map.state", 9, 5, "agent", "ship", "why")


def audits(failed: int, failed_raised: int, passed: int, passed_raised: int) -> tuple[list[Raised], dict[str, Label]]:
    raised = [Raised(f"f{n}", [STATE] if n < failed_raised else []) for n in range(failed)]
    raised += [Raised(f"p{n}", [STATE] if n < passed_raised else []) for n in range(passed)]
    return raised, {audit.id: Label(audit.id, audit.id.startswith("p")) for audit in raised}


def test_a_rule_is_counted_in_failed_and_in_passed_runs_and_any_last() -> None:
    raised, labels = audits(15, 6, 37, 4)
    raised[0] = raised[0]._replace(cases=[STATE, STATE._replace(rule="map.once")])
    found = rates_of(raised, labels, {"map.look"})
    look, once, state, any_rule = found.rules
    assert (look.rule, look.failed, look.passed, look.p) == ("map.look", Share(0, 15), Share(0, 37), 1.0)
    assert (state.rule, state.failed, state.passed) == ("map.state", Share(6, 15), Share(4, 37))
    assert state.p == pytest.approx(0.0243, abs=1e-4)
    assert state.p_holm == pytest.approx(2 * 0.0243, abs=2e-4)
    # What is raised nowhere is no hypothesis, and neither is any.
    assert (once.rule, once.p_holm, look.p_holm) == ("map.once", once.p, None)
    assert (any_rule.rule, any_rule.failed, any_rule.p_holm) == ("any", Share(6, 15), None)
    assert state.failed.to_json()["low"] < 0.4 < state.failed.to_json()["high"]


@pytest.mark.parametrize(
    ("counts", "no_better"),
    [((10, 2, 10, 2), True), ((10, 2, 10, 1), False), ((10, 0, 10, 0), False), ((0, 0, 9, 1), True)],
)
def test_a_rule_that_is_raised_as_often_in_passed_runs_is_marked(
    counts: tuple[int, int, int, int], no_better: bool
) -> None:
    raised, labels = audits(*counts)
    assert rates_of(raised, labels, ()).rules[0].no_better is no_better if raised else True


def test_runs_without_a_label_are_in_no_rate() -> None:
    raised, labels = audits(2, 1, 2, 0)
    found = rates_of([*raised, Raised("nobody", [STATE])], labels, ())
    assert found.rules[-1].failed == Share(1, 2)
    assert rates_of(raised, {}, ()).rules[-1].p is None


def test_labelled_failures_are_located_by_cases_and_roots_by_divergences() -> None:
    other = Divergence(12, 8, "other_action", "why")
    raised = [Raised("a", [STATE], other), Raised("b", []), Raised("c", [STATE], other)]
    labels = {
        "a": Label("a", False, (Failure(10, "System Failure"), Failure(12, "Misread"), Failure(13, "Misread")), 12),
        "b": Label("b", False, (Failure(9, "Invalid Invocation"),), 9),
        "c": Label("c", True),
    }
    found = rates_of(raised, labels, (), references=True).to_json()
    located = found["located"]
    assert {name: located[name] for name in ("within_1", "within_3", "of")} == {"within_1": 1, "within_3": 2, "of": 4}
    assert located["mechanical"] == {"within_1": 1, "within_3": 1, "of": 2}
    assert located["by_category"]["Misread"] == {"within_1": 0, "within_3": 1, "of": 2}
    assert located["root"] == {"within_1": 1, "within_3": 1, "of": 2}
    assert [(rule["rule"], rule["failed"]["raised"], rule["passed"]["raised"]) for rule in found["rules"]] == [
        ("map.state", 1, 1),
        ("reference", 1, 1),
        ("any", 1, 1),
    ]


def test_chance_alone_is_significant_in_fewer_than_one_of_twenty_permutations() -> None:
    chance = random.Random(11)
    raised = [
        Raised(str(n), [STATE._replace(rule=f"map.{r}") for r in range(8) if chance.random() < 0.2]) for n in range(52)
    ]
    ids = [audit.id for audit in raised]
    significant = 0
    for _ in range(100):
        failed = set(chance.sample(ids, 15))
        found = rates_of(raised, {name: Label(name, name not in failed) for name in ids}, ())
        significant += any(rule.p_holm is not None and rule.p_holm <= 0.05 for rule in found.rules)
    assert significant <= 5


def test_labels_are_read_line_by_line_and_what_cannot_be_used_is_named() -> None:
    lines: list[Any] = [
        {"id": "a", "passed": True},
        {
            "id": "b",
            "passed": False,
            "failures": [{"step": 3, "category": "X", "reason": "…"}, {"step": 4}],
            "root_step": 3,
        },
        {"id": 7, "passed": False},
        {"id": "a", "passed": False},
        {"id": "c", "passed": "no"},
        {"id": "d", "passed": False, "failures": [{"step": 0}]},
        {"id": "e", "passed": False, "root_step": True},
        [],
    ]
    labels, problems = read_labels(b"\n".join(orjson.dumps(line) for line in lines) + b'\n\n{"id": "torn')
    assert labels["b"] == Label("b", False, (Failure(3, "X"), Failure(4, "not named")), 3)
    assert labels.keys() == {"a", "b", "7"}
    assert labels["a"].passed
    assert [problem.partition(":")[0] for problem in problems] == ["4", "5", "6", "7", "8", "10"]

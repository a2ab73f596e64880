"""A run is read from any trace: answers decoded, refusals by their text, kinds by map, trace or name.

Also here:
- Divergence from a reference: what is raised, and where it is located.
- The negative control: rates in failed and passed runs, what was located, and labels that cannot be used.
- A map in `evaluate`: its findings stand among the others, and it tells the general modes what they cannot know.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.audit.runs import Did, did, run_of
from tests.evaluation.foreign_runs import DESK, Do, Say, write_run

from tradefair.cli import run
from tradefair.evaluation.foreign.audit.map_file import Map, read_map
from tradefair.evaluation.foreign.audit.mapped import MAP_MODES, MapEvaluator
from tradefair.evaluation.foreign.audit.rates import Failure, Label, Raised, Share, label_of, rates_of, read_lines
from tradefair.evaluation.foreign.audit.references import (
    Divergence,
    Reference,
    divergence,
    read_reference,
    reference_of,
)
from tradefair.evaluation.foreign.audit.rules import CHECKS
from tradefair.evaluation.foreign.audit.run import FAILED_ANSWER, Call, RuleCase, Run, as_json, guessed_kind, read_run
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding


def test_calls_and_texts_stand_in_order_with_their_steps(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "desk.trace", passed=False, seats={"agent": "agent"}))
    assert run.passed is False
    assert [(turn.step, turn.tool if isinstance(turn, Call) else turn.role) for turn in run.turns] == [
        (1, "system"), (2, "user"), (5, "get_order"), (7, "cancel_order"), (9, "cancel_order"), (10, "assistant")
    ]  # fmt: skip
    look, refused, done = run.calls
    assert (look.kind, look.answer, look.accepted) == ("read", {"order_id": "W7", "status": "pending"}, True)
    assert (refused.status, refused.error, refused.words) == ("rejected", "no such order", "no such order")
    assert done.words == '{"status":"cancelled"}'


def test_what_a_user_calls_is_no_call_of_an_agent(tmp_path: Path) -> None:
    turns = [Do("reboot", {}, "ok", seat="user"), Do("get_bill", {}, "ok")]
    run = read_run(write_run(tmp_path / "two.trace", turns, seats={"agent": "agent", "user": "user"}))
    assert [call.tool for call in run.calls] == ["get_bill"]


@pytest.mark.parametrize(
    ("result", "answer", "status"),
    [
        ('{"a": 1}', {"a": 1}, "ok"),
        ('[1, "x"]', [1, "x"], "ok"),
        ({"text": "[2]"}, [2], "ok"),
        ({"text": "plain", "more": 1}, {"text": "plain", "more": 1}, "ok"),
        ({"content": [{"type": "text", "text": "hi"}]}, "hi", "ok"),
        ("{broken", "{broken", "ok"),
        ("7", "7", "ok"),
        ("Error: no", None, "rejected"),
        ("Errors are rare", "Errors are rare", "ok"),
        ("x" * 3_000, "x" * 3_000, "ok"),
    ],
)
def test_an_answer_is_what_its_text_means(tmp_path: Path, result: Any, answer: Any, status: str) -> None:
    (call,) = read_run(write_run(tmp_path / "one.trace", [Do("get_x", {}, result)]), failed=FAILED_ANSWER).calls
    assert (call.answer, call.status) == (answer, status)


def test_media_and_reasoning_are_no_text(tmp_path: Path) -> None:
    turns = [Say("user", {"media_type": "image/png"}, "media"), Say("assistant", "hm", "reasoning"), Say("user", "hi")]
    assert [said.text for said in read_run(write_run(tmp_path / "one.trace", turns)).said] == ["hi"]


@pytest.mark.parametrize(
    ("tool", "kind", "guessed"),
    [
        ("get_order", None, "read"),
        ("get_order", "action", "action"),
        ("transfer_to_human_agents", None, "hand_over"),
        ("transfer_funds_report", "read", "read"),
        ("think", None, "note"),
        ("frob", None, "action"),
    ],
)
def test_the_trace_says_what_a_tool_does_else_its_name(tool: str, kind: str | None, guessed: str) -> None:
    assert guessed_kind(tool, kind) == guessed


def test_equal_values_are_written_alike() -> None:
    assert as_json({"b": [1.0, 10**400], "a": None}) == as_json({"b": [1.0, 10**400], "a": None})
    assert as_json({"b": 2.0, "a": [1]}) == as_json({"a": [1.0], "b": 2}) == '{"a":[1],"b":2}'


LOOK = did("get_order", {"status": "open", "total": 12.5, "tracking": "7463420"}, order_id="A1")
PAY = did("pay_order", order_id="A1", cents=100)
SHIP = did("ship_order", order_id="A1")
LATE = did("ship_order", "Error: paid orders cannot be shipped", order_id="A1")


def reference(*actions: Did, outputs: tuple[str, ...] = ()) -> Reference:
    made = [{"tool": action.tool, "arguments": dict(action.arguments)} for action in actions]
    found = read_reference(
        {"id": "r1", "actions": made, "outputs": list(outputs)}, lambda tool: not tool.startswith("get")
    )
    assert found is not None
    return found


OTHER = did("pay_order", order_id="B2", cents=1)
SWAP = did("swap", old=["1", "2"], new=["3", "4"])


def says(*outputs: str) -> Reference:
    return reference(outputs=outputs)


ALIKE: dict[str, tuple[Run, Reference]] = {
    "another order of actions": (run_of(LOOK, SHIP, PAY), reference(PAY, SHIP)),
    "a refused attempt that was made good": (run_of(LATE, PAY, SHIP), reference(PAY, SHIP)),
    "other reads": (run_of(PAY, did("list_orders")), reference(LOOK, PAY)),
    "something else, refused": (run_of(did("pay_order", "Error: no", order_id="B2"), PAY), reference(PAY)),
    "a hand-over": (run_of(PAY, did("transfer_to_human", note="x")), reference(PAY)),
    "100 and 100.0": (run_of(did("pay_order", order_id="A1", cents=100.0)), reference(PAY)),
    "pairs in another order": (run_of(SWAP), reference(did("swap", old=["2", "1"], new=["4", "3"]))),
    "outputs said": (run_of("It is $1,012.50, or 8.00, as Agreed."), says("1012.50", "8", "agreed")),
}


@pytest.mark.parametrize(("run", "wanted"), ALIKE.values(), ids=ALIKE)
def test_a_run_that_ends_with_the_references_actions_and_outputs_is_not_raised(run: Run, wanted: Reference) -> None:
    assert divergence(run, wanted) is None


APART: dict[str, tuple[Run, Reference, str, int | None]] = {
    "an action blocked a later one": (run_of("> hi", PAY, LATE, "sorry"), reference(SHIP, PAY), "blocked", 2),
    "in the reference's order: no block": (run_of(PAY, LATE), reference(PAY, SHIP), "missing_action", 3),
    "of another object: no block": (run_of(OTHER, LATE), reference(SHIP, OTHER), "missing_action", 3),
    "arguments": (run_of("hm", did("pay_order", order_id="A1", cents=99)), reference(PAY), "other_action", 2),
    "refused ones count": (run_of(PAY, did("void", "Error: no"), PAY), reference(PAY), "other_action", 3),
    "once more": (run_of(PAY, PAY), reference(PAY), "other_action", 3),
    "other pairs": (run_of(SWAP), reference(did("swap", old=["1", "2"], new=["4", "3"])), "other_action", 1),
    "a number from nowhere; markers and the user's numbers are none": (
        run_of("> 12 shirts?", LOOK, "1. We have 12.\n2. Or 11.", "Yes, 9"), says("10"), "wrong_output", 4
    ),
    "decimals only": (run_of(LOOK, "Sum: 12.51", "1 order"), says("7.25"), "wrong_output", 3),
    "it was at hand": (run_of(LOOK, "no number", "bye"), says("7463420"), "unsaid_output", 4),
    "part of a number is not said": (run_of("1031, 0.10, 10.50"), says("10"), "wrong_output", 1),
    "the hand-over": (run_of("ok", did("transfer_to_human"), "bye"), reference(PAY), "missing_action", 2),
    "the agent's last message": (run_of("ok", "bye", "> bye"), reference(PAY), "missing_action", 2),
    "nothing at all": (run_of(), reference(PAY), "missing_action", None),
}  # fmt: skip


@pytest.mark.parametrize(("run", "wanted", "kind", "step"), APART.values(), ids=APART)
def test_a_divergence_is_located_at_the_first_rule_that_applies(
    run: Run, wanted: Reference, kind: str, step: int | None
) -> None:
    found = divergence(run, wanted)
    assert found is not None
    assert (found.kind, found.step) == (kind, step)
    cited = [turn.step for turn in run.turns if turn.seq == found.seq]
    assert cited == ([] if step is None else [step])


def test_another_run_can_be_the_reference() -> None:
    good = run_of(LOOK, did("pay_order", "Error: no", order_id="A1", cents=1), PAY, SHIP)
    wanted = reference_of(good, "r2")
    assert [action.tool for action in wanted.actions] == ["pay_order", "ship_order"]
    assert divergence(run_of(SHIP, PAY), wanted) is None
    assert divergence(run_of(SHIP), wanted) is not None


@pytest.mark.parametrize("value", [None, [], {"actions": 3}, {"actions": [{"name": "x"}]}, {"actions": ["pay"]}])
def test_what_has_not_the_shape_of_a_reference_is_none(value: Any) -> None:
    assert read_reference(value, lambda tool: True) is None


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
    labels, problems = read_lines(b"\n".join(map(orjson.dumps, lines)) + b'\n\n{"id": "torn', "label", label_of)
    assert labels["b"] == Label("b", False, (Failure(3, "X"), Failure(4, "not named")), 3)
    assert labels.keys() == {"a", "b", "7"}
    assert labels["a"].passed
    assert [problem.partition(":")[0] for problem in problems] == ["4", "5", "6", "7", "8", "10"]


MAP = """version = 1
[objects.order]
arguments = ["order_id"]
look = ["get_order"]
fields = { status = "status", total = "total" }
[confirm]
actions = ["cancel_*"]
[[rule]]
action = ["cancel_*", "refund"]
look = ["order"]
[[rule]]
action = ["refund"]
money = { argument = "amount", seen = "order.total" }
"""


def diagnosed(path: Path, turns: Sequence[Say | Do], of: str = MAP) -> Diagnosis:
    """What `evaluate --map` finds in these turns."""
    write_run(path, turns)
    diagnosis = evaluate_file(path, foreign=MapEvaluator(read_map(of, source="map"))).diagnosis
    assert diagnosis is not None
    return diagnosis


def order(name: str, **fields: Any) -> Do:
    return Do("get_order", {"order_id": name}, {"order_id": name, **fields})


def refund(name: str, amount: float = 5, answer: Any = "done") -> Do:
    return Do("refund", {"order_id": name, "amount": amount}, answer, kind="action")


def of(finding: Finding) -> tuple[str, int, float]:
    return finding.status, finding.count, finding.of


def test_every_check_has_a_row_and_every_row_a_check() -> None:
    assert [f"map.{name}" for name in MAP_MODES.rows] == [check.id for check in CHECKS]


def test_findings_of_a_map_are_findings_like_all_others(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "r.trace", list(DESK))
    confirm, look = found.finding("map.confirm"), found.finding("map.look")
    assert of(confirm) == ("raised", 2, 2)
    assert of(look) == ("raised", 1, 2)
    assert [case.seq for case in look.cases] == [6]
    assert [case.shown_by for case in confirm.cases] == [3, 3]
    assert confirm.says == "agent acted 2 of 2 times without a yes of its user."
    assert found.finding("map.money").status == "unchecked"
    assert found.finding("map.gave_up").status == "unchecked"
    assert {"map.confirm", "map.look"} <= {finding.id for finding in found.raised}
    assert found.evidence_map == read_map(MAP, source="x").name


def test_the_general_modes_of_evidence_read_the_map(tmp_path: Path) -> None:
    looked = [turn for name in "abcdef" for turn in (order(name, total=5), refund(name))]
    assert of(diagnosed(tmp_path / "a.trace", looked).finding("missing_evidence")) == ("clear", 0, 6)
    blind = diagnosed(tmp_path / "b.trace", [refund(name) for name in "abcdef"])
    # `map.look` tells the same six facts, and stands first.
    assert of(blind.finding("missing_evidence")) == ("merged", 6, 6)
    assert of(blind.finding("map.look")) == ("raised", 6, 6)
    # An answer that does not show what became of the order leaves the look behind.
    again = [order("a", total=5), *(refund("a") for _ in range(6))]
    assert of(diagnosed(tmp_path / "c.trace", again).finding("stale_evidence")) == ("merged", 5, 6)
    shown = [order("a", total=5), *(refund("a", answer={"total": 5}) for _ in range(6))]
    assert of(diagnosed(tmp_path / "d.trace", shown).finding("stale_evidence")) == ("clear", 0, 6)


def test_an_amount_is_compared_with_the_number_in_sight(tmp_path: Path) -> None:
    off = diagnosed(tmp_path / "a.trace", [order("a", total=53.48), refund("a", 5348)]).finding("unit_mistake")
    assert of(off) == ("raised", 1, 1)
    assert "said 5348 for a where 53.48 was in sight" in off.cases[0].because
    right = diagnosed(tmp_path / "b.trace", [order("a", total=53.48), refund("a", 53.48)])
    assert right.finding("unit_mistake").count == 0


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ([Say("user", "It is order zq-77.")], "clear"),
        ([Say("user", "It is order zq-77.", seat=None)], "clear"),
        ([Say("assistant", "It is order zq-77.")], "raised"),
        ([Say("user", "It is an order.")], "raised"),
        ([order("x1", other="zq-77")], "clear"),
        ([Do("get_order", {"order_id": "zq-77"}, {"found": True})], "clear"),
    ],
)
def test_an_id_that_nobody_told_the_agent_is_invented(tmp_path: Path, told: list[Say | Do], status: str) -> None:
    named = MAP.replace('"order_id"', '"order_id", "what"')
    call = Do("cancel_order", {"what": "zq-77"}, error={"code": "tool_error", "message": "none"}, kind="action")
    talk = [Say("user", "Hello, x1 here."), *told, call]
    path = write_run(tmp_path / "r.trace", talk, source={"messages": 2})
    found = evaluate_file(path, foreign=MapEvaluator(read_map(named, source="map"))).diagnosis
    assert found is not None
    assert found.finding("hallucinated_id").status == status
    # Without the map nobody knows that `what` names anything.
    plain = evaluate_file(path).diagnosis
    assert plain is not None
    assert plain.finding("hallucinated_id").count == 0


def test_kinds_and_refusals_are_what_the_map_says(tmp_path: Path) -> None:
    text = 'version = 1\nfailed_answer = "^Sorry"\n[tools]\naction = ["get_*"]\n'
    found = diagnosed(tmp_path / "r.trace", [Do("get_it", {}, "Sorry, no."), Do("get_it", {}, "Sorry, no.")], text)
    assert of(found.finding("map.unrecovered")) == ("raised", 2, 2)
    assert found.finding("refused_calls").count == 2


def test_a_market_s_trace_is_evaluated_as_ever(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["play", "teaching", "--seed", "1", "--out", str(tmp_path)]) == 0
    path = next(tmp_path.rglob("*.trace"))
    plain = evaluate_file(path)
    assert plain.outcome is not None
    assert evaluate_file(path, foreign=MapEvaluator(Map(version=1))) == plain
    (tmp_path / "map.toml").write_text(MAP)
    capsysbinary.readouterr()
    assert run(["evaluate", str(path), "--json"]) == 0
    shown = capsysbinary.readouterr().out
    assert run(["evaluate", str(path), "--json", "--map", str(tmp_path / "map.toml")]) == 0
    mapped = capsysbinary.readouterr()
    assert mapped.out == shown
    assert b"--map: none of these traces was imported or recorded" in mapped.err


def test_evaluate_takes_a_map_and_refuses_a_wrong_one(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    trace, good, bad = write_run(tmp_path / "r.trace"), tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(MAP)
    bad.write_text(MAP.replace("confirm", "confrim"))
    assert run(["evaluate", str(trace), "--map", str(good), "--json"]) == 0
    shown = orjson.loads(capsysbinary.readouterr().out)
    ids = [finding["id"] for finding in shown["traces"][0]["diagnosis"]["findings"]]
    assert ids[: len(CHECKS)] == [check.id for check in CHECKS]
    assert run(["evaluate", str(trace), "--map", str(bad)]) == 2
    assert b"bad.toml: line 6: confrim: unknown key; did you mean confirm?" in capsysbinary.readouterr().err


def test_a_damaged_trace_is_diagnosed_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    path = write_run(tmp_path / "r.trace")
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE events SET body = 'no json' WHERE seq = 8")
        database.commit()
    found = evaluate_file(path, foreign=MapEvaluator(read_map(MAP, source="map"))).diagnosis
    assert found is not None
    assert of(found.finding("map.look")) == ("raised", 1, 2)


@pytest.mark.parametrize(
    "field", ["seat", "role", "part", "content", "step", "tool", "kind", "arguments", "status", "result"]
)
@pytest.mark.parametrize("value", [None, [["x"]], {"text": "Error: x"}, {}, 2**62, "x"])
def test_whatever_stands_in_an_event_a_map_judges_the_others(tmp_path: Path, field: str, value: Any) -> None:
    path = write_run(tmp_path / "r.trace")
    with closing(sqlite3.connect(path)) as database:
        for seq, body in database.execute("SELECT seq, body FROM events WHERE seq IN (3, 5)").fetchall():
            changed = orjson.dumps({**orjson.loads(body), field: value})
            database.execute("UPDATE events SET body = ? WHERE seq = ?", (changed, seq))
        database.commit()
    found = evaluate_file(path, foreign=MapEvaluator(read_map(MAP, source="map")))
    assert found.diagnosis is not None
    assert found.diagnosis.finding("map.look").count in (1, 2)
    assert found.diagnosis.evidence_map is not None
    assert found.diagnosis.evidence_map.startswith("map ")

"""A map in `evaluate`: its findings stand among the others, and it tells the general modes what they cannot know."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.foreign_runs import DESK, Do, Say, write_run

from tradefair.cli import run
from tradefair.evaluation.foreign.audit.map_file import Map, read_map
from tradefair.evaluation.foreign.audit.mapped import MAP_MODES, MapEvaluator
from tradefair.evaluation.foreign.audit.rules import CHECKS
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding

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

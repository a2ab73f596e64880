"""A run is read from any trace: answers decoded, refusals by their text, kinds by map, trace or name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.foreign_runs import Do, Say, write_run

from tradefair.evaluation.foreign.audit.run import FAILED_ANSWER, Call, as_json, guessed_kind, read_run


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

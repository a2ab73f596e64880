"""The first screen of `evaluate` on runs that no rules have made: source, findings by step, what holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.foreign_runs import DESK, Do, Say, write_run

from tradefair.cli import run
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.series import verdict_of_series

LOOP = [*DESK[:3], *[Do("get_order", {"order_id": "W7"}, {"status": "pending"})] * 8, *DESK[3:]]
LOST = Do("get_order", {"order_id": "W1"}, error={"code": "no_answer"})


@pytest.mark.parametrize(
    ("turns", "about", "said"),
    [
        (DESK, {"passed": False}, "failed, as its source says; 10 steps, 3 of 3 calls answered, 1 refused."),
        (DESK[:2], {"passed": True}, "passed, as its source says; 2 steps, 0 of 0 calls answered."),
        ([*DESK, LOST], {}, "its source states no result; 12 steps, 3 of 4 calls answered, 1 refused."),
        (LOOP, {}, "1 finding; first, step 7, loop: get_order was called 8 times with one answer."),
        (DESK, {}, "Nothing was found: "),
        (DESK, {}, "3 tool calls; 9 events, chain holds; not re-executable: no rules."),
        (DESK, {"how": "recorded", "source": {"format": "mcp", "file": ""}}, "Run desk (mcp, recorded): "),
        (DESK, {"source": {"run": "</b>\x1b[2J\u202e7"}}, "Run </b>\\x1b[2J\\u202e7 of talks.jsonl (openai"),
        (DESK, {"source": {"format": 7, "file": None, "run": [], "passed": "yes"}}, "its source states no result"),
    ],
)  # fmt: skip
def test_a_run_is_told_by_what_its_source_says_and_its_steps(
    tmp_path: Path, turns: list[Say | Do], about: dict[str, Any], said: str
) -> None:
    verdict = verdict_of_file(write_run(tmp_path / "desk.trace", turns, **about))
    assert said in verdict.text
    assert all(len(sentence) <= 240 for sentence in verdict.sentences)
    for word in ("seed", "rival", "reference", "luck", "round", "seat"):
        assert word not in verdict.text


def test_several_runs_are_told_as_findings_in_failed_and_passed_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [
        write_run(tmp_path / f"t{number}.trace", LOOP if number < 2 else DESK, passed=number != 1)
        for number in range(3)
    ]
    verdict = verdict_of_series([verdict_of_file(path) for path in paths])
    assert verdict.sentences == (
        "3 runs (talks.jsonl, openai, imported): 1 failed, 2 passed; 25 of 25 calls answered, 3 refused.",
        "Runs with findings: 1 of 1 failed, 1 of 2 passed; most often loop (2).",
        "25 tool calls; all chains hold; not re-executable: no rules.",
    )
    assert run(["evaluate", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[0] for line in shown.splitlines() if line.startswith("t")] == ["t1", "t0", "t2"]
    undecided = [verdict_of_file(write_run(tmp_path / f"u{number}.trace", LOOP)) for number in range(2)]
    assert "how often this is wrong is not known" in verdict_of_series(undecided).text


def test_a_changed_word_of_a_run_is_said_first(tmp_path: Path) -> None:
    path = write_run(tmp_path / "desk.trace")
    path.write_bytes(path.read_bytes().replace(b"cancel my", b"delete my"))
    verdict = verdict_of_file(path)
    assert verdict.status == "unsound"
    assert verdict.sentences[0].startswith("Not reproduced: ")
    assert "chain holds" not in verdict.text


def test_trace_tells_the_run_and_its_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_run(tmp_path / "desk.trace", passed=False, source={"left_out": {"media": 2}})
    assert run(["trace", str(path)]) == 0
    summary = capsys.readouterr().out
    for line in ("talks.jsonl (openai, imported)", "no", "10", "2 media"):
        assert line in summary
    assert "rounds" not in summary.partition("seats")[0]
    assert run(["trace", str(path), "messages", "--seat", "agent"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["7", "calls", "cancel_order", '{"order_id":"W9"}'] in lines
    assert ["rejected:", "tool_error:", "no", "such", "order"] in lines
    assert ["3", "assist", "[reasoning]", "I", "look", "it", "up", "first."] in lines
    # Of the agent's seat alone: what a user said belongs to none.
    assert not any("Please" in line for line in lines)
    assert run(["trace", str(path), "messages", "--json"]) == 0
    steps = orjson.loads(capsys.readouterr().out)["steps"]
    assert [step["step"] for step in steps] == [1, 2, 3, 5, 7, 9, 10]
    assert steps[1]["speaker"] == "Mei"

"""`audit`, and its `--init`: what they print, what they refuse, and their exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tradefair.cli import run

_MAP = """
version = 1
[objects.ticket]
arguments = ["ticket_id"]
look = ["get_ticket"]
fields = { status = "status" }
[[rule]]
action = ["close_*"]
look = ["ticket"]
state = { "ticket.status" = "open" }
"""
_CLOSE = {"tool": "close_ticket", "arguments": {"ticket_id": "T1"}}
_MAPPED, _REFERENCES = ("--map", "desk.toml"), ("--references", "references.jsonl")
Command = Callable[..., tuple[int, Any, str]]


def _called(number: int, tool: str, answer: str, **arguments: str) -> list[dict[str, Any]]:
    function = {"name": tool, "arguments": json.dumps(arguments)}
    call = {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}
    return [call, {"role": "tool", "tool_call_id": f"c{number}", "content": answer}]


def _desk(name: str, *, looked: bool = True, ticket: str = "T1", **fields: Any) -> str:
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "Close it."},
        *_called(0, "list_tickets", f'["{ticket}"]'),
    ]
    if looked:
        talk += _called(1, "get_ticket", '{"status": "open"}', ticket_id=ticket)
    talk += [
        *_called(2, "close_ticket", "closed", ticket_id=ticket),
        {"role": "assistant", "content": "Closed, 1 left."},
    ]
    return json.dumps({"id": name, "messages": talk, **fields})


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces of three runs: one looked, one did not, one closed another ticket; and a map, labels, references."""
    monkeypatch.chdir(tmp_path)
    lines = [_desk("a"), _desk("b", looked=False), _desk("c", ticket="T2")]
    Path("log.jsonl").write_text("\n".join(lines), encoding="utf-8")
    Path("desk.toml").write_text(_MAP, encoding="utf-8")
    labels = [
        {"id": "a", "passed": True},
        {"id": "b", "passed": False, "failures": [{"step": 5, "category": "Invalid Invocation"}], "root_step": 4},
        {"id": "c", "passed": False, "root_step": 9},
    ]
    Path("labels.jsonl").write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")
    references = [{"id": name, "actions": [_CLOSE], "outputs": ["1"]} for name in "abc"]
    Path("references.jsonl").write_text("\n".join(map(json.dumps, references)), encoding="utf-8")
    assert run(["import", "log.jsonl", "--out", "runs"]) == 0


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command of `audit`: exit code, stdout (decoded under --json), stderr."""

    def called(*words: str) -> tuple[int, Any, str]:
        capsys.readouterr()
        code = run(["audit", *words])
        shown = capsys.readouterr()
        return code, json.loads(shown.out) if "--json" in words and shown.out else shown.out, shown.err

    return called


@pytest.mark.usefixtures("runs")
def test_cases_and_divergences_are_counted_against_labels(command: Command) -> None:
    asked = ("runs", "--map", "desk.toml", "--labels", "labels.jsonl", "--references", "references.jsonl")
    code, shown, _ = command(*asked)
    assert code == 0
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for line in (
        "map.look 1 of 2 0 of 1 1 1",
        "reference 1 of 2 0 of 1 1 1",
        "any 2 of 2 0 of 1 0.3333 –",
        "checked and not raised: map.state, map.unrecovered",
        "within 3 steps of the root cause, by reference: 1 of 2",
    ):
        assert line in lines
    assert "within 1 step of a labelled failure: 1 of 1 mechanical, 0 of 0 semantic" in " ".join(lines)
    code, told, _ = command(*asked, "--json")
    assert code == 0
    a, b, c = told["runs"]
    assert (a["id"], a["passed"], a["raised"], a["cases"], a["divergence"]) == ("a", True, False, [], None)
    (case,) = b["cases"]
    assert {name: case[name] for name in ("rule", "step", "seat", "tool")} == {
        "rule": "map.look", "step": 4, "seat": "agent", "tool": "close_ticket"
    }  # fmt: skip
    assert "T1" in case["why"]
    assert c["divergence"] == {
        "step": 6, "seq": c["divergence"]["seq"], "kind": "other_action",
        "why": "close_ticket with arguments that the reference has not",
    }  # fmt: skip
    assert (b["trace"], told["problems"]) == ("runs/log-b.trace", [])
    assert told["located"]["by_category"] == {"Invalid Invocation": {"within_1": 1, "within_3": 1, "of": 1}}
    assert told["located"]["root"] == {"within_1": 0, "within_3": 1, "of": 2}


@pytest.mark.usefixtures("runs")
def test_without_labels_it_says_that_nobody_knows_how_often_it_is_wrong(command: Command) -> None:
    code, shown, _ = command("runs/log-b.trace", "--map", "desk.toml")
    assert code == 0
    assert "no labels: how often this is wrong is not known" in shown
    assert "1 of 1 runs are raised" in shown
    assert shown.split()[shown.split().index("b") + 1] == "4"
    _, told, _ = command("runs", "--map", "desk.toml", "--json")
    assert [row["p"] for row in told["rules"]] == [None] * len(told["rules"])


@pytest.mark.usefixtures("runs")
def test_what_the_source_says_of_passing_is_a_label(command: Command) -> None:
    Path("said.jsonl").write_text(
        "\n".join([_desk("x", looked=False, passed=False), _desk("y", passed=True)]), encoding="utf-8"
    )
    assert run(["import", "said.jsonl", "--out", "said"]) == 0
    _, told, _ = command("said", "--map", "desk.toml", "--json")
    (look,) = (row for row in told["rules"] if row["rule"] == "map.look")
    assert [(look[kind]["raised"], look[kind]["of"]) for kind in ("failed", "passed")] == [(1, 1), (0, 1)]


@pytest.mark.usefixtures("runs")
def test_of_two_runs_with_one_id_each_has_what_its_source_says_and_neither_has_the_label(command: Command) -> None:
    for name, looked in (("first", False), ("second", True)):
        Path(f"{name}.jsonl").write_text(_desk("task", looked=looked, passed=looked), encoding="utf-8")
    assert run(["import", "first.jsonl", "second.jsonl", "--out", "two"]) == 0
    code, told, _ = command("two", "--map", "desk.toml", "--json")
    (look,) = (row for row in told["rules"] if row["rule"] == "map.look")
    assert [(look[kind]["raised"], look[kind]["of"]) for kind in ("failed", "passed")] == [(1, 1), (0, 1)]
    assert code == 0

    Path("one.jsonl").write_text('{"id": "task", "passed": false}', encoding="utf-8")
    code, told, _ = command("two", "--map", "desk.toml", "--labels", "one.jsonl", "--json")
    assert told["problems"] == ["label task: 2 runs have this id, so it is of none of them"]
    assert code == 1
    assert [row["failed"]["of"] for row in told["rules"]] == [0] * len(told["rules"])


@pytest.mark.usefixtures("runs")
def test_what_the_source_offers_as_a_reference_is_one(command: Command) -> None:
    """Results of tau-bench hold the actions that solve a task."""
    criteria: dict[str, Any] = {
        "actions": [{"name": "get_ticket", "arguments": {}}, {"name": "close_ticket", "arguments": {"ticket_id": "T1"}}]
    }
    talk = [{"role": "user", "content": "Close T1."}, {"role": "assistant", "content": "It is closed."}]
    simulations = [{"id": "s1", "task_id": "0", "reward_info": {"reward": 0.0}, "messages": talk}]
    tasks: list[Any] = [{"id": "0", "evaluation_criteria": criteria}]
    Path("tau.json").write_text(json.dumps({"tasks": tasks, "simulations": simulations}), encoding="utf-8")
    assert run(["import", "tau.json", "--out", "tau"]) == 0
    code, told, _ = command("tau", "--json")
    assert (code, told["runs"][0]["passed"]) == (0, False)
    left = told["runs"][0]["divergence"]
    assert (left["kind"], left["step"], left["why"]) == ("missing_action", 2, "never done: close_ticket")


@pytest.mark.usefixtures("runs")
def test_a_run_is_the_reference_of_others(command: Command) -> None:
    code, told, _ = command("runs", "--reference-run", "runs/log-a.trace", "--json")
    assert code == 0
    assert [(row["id"], row["divergence"] and row["divergence"]["kind"]) for row in told["runs"]] == [
        ("a", None), ("b", None), ("c", "other_action")
    ]  # fmt: skip


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["runs"], 2, "nothing to hold these runs against: name --map"),
        (["runs", "--references", "references.jsonl", "--reference-run", "runs/log-a.trace"], 2, "name one of them"),
        (["runs", "--map", "bad.toml"], 2, "bad.toml"),
        (["runs", "--map", "absent.toml"], 2, "absent.toml"),
        (["runs", "--map", "desk.toml", "--labels", "more.jsonl"], 1, "label nobody: no trace of a run with this id"),
        (["runs", "--map", "desk.toml", "--labels", "more.jsonl"], 1, "more.jsonl:2: no JSON object"),
        (["runs", "--references", "more.jsonl"], 1, "more.jsonl:1: a reference is"),
        (["runs", "log.jsonl", "--map", "desk.toml"], 1, "log.jsonl: not a trace"),
        (["runs/log-a.trace", "runs/log-b.trace", "--init", "new.toml"], 2, "runs with calls: 2; habits show in 3"),
        (["runs", "--init", "desk.toml"], 2, "desk.toml: exists"),
        (["runs", "log.jsonl", "--init", "new.toml"], 1, "log.jsonl: not a trace"),
        (["runs", "--init", "new.toml", "--json"], 2, "--init drafts a map and audits nothing"),
    ],
)
def test_what_cannot_be_used_is_named_and_changes_the_exit_code(
    command: Command, words: list[str], code: int, told: str
) -> None:
    Path("bad.toml").write_text("version = 1\n[[rule]]\nacton = []\n", encoding="utf-8")
    Path("more.jsonl").write_text('{"id": "nobody", "passed": true}\n{"torn', encoding="utf-8")
    found, _, said = command(*words)
    assert found == code
    assert told in " ".join(said.split())


@pytest.mark.usefixtures("runs")
def test_a_draft_is_a_map_that_runs(command: Command) -> None:
    assert command("runs", "--init", "drafted.toml")[0] == 0
    assert 'action = ["close_ticket"]' in Path("drafted.toml").read_text(encoding="utf-8")
    code, told, _ = command("runs", "--map", "drafted.toml", "--json")
    assert code == 0
    assert [row["raised"] for row in told["runs"]] == [False, False, False]

"""What a verdict says to do next can be typed as it stands.

Also here:
- The first screen of `evaluate` on runs that no rules have made: source, findings by step, what holds.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import orjson
import pytest
from benchmarks.verdicts.play import SETTINGS, lapses, play
from tests.evaluation.foreign_runs import DESK, Do, Say, write_run
from tests.evaluation.playing import played_by

import tradefair.api as tf
from tradefair.cli import run
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.verdict.steps import steps_of
from tradefair.evaluation.verdict.verdict import Trouble, Verdict
from tradefair.frameworks.models.access import Stopped
from tradefair.frameworks.models.budget import Budget
from tradefair.tracestore.locks import Lease


def typed(verdict: Verdict, monkeypatch: pytest.MonkeyPatch, folder: Path) -> list[str]:
    """The commands of the next steps, each run in this folder; a page is written and not opened."""
    monkeypatch.chdir(folder)
    commands = [shlex.split(step.command)[1:] for step in verdict.next]
    for command in commands:
        assert run([word for word in command if word != "--open"]) in (0, verdict.exit_code), command
    return [command[0] for command in commands]


@pytest.mark.many
def test_a_mistake_can_be_replayed_and_the_page_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A name that a shell would take apart.
    path = tmp_path / "it's a trace.trace"
    setting = SETTINGS["double_auction"]
    verdict = verdict_of_file(play(path, setting, {setting.seat: setting.weak}).path)
    assert typed(verdict, monkeypatch, tmp_path) == ["report", "fork", "evaluate"]


def test_what_a_silent_model_was_sent_can_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = SETTINGS["teaching"]
    silent = play(tmp_path / "silent.trace", setting, {setting.seat: setting.weak}, move=lapses)
    verdict = silent.verdict({"model_calls": 9, "silent": {"text": 9}}, place=str(silent.path))
    assert typed(verdict, monkeypatch, tmp_path) == ["trace", "report", "evaluate"]


def test_a_trace_that_is_unsound_is_verified_first(tmp_path: Path, play: Any, editor: Any) -> None:
    path = play("teaching/pie", "half")
    editor(path).run("UPDATE events SET body = replace(body, 'claim', 'clain') WHERE seq = 4")
    verdict = verdict_of_file(path)
    assert (verdict.status, verdict.exit_code, verdict.trouble and verdict.trouble.kind) == ("unsound", 1, "unsound")
    assert [shlex.split(step.command)[:2] for step in verdict.next] == [["tradefair", "verify"]]
    assert verdict.sentences[0].startswith("Not reproduced: ")
    assert verdict.sentences[0].endswith("The figures below may be false.")


def test_a_trace_that_cannot_be_read_has_a_verdict_too(tmp_path: Path) -> None:
    path = tmp_path / "no.trace"
    path.write_bytes(b"no trace at all")
    verdict = verdict_of_file(path)
    assert (verdict.status, verdict.exit_code, len(verdict.sentences)) == ("failed", 1, 2)
    assert verdict.sentences[0].startswith("The trace cannot be read: ")
    assert str(tmp_path) not in verdict.text


def test_references_are_those_beside_it_of_the_same_seed_and_opponents(tmp_path: Path) -> None:
    def episode(name: str, policy: str, others: str = "half", seed: int = 1) -> Path:
        return played_by(tmp_path / name, "teaching/pie", {"P1": policy}, seed, others)

    setting = SETTINGS["teaching"]
    path = play(tmp_path / "own.trace", setting, {"P1": "half"}).path
    for name, policy, others, seed in [
        ("passive.trace", "passive", "half", 1),
        ("greedy.trace", "random_legal", "half", 1),
        ("otherseed.trace", "half", "half", 2),
        ("otherpair.trace", "half", "passive", 1),
        ("all-passive.trace", "passive", "passive", 1),
    ]:
        episode(f"references/{name}", policy, others, seed)
    (tmp_path / "references" / "noise.trace").write_bytes(b"noise")
    (seat,) = verdict_of_file(path).seats
    assert {reference.name for reference in seat.beside} == {"passive", "random_legal"}
    assert seat.referenced


def test_a_trace_that_somebody_writes_is_running_and_one_that_nobody_writes_has_stopped(tmp_path: Path) -> None:
    setting = SETTINGS["teaching"]
    path = play(tmp_path / "open.trace", setting, {setting.seat: setting.good}, rounds=1, ends=False).path
    lease = Lease(path)
    running = verdict_of_file(path, check=verify_file(path))
    lease.release()
    stopped = verdict_of_file(path, check=verify_file(path))
    assert (running.status, running.trouble, running.reproduced.state) == ("running", None, "up_to")
    assert running.sentences[-1].endswith(
        f"; reproduced up to event {running.reproduced.seq} of {running.reproduced.events}."
    )
    assert (stopped.status, stopped.trouble and stopped.trouble.kind) == ("stopped", "stopped")
    assert shlex.split(stopped.next[0].command) == ["tradefair", "play", "--resume", str(path)]


@pytest.mark.parametrize(
    ("limits", "raised"),
    [({"cost": 0.000001}, "cost=2e-06"), ({"cost": 0.5, "tokens_total": 1}, "tokens_total=2,cost=0.5")],
)
def test_what_a_limit_stopped_goes_on_with_a_higher_one(limits: dict[str, Any], raised: str) -> None:
    with pytest.raises(Stopped) as stop:
        Budget(**limits, tokens=1, cost_usd_micro=1).check()
    trouble = Trouble(kind="stopped", text=f"Stopped after round 0 ({stop.value}).", exit=3)
    first, *_ = steps_of("a.trace", "stopped", (), trouble, None, ended=False)
    assert first.command == f"tradefair play --resume a.trace --limit {raised}"


@pytest.mark.many
def test_play_and_evaluate_and_python_say_the_same(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    def told(*command: str) -> Any:
        assert run([*command, "--json"]) == 0
        shown = orjson.loads(capsysbinary.readouterr().out)
        assert next(iter(shown)) == "verdict"
        return shown["verdict"]

    play = ["play", "teaching", "--scenario", "pie", "--others", "half", "--seed", "3", "--out", str(tmp_path)]
    played = told(*play)
    (path,) = tmp_path.glob("*.trace")
    read = tf.load(path)[0].verdict
    assert (played["schema"], played["seats"][0]["beside"][0]["name"]) == ("tradefair.verdict/1", "passive")
    # What differs is the check alone: only `play` re-executes.
    assert told("evaluate", str(path))["sentences"] == list(read.sentences)
    assert played["sentences"][:-1] == list(read.sentences[:-1])
    assert played["text"] == " ".join(played["sentences"])
    # So is what turns lost, once it is asked for; a trace may be told to leave it out.
    assert (read.seats[0].gap, tf.load(path, ledger="off")[0].verdict.seats[0].gap) == (played["seats"][0]["gap"], None)
    assert f"<div>{read.sentences[1]}</div>" in read._repr_html_()  # pyright: ignore[reportPrivateUsage]


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

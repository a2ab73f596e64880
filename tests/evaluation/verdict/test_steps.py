"""What a verdict says to do next can be typed as it stands."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import orjson
import pytest
from benchmarks.verdicts.play import SETTINGS, lapses, play
from tests.evaluation.playing import played_by

import tradefair.api as tf
from tradefair.cli import run
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.evaluation.verify import verify_file
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

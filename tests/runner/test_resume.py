"""A run that is killed goes on: nothing acknowledged is lost, nothing happens twice. Real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from tests.play_specs import events_of
from tests.waiting import LONG, until

from tradefair.contract import TraceError
from tradefair.contract.chain import digest
from tradefair.contract.kernel.players import AgentRecord, Limits
from tradefair.evaluation.prove.verify import verify_file
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import ready_again, resume_episode
from tradefair.tracestore import open_trace

PLAY = ("double_auction", "--scenario", "bazaar", "--set", "rounds=120", "--seed", "7", "--no-references", "--json")


def tradefair(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "tradefair.cli", *map(str, arguments)]


def killed_at(folder: Path, seq: int, process: subprocess.Popen[bytes]) -> Path:
    """The trace of a run killed once it held event `seq`. The run stands still while its trace is read."""

    def killed() -> Path | None:
        os.kill(process.pid, signal.SIGSTOP)
        for path in folder.glob("*.trace"):
            try:
                with open_trace(path) as trace:
                    head = trace.closed_head()
            except TraceError:
                continue  # not there yet
            if head is not None and head[0] >= seq:
                os.kill(process.pid, signal.SIGKILL)
                process.wait(LONG)
                return path
        os.kill(process.pid, signal.SIGCONT)
        return None

    path = until(killed, f"event {seq}", while_runs=process)
    assert path is not None
    return path


def test_a_killed_run_resumes_to_the_outcome_of_an_uninterrupted_one(tmp_path: Path) -> None:
    whole = subprocess.run(tradefair("play", *PLAY, "--out", tmp_path / "whole"), capture_output=True, check=True)
    expected = Path(orjson.loads(whole.stdout)["trace"])

    process = subprocess.Popen(tradefair("play", *PLAY, "--out", tmp_path / "cut"), stdout=subprocess.DEVNULL)
    path = killed_at(tmp_path / "cut", 300, process)
    before = events_of(path)
    assert before[-1]["event"] != "episode_ended"

    for _ in range(2):  # a second interruption is a resume like the first
        resumed = subprocess.run(tradefair("play", "--resume", path, "--json"), capture_output=True, check=False)
        assert resumed.returncode == 0, resumed.stderr.decode()
    after = events_of(path)
    assert after[: len(before)] == before
    quotes = Counter(
        (event["round"], event["seat"]) for event in after if event.get("tool") == "submit_quote" and not event["error"]
    )
    assert set(quotes.values()) == {1}
    assert len(quotes) == 120 * 8
    assert verify_file(path).verdict == "reproduced"
    with open_trace(path) as trace, open_trace(expected) as other:
        assert trace.manifest.about["outcome_digest"] == other.manifest.about["outcome_digest"]


async def test_a_finished_trace_resumes_to_itself(tmp_path: Path) -> None:
    run = subprocess.run(
        tradefair("play", "teaching", "--scenario", "talk", "--seed", "3", "--out", tmp_path, "--json"),
        capture_output=True,
        check=True,
    )
    path = Path(orjson.loads(run.stdout)["trace"])
    before = path.read_bytes()
    played = await resume_episode(path)
    assert played.end_reason == "terminated:rounds_completed"
    assert events_of(path)[-1]["event"] == "episode_ended"
    assert verify_file(path).sealed
    assert len(path.read_bytes()) == len(before)
    with open_trace(path) as trace:
        assert len(trace.seatings()) == 1


async def test_a_trace_is_resumed_by_another_agent_only_if_it_can_play(tmp_path: Path) -> None:
    process = subprocess.Popen(tradefair("play", *PLAY, "--out", tmp_path), stdout=subprocess.DEVNULL)
    path = killed_at(tmp_path, 100, process)
    with pytest.raises(TraceError, match="name another --agent"):
        ready_again(path, AgentSpec("policy", "policy:zip"))
    played = await resume_episode(path, ready_again(path, AgentSpec("react", "policy:truthful")))
    assert played.end_reason == "terminated:rounds_completed"
    assert verify_file(path).verdict == "reproduced"
    with open_trace(path) as trace:
        (_, (seq, change)) = trace.seatings()
        assert seq > 100
        assert (list(change.players), change.origin) == (["B1"], {"resumed": True})
        assert trace.seating(seq - 1).labels["B1"] == "react/policy:zip"
        assert trace.seating().labels["B1"] == "react/policy:truthful"


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (None, "does not say what played"),
        (AgentRecord(framework="own:mine"), "does not say what played"),
        (AgentSpec("reflection", "openai:m", trials=("quote less",)).recorded(), "notes of earlier episodes"),
    ],
)
def test_an_agent_that_a_trace_does_not_hold_is_to_be_named(record: AgentRecord | None, says: str) -> None:
    with pytest.raises(TraceError, match=f"{says}.*name it with --agent"):
        AgentSpec.of_record(record)


@pytest.mark.parametrize("named", ["model", "replay"])
def test_a_recording_is_named_again_and_is_the_same_agent(tmp_path: Path, named: str) -> None:
    calls, moved = tmp_path / "calls.jsonl", tmp_path / "moved.jsonl"
    calls.write_bytes(b"{}")
    moved.write_bytes(b"{}")
    spec = AgentSpec("react", f"replay:{calls}") if named == "model" else AgentSpec("react", replay=str(calls))
    record = spec.recorded()
    with pytest.raises(TraceError, match=r"a recording.*name the file with --replay"):
        AgentSpec.of_record(record)
    assert AgentSpec.of_record(record, replay=str(moved)).recorded() == record
    moved.write_bytes(b"[]")
    assert AgentSpec.of_record(record, replay=str(moved)).recorded() != record


def test_an_agent_is_taken_up_as_it_was_recorded() -> None:
    spec = AgentSpec(
        "reflection",
        "openai:m",
        "http://127.0.0.1:1/v1",
        Limits(9, 400),
        window="last_results(k=2)",
        approve=True,
        timeout_s=62.5,
    )
    assert AgentSpec.of_record(AgentRecord.model_validate_json(spec.recorded().model_dump_json())) == spec


def test_a_record_holds_no_path_no_text_and_no_secret(tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    calls.write_bytes(b"{}")
    spec = AgentSpec("reflection", "openai:m", "http://me:hunter2@host/v1?key=k", replay=str(calls), trials=("a note",))
    said = spec.recorded().model_dump_json()
    assert not any(word in said for word in (str(tmp_path), "hunter2", "key=", "a note"))
    assert spec.recorded().replay == digest(b"{}")
    assert spec.recorded() != replace(spec, trials=("another",)).recorded()


def test_injected_faults_are_not_taken_up_again() -> None:
    spec = AgentSpec("react", "policy:zip", faults="500@3..")
    assert AgentSpec.of_record(spec.recorded()) == AgentSpec("react", "policy:zip")


def test_a_killed_supermarket_resumes_to_the_outcome_of_an_uninterrupted_one(tmp_path: Path) -> None:
    shop = ("retail", "--scenario", "smoke", "--set", "horizon_days=60", "--seed", "3", "--no-references", "--json")
    play = ("play", *shop, "--agent", "react", "--model", "policy:careful_reader", "--out")
    whole = subprocess.run(tradefair(*play, tmp_path / "whole"), capture_output=True, check=True)

    process = subprocess.Popen(tradefair(*play, tmp_path / "cut"), stdout=subprocess.DEVNULL)
    path = killed_at(tmp_path / "cut", 300, process)
    assert not verify_file(path).sealed

    resumed = subprocess.run(tradefair("play", "--resume", path, "--json"), capture_output=True, check=False)
    assert resumed.returncode == 0, resumed.stderr.decode()
    with open_trace(path) as trace, open_trace(orjson.loads(whole.stdout)["trace"]) as other:
        assert trace.manifest.about["outcome_digest"] == other.manifest.about["outcome_digest"]


def test_a_trace_does_not_choose_who_is_sent_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    record = AgentRecord(framework="react", model="openai:gpt-5", endpoint="https://example.org/v1")
    with pytest.raises(TraceError, match=r"at https://example\.org/v1: set OPENAI_BASE_URL"):
        AgentSpec.of_record(record)
    for url in ("https://api.openai.com/v1", "http://127.0.0.1:8000/v1"):
        assert AgentSpec.of_record(record.model_copy(update={"endpoint": url})).base_url == url
    monkeypatch.setenv("OPENAI_BASE_URL", "https://example.org/v1")
    assert AgentSpec.of_record(record).base_url == "https://example.org/v1"

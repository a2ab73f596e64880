"""A run that is killed goes on: nothing acknowledged is lost, nothing happens twice. Real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from tradefair.contract import TraceError
from tradefair.contract.players import Limits
from tradefair.evaluation.verify import verify_file
from tradefair.runner.agent_spec import AgentSpec
from tradefair.runner.episode_runner import ready_again, resume_episode
from tradefair.tracestore import open_trace

PLAY = ("double_auction", "--scenario", "bazaar", "--set", "rounds=120", "--seed", "7", "--no-references", "--json")


def tradefair(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "tradefair.cli", *map(str, arguments)]


def events_of(path: Path) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return list(trace.decoded())


def wait_for_event(folder: Path, seq: int, process: subprocess.Popen[bytes]) -> Path:
    """The trace, once it holds event `seq`; bounded."""
    for _ in range(3_000):
        for path in folder.glob("*.trace"):
            try:
                with open_trace(path) as trace:
                    head = trace.closed_head()
            except TraceError:
                continue  # not there yet
            if head is not None and head[0] >= seq:
                return path
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    raise AssertionError(f"event {seq} never came")


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_outcome_of_an_uninterrupted_one(tmp_path: Path) -> None:
    whole = subprocess.run(tradefair("play", *PLAY, "--out", tmp_path / "whole"), capture_output=True, check=True)
    expected = Path(orjson.loads(whole.stdout)["trace"])

    process = subprocess.Popen(tradefair("play", *PLAY, "--out", tmp_path / "cut"), stdout=subprocess.DEVNULL)
    path = wait_for_event(tmp_path / "cut", 300, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
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
    assert verify_file(path).verdict == "identical"
    with open_trace(path) as trace, open_trace(expected) as other:
        assert trace.manifest.about["outcome_digest"] == other.manifest.about["outcome_digest"]


@pytest.mark.slow
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


@pytest.mark.slow
async def test_a_trace_is_resumed_by_another_agent_only_if_it_can_play(tmp_path: Path) -> None:
    process = subprocess.Popen(tradefair("play", *PLAY, "--out", tmp_path), stdout=subprocess.DEVNULL)
    path = wait_for_event(tmp_path, 100, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    with pytest.raises(TraceError, match="name another --agent"):
        ready_again(path, AgentSpec("policy", "policy:zip"))
    played = await resume_episode(path, ready_again(path, AgentSpec("react", "policy:truthful")))
    assert played.end_reason == "terminated:rounds_completed"
    assert verify_file(path).verdict == "identical"


@pytest.mark.parametrize(
    "record",
    [
        7,
        {},
        {"framework": [], "model": None, "base_url": None, "limits": {}},
        {"framework": "react", "model": 5, "base_url": None, "limits": {}},
        {"framework": "react", "model": None, "base_url": None, "limits": {"of": 1}},
        {"framework": "react", "limits": {}, "record": 5},
        {"framework": "react", "limits": {}, "trials": [1]},
        {"framework": "react", "limits": {}, "timeout_s": "nan"},
        {"framework": "react", "limits": {}, "timeout_s": -1},
    ],
)
def test_what_is_no_record_of_an_agent_is_refused(record: Any) -> None:
    with pytest.raises(TraceError, match="name it with --agent"):
        AgentSpec.of_record(record)


def test_an_agent_is_taken_up_as_it_was_recorded_now_or_in_an_earlier_version() -> None:
    spec = AgentSpec(
        "reflection",
        "openai:m",
        "http://127.0.0.1:1/v1",
        Limits(9, 400),
        window="last_results(k=2)",
        record="calls.jsonl",
        approve=True,
        trials=("quote less",),
        timeout_s=3.5,
    )
    assert AgentSpec.of_record(orjson.loads(orjson.dumps(spec.recorded()))) == spec
    earlier = {"framework": "react", "model": "policy:zip", "base_url": None, "limits": {"calls_per_round": 60}}
    assert AgentSpec.of_record(earlier) == AgentSpec("react", "policy:zip", limits=Limits(60))


def test_injected_faults_are_not_taken_up_again() -> None:
    spec = AgentSpec("react", "policy:zip", faults="500@3..")
    assert AgentSpec.of_record(spec.recorded()) == AgentSpec("react", "policy:zip")


@pytest.mark.slow
def test_a_killed_supermarket_resumes_to_the_bytes_of_an_uninterrupted_one(tmp_path: Path) -> None:
    shop = ("retail", "--scenario", "smoke", "--set", "horizon_days=90", "--seed", "3", "--no-references", "--json")
    play = ("play", *shop, "--agent", "policy", "--model", "policy:careful_reader", "--out")
    whole = subprocess.run(tradefair(*play, tmp_path / "whole"), capture_output=True, check=True)

    process = subprocess.Popen(tradefair(*play, tmp_path / "cut"), stdout=subprocess.DEVNULL)
    path = wait_for_event(tmp_path / "cut", 300, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    assert not verify_file(path).sealed

    resumed = subprocess.run(tradefair("play", "--resume", path, "--json"), capture_output=True, check=False)
    assert resumed.returncode == 0, resumed.stderr.decode()
    with open_trace(path) as trace, open_trace(orjson.loads(whole.stdout)["trace"]) as other:
        assert trace.manifest.about["head_hash"] == other.manifest.about["head_hash"]

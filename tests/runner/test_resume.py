"""A run that is killed goes on: nothing acknowledged is lost, nothing happens twice. Real processes.

Also here:
- A person at the terminal: Ctrl-C ends a run with a word on how to go on; actions wait for a yes. Real processes.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.options_files import options_file
from tests.play_specs import events_of
from tests.waiting import LONG, LONGER, until

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


DUEL = ("play", "double_auction", "--scenario", "duel", "--seed", "7", "--no-references")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    """Starts `tradefair`; whatever still runs at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def started(*arguments: str, **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tradefair.cli", *arguments, "--out", str(tmp_path)]
        running.append(subprocess.Popen(command, text=True, **options))
        return running[-1]

    yield started
    for process in running:
        process.kill()
        process.wait(LONGER)


def test_one_ctrl_c_ends_a_run_that_waits_for_a_client_and_it_can_be_gone_on_with(start: Any, tmp_path: Path) -> None:
    process = start(*DUEL, "--agent", "external", stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    lines = [process.stderr.readline() for _ in range(2)]
    assert "Authorization: Bearer" in lines[0]
    assert "waiting for a client" in lines[1]
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=LONGER)
    assert process.returncode == 130
    (path,) = tmp_path.glob("*.trace")
    assert told.strip() == f"stopped; go on with: tradefair play --resume {path}"
    verdict = verify_file(path)
    assert (verdict.verdict, verdict.sealed) == ("reproduced", False)

    resumed = [sys.executable, "-m", "tradefair.cli", "play", "--resume", str(path), "--agent", "react"]
    done = subprocess.run([*resumed, "--model", "policy:zip"], capture_output=True, timeout=LONGER, check=False)
    assert done.returncode == 0, done.stderr
    assert verify_file(path).sealed


class Terminal:
    """A pseudo-terminal: what a person sees and types."""

    def __init__(self) -> None:
        self.mine, self.theirs = pty.openpty()
        self.shown = ""

    def wait_for(self, words: str, times: int = 1) -> None:
        """Read until `words` have been shown so often."""
        while self.shown.count(words) < times:
            assert select.select([self.mine], [], [], LONGER)[0], self.shown
            piece = os.read(self.mine, 4_096)
            self.shown += piece.decode()

    def say(self, words: str) -> None:
        os.write(self.mine, f"{words}\n".encode())


def test_actions_wait_for_a_yes_and_a_no_is_told_to_the_agent(start: Any, told: Any, tmp_path: Path) -> None:
    terminal = Terminal()
    options: dict[str, Any] = {"stdin": terminal.theirs, "stderr": terminal.theirs, "stdout": subprocess.DEVNULL}
    process = start(
        *DUEL, "--agent", "react", "--set", "rounds=4", *options_file(tmp_path / "told", approve=True), **options
    )
    for number, answer in enumerate(("perhaps", "y", "No, too cheap", "a")):
        terminal.wait_for("[y]es, [n]o and why, [a]ll", number + 1)
        terminal.say(answer)
    assert process.wait(LONGER) == 0, terminal.shown
    assert "B1 wants submit_quote {" in terminal.shown
    assert terminal.shown.count("answer y or yes, a or all, n or no; a reason may follow the no") == 1
    (path,) = tmp_path.glob("*.trace")
    trace = told(path)
    # Round 1 was agreed to; after the no in round 2 the policy had nothing else to do and the round lapsed.
    assert [note["approved"] for note in trace.noted("approval")] == [True, False, True, True]
    assert [note["reason"] for note in trace.noted("approval")] == [None, "too cheap", None, None]
    assert [number for number, _ in trace.quotes] == [1, 3, 4]
    assert trace.lapses == [(2, "agent_limit")]
    record = trace.seating.players["B1"].agent
    assert record is not None
    assert record.approve
    # Who acts on a person's word is told apart in every table and comparison.
    assert trace.seating.labels["B1"] == "react+approve/policy:zip"


def test_without_a_terminal_nobody_can_be_asked(start: Any, tmp_path: Path) -> None:
    process = start(
        *DUEL, *options_file(tmp_path.parent / "told", approve=True), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, told = process.communicate(timeout=LONGER)
    assert process.returncode == 2
    assert "approve asks on a terminal" in told
    assert list(tmp_path.iterdir()) == []

"""Model calls are recorded and replayed: `tradefair play --record` and `--replay`, through the command line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.options_files import options_file

from tradefair.cli import run
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode, recorded_agent

DUEL = ("play", "double_auction", "--scenario", "duel", "--seed", "7", "--no-references", "--json")


class Shell:
    """Carries out `play` in this process."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[bytes]) -> None:
        self._folder = folder
        self._capture = capture

    def play(self, *arguments: object, rounds: int = 3) -> Path:
        told = ("--set", f"rounds={rounds}", "--out", self._folder / "runs")
        assert run([*DUEL, *map(str, (*told, *arguments))]) == 0
        return Path(orjson.loads(self._capture.readouterr().out)["trace"])

    def failed(self, *arguments: object, rounds: int = 3, code: int = 3) -> str:
        told = ("--set", f"rounds={rounds}", "--out", self._folder / "failed")
        assert run([*DUEL, *map(str, (*told, *arguments))]) == code
        return self._capture.readouterr().err.decode()


@pytest.fixture
def shell(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Shell:
    return Shell(tmp_path, capsysbinary)


def lines_of(path: Path) -> Counter[str]:
    return Counter(orjson.loads(line)["kind"] for line in path.read_bytes().splitlines())


@pytest.mark.network
@pytest.mark.parametrize("agent", ["react", "reflection", "plan_and_act", "openai_loop"])
def test_a_recorded_run_is_replayed_to_the_same_events(shell: Shell, told: Any, tmp_path: Path, agent: str) -> None:
    calls = tmp_path / "calls.jsonl"
    first = told(shell.play("--agent", agent, "--model", "policy:zip", "--record", calls))
    again = told(shell.play("--agent", agent, "--replay", calls))
    assert again.events[1:] == first.events[1:]
    assert again.seating.labels["B1"] == f"{agent}/replay:calls.jsonl"
    assert [note["text"] for note in again.noted("model_call")] == [note["text"] for note in first.noted("model_call")]


@pytest.mark.network
@pytest.mark.parametrize("agent", ["react", "openai_loop"])
def test_a_changed_request_is_a_hard_error_that_names_the_first_message_that_differs(
    agent: str, shell: Shell, tmp_path: Path
) -> None:
    calls = tmp_path / "calls.jsonl"
    shell.play("--agent", agent, "--record", calls)
    error = shell.failed("--agent", agent, "--replay", calls, rounds=4)
    assert error.startswith("tradefair play: replay:calls.jsonl (seat B1) does not hold this request: ")
    assert "--resume" not in error
    assert "400" not in error
    assert "127.0.0.1" not in error
    assert "messages[0] (system) differs" in error
    assert "There are 4 rounds" in error
    assert "There are 3 rounds" in error
    assert "Traceback" not in error


@pytest.mark.network
def test_a_run_that_is_resumed_appends_to_its_recording(shell: Shell, told: Any, tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    error = shell.failed("--agent", "react", "--record", calls, *options_file(tmp_path, faults="500@4.."))
    # The trace names no file, so the advice does.
    words = error.rpartition("tradefair play ")[2].strip().rstrip(")").split()
    assert words[2:] == ["--record", str(calls)]
    path = Path(words[1])
    before = lines_of(calls)
    assert recorded_agent(path).record is None
    assert run(["play", *words, "--json"]) == 0
    after = lines_of(calls)
    assert after["model_calls"] == before["model_calls"] == 1
    assert (before["seat"], after["seat"]) == (1, 2)
    assert after["call"] > before["call"]
    assert [number for number, _ in told(path).quotes] == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--record", "a.jsonl", "--replay", "b.jsonl"), "not both|cannot be read"),
        (("--replay", "no-such-file.jsonl"), "cannot be read"),
        (("--model", "replay:no-such-file.jsonl"), "cannot be read"),
        (("--agent", "policy", "--record", "a.jsonl"), "makes none"),
        (("--agent", "external", "--replay", "a.jsonl"), "makes none"),
        ({"faults": "fire@1"}, "is no fault"),
        ({"agent": "openai_loop", "window": "full_round"}, "option of our graphs"),
        ({"agent": "openai_loop", "approve": True}, "terminal|option of our graphs"),
        ({"window": "some"}, "is not a window"),
    ],
)
def test_what_cannot_be_recorded_or_replayed_is_usage(
    shell: Shell, tmp_path: Path, options: tuple[str, ...] | dict[str, Any], says: str
) -> None:
    given = options_file(tmp_path, **options) if isinstance(options, dict) else options
    error = shell.failed(*given, code=2)
    assert any(word in error for word in says.split("|")), error
    assert not (tmp_path / "failed").exists()


def test_a_file_that_is_no_recording_is_not_appended_to(shell: Shell, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("mine\n")
    assert "not a recording" in shell.failed("--record", other, code=2)
    assert other.read_text() == "mine\n"


async def test_every_model_call_has_its_price(duel: Any, told: Any) -> None:
    trace = told((await play_episode(duel(AgentSpec("react", "policy:zip"), rounds=1))).path)
    assert [note["cost_usd_micro"] for note in trace.noted("model_call")] == [0, 0]

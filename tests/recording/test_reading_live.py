"""A recording is read while it goes on, and after its recorder was killed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.recording.test_stdio import PYTHON, Client, client, only_trace, recorded
from tests.waiting import LONG, until

from tradefair.evaluation.foreign.audit.run import read_run
from tradefair.evaluation.origins import tally
from tradefair.tracestore import open_trace


def printed(*arguments: str) -> str:
    command = [PYTHON, "-m", "tradefair.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=True).stdout


def evaluated(out: Path) -> Any:
    return json.loads(printed("evaluate", str(out), "--json"))["verdict"]["foreign"]


def left_open(out: Path) -> list[tuple[str, str]]:
    with open_trace(only_trace(out)) as trace:
        return [(call["tool"], call["error"]["code"]) for call in trace.left_open()]


def calling(made: Client) -> None:
    for number in range(5):
        made.call(number, text="a")
    made.call(6, "hang", wait=False)
    made.call(7, "hang", wait=False)
    made.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
    made.call(8, text="b")


def test_commands_read_a_recording_while_calls_go_on(tmp_path: Path) -> None:
    with client(recorded(tmp_path)) as made:
        calling(made)
        run = evaluated(tmp_path)
        # What is in flight may still be answered.
        assert (run["calls"], run["unanswered"]) == (6, 0)
        assert left_open(tmp_path) == []
        assert "echo" in printed("trace", str(only_trace(tmp_path)), "calls")
        made.call(9, text="c")
        assert evaluated(tmp_path)["calls"] == 7


def test_what_a_killed_recorder_has_left_open_was_never_answered(tmp_path: Path) -> None:
    with client(recorded(tmp_path)) as made:
        calling(made)
        made.process.kill()
        made.process.wait(LONG)
    until(lambda: left_open(tmp_path), "the calls that were left open")
    assert left_open(tmp_path) == [("hang", "no_answer"), ("hang", "cancelled")]
    with open_trace(only_trace(tmp_path)) as trace:
        found = tally(trace)
    assert (found.calls, found.unanswered) == (8, 2)
    assert [call.status for call in read_run(only_trace(tmp_path)).calls] == ["ok"] * 6 + ["failed"] * 2
    run = evaluated(tmp_path)
    assert (run["calls"], run["unanswered"]) == (8, 2)

"""A person at the terminal: Ctrl-C ends a run with a word on how to go on; actions wait for a yes. Real processes."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.options_files import options_file
from tests.waiting import LONGER

from tradefair.evaluation.prove.verify import verify_file

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

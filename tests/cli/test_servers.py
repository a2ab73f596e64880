"""Servers at a terminal, as real processes: Ctrl-C ends each with 0, a taken port is one message with its remedy."""

from __future__ import annotations

import os
import pty
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import LONG, until

from tradefair.cli import run
from tradefair.evaluation.prove.verify import verify_file

PLAYED = ("teaching", "--scenario", "pie", "--seed", "7")
CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"claim","arguments":{"slices":4},"_meta":'
    b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
)


class Terminal:
    """A command on a terminal of its own: what a person sees there, and types."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        # `fork` makes the terminal the child's controlling one, so that Ctrl-C comes as a signal of the terminal.
        self.child, self._side = pty.fork()
        if self.child == 0:
            os.chdir(cwd)
            os.execv(sys.executable, [sys.executable, "-m", "tradefair.cli", *arguments])
        self.shown = ""

    def wait_for(self, words: str) -> None:
        while words not in self.shown:
            try:
                self.shown += self._piece()
            except OSError:
                raise AssertionError(f"ended before {words!r}: {self.shown}") from None

    def press(self, key: bytes) -> None:
        os.write(self._side, key)

    def leave(self) -> int:
        """Wait for the end; the exit code."""
        try:
            while piece := self._piece():
                self.shown += piece
        # Linux ends a pty whose other side is closed with EIO.
        except OSError:
            pass
        os.close(self._side)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

    def at_rest(self) -> bool:
        """Whether all its threads sleep, where the system tells: the one that reads is blocked then."""
        threads = Path(f"/proc/{self.child}/task").glob("*/stat")
        return {path.read_text().rpartition(")")[2].split()[0] for path in threads} <= {"S"}

    def _piece(self) -> str:
        assert select.select([self._side], [], [], LONG)[0], self.shown
        return os.read(self._side, 4_096).decode()


@pytest.fixture
def at(tmp_path: Path) -> Iterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for terminal in terminals:
        try:
            os.kill(terminal.child, signal.SIGKILL)
            os.waitpid(terminal.child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def test_ctrl_c_ends_serve_on_a_terminal_which_first_says_where_it_belongs(at: list[Terminal], tmp_path: Path) -> None:
    terminal = Terminal("serve", *PLAYED, "--seat", "P1", "--out", "out", cwd=tmp_path)
    at.append(terminal)
    terminal.wait_for("trace in /")
    first = terminal.shown.splitlines()[0]
    assert "speaks MCP on standard input" in first
    assert "tradefair config teaching --scenario teaching/pie --seat P1" in first
    # A request of the stateless era, which needs no handshake: the first call begins the episode.
    terminal.press(CALL + b"\n")
    terminal.wait_for('"sealed"')
    # The reader of standard input has to be blocked: that is what hung, until somebody pressed a key.
    until(terminal.at_rest, "a server that only reads")
    terminal.press(b"\x03")
    assert terminal.leave() == 0, terminal.shown
    (trace,) = (tmp_path / "out").glob("*.trace")
    assert f"tradefair serve --resume out/{trace.name}" in terminal.shown
    assert not list(tmp_path.rglob("*-wal"))
    assert verify_file(trace).sound


def test_a_second_ctrl_c_does_not_wait_for_the_episode(tmp_path: Path) -> None:
    program = (
        "import asyncio\n"
        "from tradefair.host.server.pipes import leave_on_signals\n"
        "async def close(): print('closing', flush=True); await asyncio.sleep(600)\n"
        "async def main(): leave_on_signals(close); print('ready', flush=True); await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in ("ready\n", "closing\n"):
        assert process.stdout.readline() == line
        process.send_signal(signal.SIGINT)
    assert process.wait(LONG) == 130
    process.stdout.close()


_HOST = ("host", *PLAYED, "--out", "out"), "Tokens are not shown again"
_VIEW = ("view", ".", "--no-open"), "Ctrl-C ends"
_GATEWAY = ("gateway", "--market", "teaching"), "OPENAI_API_KEY="


# Signals take one way for all servers: each server and each signal once, the other pairs in the slow group.
@pytest.mark.parametrize(
    ("arguments", "ready", "number"),
    [
        (*_HOST, signal.SIGINT),
        (*_VIEW, signal.SIGTERM),
        (*_GATEWAY, signal.SIGINT),
        pytest.param(*_HOST, signal.SIGTERM),
        pytest.param(*_VIEW, signal.SIGINT),
        pytest.param(*_GATEWAY, signal.SIGTERM),
    ],
)
def test_a_server_that_is_stopped_has_done_its_work(
    arguments: tuple[str, ...], ready: str, number: signal.Signals, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tradefair.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    shown = ""
    while ready not in shown:
        line = process.stdout.readline()
        assert line, shown
        shown += line
    process.send_signal(number)
    rest, _ = process.communicate(timeout=LONG)
    assert process.returncode == 0, shown + rest
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("host", *PLAYED), "--port"),
        (("host", *PLAYED), "--control-port"),
        (("view", ".", "--no-open"), "--port"),
        (("gateway", "--market", "teaching"), "--port"),
    ],
)
def test_a_taken_port_is_one_message_with_its_remedy_and_leaves_nothing_behind(
    arguments: tuple[str, ...],
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run([*arguments, option, port]) == 2
    command = arguments[0]
    said = f"tradefair {command}: port {port} of 127.0.0.1 is taken; {option} 0 takes a free one\n"
    assert capsys.readouterr().err == said
    assert list(tmp_path.iterdir()) == []

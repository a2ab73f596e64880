"""`tradefair record -- CMD`: a real client and a real server with the recorder between them, as processes.

Also here:
- A recording is read while it goes on, and after its recorder was killed.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.host.disks import small_disk
from tests.waiting import LONG, instants, steady, until

from tradefair.evaluation.foreign.audit.run import read_run
from tradefair.evaluation.origins import tally
from tradefair.evaluation.prove.verify import verify_file
from tradefair.tracestore import open_trace

PYTHON = sys.executable
# A server of few lines, so that a session costs little: echo, and tools that misbehave.
SERVER = """
import json, os, signal, sys, time
def send(message): os.write(1, (json.dumps(message) if isinstance(message, dict) else message).encode() + b"\\n")
def answer(number, text):
    send({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}})
if "deaf" in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "bye" in sys.argv: signal.signal(signal.SIGTERM, lambda *_: (answer("late", "bye"), os._exit(7)))
for line in sys.stdin.buffer:
    try: message = json.loads(line)
    except ValueError: send("not json: \\u2603"); continue
    arguments = message.get("params", {}).get("arguments", {})
    tool, number = message.get("params", {}).get("name"), message.get("id")
    if message.get("method") != "tools/call": answer(number, "") if number is not None else None
    elif tool == "hang": pass
    elif tool == "die": os.kill(os.getpid(), signal.SIGKILL)
    elif tool == "large": answer(number, "x" * arguments["size"])
    elif tool == "ask":
        send({"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": {"message": "sure?"}})
        sys.stdin.buffer.readline()
        answer(number, "asked")
    else: answer(number, arguments.get("text", ""))
if "deaf" in sys.argv: time.sleep(600)
sys.exit(5 if "five" in sys.argv else 0)
"""


def direct(*arguments: str) -> list[str]:
    return [PYTHON, "-c", SERVER, *arguments]


def recorded(out: Path, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    return [PYTHON, "-m", "tradefair.cli", "record", "--out", str(out), *options, "--", *direct(*arguments)]


class Client:
    """Speaks JSON-RPC to a process, line by line, and keeps a digest of every byte that it gets."""

    def __init__(self, command: list[str], **options: Any) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, **options)
        self.seen = hashlib.sha256()

    def send(self, raw: bytes | dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw if isinstance(raw, bytes) else json.dumps(raw).encode() + b"\n")
        self.process.stdin.flush()

    def line(self) -> bytes:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.seen.update(line)
        return line

    def call(self, number: Any, tool: str = "echo", *, wait: bool = True, **arguments: Any) -> bytes:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        return self.line() if wait else b""

    def end(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.seen.update(self.process.stdout.read())
        return self.process.wait(LONG)


@contextmanager
def client(command: list[str], **options: Any) -> Generator[Client]:
    made = Client(command, **options)
    with made.process:
        try:
            yield made
        finally:
            made.process.kill()


def only_trace(out: Path) -> Path:
    (path,) = out.glob("*.trace")
    return path


def calls_of(path: Path) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return [event for event in trace.decoded() if event["event"] == "tool_called"]


def codes(path: Path) -> list[str]:
    return [call["error"]["code"] if call["error"] else call["status"] for call in calls_of(path)]


def check(path: Path, *, sealed: bool = True) -> None:
    found = verify_file(path, chain_only=True)
    assert (found.verdict, found.sealed) == ("intact", sealed), found.sentence


def a_session(made: Client) -> None:
    """Everything that may go over a pipe: large and small, batches, questions, what is no JSON, no line at the end."""
    for number in range(50):
        made.call(number, text="äöü ☃ \u2028" * number)
    made.call("large", "large", size=3_000_000)
    made.call(60, "ask")
    made.send({"jsonrpc": "2.0", "id": 60, "result": {"action": "accept"}})
    made.line()
    made.send(b"[1, 2\n\xff\xfe\n\n")
    for _ in range(3):
        made.line()
    made.call("cut", "large", size=9_000_000)
    # In pieces that end anywhere.
    raw = json.dumps({"jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": {"name": "echo"}}).encode() + b"\n"
    for place in range(0, len(raw), 7):
        made.send(raw[place : place + 7])
    made.line()
    made.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')


def test_the_client_gets_the_same_bytes_with_and_without(tmp_path: Path) -> None:
    seen: list[str] = []
    for command in (direct("five"), recorded(tmp_path, "five")):
        with client(command) as made:
            a_session(made)
            assert made.end() == 5
            seen.append(made.seen.hexdigest())
    assert seen[0] == seen[1]
    path = only_trace(tmp_path)
    check(path)
    assert codes(path) == ["ok"] * 54
    assert [len(str(call["result"])) > 2_000_000 for call in calls_of(path)].count(True) == 1
    with open_trace(path) as trace:
        assert trace.manifest.about["source"]["counts"]["not_json_rpc"] == 5
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(("argument", "code"), [("", 0), ("five", 5), ("die", 128 + 9)])
def test_the_exit_code_is_the_servers(tmp_path: Path, argument: str, code: int) -> None:
    with client(recorded(tmp_path, argument)) as made:
        made.call(1)
        if argument == "die":
            assert made.call(2, "die") == b""
        assert made.end() == code
    check(only_trace(tmp_path))
    assert codes(only_trace(tmp_path)) == (["ok", "no_answer"] if argument == "die" else ["ok"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_handed_on_and_the_log_is_sealed(tmp_path: Path, number: int) -> None:
    # Without a terminal, as clients start servers.
    with client(recorded(tmp_path, "bye" if number == signal.SIGTERM else ""), start_new_session=True) as made:
        made.call(1)
        made.call("late", "hang", wait=False)
        until(lambda: _pending(only_trace(tmp_path)), "a call without its answer")
        made.process.send_signal(number)
        answered = number == signal.SIGTERM
        assert bool(made.line()) == answered
        assert made.process.wait(LONG) == (7 if answered else 130)
    check(only_trace(tmp_path))
    assert codes(only_trace(tmp_path)) == ["ok", "ok" if answered else "no_answer"]


def _pending(path: Path) -> list[Any]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return database.execute("SELECT request_id FROM pending").fetchall()


def test_a_server_that_does_not_end_has_a_sealed_log_before_it_is_killed(tmp_path: Path) -> None:
    with client(recorded(tmp_path, "deaf")) as made:
        made.call(1)
        made.call(2, "hang", wait=False)
        path = only_trace(tmp_path)
        made.process.send_signal(signal.SIGTERM)
        until(lambda: verify_file(path, chain_only=True).sealed, "a sealed log")
        check(path)
        # The session goes on: what is answered now is no less recorded.
        made.call(3)
        until(lambda: not verify_file(path, chain_only=True).sealed, "a log that goes on")
        check(path, sealed=False)
        assert len(calls_of(path)) == 2


def test_what_holds_the_servers_pipe_does_not_hold_the_recorder(tmp_path: Path) -> None:
    keeper = "import subprocess,sys; subprocess.Popen([sys.executable,'-c','import time; time.sleep(600)'])"
    command = [PYTHON, "-m", "tradefair.cli", "record", "--out", str(tmp_path), "--", PYTHON, "-c", keeper]
    made = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        made.stdin.close()  # pyright: ignore[reportOptionalMemberAccess]
        assert made.wait(LONG) == 0
    finally:
        os.killpg(made.pid, signal.SIGKILL)
        made.stdout.close()  # pyright: ignore[reportOptionalMemberAccess]


def kill_at(out: Path, after: int, later: int) -> None:
    """Kill a recorder a moment after the client has seen `after` answers; no answer may be missing or there twice."""
    answered: list[int] = []
    with client(recorded(out)) as made:
        made.call(0)
        number = 0
        for number in range(1, after):
            # Two are always in flight.
            made.call(number, wait=False, text=str(number))
            if number > 1:
                answered.append(json.loads(made.line())["id"])
        instants(later)
        made.process.kill()
        assert made.process.stdout is not None
        # What it had passed on can still be read: the client has it, too. A torn line is no answer.
        rest = made.process.stdout.read()
        answered += [json.loads(line)["id"] for line in rest.splitlines(keepends=True) if line.endswith(b"\n")]
    path = only_trace(out)
    check(path, sealed=False)
    found = [int(call["arguments"]["text"]) for call in calls_of(path) if call["arguments"]]
    assert len(found) == len(set(found))
    assert set(answered) <= {0, *found}
    with open_trace(path) as trace:
        pending = [int(str(row[1])) for row in trace.side_rows("pending") or ()]
    # Whatever it had handed on is known; the last calls may not have reached it.
    known = sorted([*found, *pending])
    assert known == list(range(1, len(known) + 1))


@pytest.mark.parametrize("after", [2, 5, 40, 200])
def test_no_kill_loses_an_answer_or_doubles_one(tmp_path: Path, after: int) -> None:
    kill_at(tmp_path, after, 0)


def test_fifty_kills_lose_no_answer(tmp_path: Path) -> None:
    for kill in range(50):
        kill_at(tmp_path / str(kill), 2 + kill * 7, kill % 10)


def test_a_full_disk_ends_the_session_and_says_why(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, client(recorded(disk.folder), stderr=subprocess.PIPE) as made:
        made.call(1)
        disk.fill()
        number = 2
        while made.call(number, text="x" * 3_000):
            number += 1
        assert made.process.wait(LONG) == 3
        assert b"the session ends" in made.process.stderr.read()  # pyright: ignore[reportOptionalMemberAccess]
        # Every answer that was seen is there.
        assert codes(only_trace(disk.folder))[: number - 1] == ["ok"] * (number - 1)


def test_a_lossy_session_goes_on_unrecorded_and_its_trace_says_so(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, client(recorded(disk.folder, "five", options=("--lossy",))) as made:
        made.call(1)
        disk.fill()
        for number in range(2, 300):
            assert made.call(number, text="x" * 3_000)
        disk.free()
        assert made.end() == 5
        path = only_trace(disk.folder)
        check(path)
        with open_trace(path) as trace:
            *_, said, _ = list(trace.decoded())
        assert said["name"] == "recording"
        assert said["content"]["lines"] > 100
        assert "full" in said["content"]["unrecorded"]


def test_a_planted_secret_is_in_no_file_while_it_goes_on_or_after(tmp_path: Path) -> None:
    secrets = [b"hunter2-\xc3\xa4", b"correct-horse", b"sk-proj-0123456789abcdef", b"from-the-environment", b"in-argv"]
    with client(
        recorded(tmp_path, "--key=in-argv", options=("--redact", "correct.horse", "--redact-field", "pin")),
        env={**os.environ, "API_KEY": "from-the-environment"},
    ) as made:
        made.call(1, password="hunter2-ä", text="my correct-horse")
        made.call(2, text=json.dumps({"pin": "hunter2-ä", "inner": json.dumps({"token": "hunter2-ä"})}))
        made.send(
            b'{"id":3,"method":"tools/call","params":{"name":"e","arguments":{"\\u0070in":"\\u0068unter2-\\u00e4"}}}\n'
        )
        made.line()
        made.call("sk-proj-0123456789abcdef", "sk-proj-0123456789abcdef", url="https://x:hunter2-ä@host/")
        made.call(5, "hang", wait=False, cookie="hunter2-ä")
        until(lambda: _pending(only_trace(tmp_path)), "a call without its answer")
        names = {file.name[-4:] for file in tmp_path.iterdir()}
        assert "-wal" in names
        for _ in range(2):
            held = b"".join(file.read_bytes() for file in tmp_path.iterdir())
            assert not [secret for secret in secrets if secret in held or secret in held.replace(b"\\", b"")]
            assert b"[redacted:" in held
            made.end()


def test_a_plain_recording_imports_no_sdk_no_model_and_no_event_loop(tmp_path: Path) -> None:
    with client([PYTHON, "-X", "importtime", *recorded(tmp_path)[1:]], stderr=subprocess.PIPE) as made:
        made.call(1)
        made.end()
        imported = {line.split(b"|")[-1].strip().decode() for line in made.process.stderr or ()}
    assert "tradefair.recording.stdio" in imported
    assert not imported & {"mcp", "pydantic", "asyncio", "typer", "rich", "numpy", "tradefair.tracestore.reader"}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--help"], 0, "passed on as it is"),
        (["--out", "x"], 2, "name the server to start"),
        (["--", "true"], 2, "--out"),
        (["--out", "x", "--", "no-such-program-at-all"], 2, "cannot be started"),
        (["--out", "x", "--redact", "(", "--", "true"], 2, "--redact 1: not a regular expression"),
        (["--out", "/dev/null/x", "--", "true"], 3, "Not a directory"),
        (["--out", "x", "--name", "//", "--", "true"], 2, "a letter or a digit"),
    ],
)
def test_help_and_mistakes_are_answered_by_the_full_parser(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    command = [PYTHON, "-m", "tradefair.cli", "record", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False, cwd=tmp_path)
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr


def _bytes_read(io: Path) -> int:
    return int(io.read_text(encoding="utf-8").split()[1])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs Linux's counts of what a process has read")
def test_a_client_that_does_not_read_stops_the_reading_and_nothing_queues(tmp_path: Path) -> None:
    with client(recorded(tmp_path)) as made:
        made.call(0)
        for number in range(1, 100):
            made.call(number, "large", wait=False, size=200_000)
        io = Path(f"/proc/{made.process.pid}/io")
        # What it has read does not grow any more: 20 MB wait in the server.
        until(steady(lambda: _bytes_read(io)), "a recorder that reads no more")
        assert _bytes_read(io) < 6_000_000
        status = Path(f"/proc/{made.process.pid}/status").read_text(encoding="utf-8")
        assert int(status.partition("VmHWM:")[2].split()[0]) < 64 * 1024
        for number in range(1, 100):
            assert json.loads(made.line())["id"] == number
        assert made.end() == 0
    assert codes(only_trace(tmp_path)) == ["ok"] * 100


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

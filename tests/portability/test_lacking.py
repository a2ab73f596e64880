"""tradefair on a Python that lacks what Windows' lacks (`lacking/sitecustomize.py`): the real commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import LONG

from tradefair.evaluation.prove.verify import verify_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-in of Windows' locks needs Linux's")

LACKING = Path(__file__).parent / "lacking"
SEAT = ("teaching", "--scenario", "pie", "--seed", "7", "--others", "half")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}


@pytest.fixture
def lacking(tmp_path: Path) -> dict[str, Any]:
    """Options of a subprocess on such a Python."""
    return {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(LACKING)}}


def output(program: str, options: dict[str, Any]) -> str:
    """What a program prints on such a Python."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Child:
    """A command whose standard input and output are pipes, spoken to in JSON-RPC."""

    def __init__(self, options: dict[str, Any], *arguments: str) -> None:
        command = [sys.executable, "-m", "tradefair.cli", *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, **options)
        self._number = 0

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        while (answer := json.loads(self.process.stdout.readline())).get("id") != self._number:
            pass
        return answer["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", name=tool, arguments=arguments)["structuredContent"]

    def hello(self) -> None:
        assert self.ask("initialize", **HELLO)["serverInfo"]["name"].startswith("tradefair-")
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


@contextmanager
def child(options: dict[str, Any], *arguments: str) -> Generator[Child]:
    made = Child(options, *arguments)
    with made.process:
        try:
            yield made
        finally:
            made.process.kill()


_NOT_THERE = """
import asyncio, importlib, os, signal, sys
def tried(name):
    try: importlib.import_module(name)
    except ImportError: return None
    return name
def of_loop(): asyncio.new_event_loop().add_signal_handler(2, print)
exec(compile("found = [tried(name) for name in ('fcntl', 'resource', 'msvcrt')], hasattr(os, 'fork'), "
             "hasattr(os, 'sysconf')", "x", "exec"), scope := {"__name__": "tradefair.x", "os": os, "tried": tried})
tried.__globals__["__name__"] = "tradefair.x"
try: of_loop()
except NotImplementedError: print(tried("fcntl"), tried("resource"), tried("msvcrt"), *scope["found"][1:])
"""


def test_such_a_python_lacks_what_it_should(lacking: dict[str, Any]) -> None:
    assert output(_NOT_THERE, lacking).split() == ["None", "None", "msvcrt", "False", "False"]


_LOCKS = """
import os
from pathlib import Path
from tradefair.contract import TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.runner.plans.lease import Lease as Shared, is_alive, join_lease
from tradefair.tracestore.locks import Lease, held, take

trace = Path("x.trace")
print(held(trace))
lease = Lease(trace)
print(held(trace))
try: Lease(trace)
except TraceError as refused: print("refused")
os.close(lease._fd)
# The file of a writer that died: two probes at once are no writer to each other, but keep a new one out.
first, second, writer = (os.open("x.trace.lock", os.O_RDWR) for _ in range(3))
print(held(trace), take(first, shared=True), take(second, shared=True), held(trace), take(writer))
os.close(first), os.close(second)
print(take(writer), held(trace))
os.close(writer)
Lease(trace).release()
print(sorted(os.listdir()))

command = Shared(Path())
worker = join_lease(command.path)
os.close(command.fd)
print(is_alive(Path(), command.name))
os.close(worker)
print(is_alive(Path(), command.name))
try: join_lease(command.path)
except StorageUnavailable: print("ended")
"""


def test_locks_of_windows_mean_what_flock_means(lacking: dict[str, Any]) -> None:
    shown = output(_LOCKS, lacking).splitlines()
    assert shown[:3] == ["False", "True", "refused"]
    assert shown[3:6] == ["False True True False False", "True True", "[]"]
    assert shown[6:] == ["True", "False", "ended"]


def test_without_any_locks_who_writes_is_not_known(lacking: dict[str, Any]) -> None:
    lacking["env"]["LACKING"] = "locks"
    program = (
        "from pathlib import Path; from tradefair.tracestore.locks import Lease, held\n"
        "lease = Lease(Path('x.trace')); print(held('x.trace')); lease.release(); print(held('x.trace'))"
    )
    assert output(program, lacking).split() == ["None", "False"]


_PLAY = """
from tradefair.cli import run
told = "play", "teaching", "--scenario", "pie", "--seed", "7", "--out", "out", "--no-references"
assert run([*told, "--agent", "policy:half"]) == 0
assert run(["verify", "out"]) == 0
"""


def test_it_plays_and_verifies(lacking: dict[str, Any], tmp_path: Path) -> None:
    output(_PLAY, lacking)
    (path,) = (tmp_path / "out").glob("*.trace")
    assert verify_file(path).sealed


def test_it_serves_and_leaves_at_ctrl_c(lacking: dict[str, Any], tmp_path: Path) -> None:
    with child(lacking, "serve", *SEAT, "--seat", "P1", "--out", "out") as server:
        server.hello()
        assert server.call("claim", slices=5)["sealed"] == "claim"
        # While a thread waits for the next line of standard input.
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(LONG) == 0
    (path,) = (tmp_path / "out").glob("*.trace")
    assert verify_file(path).sound
    assert not list(tmp_path.rglob("*.lock"))


_ECHO = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    info = {"serverInfo": {"name": "tradefair-like", "version": "1"}, "structuredContent": {"said": "a"}}
    if "id" in message:
        print(json.dumps({"id": message["id"], "result": info}), flush=True)
"""


@pytest.mark.parametrize("lacks", ["", "locks"])
def test_it_records(lacking: dict[str, Any], tmp_path: Path, lacks: str) -> None:
    lacking["env"]["LACKING"] = lacks
    with child(lacking, "record", "--out", "out", "--", sys.executable, "-c", _ECHO) as recorder:
        recorder.hello()
        assert recorder.call("echo", text="a") == {"said": "a"}
        assert recorder.process.stdin is not None
        recorder.process.stdin.close()
        assert recorder.process.wait(LONG) == 0
    (path,) = (tmp_path / "out").iterdir()
    found = verify_file(path, chain_only=True)
    assert (found.verdict, found.sealed, found.events) == ("intact", True, 3)


def test_it_hosts_and_connects(lacking: dict[str, Any], tmp_path: Path) -> None:
    with child(lacking, "host", *SEAT, "--seats", "P1", "--out", "out", "--json", "--control-port", "0") as host:
        assert host.process.stdout is not None
        shown = ""
        while not shown.endswith("}\n") or shown.count("{") != shown.count("}"):
            line = host.process.stdout.readline()
            assert line, "it has ended"
            shown += line
        report = json.loads(shown)
        (seat,) = report["episodes"][0]["seats"]
        lacking["env"]["TRADEFAIR_TOKEN"] = seat["token"]
        with child(lacking, "connect", report["url"]) as shim:
            shim.hello()
            assert shim.call("claim", slices=5)["sealed"] == "claim"
            assert shim.process.stdin is not None
            shim.process.stdin.close()
            assert shim.process.wait(LONG) == 0
        lacking["env"]["TRADEFAIR_CONTROL_TOKEN"] = report["control"]["token"]
        status = "import sys; from tradefair.cli import run; run(['control', 'status', '--url', sys.argv[1]])"
        told = subprocess.run(
            [sys.executable, "-c", status, report["control"]["url"]],
            capture_output=True,
            text=True,
            check=True,
            **lacking,
        )
        assert "memory unknown" in told.stdout
        host.process.send_signal(signal.SIGTERM)
        assert host.process.wait(LONG) == 0
    (path,) = (tmp_path / "out").glob("*.trace")
    assert verify_file(path).sound


def test_it_sweeps_with_workers(lacking: dict[str, Any], tmp_path: Path) -> None:
    program = (
        "from tradefair.cli import run\n"
        "told = '--seeds', '1', '--executor', 'process', '--processes', '2', '--out', 'out'\n"
        "assert run(['sweep', 'bargaining/round_robin_small', *told]) == 0\n"
    )
    output(program, lacking)
    assert not list(tmp_path.rglob("*.lease"))
    assert len(list(tmp_path.rglob("*.trace"))) == 24

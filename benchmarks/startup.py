"""What it costs to start: `tradefair --help`, and a stdio server until it has answered `tools/list`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

from benchmarks.figures import Figure
from tradefair.contract import HarnessFailure

_TRADEFAIR = (sys.executable, "-m", "tradefair.cli")
_HANDSHAKE: tuple[dict[str, Any], ...] = (
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "benchmarks", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
)


class _Run(NamedTuple):
    """Seconds of one process: CPU over its whole life, wall clock until it was ready."""

    cpu_s: float
    wall_s: float


def measure(*, tiny: bool) -> list[Figure]:
    """Every process is a fresh one, on files that the system has in its cache."""
    times = 1 if tiny else 7
    helps = [_help() for _ in range(times)]
    serves = [_serve() for _ in range(times)]
    how = f"median of {times} processes"
    listed = "until tools/list is answered"
    return [
        Figure("tradefair --help", median(run.cpu_s for run in helps), "CPU s", 0.3, how=how),
        Figure("tradefair serve, whole process", median(run.cpu_s for run in serves), "CPU s", 1.2, how=how),
        Figure(f"tradefair serve, {listed}", median(run.wall_s for run in serves), "wall s", how=how),
    ]


def _help() -> _Run:
    begun = time.monotonic()
    with subprocess.Popen([*_TRADEFAIR, "--help"], stdout=subprocess.DEVNULL) as process:
        return _Run(_cpu_until_exit(process), time.monotonic() - begun)


def _serve() -> _Run:
    with TemporaryDirectory() as folder:
        command = [*_TRADEFAIR, "serve", "double_auction", "--seed", "1", "--out", folder]
        begun = time.monotonic()
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            _ask_for_tools(process.stdin, process.stdout)
            wall_s = time.monotonic() - begun
            process.stdin.close()
            return _Run(_cpu_until_exit(process), wall_s)


def _ask_for_tools(requests: IO[bytes], answers: IO[bytes]) -> None:
    for message in _HANDSHAKE:
        requests.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    requests.flush()
    for line in answers:
        answer = json.loads(line)
        if answer.get("id") == 2:
            assert any(tool["name"] == "submit_quote" for tool in answer["result"]["tools"])
            return
    raise HarnessFailure("tradefair serve ended before it had answered tools/list")


def _cpu_until_exit(process: subprocess.Popen[bytes]) -> float:
    """User and system time of a process, and of those that it has waited for; it must end well."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise HarnessFailure(f"{process.args} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime

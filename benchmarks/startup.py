"""What it costs to start: lists and help, a short game, a stdio server until it has listed its tools and ends.

CPU of whole processes, their ends included: Python's own start, imports, the work, and giving everything back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

from benchmarks.figures import Figure, ratio_of_medians
from tradefair.catalog import market_names
from tradefair.contract import HarnessFailure

_TRADEFAIR = (sys.executable, "-m", "tradefair.cli")
# What a server of the library alone costs: one tool, nothing behind it.
_BARE = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("bare")


@server.tool()
def submit_quote(price: int) -> int:
    "Submit a quote."
    return price


server.run("stdio")
"""
_GAME = ("double_auction", "--scenario", "double_auction/smoke", "--seed", "1")
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
    """Every process is a fresh one, on files that the system has in its cache; those that are compared take turns."""
    times = 1 if tiny else 5
    how = f"median of {times} processes"
    with TemporaryDirectory() as folder:
        out = Path(folder)
        (trace,) = _played(out / "trace")
        commands: dict[str, tuple[Sequence[str | Path], float | None]] = {
            "tradefair --help": (["--help"], 0.05),
            "tradefair show markets": (["show", "markets"], 0.15),
            "tradefair evaluate --help": (["evaluate", "--help"], 0.10),
            "tradefair show plans": (["show", "plans"], None),
            "tradefair evaluate, a small trace": (["evaluate", trace], None),
            "tradefair verify, a small trace": (["verify", trace], None),
            "tradefair report, a small trace": (["report", trace, "--no-verify", "-o", out / "page.html"], None),
        }
        costs = {name: _median(times, lambda words=words: _command(words)) for name, (words, _) in commands.items()}
        plays = [_command(["play", *_GAME, "--agent", "react", "--out", out / f"{number}"]) for number in range(times)]
        serves, bare = _side_by_side(times, out)
        opened, opens = _first_answers(times, out)
    listed = "until tools/list is answered"
    return [
        *(Figure(name, costs[name], "CPU s", goal, how=how) for name, (_, goal) in commands.items()),
        Figure("tradefair play, a smoke preset, react", median(plays), "CPU s", 2.0, how=f"{how}; scripted model"),
        Figure(
            "tradefair serve over a bare MCPServer",
            ratio_of_medians((run.cpu_s for run in serves), (run.cpu_s for run in bare)),
            "x",
            1.3,
            how=f"{how} of each, {listed} and it has ended",
        ),
        Figure("tradefair serve, whole process", median(run.cpu_s for run in serves), "CPU s", 1.2, how=how),
        Figure(f"tradefair serve, {listed}", median(run.wall_s for run in serves), "wall s", how=how),
        *(
            Figure(
                f"tradefair serve {market}, first answer over a bare one's", ratio_of_medians(costs, opens), "x", 0.35
            )
            for market, costs in opened.items()
        ),
        Figure(
            "tradefair serve double_auction, first answer", median(opened["double_auction"]), "CPU s", 0.35, how=how
        ),
    ]


def _median(times: int, cost: Callable[[], float]) -> float:
    return median(cost() for _ in range(times))


def _played(folder: Path) -> list[Path]:
    """The trace of a small game of policies; the first process also compiles what the others find compiled."""
    _command(["play", *_GAME, "--agent", "policy:zip", "--no-references", "--out", folder])
    return list(folder.glob("*.trace"))


def _command(words: Sequence[str | Path]) -> float:
    """CPU seconds of one command."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen([*_TRADEFAIR, *map(str, words)], stdin=quiet, stdout=quiet, stderr=quiet) as process:
        return _cpu_until_exit(process)


def _side_by_side(times: int, folder: Path) -> tuple[list[_Run], list[_Run]]:
    """Runs of our server and of one of the library alone, in turns."""
    ours = [*_TRADEFAIR, "serve", "double_auction", "--seed", "1", "--out", str(folder / "served")]
    runs = [(_serve(ours), _serve([sys.executable, "-c", _BARE])) for _ in range(times)]
    return [served for served, _ in runs], [bare for _, bare in runs]


def _first_answers(times: int, folder: Path) -> tuple[dict[str, list[float]], list[float]]:
    """CPU seconds until `initialize` is answered: by market, and of the library alone, in turns."""
    ours: dict[str, list[float]] = {market: [] for market in market_names()}
    bare: list[float] = []
    for _ in range(times):
        bare.append(_first_answer([sys.executable, "-c", _BARE]))
        for market, costs in ours.items():
            costs.append(_first_answer([*_TRADEFAIR, "serve", market, "--seed", "1", "--out", str(folder / "opened")]))
    return ours, bare


def _first_answer(command: Sequence[str]) -> float:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **_HANDSHAKE[0]}).encode() + b"\n")
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline()
        # Whatever it would do from here on is no part of the answer.
        process.kill()
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = -signal.SIGKILL
        return usage.ru_utime + usage.ru_stime


def _serve(command: Sequence[str]) -> _Run:
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
    raise HarnessFailure("the server ended before it had answered tools/list")


def _cpu_until_exit(process: subprocess.Popen[bytes]) -> float:
    """User and system time of a process, and of those that it has waited for; it must end well."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise HarnessFailure(f"{process.args} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime

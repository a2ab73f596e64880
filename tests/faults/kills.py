"""Kills in the middle of writes: `python -m tests.faults.kills --count 200`.

A host, a stdio server, `play` and `sweep` are killed in the n-th write or sync of a trace: before it, in its middle, or
after another one has failed. Whoever was killed goes on from its files. Clients send quotes, notes and programs, each
under a key, until it is answered, and everything answered again after each kill. In the end no acknowledged call may
be missing, there twice or answered otherwise, and what no client plays must take the course of a run left alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import httpx2
import orjson
from tests.options_files import options_file
from tests.runner.test_sweep import PLAN
from tests.waiting import LONG, LONGER

from tradefair.evaluation.prove.verify import verify_file
from tradefair.tracestore import open_trace

_KILLED = -signal.SIGKILL
_ROUNDS = 4
_SEAT = "B1"
_GAME = ("double_auction", "--set", f"rounds={_ROUNDS}", "--others", "truthful")
_SOUND = "reproduced"
_AGAIN = ("busy", "storage_unavailable", "internal_error")
_KEY = "tradefair/call-key"
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "kills", "version": "1"}}
_REVISION = "2026-07-28"
_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": _REVISION,
    "Mcp-Method": "tools/call",
}
_META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": _REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
NAMES = ("host", "serve", "play", "sweep")
# What fails (shim.c), whether it lasts, how it kills, and up to the how-many-th call.
_WAYS = ((0, 0, -1, 60), (0, 0, -3, 60), (0, 1, -2, 60), (1, 0, -1, 8), (1, 1, -2, 8))
# The traces of a sweep of scripted games are written whole: one write and one sync each.
_WHOLE_WAYS = tuple((what, lasts, how, 8) for what, lasts, how, _ in _WAYS)
# Runs in a row that no fault struck, from which on none is expected to.
_MOST_MISSED = 50


class Count(NamedTuple):
    """What a campaign has done to one sort of process."""

    kills: int
    acknowledged: int
    complaints: list[str]


class _Process:
    """A tradefair process that may be killed by the shim at any moment; a watchdog ends one that hangs."""

    def __init__(self, shim: Path, fault: str, *arguments: str | Path) -> None:
        # Without a fault it is not loaded: what the clients need in the end is an ordinary process.
        self._fault = fault
        preload = {"LD_PRELOAD": str(shim), "FAULT": fault} if fault else {}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tradefair.cli", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **preload},
        )
        self._watchdog = threading.Timer(LONGER, self._process.kill)
        self._watchdog.start()

    def write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # killed; the next line that is read says so

    def line(self) -> Any:
        """The next line of its output; None once it is dead."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return orjson.loads(line) if line.endswith(b"\n") else None

    def end(self, how: signal.Signals | None = None) -> int:
        """Wait for its end, or ask for it; the exit code. Raises when it failed though nothing was wrong."""
        if how is not None:
            self._process.send_signal(how)
        self._process.communicate()
        self._watchdog.cancel()
        code = self._process.returncode
        # A process whose write fails may give up by itself.
        if code and not self._fault:
            raise AssertionError(f"exit code {code}")
        return code


class _Server(Protocol):
    """A process that serves one seat."""

    def start(self, fault: str) -> bool: ...
    def send(self, tool: str, arguments: dict[str, Any], key: str) -> Any: ...
    def end(self) -> int: ...


class _Stdio:
    """`tradefair serve`."""

    def __init__(self, shim: Path, folder: Path, seed: int) -> None:
        self._shim, self._folder, self._seed = shim, folder, seed
        self._process: _Process | None = None

    def start(self, fault: str) -> bool:
        """Whether it came up; from its trace where there is one, as a desktop client starts it."""
        given = (*_GAME, "--seat", _SEAT, "--seed", str(self._seed), "--out", self._folder, "--continue")
        self._process = _Process(self._shim, fault, "serve", *given)
        up = self._request("initialize", _HELLO) is not None
        self._process.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return up

    def send(self, tool: str, arguments: dict[str, Any], key: str) -> Any:
        """The answer; None once it is dead."""
        answer = self._request("tools/call", {"name": tool, "arguments": arguments, "_meta": {_KEY: key}})
        return answer and answer["result"]

    def end(self) -> int:
        """Its exit code: it may be killed as late as here."""
        assert self._process is not None
        return self._process.end()

    def _request(self, method: str, params: Mapping[str, Any]) -> Any:
        assert self._process is not None
        self._process.write(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
        return self._process.line()


class _Host:
    """`tradefair host` with one episode and one seat."""

    def __init__(self, shim: Path, folder: Path, seed: int) -> None:
        self._shim, self._folder, self._seed, self._tries = shim, folder, seed, 0
        self._told = folder.parent / f"{folder.name}_told"
        self._token: str | None = None
        self._process: _Process | None = None
        self._url = ""

    def start(self, fault: str) -> bool:
        """Whether it came up. A host that died before it told its token is begun again in another folder."""
        if self._token is None:
            self._tries += 1
            given = (*_GAME, "--seed", str(self._seed), "--seats", _SEAT, "--out", self._folder / str(self._tries))
        else:
            given = ("--resume", self._folder / str(self._tries))
        self._process = _Process(
            self._shim, fault, "host", *given, "--json", "--port", "0", *options_file(self._told, rate=0, linger=LONG)
        )
        ready = self._process.line()
        if ready is None:
            return False
        self._url = ready["url"]
        self._token = self._token or ready["episodes"][0]["seats"][0]["token"]
        return True

    def send(self, tool: str, arguments: dict[str, Any], key: str) -> Any:
        """The answer; None once it is dead."""
        params = {"name": tool, "arguments": arguments, "_meta": {**_META, _KEY: key}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {**_HEADERS, "Mcp-Name": tool, "Authorization": f"Bearer {self._token}"}
        try:
            answer = httpx2.post(self._url, json=body, headers=headers, timeout=LONGER)
        except httpx2.HTTPError:
            return None
        return answer.json()["result"]

    def end(self) -> int:
        """Its exit code: it may be killed as late as here."""
        assert self._process is not None
        return self._process.end(signal.SIGTERM)


_COMMANDS: list[tuple[str, dict[str, Any]]] = [
    command
    for number in range(1, _ROUNDS + 1)
    for command in (
        ("add_note", {"text": f"round {number}"}),
        ("execute_code", {"code": f"view_my_value()['value'] + {number}"}),
        ("submit_quote", {"price": 10_000_000}),
        ("submit_quote", {"price": 30 + number * 7}),
        *([("remove_note", {"number": number - 1})] if number > 1 and number < _ROUNDS else []),
    )
]


def _served(server: _Server, luck: random.Random, most: int, folder: Path) -> Count:
    """One episode to its end, with at most so many kills on the way."""
    answers: dict[str, Any] = {}
    complaints: list[str] = []
    kills, done = 0, False
    while not done:
        up = server.start(_fault(luck) if kills < most else "")
        done = up and _sent(server, answers, complaints)
        kills += server.end() == _KILLED
    trace = max(_traces(folder), key=lambda path: path.stat().st_mtime_ns)
    return Count(kills, len(answers), [*complaints, *_audit(trace, answers)])


def _fault(luck: random.Random, ways: Sequence[tuple[int, int, int, int]] = _WAYS) -> str:
    what, lasts, how, most = luck.choice(ways)
    return f"{what} {luck.randint(1, most)} {lasts} {how}"


def _sent(server: _Server, answers: dict[str, Any], complaints: list[str]) -> bool:
    """Send all commands from the first on; whether the process has lived to answer the last."""
    for number, (tool, arguments) in enumerate(_COMMANDS):
        key = f"key-{number}"
        while True:
            result = server.send(tool, arguments, key)
            if result is None:
                return False
            told = result["structuredContent"]
            if not (result["isError"] and told["code"] in _AGAIN):
                break
        if result["isError"] and told["code"] == "episode_over":
            continue
        if answers.setdefault(key, told) != told:
            complaints.append(f"{key} was answered {answers[key]} and then {told}")
    return True


def _audit(path: Path, answers: Mapping[str, Any]) -> list[str]:
    """A finished trace against what the client was told."""
    found = verify_file(path)
    said = [] if found.verdict == _SOUND and found.sealed else [f"{path}: {found.verdict}, sealed: {found.sealed}"]
    with open_trace(path) as trace:
        keys = {row.seq: row.call_key for row in trace.side() if row.call_key is not None}
        stored = {event["seq"]: event["error"] or event["result"] for event in trace.decoded() if event["seq"] in keys}
    said += [f"{path}: {key} is there {times} times" for key, times in Counter(keys.values()).items() if times > 1]
    by_key = {key: stored[seq] for seq, key in keys.items()}
    said += [f"{path}: {key} is lost" for key in answers if key not in by_key]
    said += [f"{path}: {key} is not what was told" for key, told in answers.items() if by_key.get(key, told) != told]
    return said


def _played(shim: Path, luck: random.Random, most: int, folder: Path) -> Count:
    """`play`, killed and resumed, beside the same run that was left alone."""
    seed = str(luck.randrange(10_000))
    game = ("double_auction", "--set", "rounds=6", "--seed", seed, "--no-references", "--model", "policy:truthful")
    _Process(shim, "", "play", *game, "--out", folder / "whole").end()
    kills = 0
    while True:
        traces = _traces(folder / "cut")
        given = ("--resume", traces[0]) if traces else (*game, "--out", folder / "cut")
        code = _Process(shim, _fault(luck) if kills < most else "", "play", *given).end()
        if not code:
            break
        kills += code == _KILLED
    whole, cut = (_traces(folder / name)[0] for name in ("whole", "cut"))
    found = verify_file(cut)
    wrong = [] if found.verdict == _SOUND and found.sealed else [f"play: {found.verdict}, sealed: {found.sealed}"]
    # Not byte for byte: a graph that is resumed after the first round looks at the notes of its predecessor.
    if _course(whole) != _course(cut):
        wrong.append(f"play, seed {seed}: another course")
    return Count(kills, len(_bodies(cut)), wrong)


def _swept(shim: Path, luck: random.Random, most: int, folder: Path) -> Count:
    """`sweep`, killed and begun again, beside the same sweep that was left alone."""
    folder.mkdir(parents=True)
    (folder / "plan.toml").write_text(PLAN)
    sweep = ("sweep", folder / "plan.toml", "--executor", "local")
    _Process(shim, "", *sweep, "--out", folder / "whole").end()
    kills = 0
    while code := _Process(
        shim, _fault(luck, _WHOLE_WAYS) if kills < most else "", *sweep, "--out", folder / "cut"
    ).end():
        kills += code == _KILLED
    whole, cut = ({path.name: _bodies(path) for path in _traces(folder / name)} for name in ("whole", "cut"))
    return Count(kills, sum(map(len, cut.values())), [] if whole == cut and cut else ["sweep: other traces"])


def _traces(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.trace"))


def _course(path: Path) -> list[tuple[Any, ...]]:
    """What was done, in order, and what followed: all events but looks, without their numbers."""
    with open_trace(path) as trace:
        told = ({key: event[key] for key in event if key not in ("seq", "call")} for event in trace.decoded())
        return [tuple(sorted(event.items(), key=str)) for event in told if event.get("kind") != "read"]


def _bodies(path: Path) -> list[bytes]:
    with open_trace(path) as trace:
        return [stored.body for stored in trace.events()]


def campaign(
    shim: Path, count: int, folder: Path, seed: int, names: Sequence[str] = NAMES
) -> Iterator[tuple[str, Count]]:
    """Kill each of the four so many times; what came of it, by name."""
    luck = random.Random(seed)
    for name in names:
        kills, acknowledged, complaints, number, missed = 0, 0, list[str](), 0, 0
        while kills < count:
            # A shim that is asked for calls that nobody makes would be waited for without end.
            assert missed < _MOST_MISSED, f"{name}: no fault strikes any more"
            number += 1
            place, most = folder / f"{name}-{number}", min(count - kills, 8)
            if name == "play":
                more = _played(shim, luck, most, place)
            elif name == "sweep":
                more = _swept(shim, luck, most, place)
            else:
                made = (_Host if name == "host" else _Stdio)(shim, place, luck.randrange(10_000))
                more = _served(made, luck, most, place)
            missed = 0 if more.kills else missed + 1
            kills, acknowledged = kills + more.kills, acknowledged + more.acknowledged
            complaints += more.complaints
        yield name, Count(kills, acknowledged, complaints)


def build(folder: Path) -> Path:
    """The shim, built for this machine by `cc`. Raises FileNotFoundError, CalledProcessError."""
    built = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(built), str(source), "-ldl"]
    subprocess.run(command, check=True, capture_output=True, timeout=LONGER)
    return built


def main() -> int:
    """Print what came of so many kills; exit code 1 when anything was lost, doubled or answered otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="kills in all (default: 200)")
    parser.add_argument("--only", choices=NAMES, help="kill this one only")
    parser.add_argument("--seed", type=int, default=1, help="of where they strike")
    given = parser.parse_args()
    broken = 0
    with tempfile.TemporaryDirectory() as place:
        names = [given.only] if given.only else NAMES
        share = -(-given.count // len(names))
        for name, count in campaign(build(Path(place)), share, Path(place), given.seed, names):
            sys.stdout.write(json.dumps({"what": name, **count._asdict()}) + "\n")
            sys.stdout.flush()
            broken += len(count.complaints)
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())

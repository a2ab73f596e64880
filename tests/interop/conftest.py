"""The MCP Inspector, installed once into a cache outside the repository: a stranger's client in another language.

Inspector 2 needs Node 22.19, which npm can bring along; on older Nodes npm gives 0.15, which knows neither protocol
eras nor HTTP headers nor the strict check. Both are tried; what cannot be had is skipped with the reason.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

CURRENT = "@modelcontextprotocol/inspector@2"
OLD = "@modelcontextprotocol/inspector@0.15"
NODE_NEEDED = (22, 19)
INSTALL_S = 300
RUN_S = 60
TRADEFAIR = Path(sys.executable).parent / "tradefair"


class Unavailable(Exception):
    """Why an inspector cannot be had here."""


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tradefair-interop"


def installed(name: str, *packages: str) -> Path:
    """The folder with these npm packages. Raises Unavailable."""
    folder = cache_folder() / name
    reason = "" if folder.is_dir() else install(folder, *packages)
    if reason:
        raise Unavailable(reason)
    return folder


@cache
def install(folder: Path, *packages: str) -> str:
    """Put npm packages into `folder`, wholly or not at all; why that failed. Tried once: a dead registry is slow."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as parent:
        draft = Path(parent) / "packages"
        command = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(draft), *packages]
        try:
            done = subprocess.run(command, capture_output=True, timeout=INSTALL_S, check=False)
        except subprocess.TimeoutExpired:
            return "the npm registry does not answer"
        if done.returncode:
            told = (done.stderr.decode().strip() or "no reason given").splitlines()
            return f"npm cannot install {' '.join(packages)}: {'; '.join(told[:3])[:300]}"
        os.rename(draft, folder)
    return ""


def system_node() -> str:
    node = shutil.which("node")
    if node is None:
        raise Unavailable("Node is not installed")
    return node


def version_of(node: str) -> tuple[int, ...]:
    told = subprocess.run([node, "--version"], capture_output=True, timeout=RUN_S, check=True).stdout.decode()
    return tuple(map(int, re.findall(r"\d+", told)))


@cache
def current_command() -> tuple[str, ...]:
    """How to start inspector 2. Raises Unavailable."""
    node = system_node()
    if version_of(node) < NODE_NEEDED:
        folder = installed("current", "node@22", CURRENT)
        node = str(folder / "node_modules/.bin/node")
        if not os.access(node, os.X_OK):
            raise Unavailable("npm did not bring Node 22 (its install scripts may be switched off)")
    else:
        folder = installed("current-alone", CURRENT)
    return (node, str(folder / "node_modules/.bin/mcp-inspector"), "--cli")


@cache
def old_command() -> tuple[str, ...]:
    """How to start inspector 0.15. Raises Unavailable."""
    node = system_node()
    return (node, str(installed("old", OLD) / "node_modules/.bin/mcp-inspector"), "--cli")


class Said(NamedTuple):
    """What one run printed."""

    code: int
    output: Any
    errors: str

    @property
    def result(self) -> Any:
        """The MCP result."""
        assert self.output is not None, self.errors
        return self.output.get("result", self.output)

    @property
    def data(self) -> Any:
        """A tool's structured content."""
        return self.result["structuredContent"]


class Reach(NamedTuple):
    """How to reach a seat: a command with its environment, or a URL with a token."""

    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    url: str = ""
    token: str = ""


class Inspector:
    """One version of the command line in one protocol era; every call is a process of its own."""

    def __init__(self, command: tuple[str, ...], era: str, home: Path) -> None:
        self.era = era
        self._command = command
        self._home = home

    def run(self, reach: Reach, method: str, *more: str) -> Said:
        """One MCP request."""
        options = () if self.era == "old" else ("--format", "json", "--stored-auth-only", "--protocol-era", self.era)
        command = [*self._command, *self._target(reach), "--method", method, *more, *options]
        environment = {**os.environ, "HOME": str(self._home)}
        done = subprocess.run(command, capture_output=True, timeout=RUN_S, env=environment, check=False)
        output = orjson.loads(done.stdout) if done.stdout.strip() else None
        return Said(done.returncode, output, done.stderr.decode())

    def call(self, reach: Reach, tool: str, **arguments: object) -> Said:
        """One tool call."""
        given: tuple[str, ...] = ()
        if self.era == "old":
            given = tuple(word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}"))
        elif arguments:
            given = ("--tool-args-json", orjson.dumps(arguments).decode())
        return self.run(reach, "tools/call", "--tool-name", tool, *given)

    def _target(self, reach: Reach) -> tuple[str, ...]:
        if reach.command:
            variables = (word for name, value in reach.environment.items() for word in ("-e", f"{name}={value}"))
            return (*variables, *reach.command)
        if self.era == "old":  # it can send no header: the shim stands for the seat
            shim = (str(TRADEFAIR), "connect", reach.url)
            return self._target(Reach(shim, {"TRADEFAIR_TOKEN": reach.token}))
        header = ("--header", f"Authorization: Bearer {reach.token}") if reach.token else ()
        return (reach.url, *header)


def open_inspector(command: Callable[[], tuple[str, ...]], era: str, home: Path) -> Inspector:
    try:
        return Inspector(command(), era, home)
    except Unavailable as reason:
        pytest.skip(f"no MCP Inspector: {reason}")


@pytest.fixture(params=["legacy", "modern", "old"])
def inspector(request: pytest.FixtureRequest, tmp_path: Path) -> Inspector:
    """Inspector 2 in either era, and 0.15."""
    home = tmp_path / "home"
    home.mkdir()
    return open_inspector(old_command if request.param == "old" else current_command, request.param, home)


@pytest.fixture(params=["legacy", "modern"])
def strict_inspector(request: pytest.FixtureRequest, tmp_path: Path) -> Inspector:
    """Inspector 2, which can check schemas."""
    return open_inspector(current_command, request.param, tmp_path)


class StdioSeat:
    """Seat B1 of a smoke episode, served by a new process for each request."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def reach(self) -> Reach:
        found = list(self._folder.glob("*.trace"))
        if found:
            return Reach((str(TRADEFAIR), "serve", "--resume", str(found[0])))
        game = ("double_auction", "--scenario", "smoke", "--others", "truthful", "--seed", "7")
        return Reach((str(TRADEFAIR), "serve", *game, "--out", str(self._folder)))

    @property
    def trace(self) -> Path:
        (found,) = self._folder.glob("*.trace")
        return found


@pytest.fixture
def stdio_seat(tmp_path: Path) -> StdioSeat:
    return StdioSeat(tmp_path / "stdio")


class HostedGame(NamedTuple):
    """A host with seats B1 and S1 of a smoke episode."""

    url: str
    trace: Path
    tokens: Mapping[str, str]

    def reach(self, seat: str) -> Reach:
        return Reach(url=self.url, token=self.tokens[seat])


@contextmanager
def host_game(folder: Path) -> Generator[HostedGame]:
    """A host process; gone at the end."""
    game = ("double_auction", "--scenario", "smoke", "--seats", "B1,S1", "--others", "truthful", "--seed", "7")
    command = [TRADEFAIR, "host", *game, "--json", "--out", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            ready = orjson.loads(process.stdout.readline())
            (episode,) = ready["episodes"]
            tokens = {seat["seat"]: seat["token"] for seat in episode["seats"]}
            yield HostedGame(ready["url"], Path(episode["trace"]), tokens)
        finally:
            process.terminate()
            process.wait(RUN_S)


@pytest.fixture
def hosted_game(tmp_path: Path) -> Iterator[HostedGame]:
    with host_game(tmp_path / "host") as game:
        yield game


@pytest.fixture
def foreign_token(tmp_path: Path) -> Iterator[str]:
    """A good token of B1, of another host."""
    with host_game(tmp_path / "elsewhere") as game:
        yield game.tokens["B1"]

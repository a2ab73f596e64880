"""The MCP Inspector: a stranger's client in another language.

Inspector 2 needs Node 22.19, which npm can bring along; on older Nodes npm gives 0.15, which knows neither protocol
eras nor HTTP headers nor the strict check. Both are tried; what cannot be had is skipped with the reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from tests.interop.environments import Unavailable, environment, node_at_least, node_packages, npm_version, system_node
from tests.interop.hosting import TRADEFAIR, Hosted, Reach, hosted
from tests.interop.page import Cell, write_page
from tests.waiting import LONG

PAGE = "INTEROP_PAGE"  # where `make interop` wants the page of what was tried
CURRENT = "@modelcontextprotocol/inspector@2"
OLD = "@modelcontextprotocol/inspector@0.15"


def current_command() -> tuple[str, ...]:
    """How to start inspector 2. Raises Unavailable."""
    folder = environment("inspector", node_packages, (CURRENT,))
    return (node_at_least(22, 19), str(folder / "node_modules/.bin/mcp-inspector"), "--cli")


def old_command() -> tuple[str, ...]:
    """How to start inspector 0.15. Raises Unavailable."""
    folder = environment("inspector-old", node_packages, (OLD,))
    return (system_node(), str(folder / "node_modules/.bin/mcp-inspector"), "--cli")


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


class Inspector:
    """One version of the command line in one protocol era; every call is a process of its own."""

    def __init__(self, command: tuple[str, ...], era: str, home: Path) -> None:
        self.era = era
        self._command = command
        self._home = home

    @property
    def label(self) -> str:
        """Its version and the protocol era."""
        version = npm_version(Path(self._command[1]).parents[2], "@modelcontextprotocol/inspector")
        return f"MCP Inspector {version}" + ("" if self.era == "old" else f", {self.era} era")

    def run(self, reach: Reach, method: str, *more: str) -> Said:
        """One MCP request."""
        options = () if self.era == "old" else ("--format", "json", "--stored-auth-only", "--protocol-era", self.era)
        command = [*self._command, *self._target(reach), "--method", method, *more, *options]
        environment = {**os.environ, "HOME": str(self._home)}
        done = subprocess.run(command, capture_output=True, timeout=LONG, env=environment, check=False)
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


GAME = ("double_auction", "--scenario", "smoke", "--seats", "B1,S1", "--others", "truthful", "--seed", "7")


@pytest.fixture
def hosted_game(tmp_path: Path) -> Iterator[Hosted]:
    """A host with seats B1 and S1 of a smoke episode."""
    with hosted(tmp_path / "host", *GAME) as host:
        yield host


@pytest.fixture
def foreign_token(tmp_path: Path) -> Iterator[str]:
    """A good token of B1, of another host."""
    with hosted(tmp_path / "elsewhere", *GAME) as host:
        yield host.tokens["B1"]


class _Page:
    """Gathers what the tests recorded, and writes the page at the end of the run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cells: list[Cell] = []
        self._further: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties if report.when == "call" else ():
            if isinstance(value, Cell):
                self._cells.append(value)
            elif name == "further":
                self._further[f"{value}{'' if report.passed else ': fails'}"] = None

    def pytest_sessionfinish(self) -> None:
        write_page(self._path, self._cells, list(self._further), ".".join(map(str, sys.version_info[:2])))


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get(PAGE):
        config.pluginmanager.register(_Page(Path(os.environ[PAGE])))

"""Command-line clients of others read what `tradefair config --write` put into their files, and open the seat.

Each runs its own `mcp list`, without a key, in a home of its own. Three of them connect to every server that they list;
Codex only reads its file.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.interop.environments import Unavailable, environment, node_packages, npm_version
from tests.interop.hosting import TRADEFAIR, Hosted
from tests.options_files import options_file
from tests.waiting import LONG

pytestmark = pytest.mark.interop


class CommandLine(NamedTuple):
    """One client: its npm package, its command, what it prints of a server that it has opened or could not open."""

    package: str
    command: str
    connected: str = ""
    failed: str = ""
    variables: Mapping[str, str] = {}
    settings: Mapping[str, object] = {}


# A project's servers wait for a person's consent: for Claude Code a setting of the user, for Gemini a variable.
KNOWN = {
    "claude-code": CommandLine(
        "@anthropic-ai/claude-code",
        "claude",
        "Connected",
        "Failed to connect|Needs authentication",
        settings={".claude/settings.json": {"enableAllProjectMcpServers": True}},
    ),
    "gemini": CommandLine(
        "@google/gemini-cli", "gemini", "- Connected", "Disconnected", {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    ),
    "codex": CommandLine("@openai/codex", "codex"),
    "opencode": CommandLine("opencode-ai", "opencode", "connected", "failed"),
}


class Stage:
    """A client with a home and a project of its own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.client = name, KNOWN[name]
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        for file, content in self.client.settings.items():
            (self.home / file).parent.mkdir(parents=True)
            (self.home / file).write_text(json.dumps(content))

    def run(self, *command: str | Path, **variables: str) -> str:
        """What a command prints, without colours; its token is in no file of this stage."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        environment = {**kept, **self.client.variables, **variables, "HOME": str(self.home)}
        done = subprocess.run(
            command,
            cwd=self.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=3 * LONG,
            check=False,
        )
        said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout.decode())
        assert done.returncode == 0, said
        return said

    def config(self, *arguments: str) -> None:
        """Write a seat into the client's own file."""
        assert "written" in self.run(TRADEFAIR, "config", "--client", self.name, "--write", *arguments)

    @property
    def label(self) -> str:
        """Its command, and its version."""
        folder = environment(self.client.command, node_packages, (self.client.package,))
        return f"`{self.client.command} mcp list`, {npm_version(folder, self.client.package)}"

    def list(self, **variables: str) -> str:
        """The client's `mcp list`."""
        folder = environment(self.client.command, node_packages, (self.client.package,))
        return self.run(folder / "node_modules" / ".bin" / self.client.command, "mcp", "list", **variables)


@pytest.fixture(params=KNOWN)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    client = KNOWN[request.param]
    try:
        environment(client.command, node_packages, (client.package,))
    except Unavailable as reason:
        pytest.skip(f"no {client.command}: {reason}")
    return Stage(request.param, tmp_path)


def test_a_written_server_is_listed_and_starts(stage: Stage, record_property: Any) -> None:
    record_property(
        "further", f"{stage.label}: lists {'and opens ' if stage.client.connected else ''}what config wrote"
    )
    stage.config("teaching", *options_file(stage.home, seed=3))
    said = stage.list()
    assert "tradefair-teaching" in said
    assert re.search(stage.client.connected, said), said
    # Looking whether a server answers begins no episode.
    assert not list(stage.project.rglob("*.trace"))


def test_a_recorded_server_starts_and_what_the_client_said_is_in_a_trace(stage: Stage, record_property: Any) -> None:
    record_property("further", f"{stage.label}: starts a recorder in front of the reference server")
    try:
        folder = environment("everything", node_packages, ("@modelcontextprotocol/server-everything",))
    except Unavailable as reason:
        pytest.skip(f"no reference server: {reason}")
    stage.config("--record", "desk", "--", str(folder / "node_modules" / ".bin" / "mcp-server-everything"))
    said = stage.list()
    assert "desk" in said
    assert re.search(stage.client.connected, said), said
    traces = list(stage.project.rglob("desk-*.trace"))
    # Codex only reads its file.
    assert bool(traces) == bool(stage.client.connected)
    if traces:
        done = stage.run(TRADEFAIR, "trace", str(traces[0]))
        assert "recorded" in done


def test_a_hosted_seat_opens_with_the_token_of_the_environment_and_with_no_other(
    stage: Stage, hosted_game: Hosted
) -> None:
    stage.config("--url", hosted_game.url)
    token = hosted_game.tokens["B1"]
    said = stage.list(TRADEFAIR_TOKEN=token)
    assert hosted_game.url in said
    assert re.search(stage.client.connected, said), said
    if stage.client.failed:
        said = stage.list(TRADEFAIR_TOKEN="tf_wrong")
        assert re.search(stage.client.failed, said), said
    else:
        # Codex only reads: it knows that the variable holds a bearer token.
        assert re.search(r"TRADEFAIR_TOKEN +enabled +Bearer token", said), said
    held = [file for folder in (stage.home, stage.project) for file in folder.rglob("*") if file.is_file()]
    assert held
    assert not [file for file in held if token.encode() in file.read_bytes()]

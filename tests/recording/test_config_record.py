"""What `config --record` prints for a client starts the recorder, and a session of it is a trace."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.recording.http_kit import events
from tests.recording.test_http_sdk import sdk_server

from tradefair.cli import run

SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("small")
@server.tool()
def echo(text: str) -> str:
    return text
server.run()
"""


def tools_called(folder: Path) -> list[str]:
    """The tools of all calls in the one trace of a folder."""
    (trace,) = folder.glob("desk-*.trace")
    return [event["tool"] for event in events(trace) if event["event"] == "tool_called"]


@pytest.mark.process
@pytest.mark.parametrize("client", ["claude", "vscode", "cursor"])
async def test_the_printed_command_starts_the_server_through_a_recorder(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.py").write_text(SERVER)
    command = [sys.executable, str(tmp_path / "server.py")]
    assert run(["config", "--record", "desk", "--client", client, "--json", "--", *command]) == 0
    told = json.loads(capsys.readouterr().out)
    made = told["content"][told["key"]]["desk"]
    started = StdioServerParameters(command=made["command"], args=made["args"])
    async with Client(stdio_client(started)) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["echo"]
        await session.call_tool("echo", {"text": "a"})
    assert tools_called(tmp_path / "runs") == ["echo"]


async def test_the_printed_line_starts_the_recorder_that_the_printed_address_is_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], unused_tcp_port: int
) -> None:
    monkeypatch.chdir(tmp_path)
    with sdk_server("json") as port:
        url = ["--url", f"http://127.0.0.1:{port}/mcp", "--port", str(unused_tcp_port)]
        assert run(["config", "--record", "desk", "--client", "claude-code", "--json", *url]) == 0
        told = json.loads(capsys.readouterr().out)
        line = told["token"].partition("tradefair ")[2].partition(";")[0].split()
        command = [sys.executable, "-m", "tradefair.cli", *line]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as recorder:
            assert recorder.stderr is not None
            assert b"recording" in recorder.stderr.readline()
            async with Client(streamable_http_client(told["content"]["mcpServers"]["desk"]["url"])) as session:
                await session.call_tool("echo", {"text": "a"})
            recorder.terminate()
    assert tools_called(tmp_path / "runs") == ["echo"]

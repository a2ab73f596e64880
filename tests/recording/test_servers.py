"""Servers and clients of others with the recorder between them: the SDK in both eras, and a server from npm."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client as SdkClient
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.interop.environments import Unavailable, environment, node_packages
from tests.recording.test_stdio import PYTHON, check, client, codes, only_trace

from tradefair.tracestore import open_trace

EVERYTHING = "@modelcontextprotocol/server-everything"
SERVER = """
from mcp.server.mcpserver import MCPServer, Context
server = MCPServer("shop")

@server.tool()
def get_order(number: int) -> dict[str, int]:
    "An order."
    if number > 2:
        raise ValueError("no such order")
    return {"number": number}

server.run("stdio")
"""


def recording(out: Path, *command: str) -> list[str]:
    return ["-m", "tradefair.cli", "record", "--out", str(out), "--", *command]


@pytest.mark.process
@pytest.mark.parametrize(("mode", "protocol"), [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")])
async def test_a_session_of_the_sdk_is_recorded_in_either_era(tmp_path: Path, mode: Any, protocol: str) -> None:
    answers: list[list[Any]] = []
    for arguments in (["-c", SERVER], recording(tmp_path, PYTHON, "-c", SERVER)):
        server = stdio_client(StdioServerParameters(command=PYTHON, args=arguments))
        async with SdkClient(server, mode=mode) as session:
            tools = (await session.list_tools()).model_dump(mode="json")
            calls = [(await session.call_tool("get_order", {"number": number})) for number in range(4)]
            answers.append([tools, *(call.model_dump(mode="json") for call in calls)])
    assert answers[0] == answers[1]
    path = only_trace(tmp_path)
    check(path)
    assert codes(path) == ["ok", "ok", "ok", "tool_error"]
    with open_trace(path) as trace:
        about, seating = trace.manifest.about, trace.seating()
    assert [tool["name"] for tool in about["tools"]] == ["get_order"]
    assert (about["source"]["protocol"], seating.players["client"].label) == (protocol, "mcp 0.1.0")


@pytest.mark.interop
def test_ten_thousand_calls_of_a_server_from_npm_give_the_same_bytes(tmp_path: Path) -> None:
    try:
        folder = environment("server-everything", node_packages, (EVERYTHING,))
    except Unavailable as reason:
        pytest.skip(str(reason))
    server = [str(folder / "node_modules" / ".bin" / "mcp-server-everything"), "stdio"]
    seen: list[str] = []
    for command in (server, [PYTHON, *recording(tmp_path, *server)]):
        with client(command) as made:
            digest = hashlib.sha256()
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            made.send({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": hello})
            made.line()
            made.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            for number in range(10_000):
                line = made.call(number, "echo", message=f"call {number} ☃")
                # Notices of the server may come at any time.
                while json.loads(line).get("id") != number:
                    line = made.line()
                digest.update(line)
            made.end()
            seen.append(digest.hexdigest())
    assert seen[0] == seen[1]
    check(only_trace(tmp_path))
    assert codes(only_trace(tmp_path)) == ["ok"] * 10_000

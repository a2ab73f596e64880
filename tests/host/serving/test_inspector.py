"""The MCP Inspector's command line as a client: a stranger's code, with its strict check of the schemas."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncGenerator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

pytestmark = pytest.mark.interop

NPX = shutil.which("npx")
# The inspector needs Node 22, which npm can bring along.
INSPECTOR = ("--yes", "-p", "node@22", "-p", "@modelcontextprotocol/inspector@2", "--", "mcp-inspector", "--cli")
ERAS = ("legacy", "modern")


@cache
def missing() -> str:
    """Why the inspector cannot be run here; empty when it can."""
    if NPX is None:
        return "npx is not installed"
    try:
        probe = subprocess.run([NPX, *INSPECTOR, "--help"], capture_output=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return "the npm registry does not answer"
    return "" if probe.returncode == 0 else f"the inspector does not start: {probe.stderr[-200:].decode()!r}"


def inspect(*arguments: str) -> tuple[Any, str]:
    """What the inspector prints, and what it says beside it."""
    assert NPX is not None
    done = subprocess.run([NPX, *INSPECTOR, *arguments], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return orjson.loads(done.stdout), done.stderr.decode()


@pytest.fixture(autouse=True)
def needed() -> None:
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture
async def hosted(stage: Any, tmp_path: Path) -> AsyncGenerator[tuple[str, ...]]:
    """The inspector's arguments for a hosted seat."""
    process = await asyncio.create_subprocess_exec(
        stage.fairground, "host", "teaching", "--seats", "P1", "--json", "--out", tmp_path, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    ready = orjson.loads(await stage.within(process.stdout.readline()))
    token = ready["episodes"][0]["seats"][0]["token"]
    yield ("--server-url", ready["url"], "--transport", "http", "--header", f"Authorization: Bearer {token}")
    process.terminate()
    await stage.within(process.wait())


@pytest.mark.parametrize("era", ERAS)
def test_it_lists_and_plays_over_stdio(stage: Any, tmp_path: Path, era: str) -> None:
    server = (
        "--protocol-era",
        era,
        str(stage.fairground),
        "serve",
        "teaching",
        "--others",
        "half",
        "--out",
        str(tmp_path),
    )
    listed, said = inspect("--method", "tools/list", "--strict", *server)
    assert "claim" in {tool["name"] for tool in listed["tools"]}
    assert "Error:" not in said
    played, _ = inspect("--method", "tools/call", "--tool-name", "claim", "--tool-arg", "slices=5", *server)
    assert played["structuredContent"] == {"round": 1, "sealed": "claim"}


@pytest.mark.parametrize("era", ERAS)
async def test_it_lists_and_plays_over_http_with_a_token(hosted: tuple[str, ...], era: str) -> None:
    there = (*hosted, "--protocol-era", era)
    listed, _ = await asyncio.to_thread(inspect, *there, "--method", "tools/list", "--strict")
    assert "claim" in {tool["name"] for tool in listed["tools"]}
    call = ("--method", "tools/call", "--tool-name", "claim", "--tool-arg", "slices=5")
    played, _ = await asyncio.to_thread(inspect, *there, *call)
    assert played["structuredContent"] == {"round": 1, "sealed": "claim"}
    read, _ = await asyncio.to_thread(inspect, *there, "--method", "resources/read", "--uri", "market://view_turn")
    assert orjson.loads(read["contents"][0]["text"])["round"] == 2

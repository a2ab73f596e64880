"""The bundle for desktop clients: what its manifest says, and that its command seats a client where it is unpacked."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import tomllib
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from mcp import Client, StdioServerParameters
from release.bundle.server import arguments
from release.pack import SOURCES, TOOL, lay_out, pack
from release.wheel import build
from tests.interop.environments import Unavailable, environment, node_packages, system_node
from tests.release.reach import uv
from tests.waiting import LONGER

from tradefair.catalog import market_names
from tradefair.evaluation.prove.verify import verify_file
from tradefair.tracestore import find_traces

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# The official tool's own function, which clients call: a manifest and what a person chose become a command.
CONFIGURE = """
import { getMcpConfigForManifest } from "@anthropic-ai/mcpb";
import { readFileSync } from "node:fs";
const [folder, home, chosen] = process.argv.slice(-3);
const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`, "utf-8"));
const given = { manifest, extensionPath: folder, systemDirs: { HOME: home }, pathSeparator: "/" };
console.log(JSON.stringify(await getMcpConfigForManifest({ ...given, userConfig: JSON.parse(chosen) })));
"""


def manifest() -> Any:
    return orjson.loads((SOURCES / "manifest.json").read_bytes())


def test_the_manifest_says_what_the_project_says() -> None:
    found = manifest()
    assert (found["name"], found["version"]) == (PROJECT["name"], PROJECT["version"])
    assert (found["description"], found["license"]) == (PROJECT["description"], PROJECT["license"])
    assert found["compatibility"]["runtimes"]["python"] == PROJECT["requires-python"]
    assert (found["manifest_version"], found["server"]["type"]) == ("0.4", "uv")
    asked = found["user_config"]
    assert sorted(asked) == ["folder", "market", "seat"]
    assert re.findall(r"\w+_?\w+", asked["market"]["description"].replace(" or ", " ")) == market_names()
    # A person who is asked nothing can begin: every field has a default.
    assert [name for name, field in asked.items() if field["required"] or "default" not in field] == []
    assert "**Privacy**" in found["long_description"]
    assert len(found["prompts"]) == 3


def test_the_icon_is_as_large_as_clients_want_it() -> None:
    head = (SOURCES / manifest()["icon"]).read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:]) == (512, 512)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--market=retail", "--seat=owner", "--out=/traces"], ["retail", "--out=/traces", "--seat=owner"]),
        # What some clients hand over where nothing was chosen.
        (["--market=", "--seat=", "--out="], ["double_auction", "--out=/home/a/tradefair"]),
        (["--market=${user_config.market}", "--seat=${user_config.seat}", "--out=${HOME}/x"],
         ["double_auction", "--out=/home/a/x"]),
        ([], ["double_auction", "--out=/home/a/tradefair"]),
        # A value with a sign of its own stays one word.
        (["--seat=a=b --others=x"], ["double_auction", "--out=/home/a/tradefair", "--seat=a=b --others=x"]),
    ],
)  # fmt: skip
def test_what_a_person_chose_becomes_a_line_of_serve(given: list[str], words: list[str]) -> None:
    market, out, *more = words
    assert arguments(given, Path("/home/a")) == ["serve", market, out, "--continue", *more]


# --- packed ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tool() -> Path:
    """The folder where npm has put the official tool."""
    try:
        system_node()
        return environment("mcpb", node_packages, (TOOL,))
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def unpacked(tool: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle, packed and unpacked by the official tool."""
    folder = tmp_path_factory.mktemp("bundle")
    lay_out(folder / "laid", build(folder))
    pack(folder / "laid", folder / "tradefair.mcpb")
    command = [
        str(tool / "node_modules" / ".bin" / "mcpb"),
        "unpack",
        str(folder / "tradefair.mcpb"),
        str(folder / "x"),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=LONGER)
    return folder / "x"


def configured(tool: Path, folder: Path, home: Path, chosen: Mapping[str, str]) -> StdioServerParameters:
    """The command with which a desktop client starts the unpacked bundle."""
    script = tool / "configure.mjs"
    script.write_text(CONFIGURE, encoding="utf-8")
    command = [system_node(), str(script), str(folder), str(home), orjson.dumps(dict(chosen)).decode()]
    said = subprocess.run(command, check=True, capture_output=True, timeout=LONGER)
    found = orjson.loads(said.stdout)
    # uv as a client brings it along; of this environment only how packages are reached.
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_", "HTTP"))}
    env = {**kept, "PATH": f"{uv().parent}:/usr/local/bin:/usr/bin:/bin", "HOME": str(home), **found.get("env", {})}
    return StdioServerParameters(command=str(uv().parent / found["command"]), args=found["args"], env=env)


@pytest.mark.interop
@pytest.mark.parametrize("chosen", [{"market": "teaching", "seat": "P1", "folder": "traces"}, {}])
async def test_its_command_seats_a_client_and_goes_on_after_a_restart(
    chosen: dict[str, str], tool: Path, unpacked: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    traces = home / "tradefair"
    if chosen:
        traces = tmp_path / chosen["folder"]
        chosen = {**chosen, "folder": str(traces)}
    server = configured(tool, unpacked, home, chosen)
    for calls in (1, 2):
        async with Client(server, read_timeout_seconds=LONGER) as client:
            assert {"view_rules", "view_turn", "await_turn"} < {tool.name for tool in (await client.list_tools()).tools}
            seen = await client.call_tool("view_my_value", {}, meta={"tradefair/call-key": str(uuid.uuid4())})
            assert not seen.is_error
            assert await played(client, chosen.get("market", ""))
        (trace,) = find_traces(traces)
        checked = verify_file(trace)
        assert (checked.verdict, checked.sound) == ("reproduced", True), calls


async def played(client: Client, market: str) -> bool:
    """Whether one action was taken."""
    action, values = ("claim", {"slices": 1}) if market == "teaching" else ("submit_quote", {"price": 50})
    return not (await client.call_tool(action, values)).is_error

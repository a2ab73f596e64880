"""One client plays one seat to the end over one transport; what became of it is read from the trace."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.interop.environments import environment, node_at_least, node_packages, python_packages
from tests.interop.hosting import TRADEFAIR, Hosted, hosted
from tests.interop.stacks.model import SCRIPT, ScriptedModel, served
from tests.interop.stacks.table import Stack, Transport
from tests.options_files import options_file
from tests.waiting import LONGER, LONGER_THAN_CLIENTS, deadline_passed

from tradefair.catalog import market_type
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
from tradefair.evaluation.prove.verify import verify_file
from tradefair.tracestore import open_trace

CLIENTS = Path(__file__).parent / "clients"
GAME = ("double_auction", "--scenario", "smoke", "--others", "truthful", "--seed", "7")
# Waits are not in a trace, and some frameworks refuse by themselves what the market would refuse.
FEWEST_CALLS = sum(call.tool != "await_turn" for call in SCRIPT) - 1
_ERROR = re.compile(r"\w(Error|Exception)\b|timed out", re.IGNORECASE)


class Outcome(NamedTuple):
    """How one run went: `problem` is empty where an episode was finished and its trace is reproduced."""

    problem: str
    calls: int = 0
    refused: int = 0
    client: str = ""
    required: int | None = None
    """Optional parameters that the framework shows its model as required; None for a client without a model."""


def play(stack: Stack, transport: Transport, folder: Path) -> Outcome:
    """One run in a `folder` of its own. Raises Unavailable where the client cannot be installed."""
    home = environment(stack.name, python_packages if stack.python else node_packages, stack.packages)
    model = ScriptedModel()
    with served(model) as address:
        variables = {"MODEL_URL": address}
        if transport == "stdio":
            variables["SEAT_COMMAND"] = json.dumps(_configured(folder / "traces"))
            failure = asyncio.run(_run(stack, home, folder, variables))
        else:
            with hosted(folder / "traces", *GAME, "--seats", "B1,S1") as host:
                variables |= {"SEAT_URL": host.url, "SEAT_TOKEN": host.tokens["B1"]}
                failure = asyncio.run(_run(stack, home, folder, variables, _Rival(host, model)))
    (folder / "heard.txt").write_text("\n".join(model.heard))
    return _outcome(folder / "traces", model, failure)


def _configured(traces: Path) -> list[str]:
    """The command that `tradefair config` prints."""
    told = options_file(traces.parent, others="truthful", seed=7)
    command = [TRADEFAIR, "config", *GAME[:3], *told, "--seat", "B1", "--client", "claude", "--out", traces]
    (server,) = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["mcpServers"].values()
    return [server["command"], *server["args"]]


class _Rival:
    """Seat S1: it quotes once the client waits for it, and in the second round later than clients would wait."""

    def __init__(self, host: Hosted, model: ScriptedModel) -> None:
        self.host = host
        self.model = model

    async def play(self) -> None:
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.host.tokens['S1']}"})
        async with http, Client(streamable_http_client(self.host.url, http_client=http)) as client:
            for number in (1, 2, 3):
                await asyncio.to_thread(self.model.waiting.acquire)
                if number == 2:
                    await deadline_passed(LONGER_THAN_CLIENTS)
                await client.call_tool("submit_quote", {"price": 40})


async def _run(
    stack: Stack, home: Path, folder: Path, variables: Mapping[str, str], rival: _Rival | None = None
) -> str:
    """Run the client's script; why it failed, or an empty text."""
    work = folder / "client"
    work.mkdir(parents=True)
    # Node looks for packages beside the script, and scripts write their logs where they run.
    for script in CLIENTS.iterdir():
        if script.is_file():
            shutil.copy(script, work)
    if not stack.python:
        (work / "node_modules").symlink_to(home / "node_modules")
    interpreter = str(home / "bin/python") if stack.python else node_at_least(22, 19)
    playing = None if rival is None else asyncio.create_task(rival.play())
    with (folder / "output.txt").open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            interpreter,
            stack.script,
            cwd=work,
            env=_clean(work) | dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = await asyncio.wait_for(process.wait(), LONGER)
        except TimeoutError:
            return f"still running after {LONGER} s"
        finally:
            if rival is not None and playing is not None:
                # Its thread may still wait for the client.
                rival.model.waiting.release(3)
                playing.cancel()
            _end(process.pid)
    lines = (folder / "output.txt").read_text(errors="replace").strip().splitlines()
    errors = [line for line in lines if _ERROR.search(line)] or lines or ["no output"]
    return "" if code == 0 else f"exit code {code}: {errors[-1].strip(' |')[:300]}"


def _end(group: int) -> None:
    # The client and whatever it started: servers that it left behind too.
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _clean(home: Path) -> dict[str, str]:
    """The environment of somebody who has installed `tradefair`, without this process's Python and real models."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "COV"))}
    kept = {name: value for name, value in kept.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    # Agno starts only programs on the path, also where it is given a whole path. Last: our Python is not theirs.
    path = os.pathsep.join((kept.get("PATH", ""), str(Path(TRADEFAIR).parent)))
    return kept | {"HOME": str(home), "PATH": path, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


def _outcome(traces: Path, model: ScriptedModel, failure: str) -> Outcome:
    found = sorted(traces.rglob("*.trace"))
    if len(found) != 1:
        return Outcome(failure or f"{len(found)} traces instead of one")
    with open_trace(found[0]) as trace:
        events = list(trace.decoded())
        clients = {row.client for row in trace.side() if row.client is not None and row.seat != "S1"}
    own = [event for event in events if event.get("seat") == "B1" and event["event"] == "tool_called"]
    refused = sum(event["status"] != "ok" for event in own)
    ended = events[-1].get("reason") == "terminated:rounds_completed"
    verdict = verify_file(found[0]).verdict
    if not ended:
        problem = failure or "the episode did not end"
    elif verdict != "reproduced":
        problem = f"its trace is {verdict}"
    elif len(own) < FEWEST_CALLS:
        problem = f"{len(own)} of at least {FEWEST_CALLS} calls reached the market"
    else:
        problem = "" if model.finished.is_set() else failure or f"did not see the end in {model.asked} steps"
    return Outcome(problem, len(own), refused, ", ".join(sorted(clients)), _required(model.shown))


def _required(shown: Mapping[str, Mapping[str, Any]]) -> int | None:
    """How many parameters are required as a framework shows the tools, and optional as we publish them."""
    published = [*market_type("double_auction").tools.values(), *KERNEL_TOOLS.values()]
    optional = {tool.name: set(tool.input_schema.get("properties", ())) for tool in published}
    for tool in published:
        optional[tool.name] -= set(tool.input_schema.get("required", ()))
    demanded = [
        optional[name].intersection(schema.get("required", ()))
        for name in optional
        for shown_name, schema in shown.items()
        if shown_name.endswith(name)
    ]
    return sum(map(len, demanded)) if shown else None

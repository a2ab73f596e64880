"""Bad days of a served market, with real processes: no space, no right to write, clocks that jump, clients that dawdle.

What a kill does is in `test_restart.py`, what garbage does in `test_hostile_*.py`.

Also here:
- Ten thousand connections that never end their request, against a host in a process of its own.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import orjson
from tests.host.disks import small_disk
from tests.host.serving.by_hand import HEADERS, META, started
from tests.host.serving.doors import Clients
from tests.options_files import options_file
from tests.waiting import LONG, LONGER, SOON

from tradefair.evaluation.prove.verify import verify_file

GAME = ("teaching", "--scenario", "pie", "--seed", "7")
SERVE = ("serve", *GAME, "--seat", "P1", "--others", "half")
ROUNDS = 3

# The command as it is, but for the wall clock: it leaps an hour forward or two days back each time it is read.
LAUNCHER = """#!{python}
import itertools, time
real, leaps = time.time, itertools.cycle((3_600.0, -172_800.0, 9e8, 0.0))
time.time = lambda: real() + next(leaps)
from tradefair.cli import main
main()
"""


def _trace(folder: Path) -> Path:
    (path,) = folder.glob("*.trace")
    return path


def _verified(path: Path) -> str:
    return verify_file(path).verdict


# --- storage --------------------------------------------------------------------------------------------------------


async def test_a_served_seat_outlives_a_full_disk(stage: Any, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        async with started(stage, *SERVE, "--out", str(disk.folder)) as server:
            await server.hello()
            assert (await server.call("claim", slices=4))["sealed"] == "claim"
            disk.fill()
            told = [await server.call("add_note", text="x" * 1000) for _ in range(12)]
            refused = next(answer for answer in told if "code" in answer)
            assert (refused["code"], refused["retryable"]) == ("storage_unavailable", True)
            before = await server.call("view_turn")
            assert (await server.call("claim", slices=4))["code"] == "storage_unavailable"
            assert (await server.call("view_turn"))["round"] == before["round"]
            disk.free()
            for _ in range(ROUNDS - 1):
                assert (await server.call("claim", slices=4))["sealed"] == "claim"
            assert (await server.call("await_turn"))["over"] is True
            await server.leave()
        assert _verified(_trace(disk.folder)) == "reproduced"


async def test_a_folder_that_cannot_be_written_is_said_so_and_nothing_is_lost(stage: Any, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        async with started(stage, *SERVE, "--out", str(disk.folder)) as server:
            await server.hello()
            await server.call("claim", slices=4)
            server.process.kill()
            await server.process.wait()
        disk.read_only(True)
        path = _trace(disk.folder)
        before = path.read_bytes()
        resume = ("serve", "teaching", "--resume", str(path))
        for command in (
            ("serve", *GAME, "--out", str(disk.folder / "new")),
            resume,
            (*SERVE, "--out", str(disk.folder)),
        ):
            async with started(stage, *command) as refused:
                stdin, stderr = refused.process.stdin, refused.process.stderr
                assert stdin is not None
                assert stderr is not None
                stdin.close()
                told = (await stage.within(stderr.read())).decode()
                assert await stage.within(refused.process.wait()) == 3
            assert told.count("\n") == 1
            assert str(disk.folder) in told
        assert path.read_bytes() == before
        disk.read_only(False)
        async with started(stage, *resume) as server:
            await server.hello()
            assert (await server.call("view_turn"))["round"] == 2
            for _ in range(ROUNDS - 1):
                await server.call("claim", slices=4)
            await server.leave()
        assert _verified(path) == "reproduced"


# --- clocks ---------------------------------------------------------------------------------------------------------


async def test_a_wall_clock_that_jumps_changes_neither_deadlines_nor_outcomes(stage: Any, tmp_path: Path) -> None:
    launcher = tmp_path / "leaping"
    launcher.write_text(LAUNCHER.format(python=sys.executable))
    launcher.chmod(0o700)
    stage.tradefair = launcher
    lapsing = ("--set", f"timing.decision_deadline_s={10 * SOON}", "--out", str(tmp_path))
    async with started(stage, *SERVE, *lapsing) as server:
        await server.hello()
        assert (await server.call("claim", slices=4))["sealed"] == "claim"
        # Silence: one lapse for each deadline, not one for each leap.
        while (await server.call("await_turn"))["over"] is not True:
            pass
        await server.leave()
    path = _trace(tmp_path)
    assert _verified(path) == "reproduced"
    lapsed = [event for event in stage.events(path) if event["event"] == "seat_lapsed"]
    assert [(event["seat"], event["round"], event["reason"]) for event in lapsed] == [
        ("P1", number, "deadline") for number in range(2, ROUNDS + 1)
    ]


# --- clients that dawdle --------------------------------------------------------------------------------------------


@asynccontextmanager
async def _connected(url: str) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port, limit=2**10)
    try:
        yield reader, writer
    finally:
        writer.close()


def _request(url: str, token: str, tool: str) -> bytes:
    where = urlsplit(url)
    params = {"name": tool, "arguments": {}, "_meta": META}
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    told = {
        **HEADERS,
        "Host": where.netloc,
        "Authorization": f"Bearer {token}",
        "Content-Length": str(len(body)),
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"POST {where.path} HTTP/1.1\r\n{head}\r\n".encode() + body


async def test_who_writes_or_reads_slowly_holds_up_nobody(stage: Any, tmp_path: Path) -> None:
    given = options_file(tmp_path / "told", until_over=True, linger=40 * SOON)
    told = ("--seats", "P1,P2", "--json", *given, "--out", str(tmp_path))
    async with started(stage, "host", *GAME, *told) as server:
        ready = await server.line()
        one, two = (seat["token"] for seat in ready["episodes"][0]["seats"])
        url = ready["url"]
        asked = _request(url, one, "view_rules")
        async with _connected(url) as (_, half), _connected(url) as (slow, whole), stage.at(url, two) as other:
            half.write(asked[:-20])  # never finished
            whole.write(asked * 200)  # and none of the answers is read
            async with stage.at(url, one) as client:
                for _ in range(ROUNDS):
                    for player in (client, other):
                        sealed = await stage.within(player.call_tool("claim", {"slices": 4}))
                        assert sealed.structured_content["sealed"] == "claim"
            assert (await stage.within(slow.readline())).startswith(b"HTTP/1.1 200")
        await stage.within(server.process.wait())
    assert _verified(_trace(tmp_path)) == "reproduced"


async def test_a_client_that_is_killed_leaves_its_seat_to_the_next_one(stage: Any, tmp_path: Path) -> None:
    given = options_file(tmp_path / "told", until_over=True, linger=SOON)
    told = ("--seats", "P1", "--json", *given, "--out", str(tmp_path))
    async with started(stage, "host", *GAME, "--others", "half", *told) as server:
        ready = await server.line()
        token, url = ready["episodes"][0]["seats"][0]["token"], ready["url"]
        for _ in range(ROUNDS):
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", _WAITER, url, token, stdout=asyncio.subprocess.PIPE
            )
            assert child.stdout is not None
            assert (await stage.within(child.stdout.readline())).strip() == b"claimed"
            child.kill()
            await child.wait()
        await stage.within(server.process.wait())
    path = _trace(tmp_path)
    assert _verified(path) == "reproduced"
    claims = [event for event in stage.events(path) if event.get("tool") == "claim" and event["seat"] == "P1"]
    assert len(claims) == ROUNDS


_WAITER = """
import asyncio, sys
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main(url, token):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            await client.call_tool("claim", {"slices": 4})
            print("claimed", flush=True)
            while True:  # killed while it waits
                await client.call_tool("await_turn", {"timeout_s": 45})

asyncio.run(main(*sys.argv[1:]))
"""


CROWD = 10_000
SPARE_FILES = 200

# Opens so many connections, sends half a head on each, and opens each anew that is cut off, for as long as it lives.
SOURCE = """
import asyncio, itertools, resource, sys
port, wanted = map(int, sys.argv[1:])
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
opened = itertools.count(1)

async def hold():
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /mcp HTTP/1.1\\r\\nHost: x\\r\\nX: ")
            if next(opened) == wanted:
                print("all", flush=True)
            await reader.read()
        except OSError:
            pass

async def crowd():
    await asyncio.gather(*(hold() for _ in range(wanted)))

asyncio.run(crowd())
"""


@asynccontextmanager
async def _hosting(stage: Any) -> AsyncGenerator[dict[str, Any]]:
    """A host of two seats as a command; what it reports."""
    options = ("--scenario", "pie", "--seats", "P1,P2", "--seed", "7", "--json", "--out", str(stage.folder / "hosted"))
    process = await asyncio.create_subprocess_exec(
        stage.tradefair, "host", "teaching", *options, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield orjson.loads(await stage.within(process.stdout.readline()))
    finally:
        process.terminate()
        await stage.within(process.wait())


async def test_ten_thousand_half_open_connections_keep_no_seat_out(stage: Any) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CROWD if hard == resource.RLIM_INFINITY else min(CROWD, hard - SPARE_FILES)
    async with _hosting(stage) as report, Clients(SOURCE) as crowd:
        tokens = [seat["token"] for seat in report["episodes"][0]["seats"]]
        async with stage.at(report["url"], tokens[0]) as old:
            assert not (await old.call_tool("view_turn")).is_error
            child = await crowd.start(report["url"].split(":")[2].split("/")[0], str(wanted))
            assert child.stdout is not None
            assert await asyncio.wait_for(child.stdout.readline(), LONGER) == b"all\n"
            for _ in range(3):
                assert not (await old.call_tool("view_turn")).is_error
                async with httpx2.AsyncClient(timeout=LONG) as http:
                    health = await http.get(report["url"].replace("/mcp", "/health"))
                assert health.json() == {"status": "ok"}
                async with stage.at(report["url"], tokens[1]) as new:
                    assert not (await new.call_tool("view_turn")).is_error

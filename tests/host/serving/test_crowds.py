"""Ten thousand connections that never end their request, against a host in a process of its own."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
from tests.host.serving.doors import Clients
from tests.waiting import LONG, LONGER

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

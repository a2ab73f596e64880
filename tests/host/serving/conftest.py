"""The same seat behind every transport and protocol era: in process, stdio subprocess, streamable HTTP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import httpx2
import orjson
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from tests.waiting import LONG

from tradefair.catalog import load_scenario, market_type
from tradefair.host.doors.app import HttpServer
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import new_episode
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_server
from tradefair.tracestore import open_trace

T = TypeVar("T")

SEED = 7
ERAS = ("auto", "legacy")
TRADEFAIR = Path(sys.executable).parent / "tradefair"

Connect: TypeAlias = Callable[..., AbstractAsyncContextManager[Client]]


@dataclass
class Stage:
    """Makes episodes of the teaching market in one folder and puts them behind transports."""

    folder: Path
    sandbox: Sandbox
    opened: list[Episode] = field(default_factory=list[Episode])

    tradefair = TRADEFAIR
    seed = SEED

    @staticmethod
    async def within(answer: Awaitable[T]) -> T:
        """Bounded wait."""
        return await asyncio.wait_for(answer, LONG)

    async def episode(self, *agents: str, preset: str = "pie", folder: Path | None = None) -> Episode:
        """A fresh episode with `agents` (P1 alone by default) played from outside, `half` on the others."""
        return await self.game("teaching", preset, agents or ("P1",), folder or self.folder, others="half")

    async def game(
        self,
        market: str,
        preset: str,
        agents: Sequence[str],
        folder: Path,
        *,
        others: str | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Episode:
        """A fresh episode of any market."""
        kind, scenario = market_type(market), load_scenario(market, preset, overrides)
        plan = plan_seats(kind, scenario, agents=list(agents), others=others)
        made = await new_episode(kind, scenario, SEED, plan, folder, sandbox=self.sandbox)
        self.opened.append(made)
        return made

    @asynccontextmanager
    async def hosted(self, host: Host, **options: Any) -> AsyncGenerator[HttpServer]:
        """`host` on a free port of this machine; closed, episodes too, at the end."""
        server = HttpServer(host, **options)
        ready = asyncio.Event()
        serving = asyncio.create_task(server.serve(ready.set))
        try:
            await self.within(ready.wait())
            yield server
        finally:
            server.stop()
            await self.within(serving)
            await host.close()

    @staticmethod
    @asynccontextmanager
    async def at(url: str, token: str, mode: str = "auto", **options: Any) -> AsyncGenerator[Client]:
        """A client of a hosted seat."""
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=LONG) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
        ):
            yield client

    @staticmethod
    def events(path: Path) -> list[dict[str, Any]]:
        """What a trace holds."""
        with open_trace(path) as trace:
            return list(trace.decoded())

    @staticmethod
    def text(result: Any) -> str:
        """A result's one text."""
        (block,) = result.content
        return block.text

    @staticmethod
    def post(method: str, params: Mapping[str, Any] | None = None, *, number: int = 1) -> bytes:
        """A JSON-RPC request's bytes."""
        return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncGenerator[Stage]:
    with closing(Sandbox()) as sandbox:
        made = Stage(tmp_path, sandbox)
        yield made
        for episode in made.opened:
            with suppress(ValueError):  # closed by its host
                await episode.close()


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return request.param


WAYS = [pytest.param((over, era), id=f"{over}-{era}") for over in ("memory", "stdio", "http") for era in ERAS]


@pytest.fixture(params=WAYS)
def connect(request: pytest.FixtureRequest, stage: Stage) -> Connect:
    """Opens seat P1 of a fresh `teaching/<preset>`, P2 being scripted, over one transport in one era."""
    over, era = request.param

    @asynccontextmanager
    async def memory(preset: str = "pie", **options: Any) -> AsyncGenerator[Client]:
        server = build_server(await stage.episode(preset=preset), "P1")
        async with Client(server, mode=era, **options) as client:
            yield client

    @asynccontextmanager
    async def stdio(preset: str = "pie", **options: Any) -> AsyncGenerator[Client]:
        told = ["--scenario", preset, "--seat", "P1", "--others", "half", "--seed", str(SEED)]
        command = StdioServerParameters(
            command=str(TRADEFAIR), args=["serve", "teaching", *told, "--out", str(stage.folder)]
        )
        async with Client(command, mode=era, **options) as client:
            yield client

    @asynccontextmanager
    async def http(preset: str = "pie", **options: Any) -> AsyncGenerator[Client]:
        host = Host(stage.folder)
        episode = await stage.episode(preset=preset)
        host.add(episode)
        token, _ = host.invite(episode.id, "P1")
        async with stage.hosted(host) as server, stage.at(server.url, token, era, **options) as client:
            yield client

    openers: dict[str, Connect] = {"memory": memory, "stdio": stdio, "http": http}
    return openers[over]

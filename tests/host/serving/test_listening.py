"""Connections that hold on to a port of the host: they are cut off, and whoever merely waits is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tradefair.host.app import SeatApp
from tradefair.host.control import ControlApp
from tradefair.host.hosting import Host
from tradefair.host.listening import Listener
from tradefair.host.seat_auth import token_digest

SHORT_S = 0.2
LONG_S = 1.5
LARGE = 16 * 2**20


@asynccontextmanager
async def listening(
    stage: Any, make_app: Callable[[Sequence[str]], Starlette], **bounds: Any
) -> AsyncGenerator[Listener]:
    listener, ready = Listener(make_app, **bounds), asyncio.Event()
    serving = asyncio.create_task(listener.serve(ready.set))
    try:
        await stage.within(ready.wait())
        yield listener
    finally:
        listener.stop()
        await stage.within(serving)


async def dripping(port: int, first: bytes, drop: bytes) -> bytes:
    """What comes back, until the other side closes, to a client that goes on sending a little."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first)
    reading = asyncio.create_task(reader.read())
    try:
        while not reading.done():
            writer.write(drop)
            await asyncio.sleep(0.01)
        return await reading
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def pushing(writer: asyncio.StreamWriter) -> None:
    """Send what means nothing, and read nothing, for as long as that is possible."""
    while True:
        writer.write(b"\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("plane", ["seats", "control"])
@pytest.mark.parametrize(
    ("first", "drop"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(b"POST /mcp HTTP/1.1\r\nX: ", b"x", id="half a head"),
        pytest.param(b"POST /episodes HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n", b"x", id="half a body"),
        pytest.param(b"POST /episodes HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", id="chunks"),
    ],
)
async def test_a_request_that_does_not_arrive_is_cut_off(stage: Any, plane: str, first: bytes, drop: bytes) -> None:
    def make_app(names: Sequence[str]) -> Starlette:
        if plane == "seats":
            return SeatApp(Host(), names).starlette
        return ControlApp(Host(), token_digest("token"), "", names).starlette

    async with listening(stage, make_app, patience_s=SHORT_S) as listener:
        told = await stage.within(dripping(listener.port, first, drop))
        assert told == b"" or told.startswith(b"HTTP/1.1 4")


def _patient(names: Sequence[str]) -> Starlette:
    async def large(request: Request) -> PlainTextResponse:
        return PlainTextResponse("x" * LARGE)

    async def late(request: Request) -> PlainTextResponse:
        await asyncio.sleep(1.2 * LONG_S)
        return PlainTextResponse("late")

    return Starlette(routes=[Route("/large", large), Route("/late", late)])


async def test_who_does_not_take_its_answer_is_cut_off(stage: Any) -> None:
    async with listening(stage, _patient, patience_s=SHORT_S) as listener, asyncio.timeout(20):
        _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises(ConnectionError):
            await pushing(writer)


async def test_who_takes_its_answer_may_wait_long_for_the_next_one(stage: Any) -> None:
    async with listening(stage, _patient, patience_s=LONG_S) as listener, asyncio.timeout(20):
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert f"content-length: {LARGE}".encode() in head
        await reader.readexactly(LARGE)
        writer.write(b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readuntil(b"late")).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_a_listener_has_so_many_connections_and_no_more(stage: Any) -> None:
    async def answered() -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        try:
            writer.write(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
            return (await reader.readline()).startswith(b"HTTP/1.1 404")
        except ConnectionError:
            return False
        finally:
            writer.close()

    async with listening(stage, _patient, max_connections=2) as listener, asyncio.timeout(20):
        held = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(2)]
        assert not await answered()
        held[0][1].close()
        for _ in range(1_000):  # until the server has noticed
            if await answered():
                break
            await asyncio.sleep(0.01)
        else:
            raise AssertionError("a connection that was closed still counts")
        held[1][1].close()

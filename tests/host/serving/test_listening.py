"""Connections that hold on to a port of the host: they are cut off, and whoever merely waits is not.

When there are more connections than places, those that have shown no token give way to each other, and to all others.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tests.waiting import LONG, SOON, a_moment, deadline_passed, in_time

from tradefair.host.doors.app import SeatApp
from tradefair.host.doors.control import ControlApp
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.listening import Listener, known
from tradefair.host.doors.places import Bounds, Places
from tradefair.host.server.seat_auth import token_digest

LARGE = 16 * 2**20
SHORT = Bounds(head_s=SOON, patience_s=SOON)
HEAD = b"GET /health HTTP/1.1\r\nHost: x\r\n"


@asynccontextmanager
async def listening(
    stage: Any, make_app: Callable[[Sequence[str]], Starlette], bounds: Bounds, **options: Any
) -> AsyncGenerator[Listener]:
    listener, ready = Listener(make_app, bounds=bounds, **options), asyncio.Event()
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
            await a_moment()
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
        await a_moment()


def _plane(plane: str, host: Host | None = None) -> Callable[[Sequence[str]], Starlette]:
    def make_app(names: Sequence[str]) -> Starlette:
        if plane == "seats":
            return SeatApp(host or Host(), names).starlette
        return ControlApp(host or Host(), token_digest("token"), "", names).starlette

    return make_app


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
    async with listening(stage, _plane(plane), SHORT) as listener:
        told = await stage.within(dripping(listener.port, first, drop))
        assert told == b"" or told.startswith(b"HTTP/1.1 4")


def _patient(patience_s: float) -> Callable[[Sequence[str]], Starlette]:
    async def large(request: Request) -> PlainTextResponse:
        known(request.scope)
        return PlainTextResponse("x" * LARGE)

    async def late(request: Request) -> PlainTextResponse:
        await deadline_passed(patience_s)
        return PlainTextResponse("late")

    return lambda _: Starlette(routes=[Route("/large", large), Route("/late", late)])


async def test_who_does_not_take_its_answer_is_cut_off(stage: Any) -> None:
    async with listening(stage, _patient(SOON), SHORT) as listener, asyncio.timeout(LONG):
        _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises(ConnectionError):
            await pushing(writer)


async def test_who_takes_its_answer_may_wait_long_for_the_next_one(stage: Any) -> None:
    async def taken(patience_s: float) -> bytes | None:
        async with listening(stage, _patient(patience_s), Bounds(patience_s=patience_s)) as listener:
            reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
            writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await stage.within(reader.readuntil(b"\r\n\r\n"))
            assert f"content-length: {LARGE}".encode() in head
            try:
                await stage.within(reader.readexactly(LARGE))
                writer.write(b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
                late = await stage.within(reader.readuntil(b"late"))
            except (ConnectionError, asyncio.IncompleteReadError):
                return None  # a busy machine took too long for the large one
            writer.close()
            return late

    assert (await in_time(taken, 4 * SOON)).startswith(b"HTTP/1.1 200")


def _lengths(_: Sequence[str]) -> Starlette:
    async def length(request: Request) -> PlainTextResponse:
        known(request.scope)
        return PlainTextResponse(f"{len(await request.body())} bytes")

    return Starlette(routes=[Route("/length", length, methods=["POST"])])


async def test_a_known_client_has_longer_for_its_body_and_may_think_between_two_requests(stage: Any) -> None:
    bounds = Bounds(head_s=SOON, patience_s=LONG)
    async with listening(stage, _lengths, bounds) as listener, asyncio.timeout(LONG):
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n")
        for _ in range(3):
            await deadline_passed(SOON)  # each alone is as long as the head may take
            writer.write(b"x")
        assert b"3 bytes" in await reader.readuntil(b"bytes")
        # A model thinks for seconds between two calls, and its client keeps the connection meanwhile.
        await deadline_passed(3 * SOON)
        writer.write(b"POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nxx")
        assert b"2 bytes" in await reader.readuntil(b"bytes")
        writer.close()


async def test_a_known_client_has_its_own_time_and_is_cut_off_when_nothing_comes(stage: Any) -> None:
    async with listening(stage, _lengths, SHORT) as listener, asyncio.timeout(LONG):
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(b"POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nxx")
        assert b"2 bytes" in await reader.readuntil(b"bytes")
        assert await reader.read() == b""
        writer.close()


@pytest.mark.parametrize("plane", ["seats", "control"])
async def test_without_a_valid_token_the_answer_does_not_wait_for_a_body_and_is_the_last(
    stage: Any, plane: str
) -> None:
    path = {"seats": "/mcp", "control": "/episodes"}[plane]
    async with listening(stage, _plane(plane), Bounds()) as listener:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{listener.port}\r\nAuthorization: Bearer wrong\r\n"
        writer.write(f"{head}Content-Length: 999999\r\n\r\n{{".encode())
        answer = (await stage.within(reader.read())).lower()
        writer.close()
    assert answer.startswith(b"http/1.1 401")
    assert b"connection: close" in answer


@pytest.mark.parametrize("plane", ["seats", "control"])
async def test_with_a_valid_token_a_connection_is_kept(stage: Any, plane: str) -> None:
    host = Host(stage.folder)
    episode = await stage.episode("P1")
    host.add(episode)
    token = {"seats": host.invite(episode.id, "P1")[0], "control": "token"}[plane]
    path = {"seats": "POST /mcp", "control": "GET /episodes"}[plane]
    async with listening(stage, _plane(plane, host), Bounds()) as listener, asyncio.timeout(LONG):
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        known_by = f"Host: 127.0.0.1:{listener.port}\r\nAuthorization: Bearer {token}\r\n"
        for _ in range(2):
            writer.write(f"{path} HTTP/1.1\r\n{known_by}Content-Length: 2\r\n\r\n{{}}".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert head.startswith((b"http/1.1 200", b"http/1.1 4"))
            assert b" 401" not in head.splitlines()[0]
            assert b"connection: close" not in head
            (length,) = [int(line.split(b":")[1]) for line in head.splitlines() if line.startswith(b"content-length")]
            await reader.readexactly(length)
        writer.close()
    await host.close()


@pytest.mark.parametrize("plane", ["seats", "control"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Authorization: Bearer a", "authorization: Bearer b"),
        ("Host: x", "HOST: y"),
        ("Origin: http://x", "Origin: http://x"),
        ("Mcp-Session-Id: a", "mcp-session-id: a"),
        ("Content-Length: 2", "Content-Length: 2"),
        ("Content-Length: 2", "Content-Length: 3"),
    ],
)
async def test_two_headers_of_a_kind_are_refused_before_anything_is_looked_up(
    stage: Any, plane: str, first: str, second: str
) -> None:
    async def statuses(headers: Sequence[str]) -> bytes:
        lines = ["GET /health HTTP/1.1", *headers, *(() if "Host" in first else ("Host: x",)), "X-Other: 1", "", "{}"]
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write("\r\n".join(lines).encode())
        answer = await stage.within(reader.read())
        writer.close()
        return answer.split(b" ", 2)[1]

    async with listening(stage, _plane(plane), Bounds()) as listener:
        assert await statuses([first, second]) == b"400"
        # Alone it is not what was wrong.
        assert await statuses([first]) == {"seats": b"200", "control": b"404"}[plane]
        assert await statuses([first, "X-Other: 2"]) == {"seats": b"200", "control": b"404"}[plane]


# --- more connections than places -------------------------------------------------------------------------------------

PLACES = 64
UNKNOWN = PLACES * 3 // 4


_Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _half_sent(port: int, address: str = "127.0.0.1") -> _Pair:
    reader, writer = await asyncio.open_connection(address, port)
    writer.write(HEAD)
    return reader, writer


async def _gone(held: Sequence[_Pair]) -> list[bool]:
    """Which connections the server has cut; the others are answered as soon as their head ends."""
    gone: list[bool] = []
    for reader, writer in held:
        writer.write(b"\r\n")
        try:
            gone.append(await reader.readline() == b"")
        except ConnectionError:
            gone.append(True)
        writer.close()
    return gone


async def test_when_all_places_are_taken_health_known_seats_and_new_ones_are_answered(stage: Any) -> None:
    host = Host(stage.folder)
    episode = await stage.episode("P1", "P2")
    host.add(episode)
    tokens = [host.invite(episode.id, seat)[0] for seat in ("P1", "P2")]
    bounds = Bounds(places=PLACES, head_s=LONG)
    async with listening(stage, _plane("seats", host), bounds) as listener, asyncio.timeout(LONG):
        url = listener.url + "/mcp"
        async with stage.at(url, tokens[0]) as old:
            await old.call_tool("view_turn")
            held = [await _half_sent(listener.port) for _ in range(PLACES)]
            async with httpx2.AsyncClient() as http:
                assert (await http.get(listener.url + "/health")).status_code == 200
            assert not (await old.call_tool("view_turn")).is_error
            async with stage.at(url, tokens[1]) as new:
                assert not (await new.call_tool("view_turn")).is_error
            # The oldest had to go, and as many as there were too many.
            cut = await stage.within(_gone(held))
            assert cut.index(False) >= PLACES - UNKNOWN
            assert cut == sorted(cut, reverse=True)
    await host.close()


async def test_a_known_connection_is_never_cut_off_for_others(stage: Any) -> None:
    async def late(request: Request) -> PlainTextResponse:
        known(request.scope)
        arrived.release()
        await done.wait()
        return PlainTextResponse("late")

    arrived, done = asyncio.Semaphore(0), asyncio.Event()
    app = Starlette(routes=[Route("/late", late)])
    async with (
        listening(stage, lambda _: app, Bounds(places=PLACES)) as listener,
        httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None), timeout=LONG) as http,
    ):
        waiting: list[asyncio.Task[httpx2.Response]] = []
        async with asyncio.timeout(LONG):
            for _ in range(PLACES):  # one after the other, or they would be too many that are not known yet
                waiting.append(asyncio.create_task(http.get(listener.url + "/late")))
                await arrived.acquire()
            # All places are theirs: whoever comes now is the one to go.
            held = [await _half_sent(listener.port) for _ in range(3)]
            assert await _gone(held) == [True] * 3
            done.set()
            assert [(await task).text for task in waiting] == ["late"] * PLACES


async def test_an_address_has_so_many_connections_and_loopback_and_proxies_have_more(stage: Any) -> None:
    address = _own_address()
    most = Bounds().per_address
    assert most == 256
    for proxies, answered in (((), [False, True]), ((address,), [False, False])):
        bounds = Bounds(proxies=proxies, head_s=LONG)
        async with listening(stage, _plane("seats"), bounds, address="0.0.0.0") as listener, asyncio.timeout(LONG):
            held = [await _half_sent(listener.port, address) for _ in range(most + 1)]
            assert await _gone(held) == [False] * (most - 1) + answered
            # The one that was refused was not counted, and those that were are freed.
            assert await _gone([await _half_sent(listener.port, address)]) == [False]
            near = [await _half_sent(listener.port) for _ in range(most + 1)]
            assert not any(await _gone(near))


def _own_address() -> str:
    """An address of this machine that is not loopback. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return asking.getsockname()[0]


def test_places_are_counted_and_given_back_by_networks() -> None:
    class Peer(asyncio.Transport):
        def __init__(self, address: str) -> None:
            super().__init__({"peername": (address, 1)})
            self.cut = False

        def abort(self) -> None:
            self.cut = True

    def came(address: str) -> Peer:
        peer = Peer(address)
        places.enter(peer)
        return peer

    places = Places(Bounds(places=100, per_address=2, proxies=("2001:db8:9::1",)))
    # Of IPv6, 64 bits are one address; an IPv4 address may be written as one of IPv6.
    peers = [came(address) for address in ("2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8:0:1::1")]
    peers += [came(address) for address in ("198.51.100.7", "::ffff:198.51.100.7", "198.51.100.7", "198.51.100.8")]
    assert [peer.cut for peer in peers] == [False, False, True, False] * 2
    assert not any(came("2001:db8:9::1").cut for _ in range(5))
    for peer in peers:
        places.leave(peer)
        places.leave(peer)
    assert not came("2001:db8::9").cut
    with pytest.raises(ValueError, match=r"proxy\.example"):
        Places(Bounds(proxies=("proxy.example",)))

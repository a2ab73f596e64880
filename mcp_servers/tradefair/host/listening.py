"""A Starlette application on a socket of our own: its address is known before it serves, and signals are left alone.

Slow and greedy connections are cut off here, below HTTP, before they can hold a request open.
"""

from __future__ import annotations

import asyncio
import ipaddress
import resource
import socket
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE_S = 60.0
"""How long a request may take to arrive, and a client to take what is waiting for it, before it is cut off."""
_GRACE_S = 5  # how long open requests may take to end when the server stops
_BACKLOG = 2_048  # connections that wait to be accepted: a thousand clients may come at once


class Listener:
    """One address. `port` 0 takes a free one; `url` is `http://name:port`. Raises OSError when it cannot be had.

    `make_app` is given the values of the Host header (`name:port`) that are to be answered; `public_names` are further
    host names (`market.example`, or with a port) that clients may use. Connections take half of the files that the
    process may open at most, because logs need the others; further ones are closed at once. `max_connections` is
    another number.
    """

    def __init__(
        self,
        make_app: Callable[[Sequence[str]], Starlette],
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        public_names: Iterable[str] = (),
        patience_s: float = PATIENCE_S,
        max_connections: int | None = None,
    ) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, port), family=family, backlog=_BACKLOG)
        # asyncio leaves Nagle's algorithm on for sockets made like this one (proto 0): each answer would wait 40 ms.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{address}]" if ":" in address else address
        self.url = f"http://{shown}:{self.port}"
        # A host on the loopback is called by any of these names.
        local = ("127.0.0.1", "localhost", "[::1]") if is_loopback(address) else ()
        given = list(public_names)
        names = (*given, *(f"{name}:{self.port}" for name in (shown, *local, *given)))
        most = _half_of_the_files() if max_connections is None else max_connections
        self._uvicorn = _Uvicorn(_Config(make_app(names), patience_s, most))

    async def serve(self, on_ready: Callable[[], None] | None = None) -> None:
        """Serve until `stop`; then finish what is under way."""
        self._uvicorn.on_ready = on_ready
        await self._uvicorn.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Take no more requests and let `serve` return."""
        self._uvicorn.should_exit = True


class _Config(uvicorn.Config):
    """Uvicorn's settings, and the bounds on its connections."""

    def __init__(self, app: Starlette, patience_s: float, max_connections: int) -> None:
        super().__init__(
            app,
            http=_Connection,
            # uvicorn's own set-up would replace that of `logs.py`.
            log_config=None,
            log_level="warning",
            access_log=False,
            # Doors run in the application's lifespan.
            lifespan="on",
            ws="none",
            server_header=False,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_GRACE_S,
        )
        self.patience_s = patience_s
        self.max_connections = max_connections


class _Connection(H11Protocol):
    """A connection that is cut off when a request takes too long to arrive, or its answers are not taken.

    Both times are `patience_s` of the settings, in seconds.
    """

    config: _Config
    _arriving: asyncio.TimerHandle | None = None
    _leaving: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.config.max_connections:
            # At once and without an answer: answering would take what is scarce.
            transport.abort()
        else:
            # From the connection on: one that sends nothing is cut off as well.
            self._mind_the_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arriving = _ended(self._arriving)
        self._leaving = _ended(self._leaving)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._mind_the_request()

    def on_response_complete(self) -> None:
        # A client may keep the connection; the next request has its own time.
        super().on_response_complete()
        self._mind_the_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        # The timer of the first pause goes on: taking one byte a minute is not taking the answer.
        self._leaving = self._leaving or self._cut_off_later()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._leaving = _ended(self._leaving)

    def _mind_the_request(self) -> None:
        """Time the next request: from the last answer until it is whole, however many bytes arrive in between.

        A request that is whole is answered in its own time: only its arrival is bounded.
        """
        # `cycle` is uvicorn's request: whole when no more of its body is to come and it is not answered yet.
        whole = self.cycle and not self.cycle.more_body and not self.cycle.response_complete
        if whole:
            self._arriving = _ended(self._arriving)
        elif self._arriving is None and not self.transport.is_closing():
            self._arriving = self._cut_off_later()

    def _cut_off_later(self) -> asyncio.TimerHandle:
        # `abort` and not `close`: closing would wait for the client to take what is left.
        return self.loop.call_later(self.config.patience_s, self.transport.abort)


def _half_of_the_files() -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if files == resource.RLIM_INFINITY else files // 2


def _ended(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class _Uvicorn(uvicorn.Server):
    """Reports when it is ready, and leaves signals alone: uvicorn would raise them again before episodes are closed."""

    def __init__(self, config: _Config) -> None:
        super().__init__(config)
        self.on_ready: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.on_ready is not None:
            self.on_ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def security_settings(names: Iterable[str]) -> TransportSecuritySettings:
    """Which Host headers are answered, and from which origins a browser may come."""
    # A browser sends an Origin with requests of scripts; only our own names may be in it.
    hosts = list(names)
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"

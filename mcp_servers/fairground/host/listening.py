"""A Starlette application on a socket of ours: its address is known before it serves, and signals are left alone."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

__all__ = ["Listener", "is_loopback", "security_settings"]

_GRACE_S = 5
_BACKLOG = 2_048


class Listener:
    """One address. `port` 0 takes a free one; `url` is `http://name:port`. Raises OSError when it cannot be had.

    `make_app` gets the values of the Host header (`name:port`) that are to be answered; `public_names` are further
    host names (`market.example`, or with a port) that clients may use.
    """

    def __init__(
        self,
        make_app: Callable[[Sequence[str]], Starlette],
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        public_names: Iterable[str] = (),
    ) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, port), family=family, backlog=_BACKLOG)
        # asyncio leaves Nagle's algorithm on for sockets made like this one (proto 0): each answer would wait 40 ms.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{address}]" if ":" in address else address
        self.url = f"http://{shown}:{self.port}"
        local = ("127.0.0.1", "localhost", "[::1]") if is_loopback(address) else ()
        given = list(public_names)
        names = (*given, *(f"{name}:{self.port}" for name in (shown, *local, *given)))
        self._uvicorn = _Uvicorn(make_app(names))

    async def serve(self, on_ready: Callable[[], None] | None = None) -> None:
        """Serve until `stop`; then finish what is under way."""
        self._uvicorn.on_ready = on_ready
        await self._uvicorn.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Take no more requests and let `serve` return."""
        self._uvicorn.should_exit = True


class _Uvicorn(uvicorn.Server):
    """Says when it is ready, and leaves signals alone: uvicorn raises them again before the episodes are closed."""

    def __init__(self, app: Starlette) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                log_level="warning",
                access_log=False,
                lifespan="on",
                ws="none",
                server_header=False,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self.on_ready: Callable[[], None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.on_ready is not None:
            self.on_ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def security_settings(names: Iterable[str]) -> TransportSecuritySettings:
    """Which Host headers are answered, and from where a browser may come."""
    hosts = list(names)
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"

"""The transports: a stdio server of one seat, and a streamable-HTTP host of episodes and seats by bearer token.

Over HTTP every token has a door of its own: an MCP server of its seat and the sessions opened with it. A session can
therefore not be carried to another credential, and revoking a token closes whatever was open behind it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from fairground.contract.errors import SeatError
from fairground.contract.seats import SeatId
from fairground.host.binding import build_server
from fairground.host.pipes import open_pipes
from fairground.host.registry import HostFile, save_host_file
from fairground.host.seat_auth import SEAT_SCOPE, Grant, SeatTokens, SeatVerifier

if TYPE_CHECKING:
    from fairground.host.episode import Episode

__all__ = ["BODY_LIMIT", "MCP_PATH", "Host", "HttpServer", "is_loopback", "run_stdio"]

BODY_LIMIT = 1_048_576
MCP_PATH = "/mcp"
_MAX_SESSIONS_PER_TOKEN = 16
_GRACE_S = 5
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger("fairground.host")


async def run_stdio(episode: Episode, seat: SeatId) -> None:
    """Serve one seat on standard input and output until the client goes; the caller closes the episode.

    SIGTERM closes the episode and ends the process at once: a thread is blocked on standard input.
    """
    server = build_server(episode, seat, transport="stdio")
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: _leaving.append(_leave(episode)))
    async with open_pipes() as pipes:
        await server.run(pipes.reading, pipes.writing, server.create_initialization_options())


_leaving: list[asyncio.Task[None]] = []


def _leave(episode: Episode) -> asyncio.Task[None]:
    async def leave() -> None:
        try:
            await episode.close()
        finally:
            os._exit(0)

    return asyncio.create_task(leave())


class _Door:
    """What lies behind one token."""

    def __init__(self, episode: Episode, seat: SeatId, security: TransportSecuritySettings, body_limit: int) -> None:
        self._closing = anyio.Event()
        self.manager = StreamableHTTPSessionManager(
            build_server(episode, seat, transport="http"),
            security_settings=security,
            max_request_body_size=body_limit,
            max_sessions=_MAX_SESSIONS_PER_TOKEN,
        )

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Keep the sessions alive until the door is closed."""
        async with self.manager.run():
            task_status.started()
            await self._closing.wait()

    def close(self) -> None:
        """End all sessions and streams."""
        self._closing.set()


class Host:
    """Episodes by id, tokens, and the doors behind them.

    With a `folder` (where the traces lie) the registry is kept in its `host.json`. With `linger_s` a host that is being
    served retires each episode that many seconds after its end, and its tokens with it.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        tokens: SeatTokens | None = None,
        body_limit: int = BODY_LIMIT,
        linger_s: float | None = None,
    ) -> None:
        self.episodes: dict[str, Episode] = {}
        self.tokens = tokens or SeatTokens()
        self._folder = folder
        self._body_limit = body_limit
        self._linger_s = linger_s
        self._empty = anyio.Event()
        self._doors: dict[str, _Door] = {}
        self._opening = anyio.Lock()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._security = TransportSecuritySettings()

    # --- the registry -----------------------------------------------------------------------------------------------

    def add(self, episode: Episode) -> None:
        """Take an episode in."""
        self.episodes[episode.id] = episode
        if self._tasks is not None:
            self._tasks.start_soon(self._watch, episode)
        self._save()

    def invite(self, episode: str, seat: SeatId) -> tuple[str, Grant]:
        """A token for a seat, to be shown once. Raises SeatError for an unknown episode or seat."""
        if episode not in self.episodes:
            raise SeatError(f"there is no episode {episode[:80]!r} here")
        self.episodes[episode].core.tools(seat)
        invitation = self.tokens.issue(episode, seat)
        self._save()
        return invitation

    def revoke(self, grant_id: str) -> None:
        """Make a token worthless and end what was opened with it. Raises SeatError for an unknown one."""
        self.tokens.revoke(grant_id)
        self._shut([grant_id])
        self._save()

    async def retire(self, episode: str) -> None:
        """Close an episode for good: its tokens expire with it."""
        gone = self.episodes.pop(episode, None)
        self._shut(grant.id for grant in self.tokens.expire(episode))
        self._save()
        if gone is not None:
            await gone.close()
        if not self.episodes:
            self._empty.set()

    def shut(self) -> None:
        """End all sessions and streams, so that a shutdown need not wait for them."""
        self._shut(list(self._doors))

    async def close(self) -> None:
        """Close every episode; registry and tokens stay valid for the next start."""
        self.shut()
        for episode in self.episodes.values():
            await episode.close()

    async def wait_empty(self) -> None:
        """Wait until the last episode has been retired."""
        await self._empty.wait()

    async def _watch(self, episode: Episode) -> None:
        if self._linger_s is not None:
            await episode.wait_ended()
            await anyio.sleep(self._linger_s)
            await self.retire(episode.id)

    def _shut(self, grants: Iterable[str]) -> None:
        for grant in grants:
            door = self._doors.pop(grant, None)
            if door is not None:
                door.close()

    def _save(self) -> None:
        if self._folder is not None:
            traces = {name: episode.path.name for name, episode in self.episodes.items()}
            save_host_file(self._folder, HostFile(traces, self.tokens))

    # --- HTTP -------------------------------------------------------------------------------------------------------

    def app(self, allowed_hosts: Iterable[str]) -> Starlette:
        """The ASGI application: `/mcp` for seats, `/health` for whoever watches the process.

        `allowed_hosts` are the values of the Host header (`name:port`) that are answered, and where a browser may come
        from.
        """
        hosts = list(allowed_hosts)
        self._security = TransportSecuritySettings(
            allowed_hosts=hosts,
            allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
        )
        backend = BearerAuthBackend(SeatVerifier(self.tokens))
        return Starlette(
            routes=[
                Route("/health", _health, methods=["GET"]),
                Route(MCP_PATH, RequireAuthMiddleware(self._serve, [SEAT_SCOPE])),
            ],
            middleware=[Middleware(AuthenticationMiddleware, backend=backend)],
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for episode in self.episodes.values():
                tasks.start_soon(self._watch, episode)
            yield
            self._tasks = None
            self.shut()
            tasks.cancel_scope.cancel()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope["user"]
        door = await self._door(user) if isinstance(user, AuthenticatedUser) else None
        if door is None:
            await Response("the episode is not here any more", status_code=404)(scope, receive, send)
            return
        await door.manager.asgi_app(scope, receive, send)

    async def _door(self, user: AuthenticatedUser) -> _Door | None:
        """The door of the token that came with a request, opened at its first use."""
        grant, claims = user.access_token.client_id, user.access_token.claims or {}
        async with self._opening:
            door = self._doors.get(grant)
            if door is None and self._tasks is not None and claims["episode"] in self.episodes:
                episode = self.episodes[claims["episode"]]
                door = self._doors[grant] = _Door(episode, claims["seat"], self._security, self._body_limit)
                await self._tasks.start(door.run)
        return door


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


class HttpServer:
    """A host on a socket. `port` 0 takes a free one; `url` is known before anything is served.

    `public_names` are further host names (`market.example`, or with a port) that clients may use. Raises OSError when
    the address cannot be had.
    """

    def __init__(
        self, host: Host, *, address: str = "127.0.0.1", port: int = 0, public_names: Iterable[str] = ()
    ) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._host = host
        self._socket = socket.create_server((address, port), family=family)
        # asyncio leaves Nagle's algorithm on for sockets made like this one (proto 0): each answer would wait 40 ms.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{address}]" if ":" in address else address
        self.url = f"http://{shown}:{self.port}{MCP_PATH}"
        local = ("127.0.0.1", "localhost", "[::1]") if is_loopback(address) else ()
        names = (*public_names, *(f"{name}:{self.port}" for name in (shown, *local, *public_names)))
        self._uvicorn = _Uvicorn(host.app(names))

    async def serve(self, on_ready: Callable[[], None] | None = None) -> None:
        """Serve until `stop`, SIGTERM or SIGINT; then finish what is under way. The caller closes the host."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.stop)
        self._uvicorn.on_ready = on_ready
        try:
            await self._uvicorn.serve(sockets=[self._socket])
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Take no more requests and let `serve` return."""
        self._host.shut()
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


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"

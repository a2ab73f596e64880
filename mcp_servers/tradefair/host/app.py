"""The transports: a stdio server of one seat, and a streamable-HTTP host of episodes and seats by bearer token.

Over HTTP each token has a door of its own: an MCP server of its seat and the sessions opened with it. A session cannot
be carried to another credential, and revoking a token closes what was opened with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tradefair.contract import SeatId
from tradefair.host.binding import build_observer_server, build_server
from tradefair.host.doors import Door
from tradefair.host.hosting import Host
from tradefair.host.listening import Listener, known, security_settings
from tradefair.host.pipes import SIGNALS, open_pipes
from tradefair.host.places import Bounds
from tradefair.host.seat_auth import OBSERVER_SCOPE, SeatVerifier
from tradefair.host.status import readiness

if TYPE_CHECKING:
    from tradefair.host.episode import Episode

MCP_PATH = "/mcp"
# Seconds that a client is told to wait for an episode that has not started; an operator starts it by hand.
_RETRY_AFTER_S = 2


async def run_stdio(episode: Episode, seat: SeatId) -> None:
    """Serve one seat on standard input and output until the client goes; the caller closes the episode."""
    server = build_server(episode, seat, transport="stdio")
    async with open_pipes() as pipes:
        await server.run(pipes.reading, pipes.writing, server.create_initialization_options())


class SeatApp:
    """The ASGI application of seats and observers: `/mcp` by bearer token, `/health` for process supervisors.

    `allowed_hosts` are the values of the Host header (`name:port`) that are answered, and the origins from which a
    browser may come: other values are refused, or a web page could rebind its name to this machine.
    """

    def __init__(self, host: Host, allowed_hosts: Iterable[str]) -> None:
        self._host = host
        self._opening = anyio.Lock()
        # Checked by each door; /health answers under any name.
        self._security = security_settings(allowed_hosts)
        backend = BearerAuthBackend(SeatVerifier(host.tokens))
        # The middleware reads the token of every request; only the MCP path requires one.
        self.starlette = Starlette(
            routes=[
                Route("/health", self._alive, methods=["GET"]),
                Route("/health/ready", self._ready, methods=["GET"]),
                Route(MCP_PATH, RequireAuthMiddleware(self._serve, [])),
            ],
            middleware=[Middleware(AuthenticationMiddleware, backend=backend)],
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        # Doors run in a task group of the server, so that its end also ends what a door has started.
        async with anyio.create_task_group() as tasks:
            self._host.attach(tasks)
            yield
            # No door is opened while the server goes down.
            self._host.attach(None)
            self._host.shut()
            tasks.cancel_scope.cancel()

    async def _alive(self, request: Request) -> Response:
        # Without a token: it says nothing but that the process lives.
        return JSONResponse({"status": "draining" if self._host.draining else "ok"})

    async def _ready(self, request: Request) -> Response:
        """Answer 200 where calls and new episodes are taken, else 503 with the reasons."""
        reasons = await readiness(self._host)
        return JSONResponse({"ready": not reasons, "reasons": reasons}, 503 if reasons else 200)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope["user"]
        assert isinstance(user, AuthenticatedUser)
        known(scope)
        token = user.access_token
        claims = token.claims or {}
        # A token may be used before its episode starts; 503 asks the client to come again, 404 would turn it away.
        if claims["episode"] in self._host.pending:
            wait = {"Retry-After": str(_RETRY_AFTER_S)}
            early = Response("the episode has not started: try again later", status_code=503, headers=wait)
            await early(scope, receive, send)
            return
        door = await self._door(token, claims["episode"], claims["seat"], claims["scope"])
        if door is None:
            await Response("the episode is no longer here", status_code=404)(scope, receive, send)
            return
        await door.serve(scope, receive, send)

    async def _door(self, token: AccessToken, episode_id: str, seat: SeatId, scope: str) -> Door | None:
        """The door of a request's token, opened at its first use; None where the episode is gone."""
        host, grant_id = self._host, token.client_id
        # One at a time: two first requests of a token must not open two doors.
        async with self._opening:
            door = host.doors.get(grant_id)
            episode = host.episodes.get(episode_id)
            # Looked up again under the lock: the request that held it before may have opened this door.
            if door is not None or host.tasks is None or episode is None:
                return door
            if not host.tokens.good(token.token):  # revoked while this request waited for the lock
                return None
            if scope == OBSERVER_SCOPE:
                gate = host.gate(episode_id, grant_id, observer=True)
                # A gate for each observer's token: observers are strangers to each other, and none may use up another's
                # calls.
                server = build_observer_server(episode, transport="http", gate=gate)
            else:
                # The seat's gate is shared by all its tokens, or a seat could multiply its quotas by tokens.
                server = build_server(episode, seat, transport="http", gate=host.gate(episode_id, seat))
            door = host.doors.put(grant_id, Door(server, self._security, host.body_limit, host.quotas))
            # Started before it is used: `run` has to open the SDK's session manager first.
            await host.tasks.start(door.run)
        return door


class HttpServer:
    """A host on a socket. `port` 0 takes a free one; `url` is known before anything is served.

    `public_names` are further host names (`market.example`, or with a port) that clients may use. `drain_s` is how many
    seconds rounds may take to end after a signal, `bounds` what connections may take. Raises ScenarioError when the
    address is taken.
    """

    def __init__(
        self,
        host: Host,
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        public_names: Iterable[str] = (),
        drain_s: float = 0.0,
        bounds: Bounds | None = None,
    ) -> None:
        def make_app(names: Sequence[str]) -> Starlette:
            return SeatApp(host, names).starlette

        self._host = host
        # Seconds; with 0 the first signal stops at once.
        self._drain_s = drain_s
        self._draining: asyncio.Task[None] | None = None
        self._listener = Listener(make_app, address=address, port=port, public_names=public_names, bounds=bounds)
        self.port = self._listener.port
        self.url = self._listener.url + MCP_PATH

    async def serve(self, on_ready: Callable[[], None] | None = None) -> None:
        """Serve until `stop`, SIGTERM or SIGINT, then finish open requests. The caller closes the host."""
        loop = asyncio.get_running_loop()
        # Signals belong to the process and not to uvicorn, so that episodes are closed after the last answer.
        for number in SIGNALS:
            loop.add_signal_handler(number, self.go)
        try:
            await self._listener.serve(on_ready)
        finally:
            for number in SIGNALS:
                loop.remove_signal_handler(number)
            if self._draining is not None:
                self._draining.cancel()

    def stop(self) -> None:
        """Take no more requests and let `serve` return.

        Open requests are finished by `serve`, which returns after them.
        """
        # From here on /health says that the host is going down.
        self._host.draining = True
        self._host.shut()
        self._listener.stop()

    def go(self) -> None:
        """React to a signal: the first lets rounds end, a second one does not wait for them."""
        # A second signal: whoever sends it does not want to wait any longer.
        if self._draining is not None or not self._drain_s:
            self.stop()
            return
        self._draining = asyncio.create_task(self._drain(), name="tradefair-drain")

    async def _drain(self) -> None:
        try:
            await self._host.drain(self._drain_s)
        # Also where draining fails or is cancelled: the server has to end in every case.
        finally:
            self.stop()

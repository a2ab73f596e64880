"""The HTTP transport: a host of episodes over streamable HTTP, its seats by bearer token.

Over HTTP each token has a door of its own: an MCP server of its seat and the sessions opened with it. A session cannot
be carried to another credential, and revoking a token closes what was opened with it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tradefair.contract import SeatId
from tradefair.contract.text import clean
from tradefair.host.doors.board_pages import page_routes
from tradefair.host.doors.doors import Door
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.listening import Listener, known, security_settings
from tradefair.host.doors.places import Bounds
from tradefair.host.doors.status import readiness
from tradefair.host.server.binding import build_observer_server, build_server
from tradefair.host.server.seat_auth import OBSERVER_SCOPE, Refused, SeatVerifier
from tradefair.host.server.signals import on_signals

if TYPE_CHECKING:
    from tradefair.host.doors.oauth import Issuer

MCP_PATH = "/mcp"
_METADATA = "/.well-known/oauth-protected-resource"
_REFUSED = "tradefair.refused"
# Headers of answers that a client of the protocol reads.
_EXPOSED = ("mcp-session-id", "www-authenticate", "retry-after")
_NO_HEADER = re.compile(r'[^\x20-\x7e]|["\\]')
# Seconds that a client is told to wait for an episode that has not started; an operator starts it by hand.
_RETRY_AFTER_S = 2


class SeatApp:
    """The ASGI application of seats and observers: `/mcp` by bearer token, `/health` for process supervisors.

    `allowed_hosts` are the values of the Host header (`name:port`) that are answered, and the origins from which a
    browser may come: other values are refused, or a web page could rebind its name to this machine. `origins` are
    those of further pages, whose scripts may read the answers. `pages`: also the pages on which a person plays.
    """

    def __init__(
        self, host: Host, allowed_hosts: Sequence[str], *, origins: Sequence[str] = (), pages: bool = False
    ) -> None:
        self._host = host
        self._opening = anyio.Lock()
        # Checked by each door; /health answers under any name.
        self._security = security_settings(allowed_hosts, origins)
        backend = _Backend(SeatVerifier(host.tokens, host.issuer))
        # The middleware reads the token of every request; only the MCP path requires one.
        self.starlette = Starlette(
            routes=[
                Route("/health", self._alive, methods=["GET"]),
                Route("/health/ready", self._ready, methods=["GET"]),
                Route(MCP_PATH, _Entrance(self._serve, host.issuer)),
                *([Route(f"{_METADATA}{rest}", self._told, methods=["GET"]) for rest in ("", "/{path:path}")]),
                *(page_routes(allowed_hosts) if pages else ()),
            ],
            middleware=[*_cross_origin(origins), Middleware(AuthenticationMiddleware, backend=backend)],
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

    async def _told(self, request: Request) -> Response:
        """Where clients get access tokens; 404 where none are taken."""
        issuer = self._host.issuer
        return Response(status_code=404) if issuer is None else JSONResponse(issuer.metadata())

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
                server = build_observer_server(episode, transport="http", gate=gate, manner=host.manner_for(episode_id))
            else:
                # The seat's gate is shared by all its tokens, or a seat could multiply its quotas by tokens.
                gate, manner = host.gate(episode_id, seat), host.manner_for(episode_id)
                server = build_server(episode, seat, transport="http", gate=gate, manner=manner)
            door = host.doors.put(grant_id, Door(server, self._security, host.body_limit, host.quotas))
            # Started before it is used: `run` has to open the SDK's session manager first.
            await host.tasks.start(door.run)
        return door


class _Backend(BearerAuthBackend):
    """The SDK's reading of the header; why an issuer's token is refused goes with the request."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, AuthenticatedUser] | None:
        """Who has sent the request, None for nobody that is known."""
        try:
            return await super().authenticate(conn)
        except Refused as refused:
            conn.scope[_REFUSED] = refused
            return None


class _Entrance:
    """Lets requests with a token in; others are told why not and, with an issuer, where tokens come from."""

    def __init__(self, app: ASGIApp, issuer: Issuer | None) -> None:
        self._app = app
        self._issuer = issuer
        # The SDK's answer to whoever has no token of ours.
        self._required = RequireAuthMiddleware(app, [])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._issuer is None:
            await self._required(scope, receive, send)
        elif isinstance(scope.get("user"), AuthenticatedUser):
            await self._app(scope, receive, send)
        else:
            refused: Refused = scope.get(_REFUSED) or Refused("an access token is needed")
            error = "invalid_token" if refused.status == 401 else "insufficient_scope"
            # Of a reason that quotes a name a header takes no quotes, and ASCII alone.
            reason = _NO_HEADER.sub("?", str(refused))
            challenge = (
                f'Bearer error="{error}", error_description="{reason}", resource_metadata="{self._issuer.metadata_url}"'
            )
            headers = {"Retry-After": "5"} if refused.status == 503 else {"WWW-Authenticate": challenge}
            # No JSON holds the half of a surrogate pair, which a token's JSON may.
            told = {"error": error, "error_description": clean(str(refused))}
            await JSONResponse(told, refused.status, headers)(scope, receive, send)


def _cross_origin(origins: Sequence[str]) -> list[Middleware]:
    """What tells browsers that scripts of these origins may ask and read. First of all: a preflight has no token."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "DELETE"],
            # Any, since the protocol names new ones with each revision. Never cookies: only a token counts.
            allow_headers=["*"],
            expose_headers=_EXPOSED,
            # Browsers ask so before a public page reaches this machine.
            allow_private_network=True,
        )
    ]


class HttpServer:
    """A host on a socket. `port` 0 takes a free one; `url` is known before anything is served.

    `public_names` are further host names (`market.example`, or with a port) that clients may use. `drain_s` is how many
    seconds rounds may take to end after a signal, `bounds` what connections may take; `origins` and `pages` are those
    of `SeatApp`.
    Raises ScenarioError when the address is taken.
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
        origins: Sequence[str] = (),
        pages: bool = False,
    ) -> None:
        def make_app(names: Sequence[str]) -> Starlette:
            return SeatApp(host, names, origins=origins, pages=pages).starlette

        self._host = host
        # Seconds; with 0 the first signal stops at once.
        self._drain_s = drain_s
        self._draining: asyncio.Task[None] | None = None
        self._listener = Listener(make_app, address=address, port=port, public_names=public_names, bounds=bounds)
        self.port = self._listener.port
        self.url = self._listener.url + MCP_PATH
        # What clients are told to ask tokens for, unless the host is known by another URL.
        if host.issuer is not None and not host.issuer.resource:
            host.issuer.resource = self.url

    async def serve(self, on_ready: Callable[[], None] | None = None) -> None:
        """Serve until `stop`, SIGTERM or SIGINT, then finish open requests. The caller closes the host."""
        # Signals belong to the process and not to uvicorn, so that episodes are closed after the last answer.
        leave_signals = on_signals(self.go)
        try:
            await self._listener.serve(on_ready)
        finally:
            leave_signals()
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

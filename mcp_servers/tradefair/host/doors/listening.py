"""A Starlette application on a socket of our own: its address is known before it serves, and signals are left alone.

Slow and greedy connections are cut off here, below HTTP, before they can hold a request open; who has to go when there
are too many is decided in `places.py`.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from math import ceil
from typing import Any, Literal
from urllib.parse import urlsplit

import h11
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tradefair.cli.ports import is_loopback, listen
from tradefair.contract.errors import ScenarioError
from tradefair.contract.text import clean
from tradefair.host.doors.places import Bounds, Places

_GRACE_S = 5  # how long open requests may take to end when the server stops
_BACKLOG = 2_048  # connections that wait to be accepted: a thousand clients may come at once
# Connections that one turn of the loop accepts; asyncio would accept the whole backlog, beyond the process's files.
_ACCEPTED_AT_ONCE = 64
_MAX_HEAD_BYTES = 16_384  # of what connections without a token may make the host keep
# Of these a second one is refused: two readers of a request could each believe another one.
_SINGLE = re.compile(rb"^(authorization|host|origin|mcp-session-id|content-length):", re.IGNORECASE | re.MULTILINE)

_HOST_NAME = re.compile(r"[a-z0-9.-]+|[0-9a-f:.]+")


class Listener:
    """One address. `port` 0 takes a free one; `url` is `http://name:port`. ScenarioError when it cannot be had.

    `make_app` is given the values of the Host header (`name:port`) that are to be answered; `public_names` are further
    host names (`market.example`, or with a port) that clients may use. `bounds` says what connections may take. Raises
    ValueError where a proxy in it is no IP address.
    """

    def __init__(
        self,
        make_app: Callable[[Sequence[str]], Starlette],
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        public_names: Iterable[str] = (),
        bounds: Bounds | None = None,
        option: str = "--port",
    ) -> None:
        self._socket = listen(address, port, option=option)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{address}]" if ":" in address else address
        self.url = f"http://{shown}:{self.port}"
        # A host on the loopback is called by any of these names.
        local = ("127.0.0.1", "localhost", "[::1]") if is_loopback(address) else ()
        given = list(public_names)
        names = (*given, *(f"{name}:{self.port}" for name in (shown, *local, *given)))
        self._uvicorn = _Uvicorn(_Config(make_app(names), bounds or Bounds()))

    async def serve(self, on_ready: Callable[[], None] | None = None) -> None:
        """Serve until `stop`; then finish what is under way."""
        self._uvicorn.on_ready = on_ready
        await self._uvicorn.serve(sockets=[self._socket])

    def stop(self) -> None:
        """Take no more requests and let `serve` return."""
        self._uvicorn.should_exit = True


class _Config(uvicorn.Config):
    """Uvicorn's settings, and the bounds on its connections."""

    def __init__(self, app: Starlette, bounds: Bounds) -> None:
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
            backlog=_ACCEPTED_AT_ONCE,
            h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
            timeout_graceful_shutdown=_GRACE_S,
            # Not uvicorn's five seconds: ours decide, and it would count its own as well.
            timeout_keep_alive=ceil(bounds.patience_s) + 1,
        )
        self.bounds = bounds
        self.places = Places(bounds)


class _Connection(H11Protocol):
    """A connection that is cut off when a request takes too long to arrive, or its answers are not taken.

    What it answers without having seen a valid token is its last answer: keeping the connection is for those who have
    one.
    """

    config: _Config
    _due: Literal["head", "body"] | None = None  # what of a request is to come; None: nothing, it is being answered
    _arriving: asyncio.TimerHandle | None = None
    _leaving: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = _OneOfEach(h11.SERVER, _MAX_HEAD_BYTES)
        self.app_state = {**self.app_state, "known": self._know}
        self._answering, self.app = self.app, self._answer

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        # From the connection on: one that sends nothing is cut off as well.
        self._mind_the_request()
        self.config.places.enter(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.config.places.leave(self.transport)
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
        self._leaving = self._leaving or self._cut_off_after(self.config.bounds.patience_s)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._leaving = _ended(self._leaving)

    def _know(self) -> None:
        self.config.places.know(self.transport)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def last(message: Message) -> None:
            if message["type"] == "http.response.start" and not self.config.places.is_known(self.transport):
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        await self._answering(scope, receive, last)  # pyright: ignore[reportArgumentType]  # uvicorn's names of the same

    def _mind_the_request(self) -> None:
        """Time what is to come of the next request, however many bytes arrive in between.

        A request that is whole is answered in its own time: only its arrival is bounded.
        """
        # `cycle` is uvicorn's request: whole when no more of its body is to come and it is not answered yet.
        due = "head" if not self.cycle or self.cycle.response_complete else "body" if self.cycle.more_body else None
        if due == self._due or self.transport.is_closing():
            return
        self._due = due
        self._arriving = _ended(self._arriving)
        if due is not None:
            bounds = self.config.bounds
            # Who has shown a token may think between two requests. Clients keep a connection for about `head_s`
            # seconds: cut off just then, a request that is on its way would be lost.
            short = due == "head" and not self.config.places.is_known(self.transport)
            self._arriving = self._cut_off_after(bounds.head_s if short else bounds.patience_s)

    def _cut_off_after(self, seconds: float) -> asyncio.TimerHandle:
        # `abort` and not `close`: closing would wait for the client to take what is left.
        return self.loop.call_later(seconds, self.transport.abort)


class _OneOfEach(h11.Connection):
    """Refuses a request that has two headers of a kind that may come once."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event. Raises RemoteProtocolError, which is answered with 400."""
        waiting = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Request):
            # In the bytes as they came: of two equal Content-Length headers the library shows one.
            names = _SINGLE.findall(waiting, 0, len(waiting) - len(self.trailing_data[0]))
            if len({name.lower() for name in names}) < len(names):
                raise h11.RemoteProtocolError("two headers of a kind that may come once")
        return event


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
        for bound in sockets or ():
            # Again: uvicorn has one number for what may wait and for what is accepted at once.
            bound.listen(_BACKLOG)
        if self.on_ready is not None:
            self.on_ready()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def security_settings(names: Iterable[str], origins: Iterable[str] = ()) -> TransportSecuritySettings:
    """Which Host headers are answered, and from which origins a browser may come: our own names, and `origins`.

    An origin is compared whole, with its scheme and port; a request without one comes from no browser's script.
    """
    # A browser sends an Origin with requests of scripts.
    hosts = list(names)
    own = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[*own, *origins])


def check_origin(text: str) -> str:
    """An origin as browsers write it, from a user's URL. Raises ScenarioError for whatever is more or less than one."""
    try:
        parts = urlsplit(text)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        parts, port, host = urlsplit(""), None, ""
    usual = {"http": 80, "https": 443}
    shown = f"{parts.scheme}://{f'[{host}]' if ':' in host else host}"
    shown += "" if port in (None, usual.get(parts.scheme)) else f":{port}"
    # A browser sends lower case and no usual port; anything else in the text would be lost, or match nothing.
    if parts.scheme not in usual or not _HOST_NAME.fullmatch(host) or text.lower() not in (shown, f"{shown}:{port}"):
        raise ScenarioError(
            f"allow-origin is scheme, host and port of a page, as https://app.example is; not {clean(text[:200])!r}"
        )
    return shown


def known(scope: Scope) -> None:
    """Note that a request has shown a valid token: its connection is kept, and never cut off for others."""
    note: Callable[[], None] | None = scope.get("state", {}).get("known")
    # None where a test calls the application without a port.
    if note is not None:
        note()

"""Doors: what lies behind one token, an MCP server of its own and the sessions that were opened with it.

A door per token means that revoking a token closes exactly what was opened with it, streams included.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from math import ceil
from typing import Any

import anyio
import anyio.abc
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from tradefair.host.doors.sessions import SessionRequest, Sessions, leaving
from tradefair.host.server.quotas import Gate, Quotas

# Streams of a client stay open, so the bound is on what is open and not on what comes in a second.
MAX_OPEN_REQUESTS = 64
_REQUESTS_PER_CALL = 4  # a client also connects, lists, reads and listens

_log = logging.getLogger("tradefair.host")


class _Passing:
    """A request and its answer on their way. What has begun decides what may still be sent when the door closes.

    `arrived` is called when the body is here whole, `answers` with status and headers before they are sent.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        arrived: Callable[[], None],
        answers: Callable[[int, list[tuple[bytes, bytes]]], None],
    ) -> None:
        self._receive, self._send, self._arrived, self._answers = receive, send, arrived, answers
        self.answered = self.finished = False

    async def arriving(self) -> Message:
        """The next part of the request: the SDK reads the body itself."""
        message = await self._receive()
        if not message.get("more_body"):
            self._arrived()
        return message

    async def noting(self, message: Message) -> None:
        """Send the next part of the answer."""
        # Before it is sent: a send that fails halfway has begun as well.
        self.answered = True
        if message["type"] == "http.response.start":
            self._answers(message["status"], list(message.get("headers", ())))
        await self._send(message)
        self.finished = message["type"] == "http.response.body" and not message.get("more_body")


class Door:
    """One token's server and sessions.

    Requests have a gate of their own, wider than that of the seat's calls, because a client also connects, lists and
    listens. Streams and waiting calls count as open requests.
    """

    def __init__(
        self, server: Server[Any], security: TransportSecuritySettings, body_limit: int, quotas: Quotas
    ) -> None:
        self._closing = anyio.Event()
        self._gone = True
        # Two sets, because going down waits for calls that are answered and not for requests that still arrive.
        self._under_way: set[anyio.CancelScope] = set()
        self._reading: set[anyio.CancelScope] = set()
        # Requests and not calls: the seat's own gate counts the calls behind them.
        rate = None if quotas.calls_per_s is None else _REQUESTS_PER_CALL * quotas.calls_per_s
        self._gate = Gate(Quotas(rate, _REQUESTS_PER_CALL * quotas.burst, open_calls=MAX_OPEN_REQUESTS))
        # Bounded by `_sessions`: the SDK would turn a client away for as long as sessions are kept that others left.
        self._manager = StreamableHTTPSessionManager(
            server, security_settings=security, max_request_body_size=body_limit, max_sessions=None
        )
        self._sessions = Sessions()

    @property
    def full(self) -> bool:
        """Whether so many requests are open that no further one is taken.

        A door that is full answers 429 to every further request.
        """
        return self._gate.open >= MAX_OPEN_REQUESTS

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self._gate.open > 0

    async def run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Keep the sessions alive until the door is closed.

        Reports through `task_status` when requests can be served.
        """
        # The manager must be left by the task that entered it, so this task waits for the door's end.
        async with self._manager.run():
            task_status.started()
            await self._closing.wait()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request; with 429 where too many are open or they come too fast."""
        session = self._admitted(scope)
        # Before anything of the request is read.
        if isinstance(session, Response):
            await session(scope, receive, send)
            return
        request = anyio.CancelScope()
        passing = _Passing(
            receive, send, partial(self._reading.discard, request), partial(self._sessions.answer, session)
        )
        if not _listens(scope):  # a stream that listens ends by itself when the door closes, and says so
            self._under_way.add(request)
        self._reading.add(request)
        try:
            # The scope is what `close` cancels.
            with request:
                await self._manager.asgi_app(scope, passing.arriving, passing.noting)
                # After the answer: what turns out to be no first request of a client costs no other its session.
                while (surplus := self._sessions.take_surplus()) is not None:
                    await self._manager.asgi_app(*leaving(scope, surplus))
        except ClientDisconnect:
            _log.debug("a client hung up in the middle of its request")
            return
        except Exception:
            # The door was closed while this request came in, and its server is gone.
            # An answer that has begun cannot be taken back, and a fault of an open door is a fault.
            if passing.answered or not self._closing.is_set():
                raise
        finally:
            self._under_way.discard(request)
            self._reading.discard(request)
            self._sessions.end(session)
            self._gate.leave()
        # The request was cut off before its answer began, so an answer that says why can still be given.
        if not passing.answered and self._closing.is_set():
            await self._closed()(scope, receive, send)
        # A body that was begun has to end, or the server would log a broken answer.
        elif not passing.finished and request.cancelled_caught:
            await send({"type": "http.response.body", "body": b""})

    def close(self, *, gone: bool = True) -> None:
        """End all sessions and streams, and requests that are still coming in.

        `gone`: the token no longer opens anything, and calls that wait are not answered either. Otherwise the host is
        going down, and calls that wait get their answers.
        """
        self._gone = gone
        self._closing.set()
        # A revoked token ends all requests; going down ends only those that have not arrived.
        for request in list(self._under_way if gone else self._reading):
            request.cancel()

    def _admitted(self, scope: Scope) -> SessionRequest | Response:
        """The session that a request belongs to, or why none is taken now."""
        refusal = self._gate.enter("")
        if refusal is not None:
            wait = ceil(refusal.retry_after_s or 1)
            text = "too many requests with this token: try again later"
            return Response(text, status_code=429, headers={"Retry-After": str(wait)})
        session = self._sessions.begin(scope)
        if session.opens and self._sessions.overfull:
            self._sessions.end(session)
            self._gate.leave()
            text = "all sessions of this token have calls under way: try again later"
            return Response(text, status_code=503, headers={"Retry-After": "1"})
        return session

    def _closed(self) -> Response:
        if self._gone:
            return Response("the seat is no longer here", status_code=404)
        return Response("the host is going down: try again later", status_code=503, headers={"Retry-After": "5"})


def _listens(scope: Scope) -> bool:
    """Whether a request of the stateless era follows resources. The header may be trusted.

    The SDK compares it to the body.
    """
    return (b"mcp-method", b"subscriptions/listen") in scope["headers"]


class Doors:
    """The open doors by the ids of their grants."""

    def __init__(self) -> None:
        self._doors: dict[str, Door] = {}

    def __len__(self) -> int:
        return len(self._doors)

    def get(self, grant: str) -> Door | None:
        """The open door of a grant, if there is one."""
        return self._doors.get(grant)

    def put(self, grant: str, door: Door) -> Door:
        """Keep a door that is about to run; returns it."""
        self._doors[grant] = door
        return door

    def shut(self, grants: Iterable[str] | None = None) -> None:
        """Close the doors of `grants` for good; with None all doors, because the host goes down."""
        # A copy, because a door leaves the mapping here.
        for grant in list(self._doors) if grants is None else grants:
            door = self._doors.pop(grant, None)
            if door is not None:
                door.close(gone=grants is not None)

"""What every answer of the viewer carries, and which requests get one: GET from a known Host, and no other."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tradefair.evaluation.report.page import content_policy


class Shield:
    """Refuses requests by method and Host header, and adds the security headers to every answer.

    A web site can point a name of its own at 127.0.0.1 (DNS rebinding) and let a visitor's browser ask
    this server. Such a request carries the foreign name in its Host header.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(host.encode() for host in hosts)
        self._headers = [
            # The page has the same policy in a meta element. Only a header can forbid frames, and JSON
            # answers have no meta.
            (b"content-security-policy", f"{content_policy(connect=True)}; frame-ancestors 'none'".encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            # Traces are other people's data and change while an episode runs.
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        # Start-up and shutdown messages of the server; WebSockets are switched off in `server.py`.
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Refusals pass through here as well, so no answer is without these headers.
                message["headers"] = [*message.get("headers", ()), *self._headers]
            await send(message)

        refusal = self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """The answer to a request that is refused, None for one that is let through."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        # Two Host headers are ambiguous: proxies and servers disagree which of them counts.
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("this viewer answers to its own address only\n", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("this viewer only shows: GET\n", 405, {"allow": "GET, HEAD"})
        return None

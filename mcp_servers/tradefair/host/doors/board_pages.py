"""The two pages of `tradefair play --agent person`, next to the seat that they play.

Neither holds anything of the episode: the token comes in the address's fragment, which no browser sends, and all data
come through `/mcp` for whoever has it. Each page runs its own scripts only and loads nothing from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import partial

from mcp.server.transport_security import TransportSecurityMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tradefair.host.doors.listening import security_settings
from tradefair.host.server.board import page_text

_SCRIPTS = re.compile(r"<script\b[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE)
# Per page: the outer one asks this host and frames the board; the board can do neither and has an origin of its own.
_POLICIES = {
    "person.html": "connect-src 'self'; frame-src 'self'; frame-ancestors 'none'",
    "board.html": "sandbox allow-scripts allow-forms; frame-ancestors 'self'",
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def page_routes(allowed_hosts: Iterable[str]) -> list[Route]:
    """`/` and `/board.html`, answered under these values of the Host header only: a page of others cannot rebind us."""
    security = TransportSecurityMiddleware(security_settings(allowed_hosts))
    paths = {"/": "person.html", "/board.html": "board.html"}
    return [Route(path, partial(_page, security, name), methods=["GET"]) for path, name in paths.items()]


async def _page(security: TransportSecurityMiddleware, name: str, request: Request) -> Response:
    foreign = await security.validate_request(request, is_post=False)
    if foreign is not None:
        return foreign
    text = page_text(name)
    return HTMLResponse(text, headers={**_HEADERS, "Content-Security-Policy": _policy(name, text)})


def _policy(name: str, text: str) -> str:
    """What the page may do; its scripts by their hashes, so that no text could become one."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in _SCRIPTS.findall(text))
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; "
        f"base-uri 'none'; form-action 'none'; {_POLICIES[name]}"
    )

"""The sessions of one token: many clients open one for each connection and never say that they have left it."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Message, Receive, Scope, Send

MAX_SESSIONS = 16

_ID = b"mcp-session-id"
_REVISION = MCP_PROTOCOL_VERSION_HEADER.encode()


@dataclass
class SessionRequest:
    """One request as its session sees it. `session` is None until one is open, and without sessions."""

    session: str | None
    opens: bool
    ends: bool
    # A stream that only listens keeps no session: clients open one by themselves, and leave it open.
    holds: bool


class Sessions:
    """Which sessions are open and how many requests each of them has under way, the least recently used first."""

    def __init__(self) -> None:
        self._under_way: dict[str, int] = {}
        self._opening = 0

    def __len__(self) -> int:
        return len(self._under_way)

    @property
    def overfull(self) -> bool:
        """Whether more sessions have requests under way than may be open: none could be closed for another one."""
        return self._opening + sum(count > 0 for count in self._under_way.values()) > MAX_SESSIONS

    def begin(self, scope: Scope) -> SessionRequest:
        """Take a request in."""
        headers = dict(scope["headers"])
        named = headers[_ID].decode("latin-1") if _ID in headers else None
        revision = headers.get(_REVISION)
        stateless = revision is not None and revision.decode("latin-1") not in HANDSHAKE_PROTOCOL_VERSIONS
        known = named if named in self._under_way else None
        method = scope["method"]
        request = SessionRequest(known, named is None and not stateless, method == "DELETE", method != "GET")
        self._opening += request.opens
        self._use(request, 1)
        return request

    def answer(self, request: SessionRequest, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Take in how the request is answered: the answer to the first one names the session."""
        session = dict(headers).get(_ID)
        if request.opens and request.session is None and session is not None and status < 400:
            self._opening -= 1
            request.opens, request.session = False, session.decode("latin-1")
            self._under_way[request.session] = 1
        # The SDK has closed it meanwhile, or its client does.
        elif request.session is not None and (request.ends or status == 404):
            self.forget(request.session)

    def end(self, request: SessionRequest) -> None:
        """Let a request go; its session was used until now."""
        self._opening -= request.opens
        self._use(request, -1)

    def _use(self, request: SessionRequest, more: int) -> None:
        count = None if request.session is None else self._under_way.pop(request.session, None)
        # Put back at the end: the order of the mapping is the order of use.
        if request.session is not None and count is not None:
            self._under_way[request.session] = count + more * request.holds

    def take_surplus(self) -> str | None:
        """Forget the least recently used idle session where there are too many; the caller closes it."""
        if len(self._under_way) <= MAX_SESSIONS:
            return None
        idle = next((session for session, count in self._under_way.items() if not count), None)
        return None if idle is None else self.forget(idle)

    def forget(self, session: str) -> str:
        """Count a session no longer."""
        self._under_way.pop(session, None)
        return session


def leaving(scope: Scope, session: str) -> tuple[Scope, Receive, Send]:
    """The request with which the client of a session would end it, made from another request of the same token."""
    kept = [(name, value) for name, value in scope["headers"] if name == b"host"]

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        pass

    return {**scope, "method": "DELETE", "headers": [*kept, (_ID, session.encode("latin-1"))]}, receive, send

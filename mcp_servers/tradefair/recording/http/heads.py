"""Heads of HTTP requests on their way to the server: where they go, and which are refused."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from tradefair.contract.errors import ScenarioError

MAX_HEAD = 65_536
LOCAL_PATH = b"/mcp"
"""Where a client finds the server: the path, and all of the query, of its URL stay with the recorder."""

_ORIGIN = re.compile(rb"https?://([^/]+)")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(:\d{1,5})?")


class Refused(Exception):
    """A request that goes nowhere: the status and the sentence that its client gets."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


class Upstream(NamedTuple):
    """The server that is recorded. `path` and `query` may hold secrets and are never written."""

    host: str
    port: int
    tls: bool
    path: bytes
    query: bytes

    @property
    def authority(self) -> str:
        """What `Host` says of it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, name and port: what may be printed and recorded."""
        return f"{'https' if self.tls else 'http'}://{self.authority}"


def upstream_of(url: str) -> Upstream:
    """The server at `url`. Raises ScenarioError; the URL is not repeated, it may hold a secret."""
    allowed = "--url takes a server's address, such as https://example.org/mcp"
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode("ascii")
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise ScenarioError(allowed) from None
    if parts.scheme not in ("http", "https") or not host or not re.fullmatch(r"[!-~]+", url):
        raise ScenarioError(allowed)
    if parts.username is not None:
        raise ScenarioError("a password in --url goes nowhere: let the client send the header Authorization")
    return Upstream(host, port, parts.scheme == "https", (parts.path or "/").encode(), parts.query.encode())


class RequestHead(NamedTuple):
    """A request as the server gets it, and what the recorder goes by. `headers` have names in small letters."""

    method: str
    raw: bytes
    headers: dict[str, bytes]


def rewritten(head: bytes, upstream: Upstream) -> RequestHead:
    """`head`, to its blank line, with the server's path and `Host`; all other bytes as they came.

    Raises Refused (403) where `Host` or `Origin` is not this machine: a page of the web whose name leads here may
    otherwise act on the server as if it were a client, because the server no longer sees that name.
    """
    first, *lines = head[:-4].split(b"\r\n")
    try:
        method, target, version = first.split(b" ")
    except ValueError:
        raise Refused("400 Bad Request", "this is no HTTP/1.1") from None
    if not target.startswith(b"/") or not version.startswith(b"HTTP/1."):
        raise Refused("400 Bad Request", "the recorder takes HTTP/1.1 with a path, such as POST /mcp")
    headers: dict[str, bytes] = {}
    hosts: list[bytes] = []
    for number, line in enumerate(lines):
        name, _, value = line.partition(b":")
        key, value = name.lower().decode("latin-1"), value.strip(b" \t")
        headers[key] = headers[key] + b", " + value if key in headers else value
        if key == "host":
            hosts.append(value)
            lines[number] = name + b": " + upstream.authority.encode()
        elif key == "origin":
            match = _ORIGIN.fullmatch(value)
            _expect_loopback(match[1] if match else b"", "Origin")
    if len(hosts) != 1:
        raise Refused("400 Bad Request", "a request names one Host")
    _expect_loopback(hosts[0], "Host")
    start = b" ".join((method, _target(target, upstream), version))
    return RequestHead(method.decode("latin-1"), b"\r\n".join((start, *lines, b"", b"")), headers)


def refusal(refused: Refused) -> bytes:
    """The whole answer to a refused request, behind which the connection ends."""
    text = f"tradefair record: {refused}\n".encode()
    head = f"HTTP/1.1 {refused.status}\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\nConnection: close"
    return head.encode() + b"\r\n\r\n" + text


def _target(target: bytes, upstream: Upstream) -> bytes:
    """Where `target` lies at the server. What is not at or below LOCAL_PATH keeps its path."""
    path, mark, query = target.partition(b"?")
    if path == LOCAL_PATH:
        both = b"&".join(part for part in (upstream.query, query) if part)
        return upstream.path + (b"?" + both if both else b"")
    if path.startswith(LOCAL_PATH + b"/"):
        path = upstream.path.rstrip(b"/") + path[len(LOCAL_PATH) :]
    return path + mark + query


def _expect_loopback(authority: bytes, header: str) -> None:
    match = _AUTHORITY.fullmatch(authority.decode("latin-1"))
    name = match[1].lower() if match else ""
    try:
        local = name == "localhost" or ip_address(name.strip("[]")).is_loopback
    except ValueError:
        local = False
    if not local:
        raise Refused("403 Forbidden", f"{header} is not this machine: open http://127.0.0.1 or http://localhost")

"""Heads of requests: where they go, which bytes change, and which requests are refused."""

from __future__ import annotations

import pytest

from tradefair.contract.errors import ScenarioError
from tradefair.recording.http.heads import Refused, rewritten, upstream_of

UPSTREAM = upstream_of("https://api.example.org/v1/tools?key=abc")


def head(*lines: str, start: str = "POST /mcp HTTP/1.1") -> bytes:
    return "\r\n".join([start, *lines, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    ("target", "sent"),
    [
        ("/mcp", "/v1/tools?key=abc"),
        ("/mcp?a=1&a=2", "/v1/tools?key=abc&a=1&a=2"),
        ("/mcp/sub?a", "/v1/tools/sub?a"),
        ("/mcpx", "/mcpx"),
        ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/mcp"),
    ],
)
def test_the_path_and_the_host_line_change_and_no_other_byte(target: str, sent: str) -> None:
    lines = ("X-Odd:  two  spaces ", "hOST: localhost:8931", "Authorization: Bearer é", "x-odd: again")
    passed = rewritten(head(*lines, start=f"POST {target} HTTP/1.1"), UPSTREAM)
    expected = ("X-Odd:  two  spaces ", "hOST: api.example.org", "Authorization: Bearer é", "x-odd: again")
    assert passed.raw == head(*expected, start=f"POST {sent} HTTP/1.1")
    assert passed.headers["x-odd"] == b"two  spaces, again"


LOOPBACK = ["127.0.0.1", "127.0.0.1:8931", "localhost", "LocalHost:80", "[::1]:8931", "127.8.9.10"]
FOREIGN = [
    "evil.example", "evil.example:8931", "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0", "10.0.0.1:8931",
    "", "user@localhost", "localhost@evil.example", "localhost:8931:1", "[::1", "::1", "localhost, evil.example",
    "2130706433", "127.1",
]  # fmt: skip


@pytest.mark.parametrize("name", LOOPBACK)
def test_this_machine_by_any_of_its_names_may_ask(name: str) -> None:
    for scheme in ("http", "https"):
        assert rewritten(head(f"Host: {name}", f"Origin: {scheme}://{name}"), UPSTREAM).headers["host"]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_host_or_origin_that_is_not_this_machine_is_refused(name: str) -> None:
    for lines in ((f"Host: {name}",), ("Host: localhost", f"Origin: http://{name}")):
        with pytest.raises(Refused, match="is not this machine") as refused:
            rewritten(head(*lines), UPSTREAM)
        assert refused.value.status == "403 Forbidden"


@pytest.mark.parametrize(
    "origin", ["null", "file://", "chrome-extension://localhost", "http://localhost/path", "localhost"]
)
def test_an_origin_of_another_kind_is_refused(origin: str) -> None:
    with pytest.raises(Refused, match="Origin"):
        rewritten(head("Host: localhost", f"Origin: {origin}"), UPSTREAM)


@pytest.mark.parametrize(
    ("start", "lines"),
    [
        ("POST /mcp HTTP/1.1", ()),
        ("POST /mcp HTTP/1.1", ("Host: localhost", "Host: localhost")),
        ("POST http://localhost/mcp HTTP/1.1", ("Host: localhost",)),
        ("OPTIONS * HTTP/1.1", ("Host: localhost",)),
        ("PRI * HTTP/2.0", ()),
        ("POST /mcp", ("Host: localhost",)),
    ],
)
def test_what_is_not_a_path_on_one_host_is_refused(start: str, lines: tuple[str, ...]) -> None:
    with pytest.raises(Refused) as refused:
        rewritten(head(*lines, start=start), UPSTREAM)
    assert refused.value.status == "400 Bad Request"


@pytest.mark.parametrize(
    ("url", "origin", "path"),
    [
        ("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000", b"/mcp"),
        ("https://example.org", "https://example.org", b"/"),
        ("http://[::1]:80/a", "http://[::1]", b"/a"),
    ],
)
def test_a_server_is_named_by_its_origin(url: str, origin: str, path: bytes) -> None:
    upstream = upstream_of(url)
    assert (upstream.origin, upstream.path) == (origin, path)


@pytest.mark.parametrize(
    "url",
    ["", "example.org/mcp", "ftp://example.org", "https://", "http://a b/", "http://h:x/", "https://u:hidden@h/mcp"],
)
def test_an_address_of_no_server_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ScenarioError, match="--url") as refused:
        upstream_of(url)
    assert "hidden" not in str(refused.value)

"""Over HTTP a recorder changes no byte but the path and the Host line, and hears every message that passes.

Also here:
- Heads of requests: where they go, which bytes change, and which requests are refused.
- Copies of HTTP bodies: every message comes out once, however the bytes are cut, packed or large.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
import resource
import tracemalloc
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recording.http_kit import Scripted, call, exchange, listening, post, recorded
from tests.waiting import LONG, eventually, steady

from tradefair.contract.chain import digest
from tradefair.contract.errors import ScenarioError
from tradefair.recording.http.bodies import Body
from tradefair.recording.http.heads import Refused, rewritten, upstream_of
from tradefair.recording.messages import MAX_MESSAGE, Unread

CALL = orjson.dumps(call(1, text="é"))
RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "é"}]}}
JSON = orjson.dumps(RESULT)
TOLD = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}}
LARGE = {**RESULT, "result": {"content": [{"type": "text", "text": "x" * 5_000_000}]}}
LARGE_CALL = orjson.dumps(call(1, text="y" * 5_000_000))


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def chunked(parts: Sequence[bytes], head: bytes, trailer: bytes = b"") -> bytes:
    sent = b"".join(b"%x;note=1\r\n%b\r\n" % (len(part), part) for part in parts)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + sent + b"0\r\n" + trailer + b"\r\n"


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Odd:  kept \r\n"
POST_HEAD = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
EVENTS = b": hello\r\n\r\nid: 1\r\ndata: " + orjson.dumps(TOLD) + b"\r\n\r\ndata: " + JSON + b"\r\n\r\n"
STREAM = chunked([EVENTS[:30], EVENTS[30:31], EVENTS[31:]], STREAM_HEAD, b"X-Trailer: t\r\n")


def in_short(raw: bytes) -> dict[str, object]:
    """What is kept of a message that is too large to be read."""
    return {"size": len(raw), "digest": digest(raw)}


class Case(NamedTuple):
    """What a client sends, whole, what a server answers, and what the trace is to hold."""

    sent: bytes
    answered: bytes
    logged: list[tuple[object, ...]]
    ends: bool = False


CALLED = ("echo", {"text": "é"}, {"text": "é"})
SAID = ("server", "notifications/message", {"data": "x"})
CASES = {
    "json": Case(post(CALL), answer(JSON), [CALLED]),
    "two on one connection": Case(post(CALL) * 2, answer(JSON) * 2, [CALLED] * 2),
    "chunks and trailers both ways": Case(
        chunked([CALL[:9], CALL[9:]], POST_HEAD, b"X-Trailer: t\r\n"),
        STREAM,
        [SAID, CALLED],
    ),
    "chunks, then a length": Case(
        chunked([CALL], POST_HEAD) + post(CALL), STREAM + answer(JSON), [SAID, CALLED, CALLED]
    ),
    "packed": Case(
        post(gzip.compress(CALL), "Content-Encoding: gzip"),
        answer(gzip.compress(JSON), "Content-Encoding: gzip"),
        [CALLED],
    ),
    "a packed stream": Case(
        post(CALL),
        chunked([gzip.compress(EVENTS)], STREAM_HEAD + b"Content-Encoding: gzip\r\n"),
        [SAID, CALLED],
    ),
    "continue": Case(post(CALL, "Expect: 100-continue"), b"HTTP/1.1 100 Continue\r\n\r\n" + answer(JSON), [CALLED]),
    "until the end": Case(
        post(CALL), STREAM_HEAD + b"Connection: close\r\n\r\n" + EVENTS, [SAID, CALLED], True
    ),
    "a batch": Case(
        post(b"[%b,%b]" % (CALL, CALL.replace(b'"id":1', b'"id":2'))),
        answer(b"[%b, %b]" % (JSON.replace(b'"id":1', b'"id":2'), JSON)),
        [CALLED, ("echo", {"text": "é"}, {"text": "é"})],
    ),
    "head": Case(b"HEAD /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + post(CALL),
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + answer(JSON), [CALLED]),
    "an upgrade that is not taken": Case(
        post(CALL, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAM"), answer(JSON), [CALLED]
    ),
    "refused": Case(
        post(CALL), answer(b"no", "WWW-Authenticate: Bearer", status="401 Unauthorized"),
        [(*CALLED[:2], "http_401")],
    ),
    "an error of the protocol": Case(
        post(CALL), answer(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}', status="404 Not Found"),
        [(*CALLED[:2], "rpc_-32601")],
    ),
    "no message of the protocol": Case(
        post(b"grant_type=client_credentials"), answer(b'{"access_token": "hidden"}'), []
    ),
    "a login that fails": Case(
        post(b'{"jsonrpc":"2.0","id":0,"method":"initialize"}'), answer(b"{}", status="401 Unauthorized"), []
    ),
    "5 MB": Case(
        post(LARGE_CALL), answer(orjson.dumps(LARGE)), [("echo", in_short(LARGE_CALL), in_short(orjson.dumps(LARGE)))],
    ),
}  # fmt: skip


def framed(case: Case) -> Scripted:
    """A server that answers once it has heard as many bytes as the client is to send."""

    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        # In pieces of an odd size, so that borders fall anywhere.
        size = 7 if len(case.answered) < 5_000 else 65_537
        for index in range(0, len(case.answered), size):
            writer.write(case.answered[index : index + size])
            await writer.drain()
            await asyncio.sleep(0)
        if case.ends:
            writer.close()

    def whole(data: bytes) -> int:
        return len(data) if len(re.sub(rb"(Host: 127.0.0.1):\d+", rb"\1", data)) >= len(case.sent) else 0

    return Scripted(reply, whole)


@pytest.mark.parametrize("name", CASES)
async def test_the_bytes_are_the_same_with_and_without_a_recorder(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    server = framed(case)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        until = None if case.ends else len(case.answered)
        size = 11 if len(case.sent) < 5_000 else 65_537
        pieces = [case.sent[index : index + size] for index in range(0, len(case.sent), size)]
        direct = await exchange(port, pieces, until)
        alone, server.heard = server.heard, b""
        assert await exchange(recording.port, pieces, until) == direct == case.answered
    assert recording.broken == []
    assert server.heard.replace(f"Host: 127.0.0.1:{port}".encode(), b"Host: 127.0.0.1") == alone == case.sent
    assert recording.rows() == case.logged


async def test_a_stream_that_is_cut_at_any_byte_arrives_whole_and_is_heard_whole(tmp_path: Path) -> None:
    cut = 0

    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        for part in (STREAM[:cut], STREAM[cut:]):
            writer.write(part)
            # Turns of the loop in which the recorder reads what there is.
            for _ in range(20):
                await asyncio.sleep(0)

    server = Scripted(reply, lambda data: data.find(CALL) + len(CALL) if CALL in data else 0)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        for cut in range(len(STREAM)):  # noqa: B007  # read by the server
            assert await exchange(recording.port, [post(CALL)], len(STREAM)) == STREAM
    assert recording.rows() == [SAID, CALLED] * len(STREAM)


async def test_a_call_is_in_the_log_before_the_server_has_it_and_its_answer_before_the_client_has_it(
    tmp_path: Path,
) -> None:
    seen: list[object] = []

    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        seen.append(recording.rows()[-1])
        writer.write(answer(JSON))

    server = Scripted(reply, lambda data: len(data) if data.endswith(CALL) else 0)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        for number in range(1, 20):
            await exchange(recording.port, [post(CALL)], len(answer(JSON)))
            assert seen[-1] == ("pending", "echo")
            assert recording.rows() == [CALLED] * number


async def test_who_closes_the_stream_has_left_and_the_server_hears_of_it_at_once(tmp_path: Path) -> None:
    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + b"\r\n: waiting\r\n\r\n")

    server = Scripted(reply, lambda data: len(data) if data.endswith(CALL) else 0)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        await exchange(recording.port, [post(CALL)], len(STREAM_HEAD))
        async with asyncio.timeout(LONG):
            await server.closed.wait()
        assert recording.rows() == [("cancelled", "echo")]


async def test_a_slow_reader_stops_the_reading_and_nothing_queues(tmp_path: Path) -> None:
    written = 0

    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(STREAM_HEAD + b"\r\n")
        event = b"data: " + b"x" * 100_000 + b"\n\n"
        for _ in range(1_000):
            writer.write(event)
            await writer.drain()
            written += len(event)
        writer.close()

    server = Scripted(reply, lambda data: len(data) if data.endswith(CALL) else 0)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        reader, writer = await asyncio.open_connection("127.0.0.1", recording.port, limit=4_096)
        writer.write(post(CALL))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await eventually(steady(lambda: written), "a recorder that reads no more")
        assert written < 40_000_000  # what kernels keep; the rest of 100 MB was never read
        assert len(await reader.read(-1)) > 100_000_000
        writer.close()
        assert (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 400_000
        )  # kB; the test itself holds the answer


async def test_a_foreign_host_is_refused_before_anything_reaches_the_server(tmp_path: Path) -> None:
    async def reply(request: bytes, writer: asyncio.StreamWriter) -> None:
        raise AssertionError("the server was reached")

    server = Scripted(reply, len)
    async with listening(server) as port, recorded(f"http://127.0.0.1:{port}/mcp", tmp_path) as recording:
        for sent in (post(CALL, host="evil.example"), post(CALL, "Origin: http://evil.example")):
            assert (await exchange(recording.port, [sent])).startswith(b"HTTP/1.1 403 Forbidden\r\n")
        assert (await exchange(recording.port, [b"GET /mcp HTTP/1.1\r\nHost: x\r\nBad Name: 1\r\n\r\n"])).startswith(
            b"HTTP/1.1 400"
        )
        assert (await exchange(recording.port, [b"x" * 70_000])).startswith(b"HTTP/1.1 431")
    assert (server.heard, recording.traces, recording.broken) == (b"", [], [])


async def test_a_server_that_is_not_there_is_an_answer_and_a_failed_call(tmp_path: Path) -> None:
    async with recorded("http://127.0.0.1:1/mcp?key=hidden", tmp_path) as recording:
        told = await exchange(recording.port, [post(CALL)])
    assert told.startswith(b"HTTP/1.1 502 Bad Gateway")
    assert b"http://127.0.0.1:1 cannot be reached" in told
    assert b"hidden" not in told
    assert recording.rows() == [(*CALLED[:2], "unreachable")]


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


EVENTS_STREAM = (
    '\ufeff: comment\nid: 1\nevent: message\ndata: {"a": 1}\n\n'
    ': keep-alive\n\nretry: 10\n\ndata:{"b":\ndata: "é"}\nid: 2\n\ndata: [1]\n\n'
).encode()
MESSAGES = [b'{"a": 1}', '{"b":\n"é"}'.encode(), b"[1]"]


def read(pieces: Iterable[bytes], media_type: str = "text/event-stream", encoding: str = "") -> list[bytes | Unread]:
    taken: list[bytes | Unread] = []
    body = Body(media_type, encoding, lambda item: taken.append(item if isinstance(item, Unread) else bytes(item)))
    for piece in pieces:
        body.feed(piece)
    body.end()
    return taken


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_a_stream_that_is_cut_at_any_byte_holds_the_same_messages(line_end: bytes) -> None:
    stream = EVENTS_STREAM.replace(b"\n", line_end)
    for cut in range(len(stream) + 1):
        assert read([stream[:cut], b"", stream[cut:]]) == MESSAGES, cut
    assert read(stream[index : index + 1] for index in range(len(stream))) == MESSAGES


def test_a_message_is_taken_at_its_blank_line_and_not_at_the_next_event() -> None:
    taken: list[bytes] = []
    body = Body("text/event-stream; charset=utf-8", "", lambda item: taken.append(bytes(item)))  # pyright: ignore[reportArgumentType]
    body.feed(b"data: 1\n")
    assert taken == []
    body.feed(b"\n")
    assert taken == [b"1"]


@given(st.lists(st.text(st.characters(exclude_characters="\r\n"), min_size=1), max_size=5), st.data())
def test_what_is_packed_and_cut_anywhere_comes_out_as_it_was(texts: list[str], data: st.DataObject) -> None:
    raw = b"".join(b"data: %b\r\n\r\n" % text.encode("utf-8", "surrogatepass") for text in texts)
    encoding = data.draw(st.sampled_from(["", "identity", "gzip", "x-gzip", "deflate", "bare"]))
    if encoding == "bare":
        packer = zlib.compressobj(wbits=-15)
        sent = packer.compress(raw) + packer.flush()
    else:
        pack = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress}.get(encoding, bytes)
        sent = pack(raw)
    size = data.draw(st.integers(1, 40))
    pieces = [sent[index : index + size] for index in range(0, len(sent), size)]
    expected = [text.removeprefix("\ufeff").encode("utf-8", "surrogatepass") for text in texts]
    assert read(pieces, encoding="deflate" if encoding == "bare" else encoding.upper()) == expected


def test_members_of_gzip_are_one_body() -> None:
    assert read([gzip.compress(b'{"a"') + gzip.compress(b": 1}")], "application/json", "gzip") == [b'{"a": 1}']


@pytest.mark.parametrize(("media_type", "before", "after"), [
    ("application/json", b"", b""),
    ("text/event-stream", b": x\r\nid: 1\r\ndata: ", b"\r\n\r\ndata: 1\r\n\r\n"),
])  # fmt: skip
def test_a_message_over_the_bound_is_known_by_id_size_and_digest_in_bounded_memory(
    media_type: str, before: bytes, after: bytes
) -> None:
    large = before + b'{"id": 7, "result": "' + b"x" * (3 * MAX_MESSAGE) + b'"}'
    tracemalloc.start()
    taken = read([*(large[index : index + 65_536] for index in range(0, len(large), 65_536)), after], media_type)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5.5 * MAX_MESSAGE  # of which 3 are the pieces
    assert isinstance(taken[0], Unread)
    event = large + after[:2]
    assert taken[0][:4] == (len(event), hashlib.blake2b(event, digest_size=32).hexdigest(), True, 7)
    assert taken[1:] == ([b"1"] if after else [])


def test_a_bomb_is_unpacked_in_bounded_memory_and_known_by_size() -> None:
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(100)) + packer.flush()
    tracemalloc.start()
    taken = read([bomb], "application/json", "gzip")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(taken[0], Unread)
    assert taken[0].size == 100_000_000
    assert peak < 2.5 * MAX_MESSAGE


@pytest.mark.parametrize(
    ("encoding", "raw"), [("br", b"abc"), ("gzip, br", b"abc"), ("gzip", b"abc"), ("deflate", b"xbc")]
)
def test_what_cannot_be_unpacked_is_known_by_size_and_digest(encoding: str, raw: bytes) -> None:
    (taken,) = read([raw, raw], "application/json", encoding)
    assert isinstance(taken, Unread)
    assert taken[:2] == (2 * len(raw), hashlib.blake2b(raw * 2, digest_size=32).hexdigest())


def test_an_empty_body_holds_no_message() -> None:
    for media_type in ("application/json", "text/event-stream"):
        assert read([], media_type) == read([b""], media_type) == []

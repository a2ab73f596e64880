"""Copies of HTTP bodies: every message comes out once, however the bytes are cut, packed or large."""

from __future__ import annotations

import gzip
import hashlib
import tracemalloc
import zlib
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.recording.http.bodies import Body
from tradefair.recording.messages import MAX_MESSAGE, Unread

STREAM = (
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
    stream = STREAM.replace(b"\n", line_end)
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

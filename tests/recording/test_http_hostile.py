"""Bytes of clients and servers that are not as they should be: refused, or passed unread; a recording goes on."""

from __future__ import annotations

import random
from pathlib import Path

from tests.recording.test_http_bytes import CASES

from tradefair.recording.exchange import Exchange
from tradefair.recording.http.heads import Refused, upstream_of
from tradefair.recording.http.parsing import Answers, Request
from tradefair.recording.http.sessions import Sessions
from tradefair.tracestore.redaction import Redactor

UPSTREAM = upstream_of("http://h/mcp")
PARTS = [
    b"\r\n", b"\r\n\r\n", b"data: ", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n", b"\n\n", b"Upgrade: x\r\nConnection: upgrade\r\n",
]  # fmt: skip


def damaged(chance: random.Random, raw: bytes) -> bytes:
    """`raw` with up to four bytes or parts changed, put in or taken away."""
    content = bytearray(raw[:5_000])
    for _ in range(chance.randint(0, 4)):
        index = chance.randrange(len(content) + 1)
        match chance.randrange(3):
            case 0:
                content[index : index + 1] = chance.randbytes(1)
            case 1:
                del content[index : index + chance.randint(1, 20)]
            case _:
                content[index:index] = chance.choice(PARTS)
    return bytes(content)


def ask(chance: random.Random, sessions: Sessions, answers: Answers, data: bytes) -> None:
    """What a connection does with the bytes of a client, in pieces. Raises Refused."""
    while (end := data.find(b"\r\n\r\n")) >= 0:
        request, data = Request(data[: end + 4], UPSTREAM, sessions), data[end + 4 :]
        answers.asked.append(request.asked)
        while data and not request.complete:
            size = chance.randint(1, len(data))
            used = request.feed(data[:size])
            assert used == size or request.complete
            data = data[used:]


def test_damaged_bytes_of_either_side_raise_nothing_else_and_leave_no_log_in_use(tmp_path: Path) -> None:
    chance, traces, refused = random.Random(22), list[Path](), 0

    def opened() -> Exchange:
        traces.append(tmp_path / f"{len(traces)}.trace")
        return Exchange(traces[-1], Redactor(), {}, transport="http")

    sessions = Sessions(opened)
    for _ in range(400):
        case, answers = chance.choice(list(CASES.values())), Answers()
        try:
            ask(chance, sessions, answers, damaged(chance, case.sent))
        except Refused:
            refused += 1
        data = damaged(chance, case.answered)
        while data:
            size = chance.randint(1, len(data))
            answers.feed(data[:size])
            data = data[size:]
        if chance.random() < 0.5:
            answers.end()
        for asked in answers.asked:
            asked.left()
        # Sealed, because no request uses it any more.
        sessions.end(sessions.keys({}, ""))
    assert 50 < refused < 350
    assert len(traces) > 20
    assert not [file for path in traces for file in tmp_path.glob(f"{path.name}-*")]

"""What a client and a server say to each other, as rows of a trace: every kind of message in either era."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tradefair.contract.kernel.players import Seating
from tradefair.evaluation.prove.verify import verify_file
from tradefair.recording.exchange import CLIENT, SERVER, Exchange, Side
from tradefair.recording.messages import MAX_MESSAGE, Lines
from tradefair.tracestore import open_trace
from tradefair.tracestore.redaction import Redactor

INITIALIZE = {"clientInfo": {"name": "desk", "version": "2"}, "protocolVersion": "2025-11-25"}
META = {
    "_meta": {
        "io.modelcontextprotocol/clientInfo": {"name": "desk", "version": "3"},
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "traceparent": "00-a-b-01",
    }
}
_WORDS = some.sampled_from(
    ["jsonrpc", "id", "method", "params", "result", "error", "name", "arguments", "_meta", "tools", "content", "text",
     "requestId", "resultType", "isError", "structuredContent", "code", "message", "clientInfo", "token", "value", "x"]
)  # fmt: skip
_METHODS = ["tools/call", "tools/list", "initialize", "ping", "notifications/cancelled", "notifications/message", "a/b"]


def call(number: Any, tool: str = "echo", **arguments: Any) -> dict[str, Any]:
    return asked(number, "tools/call", name=tool, arguments=arguments)


def raw_call(arguments: bytes) -> bytes:
    return b'{"id":1,"method":"tools/call","params":{"name":"x","arguments":' + arguments + b"}}"


def asked(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def told(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def answer(number: Any, result: Any = None, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": {"structuredContent": {"said": result}, **more}}


class Session:
    """An exchange whose messages are given as objects, and what became of it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.redactor = options.pop("redactor", None) or Redactor()
        self.exchange = Exchange(folder / "a.trace", self.redactor, {"command": "x"}, transport="stdio", **options)
        self.path = self.exchange.path

    def __call__(self, *messages: tuple[Side, Any], end: bool = True) -> Session:
        for side, message in messages:
            raw = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.exchange.seen(side, Lines().feed(raw + b"\n"))
        if end:
            self.exchange.end()
            check = verify_file(self.path, chain_only=True)
            assert check.verdict == "intact", check.sentence
            assert check.sealed
        return self

    @property
    def events(self) -> list[dict[str, Any]]:
        with open_trace(self.path) as trace:
            return list(trace.decoded())

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == "tool_called"]

    @property
    def said(self) -> list[tuple[str, str, Any]]:
        events = self.events
        return [(event["role"], event["name"], event["content"]) for event in events if event["event"] == "message"]

    @property
    def about(self) -> dict[str, Any]:
        with open_trace(self.path) as trace:
            return trace.manifest.about

    def pending(self) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as database:
            return database.execute("SELECT request_id, cancelled FROM pending ORDER BY id").fetchall()


def outcomes(calls: Sequence[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    return [
        (made["tool"], made["status"], made["error"]["code"] if made["error"] else made["result"]) for made in calls
    ]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_a_session_of_the_first_era_becomes_a_trace(session: Session) -> None:
    tools = [{"name": "echo", "annotations": {"readOnlyHint": True}, "inputSchema": {"type": "object"}}]
    listed = {"jsonrpc": "2.0", "id": "t", "result": {"tools": tools}}
    session(
        (CLIENT, asked(0, "initialize", **INITIALIZE)),
        (
            SERVER,
            {"id": 0, "result": {"serverInfo": {"name": "shop", "version": "1"}, "protocolVersion": "2025-11-25"}},
        ),
        (CLIENT, told("notifications/initialized")),
        (CLIENT, asked("t", "tools/list")),
        (SERVER, listed),
        (CLIENT, asked("t", "tools/list")),
        (SERVER, listed),
        (CLIENT, call(1, text="a")),
        (SERVER, told("notifications/progress", progress=1)),
        (SERVER, answer(1, "a")),
    )
    first, *_ = session.events
    seating = Seating.model_validate(first["seating"])
    assert seating.model_dump(mode="json").items() >= first["seating"].items()
    assert seating.players["client"].label == "desk 2"
    assert first["seating"]["origin"] == {"recorded_from": {"format": "mcp", "transport": "stdio"}}
    assert session.said == [("server", "tools/list", tools)]
    (made,) = session.calls
    assert (made["kind"], made["step"], made["arguments"], made["result"]) == ("read", 8, {"text": "a"}, {"said": "a"})
    about = session.about
    assert [(tool["name"], tool["readOnlyHint"]) for tool in about["tools"]] == [("echo", True)]
    source = about["source"]
    assert (source["server"], source["client"], source["protocol"]) == ("shop 1", "desk 2", "2025-11-25")
    assert source["counts"] == {"notifications/initialized": 1, "notifications/progress": 1, "tools/list": 1}


def test_a_session_of_the_second_era_names_its_client_in_each_request(session: Session) -> None:
    asked_input = {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create"}}}
    session(
        (CLIENT, asked(1, "tools/call", name="book", arguments={"n": 1}, **META)),
        (SERVER, {"jsonrpc": "2.0", "id": 1, "result": asked_input}),
        (CLIENT, asked(2, "tools/call", name="book", arguments={"n": 1}, inputResponses={"a": {}}, **META)),
        (SERVER, answer(2, "done", resultType="complete")),
    )
    assert outcomes(session.calls) == [("book", "ok", {"said": "done"})]
    assert session.said == [("server", "input_required", asked_input)]
    assert session.events[0]["seating"]["players"]["client"]["label"] == "desk 3"
    assert session.about["source"]["protocol"] == "2026-07-28"
    with open_trace(session.path) as trace:
        side = [row.traceparent for row in trace.side()]
    assert side == [None, None, "00-a-b-01", None]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([(CLIENT, call(1)), (CLIENT, call("1")), (SERVER, answer("1", "s")), (SERVER, answer(1, "i"))], ["s", "i"]),
        ([(CLIENT, [call(1), call(2)]), (SERVER, [answer(2, "b"), answer(1, "a")])], ["b", "a"]),
        ([(CLIENT, call(1)), (CLIENT, call(1)), (SERVER, answer(1, "a"))], ["a", "no_answer"]),
        ([(CLIENT, call(1)), (CLIENT, told("notifications/cancelled", requestId=1))], ["cancelled"]),
        (
            [(CLIENT, call(1)), (CLIENT, told("notifications/cancelled", requestId=1)), (SERVER, answer(1, "late"))],
            ["late"],
        ),
        ([(CLIENT, call(1)), (SERVER, answer(1, "a")), (SERVER, answer(1, "again"))], ["a"]),
        ([(CLIENT, call(None)), (CLIENT, call([1])), (SERVER, answer([1], "a"))], ["a", "no_answer"]),
        ([(CLIENT, call(1)), (SERVER, {"id": 1, "error": {"code": -32602, "message": "m"}})], ["rpc_-32602"]),
        ([(CLIENT, raw_call(b'{"a":NaN}'))], ["no_answer"]),
        ([(CLIENT, raw_call(b'{"a":"\\ud800"}'))], ["no_answer"]),
        ([(CLIENT, raw_call(b"[" * 900 + b"]" * 900))], ["no_answer"]),
        ([(CLIENT, raw_call(b"[" * 9000 + b"]" * 9000))], ["no_answer"]),
        ([(CLIENT, call(1)), (SERVER, {**answer(1, "a"), "method": "tools/call"})], ["a"]),
        ([(SERVER, b"Server is ready"), (CLIENT, call(1)), (SERVER, answer(1, "a"))], ["a"]),
        ([(CLIENT, asked(1, "ping")), (CLIENT, b"no json"), (CLIENT, b"7"), (SERVER, b"\xff\xfe")], []),
    ],
)  # fmt: skip
def test_every_call_is_there_once_with_its_answer(session: Session, messages: list[Any], expected: list[str]) -> None:
    calls = session(*messages).calls
    assert [made["error"]["code"] if made["error"] else made["result"]["said"] for made in calls] == expected
    assert session.pending() == []


def test_what_an_agent_reads_of_resources_and_prompts_is_a_call_of_kind_read(session: Session) -> None:
    held = {"contents": [{"uri": "file:///policy.md", "text": "no refunds"}]}
    session(
        (CLIENT, asked(1, "resources/read", uri="file:///policy.md", **META)),
        (SERVER, {"id": 1, "result": held}),
        (CLIENT, asked(2, "prompts/get", name="greet", arguments={"who": "Ann"})),
        (SERVER, {"id": 2, "error": {"code": -32603, "message": "m"}}),
        (CLIENT, asked(3, "resources/read", uri="file:///none")),
        (CLIENT, told("notifications/cancelled", requestId=3)),
    )
    assert outcomes(session.calls) == [
        ("resources/read", "ok", held),
        ("prompts/get", "failed", "rpc_-32603"),
        ("resources/read", "failed", "cancelled"),
    ]
    assert {made["kind"] for made in session.calls} == {"read"}
    assert [made["arguments"] for made in session.calls] == [
        {"uri": "file:///policy.md"}, {"name": "greet", "arguments": {"who": "Ann"}}, {"uri": "file:///none"}
    ]  # fmt: skip


def test_an_id_that_is_used_again_while_its_request_is_open_is_noted(session: Session) -> None:
    session((CLIENT, call(1)), (CLIENT, call(1)), (SERVER, answer(1, "a")), (CLIENT, call(1)), (SERVER, answer(1)))
    assert session.about["source"]["counts"]["ids used again while open"] == 1


def test_requests_of_the_server_have_ids_of_their_own(session: Session) -> None:
    session(
        (CLIENT, call(1)),
        (SERVER, asked(1, "elicitation/create", message="sure?")),
        (CLIENT, {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}),
        (SERVER, told("notifications/message", level="info", data="x")),
        (SERVER, asked(2, "ping")),
        (CLIENT, {"jsonrpc": "2.0", "id": 2, "result": {}}),
        (SERVER, answer(1, "done")),
    )
    assert session.said == [
        ("server", "elicitation/create", {"message": "sure?"}),
        ("client", "elicitation/create", {"action": "accept"}),
        ("server", "notifications/message", {"level": "info", "data": "x"}),
    ]
    assert outcomes(session.calls) == [("echo", "ok", {"said": "done"})]
    assert [event.get("step") for event in session.events] == [None, 2, 3, 4, 1, None]


def test_what_a_task_has_given_stands_beside_the_call_that_began_it(session: Session) -> None:
    session(
        (CLIENT, call(1)),
        (SERVER, {"id": 1, "result": {"task": {"taskId": "t"}}}),
        (CLIENT, asked(2, "tasks/result", taskId="t")),
        (SERVER, answer(2, "done")),
    )
    assert outcomes(session.calls) == [("echo", "ok", {"task": {"taskId": "t"}})]
    assert session.said == [("server", "tasks/result", {"structuredContent": {"said": "done"}})]


def test_a_changed_byte_of_a_recording_is_named(session: Session) -> None:
    session((CLIENT, call(1, text="a")), (SERVER, answer(1, "a")), (CLIENT, call(2)), (SERVER, answer(2, "b")))
    with closing(sqlite3.connect(session.path)) as database, database:
        database.execute("UPDATE events SET body = CAST(replace(body, '\"a\"', '\"z\"') AS BLOB) WHERE seq = 2")
    found = verify_file(session.path, chain_only=True)
    assert (found.verdict, found.seq) == ("damaged", 2)


def test_a_call_in_flight_is_in_the_file_before_it_is_handed_on(session: Session) -> None:
    session((CLIENT, call(7)), (CLIENT, call(8)), (CLIENT, told("notifications/cancelled", requestId=8)), end=False)
    assert session.pending() == [("7", 0), ("8", 1)]
    session.exchange.lapse(7)
    assert session.pending() == [("7", 1), ("8", 1)]
    session()
    assert [code for _, _, code in outcomes(session.calls)] == ["cancelled", "cancelled"]


def test_what_is_too_large_is_kept_by_size_and_digest_and_still_settles_its_call(session: Session) -> None:
    text = "x" * MAX_MESSAGE
    last = b'{"result":{"content":[{"type":"text","text":"' + text.encode() + b'"}]},"jsonrpc":"2.0","id":"b"}'
    session(
        (CLIENT, call(1)), (CLIENT, call("b")), (SERVER, answer(1, text)), (SERVER, last), (CLIENT, call(3, a=text))
    )
    first, second, third = session.calls
    for made in (first, second):
        assert made["status"] == "ok"
        assert made["result"].keys() == {"size", "digest"}
        assert made["result"]["size"] > MAX_MESSAGE
    assert (third["tool"], third["arguments"].keys()) == ("echo", {"size", "digest"})


def test_large_arguments_and_secrets_that_grow_leave_a_trace_that_can_be_read(session: Session) -> None:
    large, tokens = "x" * 3_000_000, list(range(400_000))
    session((CLIENT, call(1, text=large)), (SERVER, answer(1, large)), (CLIENT, call(2, pin=tokens)), end=False)
    with open_trace(session.path) as trace:
        assert len(list(trace.side_rows("pending") or ())) == 1
    session((SERVER, answer(2, {"pin": tokens})))
    first, second = session.calls
    assert (first["arguments"], first["result"]) == ({"text": large}, {"said": large})
    assert (second["arguments"].keys(), second["result"].keys()) == ({"size", "digest"}, {"size", "digest"})


def test_answers_can_be_kept_as_digests(tmp_path: Path) -> None:
    session = Session(tmp_path, digest_results=True)
    session((CLIENT, call(1)), (SERVER, answer(1, "a")))
    assert session.calls[0]["result"].keys() == {"size", "digest"}


def test_secrets_are_gone_before_anything_is_written(tmp_path: Path) -> None:
    session = Session(tmp_path, redactor=Redactor(["hunter\\d+"]))
    planted = {"password": "correct-horse", "note": "my hunter77 key", "text": '{"api_key":"\\u0062attery"}'}
    refused = {"content": [{"type": "text", "text": "Authorization: Basic staple99"}], "isError": True}
    session(
        (CLIENT, asked(0, "initialize", clientInfo={"name": "hunter11"})),
        (CLIENT, call("hunter22", "hunter33", **planted)),
        (SERVER, {"id": "hunter22", "result": refused}),
        (SERVER, told("notifications/message", data={"api_token": "battery"})),
        (CLIENT, asked(9, "hunter44/x")),
        (CLIENT, call(10, cookie="in-flight")),
        end=False,
    )
    session.exchange.seen(SERVER, [json.dumps(answer(9, "x")).encode()])
    secrets = (b"correct-horse", b"hunter77", b"battery", b"staple99", b"hunter", b"in-flight")
    for end in (False, True):
        session(end=end)
        for file in tmp_path.iterdir():
            assert not [secret for secret in secrets if secret in file.read_bytes()], file
    assert sum(session.about["source"]["redacted"].values()) >= 6


_SCALARS = some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5)
_JSON = some.recursive(
    _SCALARS, lambda inner: some.lists(inner, max_size=3) | some.dictionaries(_WORDS, inner, max_size=4)
)
_MESSAGES = some.dictionaries(_WORDS, _JSON | some.sampled_from(_METHODS), max_size=5)


@given(some.lists(some.tuples(some.sampled_from((CLIENT, SERVER)), _MESSAGES | _JSON | some.binary(max_size=20))))
def test_nothing_that_is_sent_keeps_a_session_from_being_recorded(messages: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        session = Session(Path(folder))
        session((CLIENT, call(1)), *messages, (CLIENT, call("last")), (SERVER, answer("last", "a")))
        assert outcomes(session.calls).count(("echo", "ok", {"said": "a"})) == 1

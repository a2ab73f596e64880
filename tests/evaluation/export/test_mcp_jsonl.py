"""Logs of any MCP server as traces: what is read, what is guessed, and what is named as not usable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tradefair.cli import run
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.evaluation.export.to_files import export_files
from tradefair.evaluation.importers.mcp_jsonl import import_log, import_logs, kind_by_name
from tradefair.evaluation.importers.report import GameReport
from tradefair.evaluation.modes.diagnosis import Finding
from tradefair.evaluation.store import QUERIES, TraceTables
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verify import verify_file
from tradefair.tracestore import open_trace

Play = Callable[..., Path]
Json = dict[str, Any]

INSPECTOR: list[Json] = [
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"clientInfo": {"name": "inspector"}}},
    {"jsonrpc": "2.0", "id": 0, "result": {"serverInfo": {"name": "hotel"}}},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "rooms", "annotations": {"readOnlyHint": True}}]}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "rooms", "arguments": {"hotel_id": "H1"}}},
    {"jsonrpc": "2.0", "method": "notifications/progress"},
    {"jsonrpc": "2.0", "id": 2, "result": {"structuredContent": {"free": 3}, "content": []}},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "book", "arguments": {"hotel_id": "H1"}}},
    {"jsonrpc": "2.0", "id": 3, "result": {"isError": True, "content": [{"type": "text", "text": "sold out"}]}},
    {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": {"name": "book", "arguments": [1]}},
    {"jsonrpc": "2.0", "id": "x", "error": {"code": -32602, "message": "arguments must be an object"}},
]


def imported(tmp_path: Path, *lines: object, name: str = "log") -> tuple[GameReport, list[Json]]:
    """Import lines (objects, or bytes as they are); the report, and the calls of the trace."""
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(b"".join((line if isinstance(line, bytes) else orjson.dumps(line)) + b"\n" for line in lines))
    report = import_log(path, tmp_path / "traces")
    if report.trace is None:
        return report, []
    with open_trace(report.trace) as trace:
        return report, [event for event in trace.decoded() if event["event"] == "tool_called"]


def ids_of(report: GameReport) -> Finding:
    assert report.trace is not None
    diagnosis = evaluate_file(report.trace).diagnosis
    assert diagnosis is not None
    return diagnosis.finding("hallucinated_id")


def test_an_id_that_an_accepted_call_named_is_not_out_of_nowhere(tmp_path: Path) -> None:
    # H1 stands in the prompt, which the log does not hold.
    report, _ = imported(tmp_path, *INSPECTOR)
    assert (ids_of(report).checked, ids_of(report).share, ids_of(report).of) == (True, 0.0, 2)


def test_ids_of_refused_calls_are_not_judged_where_the_log_does_not_hold_what_the_agent_was_told(
    tmp_path: Path,
) -> None:
    refused = [*INSPECTOR[:4], INSPECTOR[7], INSPECTOR[8]]
    finding = ids_of(imported(tmp_path, *refused)[0])
    assert (finding.raised, finding.checked) == (False, False)
    assert finding.note == "not judged: the trace does not hold what the agent was told"


def test_json_rpc_requests_and_responses_become_calls(tmp_path: Path) -> None:
    report, calls = imported(tmp_path, *INSPECTOR)
    assert report.sound
    assert [(call["tool"], call["kind"], call["status"]) for call in calls] == [
        ("rooms", "read", "ok"),
        ("book", "action", "rejected"),
        ("book", "action", "invalid"),
    ]
    assert calls[0]["result"] == {"free": 3}
    assert calls[1]["error"] == {"code": "tool_error", "message": "sold out", "hint": "", "retryable": False}
    assert calls[2]["error"]["code"] == "rpc_-32602"
    with open_trace(str(report.trace)) as trace:
        assert trace.seating().labels == {"client": "inspector"}


def test_wrapped_messages_bring_times_and_sessions(tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "get_rate"}}
    answer = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": '{"rate": 4}'}]}}
    report, calls = imported(
        tmp_path,
        {"timestamp": "2026-11-01T10:00:00Z", "sessionId": "s1", "message": request},
        {"timestamp": 1793527201, "sessionId": "s2", "payload": {**request, "id": 7}},
        {"timestamp": "2026-11-01T10:00:00.250+00:00", "sessionId": "s1", "message": answer},
        {"time": 1793527201500, "session": "s2", "data": answer},
    )
    assert report.sound
    assert [call["seat"] for call in calls] == ["s1", "s2"]
    assert [call["result"] for call in calls] == [{"rate": 4}] * 2
    with open_trace(str(report.trace)) as trace:
        side = [row for row in trace.side() if row.seat]
    assert [row.latency_us for row in side] == [250_000, 500_000]
    assert side[0].at_ms == 1_793_527_200_000


def test_flat_records_are_read_under_their_usual_names(tmp_path: Path) -> None:
    report, calls = imported(
        tmp_path,
        {"tool": "getPrice", "arguments": {"item_id": "A"}, "result": 3, "round": 1},
        {"tool_name": "buy", "args": {"item_id": "A"}, "error": {"code": "no_funds", "message": "no"}, "round": 1},
        {"name": "estimateDemand", "input": {}, "output": {"d": 1}, "round": 2, "duration_ms": 2.5},
        {"tool": "jot", "arguments": {}, "status": "denied", "error": "closed", "kind": "note"},
    )
    assert report.sound
    assert [(call["kind"], call["status"], call["round"]) for call in calls] == [
        ("read", "ok", 1),
        ("action", "rejected", 1),
        ("analysis", "ok", 2),
        ("note", "denied", 2),
    ]
    assert (report.rounds, calls[1]["error"]["code"]) == (1, "no_funds")


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("view_shelf", "read"),
        ("getPrice", "read"),
        ("calculate-tax", "analysis"),
        ("place_order", "action"),
        ("___", "action"),
        ("reader_pay", "action"),
    ],
)
def test_what_a_tool_does_is_guessed_from_its_verb_where_the_log_does_not_say(tool: str, kind: str) -> None:
    assert kind_by_name(tool) == kind


def test_what_cannot_be_used_is_named_with_its_line_and_the_rest_is_imported(tmp_path: Path) -> None:
    good: Json = {"tool": "buy", "arguments": {}, "result": {}}
    report, calls = imported(
        tmp_path,
        good,
        b"not json",
        b"",
        b"[1]",
        {"x": 1},
        {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": 4}},
        {"jsonrpc": "2.0", "id": 8, "result": {"content": []}},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "hang"}},
        {"tool": "x" * 300},
        b'{"tool":"deep","arguments":' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"tool":"\\ud800"}',
    )
    assert [call["tool"] for call in calls] == ["buy", "hang"]
    assert calls[1]["status"] == "failed"
    assert calls[1]["error"]["code"] == "no_answer"
    assert sorted(finding.line for finding in report.findings) == [2, 4, 5, 6, 7, 8, 9, 10, 11]
    assert not report.sound


def test_a_log_that_hardly_holds_calls_is_given_up_and_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    call = orjson.dumps({"tool": "look", "result": 1})
    log.write_bytes(call + b"\n" + b"\n" * 200_000 + call)
    report = import_log(log, tmp_path)
    assert "1 calls in 100,000 lines: the lines after this one are not read" in str(report.findings)
    log.write_bytes((call + b"\n" + b"\n" * 98) * 1_100)
    assert "not read" not in str(import_log(log, tmp_path).findings)


def test_a_log_without_calls_becomes_no_trace(tmp_path: Path) -> None:
    for name, lines in (("empty", ()), ("other", ({"jsonrpc": "2.0", "method": "ping"},))):
        report, calls = imported(tmp_path, *lines, name=name)
        assert (report.trace, calls) == (None, [])
        assert "no tool call" in report.findings[-1].message
    assert not import_logs([tmp_path / "nosuch.jsonl"], tmp_path).sound


def test_an_imported_trace_verifies_as_foreign_has_no_seed_and_can_be_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, _ = imported(tmp_path, *INSPECTOR)
    check = verify_file(str(report.trace))
    assert (check.verdict, check.sentence) == ("foreign", "imported, no rules to re-execute; the chain holds")
    assert verify_file(str(report.trace), chain_only=True).verdict == "intact"
    evaluation = evaluate_file(str(report.trace))
    assert evaluation.outcome is not None
    assert evaluation.outcome.findings == []
    assert evaluation.outcome.seats["client"].refused == 2
    assert evaluation.outcome.censored
    verdict = verdict_of_file(str(report.trace))
    assert (evaluation.outcome.seed, verdict.seeds) == (None, ())
    assert run(["evaluate", str(report.trace), "--all"]) == 0
    assert "mcp/log · no seed · " in capsys.readouterr().out
    raw = Path(str(report.trace)).read_bytes().replace(b"sold out", b"sold 0ut")
    Path(str(report.trace)).write_bytes(raw)
    assert verify_file(str(report.trace)).verdict == "damaged"


def test_large_answers_are_stored_once_beside_the_events(tmp_path: Path) -> None:
    large = {"tool": "list_all", "arguments": {}, "result": {"rows": ["x" * 100] * 50}}
    report, calls = imported(tmp_path, large, large)
    assert [call["result"] for call in calls] == [large["result"]] * 2
    with open_trace(str(report.trace)) as trace:
        assert len(list(trace.blobs())) == 1


def test_what_a_seat_saw_comes_back_as_the_same_calls(play: Play, tmp_path: Path) -> None:
    path = play("double_auction/smoke", "zip", seed=4, seats={}, name="own")
    export_files([path], output=tmp_path / "S1.jsonl", seat="S1")
    report = import_log(tmp_path / "S1.jsonl", tmp_path / "traces")
    assert report.sound
    asked = "SELECT round, seat, tool, kind, status, error_code, arguments_digest, result_digest FROM calls"
    with TraceTables.of_file(path) as whole, TraceTables.of_file(Path(str(report.trace))) as back:
        own = whole.select(f"{asked} WHERE seat = 'S1' ORDER BY seq").rows
        assert back.select(f"{asked} ORDER BY seq").rows == own
        assert own
        (seat,) = back.run(QUERIES["outcomes"]).rows
        assert dict(zip(back.run(QUERIES["outcomes"]).columns, seat, strict=True))["calls"] == len(own)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = (
    "jsonrpc", "id", "method", "params", "result", "error", "tool", "name", "arguments", "status", "round", "kind",
    "time", "session", "message", "content", "isError", "parent", "duration_ms", "event", "tools", "structuredContent",
)  # fmt: skip
VALUES = JSON | st.sampled_from(("tools/call", "tools/list", "initialize", "2.0", "ok", "denied", "read", "x", 1, 2))
OBJECTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=7)
NESTED = OBJECTS | st.dictionaries(st.sampled_from(KEYS), OBJECTS, max_size=4) | st.lists(OBJECTS, max_size=2)


@settings(deadline=None, max_examples=50)
@given(lines=st.lists(NESTED.map(orjson.dumps) | st.binary(max_size=20), max_size=6))
@example(lines=[b'{"tool":"a","result":{"content":[{"type":"text","text":"' + b"[" * 400 + b"]" * 400 + b'"}]}}'])
def test_no_log_is_too_odd_to_be_read(lines: list[bytes]) -> None:
    with TemporaryDirectory() as place:
        report, calls = imported(Path(place), *lines)
        assert report.sound == (bool(calls) and not report.findings)
        if report.trace is not None:
            assert verify_file(report.trace).verdict == "foreign"
            outcome = evaluate_file(report.trace).outcome
            assert outcome is not None
            assert outcome.findings == []

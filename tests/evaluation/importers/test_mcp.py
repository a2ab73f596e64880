"""Logs of any MCP server as traces: what is read, what is guessed, and what is named as not usable."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tradefair.cli import run
from tradefair.evaluation.foreign.export.to_files import export_files
from tradefair.evaluation.foreign.importers.importing import import_files
from tradefair.evaluation.foreign.importers.run_report import FileReport
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.modes.diagnosis import Finding
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.store import QUERIES, TraceTables
from tradefair.evaluation.verdict.of_trace import verdict_of_file
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


def imported(tmp_path: Path, *lines: object, name: str = "log") -> tuple[FileReport, list[Json]]:
    """Import lines (objects, or bytes as they are); the report of the file, and the calls of all its traces."""
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(b"".join((line if isinstance(line, bytes) else orjson.dumps(line)) + b"\n" for line in lines))
    (report,) = import_files([path], tmp_path / "traces", form="mcp").files
    calls: list[Json] = []
    for written in report.runs:
        with open_trace(written.trace) as trace:
            calls += [event for event in trace.decoded() if event["event"] == "tool_called"]
    return report, calls


def trace_of(report: FileReport) -> str:
    (written,) = report.runs
    return written.trace


def ids_of(report: FileReport) -> Finding:
    diagnosis = evaluate_file(trace_of(report)).diagnosis
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
    assert not report.found
    assert [(call["tool"], call["kind"], call["status"]) for call in calls] == [
        ("rooms", "read", "ok"),
        ("book", "action", "rejected"),
        ("book", "action", "invalid"),
    ]
    assert calls[0]["result"] == {"free": 3}
    assert calls[1]["error"] == {"code": "tool_error", "message": "sold out", "hint": "", "retryable": False}
    assert calls[2]["error"]["code"] == "rpc_-32602"
    with open_trace(trace_of(report)) as trace:
        assert trace.seating().labels == {"agent": "inspector"}


BOOK: Json = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "book"}}
BOOKED: Json = {"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "booked"}]}}
FAILED: Json = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32603, "message": "internal"}}
ASKED_BACK: list[tuple[str, Json]] = [
    ("elicitation/create", {"action": "accept", "content": {"sure": True}}),
    ("sampling/createMessage", {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}),
    ("roots/list", {"roots": []}),
    ("ping", {}),
]


@pytest.mark.parametrize(("method", "result"), ASKED_BACK)
@pytest.mark.parametrize(("told", "status"), [(BOOKED, "ok"), (FAILED, "failed")])
def test_what_a_server_asks_under_the_id_of_a_call_takes_nothing_from_the_call(
    method: str, result: Json, told: Json, status: str, tmp_path: Path
) -> None:
    """Both sides number their requests on their own."""
    asks: Json = {"jsonrpc": "2.0", "id": 2, "method": method}
    for gives in ({"result": result}, {"error": {"code": -1, "message": "declined"}}):
        report, calls = imported(tmp_path, BOOK, asks, {"jsonrpc": "2.0", "id": 2, **gives}, told)
        assert not report.found
        assert [(call["tool"], call["status"]) for call in calls] == [("book", status)]


@pytest.mark.parametrize(("method", "result"), ASKED_BACK[:3])
def test_an_answer_under_an_id_that_both_sides_use_goes_where_it_looks_like_one(
    method: str, result: Json, tmp_path: Path
) -> None:
    asks: Json = {"jsonrpc": "2.0", "id": 2, "method": method}
    gives: Json = {"jsonrpc": "2.0", "id": 2, "result": result}
    for lines in ((BOOK, asks, BOOKED, gives), (asks, BOOK, BOOKED, gives), (asks, BOOK, gives, BOOKED)):
        report, calls = imported(tmp_path, *lines)
        assert not report.found
        assert [call["result"] for call in calls] == [{"text": "booked"}]


def test_wrapped_messages_bring_times_and_sessions_which_are_runs(tmp_path: Path) -> None:
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "get_rate"}}
    answer = {"jsonrpc": "2.0", "id": 7, "result": {"content": [{"type": "text", "text": '{"rate": 4}'}]}}
    report, calls = imported(
        tmp_path,
        {"timestamp": "2026-11-01T10:00:00Z", "sessionId": "s1", "message": request},
        {"timestamp": 1793527201, "sessionId": "s2", "payload": {**request, "id": 7}},
        {"timestamp": "2026-11-01T10:00:00.250+00:00", "sessionId": "s1", "message": answer},
        {"time": 1793527201500, "session": "s2", "data": answer},
    )
    assert not report.found
    assert [(written.run, Path(written.trace).name) for written in report.runs] == [
        ("s1", "log-s1.trace"),
        ("s2", "log-s2.trace"),
    ]
    assert [call["result"] for call in calls] == [{"rate": 4}] * 2
    rows: list[tuple[int | None, int | None]] = []
    for written in report.runs:
        with open_trace(written.trace) as trace:
            rows += [(row.at_ms, row.latency_us) for row in trace.side() if row.seat]
    assert rows == [(1_793_527_200_250, 250_000), (1_793_527_201_500, 500_000)]


def test_flat_records_are_read_under_their_usual_names(tmp_path: Path) -> None:
    report, calls = imported(
        tmp_path,
        {"tool": "getPrice", "arguments": {"item_id": "A"}, "result": 3, "round": 1},
        {"tool_name": "buy", "args": {"item_id": "A"}, "error": {"code": "no_funds", "message": "no"}, "round": 1},
        {"name": "estimateDemand", "input": {}, "output": {"d": 1}, "round": 2, "duration_ms": 2.5},
        {"tool": "jot", "arguments": {}, "status": "denied", "error": "closed", "kind": "note"},
    )
    assert not report.found
    assert [(call["kind"], call["status"], call["round"]) for call in calls] == [
        ("read", "ok", 1),
        ("action", "rejected", 1),
        ("analysis", "ok", 2),
        ("note", "denied", 2),
    ]
    assert calls[1]["error"]["code"] == "no_funds"


@pytest.mark.parametrize("places", [1, 200])
@pytest.mark.parametrize("listed", [True, False])
def test_records_over_several_lines_are_read_however_many(listed: bool, places: int, tmp_path: Path) -> None:
    """An inspector's export: one list, or messages one after another; 200 of them are longer than a head."""
    asked, told = INSPECTOR[4], {**INSPECTOR[6], "result": {"structuredContent": {"free": 3, "more": "x" * 500}}}
    messages = [{**message, "id": number} for number in range(places) for message in (asked, told)]
    pretty = json.dumps(messages, indent=2) if listed else "\n".join(json.dumps(one, indent=2) for one in messages)
    (tmp_path / "log.json").write_text(pretty)
    (report,) = import_files([tmp_path / "log.json"], tmp_path / "traces").files
    assert (report.format, report.understood, report.records, report.found) == ("mcp", 2 * places, 2 * places, [])
    assert (report.total("calls"), report.total("answered")) == (places, places)


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
    assert sorted(odd.line for odd in report.found if odd.line) == [2, 4, 5, 6, 9, 10, 11]
    assert [(odd.field, odd.message) for odd in report.found if not odd.line] == [
        ("step 4: hang", "no answer"),
        ("step 3", "an answer to '8', which no call has"),
    ]
    assert (report.faults, report.waiting, report.records, report.understood) == (8, 1, 10, 4)


def test_a_log_without_calls_becomes_no_trace(tmp_path: Path) -> None:
    for name, lines in (("empty", ()), ("other", ({"jsonrpc": "2.0", "method": "ping"},))):
        report, calls = imported(tmp_path, *lines, name=name)
        assert (report.runs, calls) == ([], [])


def test_an_imported_trace_verifies_as_foreign_has_no_seed_and_can_be_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, _ = imported(tmp_path, *INSPECTOR)
    check = verify_file(trace_of(report))
    assert (check.verdict, check.sentence) == ("foreign", "imported: chain holds; not re-executable: no rules")
    assert verify_file(trace_of(report), chain_only=True).verdict == "intact"
    evaluation = evaluate_file(trace_of(report))
    assert evaluation.outcome is not None
    assert evaluation.outcome.findings == []
    assert evaluation.outcome.seats["agent"].refused == 2
    assert evaluation.outcome.censored
    verdict = verdict_of_file(trace_of(report))
    assert (evaluation.outcome.seed, verdict.seeds) == (None, ())
    assert run(["evaluate", trace_of(report), "--all"]) == 0
    assert "not re-executable: no rules" in capsys.readouterr().out
    raw = Path(trace_of(report)).read_bytes().replace(b"sold out", b"sold 0ut")
    Path(trace_of(report)).write_bytes(raw)
    assert verify_file(trace_of(report)).verdict == "damaged"


def test_large_answers_are_stored_once_beside_the_events(tmp_path: Path) -> None:
    large = {"tool": "list_all", "arguments": {}, "result": {"rows": ["x" * 100] * 50}}
    report, calls = imported(tmp_path, large, large)
    assert [call["result"] for call in calls] == [large["result"]] * 2
    with open_trace(trace_of(report)) as trace:
        assert len(list(trace.blobs())) == 1


def test_what_a_seat_saw_comes_back_as_the_same_calls(play: Play, tmp_path: Path) -> None:
    path = play("double_auction/smoke", "zip", seed=4, seats={}, name="own")
    export_files([path], output=tmp_path / "S1.jsonl", seat="S1")
    (report,) = import_files([tmp_path / "S1.jsonl"], tmp_path / "traces").files
    assert (report.format, report.found) == ("tradefair", [])
    asked = "SELECT round, seat, tool, kind, status, error_code, arguments_digest, result_digest FROM calls"
    with TraceTables.of_file(path) as whole, TraceTables.of_file(Path(trace_of(report))) as back:
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
        assert not any("failed" in odd.message for odd in report.found)
        assert sum(written.calls for written in report.runs) == len(calls)
        for written in report.runs:
            assert verify_file(written.trace).verdict == "foreign"
            outcome = evaluate_file(written.trace).outcome
            assert outcome is not None
            assert outcome.findings == []

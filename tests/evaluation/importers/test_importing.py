"""Imports of files of any format: what is recognised, joined, kept, named, and what it says of itself."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.foreign_runs import write_run

from tradefair.cli import run
from tradefair.contract.errors import ScenarioError
from tradefair.evaluation.foreign.export.to_files import export_files
from tradefair.evaluation.foreign.importers import detect, foreign, source, spool, writing, zipped
from tradefair.evaluation.foreign.importers.importing import import_files
from tradefair.evaluation.foreign.importers.items import EVERYBODY, Answer, Call, Fact, Item, Odd, Reader, Said, Tallied
from tradefair.evaluation.foreign.importers.run_report import FileReport
from tradefair.evaluation.foreign.importers.source import Head, Source
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.read.objects import mapping
from tradefair.tracestore import open_trace
from tradefair.tracestore.redaction import Redactor

Json = dict[str, Any]
ITEMS: list[Item] = []
NOON = 1_793_534_400_000_000_000


MADE = {"call": Call, "answer": Answer, "said": Said, "fact": Fact}


def _sniff(head: Head) -> int:
    return 99 if head.keys[:1] == ("plain",) else 0


def _read(source: Source) -> Iterator[Item]:
    yield from ITEMS
    for _, value in source.lines():
        kind, *rest = mapping(value).values()
        yield MADE[kind](*rest)
    yield Tallied(1, 1)


PLAIN = Reader("plain", "items as lines", _sniff, _read, joins=True)


@pytest.fixture(autouse=True)
def plain_reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A reader of somebody else: every line names an item and its fields."""

    class Entry:
        name = "plain"

        def load(self) -> Reader:
            return PLAIN

    class Broken(Entry):
        name = "broken"

        def load(self) -> Reader:
            raise ImportError("of another release")

    def entries(group: str) -> list[Entry]:
        return [Broken(), Entry()] if group == "tradefair.readers" else []

    detect.readers.cache_clear()
    monkeypatch.setattr(detect, "entry_points", entries)
    ITEMS.clear()
    yield
    detect.readers.cache_clear()


def line(item: Item) -> bytes:
    kind = type(item).__name__.lower()
    return orjson.dumps({"plain": kind, **{str(place): value for place, value in enumerate(item)}}) + b"\n"


def imported(tmp_path: Path, *items: Item, name: str = "log.jsonl") -> FileReport:
    (tmp_path / name).write_bytes(b"".join(map(line, items)))
    return import_files([tmp_path / name], tmp_path / "out").files[0]


def events(report: FileReport, place: int = 0) -> list[Json]:
    with open_trace(report.runs[place].trace) as trace:
        return list(trace.decoded())[1:-1]


def test_the_surest_reader_reads_a_file_and_a_broken_one_of_a_third_party_keeps_nobody_from_it(tmp_path: Path) -> None:
    report = imported(tmp_path, Call("r1", "", "a", "get_x", {}, 1), Answer("r1", "a", 5, None, 2))
    assert (report.format, report.runs[0]._replace(trace="")) == ("plain", ("r1", "", 1, 1, 1, 0, 0, None))
    assert Path(report.runs[0].trace).name == "log-r1.trace"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"log-r1.trace"}


def test_what_no_reader_is_sure_of_is_refused_with_the_score_of_each(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"name": "a"}')
    done = import_files([tmp_path / "x.json"], tmp_path / "out")
    assert done.exit_code == 2
    assert done.files[0].found[0].message == "no known format (every reader says 0); --format NAME forces one"
    (tmp_path / "y.json").write_text('{"name": "a", "arguments": {}}\n')
    assert import_files([tmp_path / "y.json"], tmp_path / "out").files[0].format == "mcp"
    (tmp_path / "z.json").write_bytes(b"")
    assert import_files([tmp_path / "z.json"], tmp_path / "out", form="openai").exit_code == 2
    with pytest.raises(ScenarioError, match="plain"):
        import_files([tmp_path / "z.json"], tmp_path / "out", form="plan")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (gzip.compress(b'{"messages": []}', mtime=0), "compressed by gzip: unpack it first"),
        ('{"messages": []}'.encode("utf-16"), "UTF-16: JSON is UTF-8; convert it first (iconv -f UTF-16 -t UTF-8)"),
        (
            b"\x0a\xb5\x01\x0a\x20\x0a\x1e\x0a\x0cservice.name\x12\x0e\x0a\x0cdesk",
            "binary OTLP or another protobuf: export JSON instead, or convert it (docs/how-to/importing.md)",
        ),
        (b"PK\x03\x04\x14\0", "a zip that is no log of Inspect: unpack it first"),
        (b"\x89PNG\r\n\x1a\n\0\0", "no text"),
        (b"a,b\n1,2\n", "no known format (every reader says 0); --format NAME forces one"),
    ],
    ids=["empty", "blank", "gzip", "utf-16", "protobuf", "zip", "png", "csv"],
)
def test_a_file_that_nobody_can_read_is_told_what_it_is(raw: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(raw)
    done = import_files([tmp_path / "x"], tmp_path / "out")
    assert (done.exit_code, [odd.message for odd in done.files[0].found]) == (2, [reason])


def test_a_log_that_begins_with_a_line_of_its_writer_is_recognised_by_those_after_it(tmp_path: Path) -> None:
    talk = b'{"messages": [{"role": "user", "content": "hello"}]}\n'
    (tmp_path / "x.jsonl").write_bytes(b'{"meta": 3}\n' + talk)
    report = import_files([tmp_path / "x.jsonl"], tmp_path / "out").files[0]
    assert (report.format, report.understood, report.records) == ("openai", 1, 2)
    assert [odd.line for odd in report.found] == [1]
    # A guess by its first line stays one: where nobody is sure, nobody reads.
    (tmp_path / "y.jsonl").write_bytes(b'{"meta": 3}\n{"name": "a", "arguments": {}}\n')
    assert import_files([tmp_path / "y.jsonl"], tmp_path / "out").exit_code == 2


def test_calls_meet_their_answers_in_the_order_of_times_whatever_the_order_of_the_file(tmp_path: Path) -> None:
    report = imported(
        tmp_path,
        Answer("r", "late", "x", None, 0, NOON + 9_000_000),
        Call("r", "", "late", "get_late", {}, 0, NOON + 8_000_000),
        Answer("r", "early", "y", None, 0, NOON + 1_000_000),
        Call("r", "", "early", "get_early", {}, 0, NOON + 2_000_000),
        Said("r", "", "user", "text", "hello", 0, NOON + 500_000),
        Call("r", "", "never", "get_never", {}, 0, NOON + 700_000),
    )
    assert [(event.get("tool"), event["step"], event["status"]) for event in events(report)[1:]] == [
        ("get_early", 3, "ok"),
        ("get_late", 4, "ok"),
        ("get_never", 2, "failed"),
    ]
    with open_trace(report.runs[0].trace) as trace:
        assert [row.latency_us for row in trace.side() if row.seat][1:] == [None, 1_000, None]
    assert (report.faults, report.waiting) == (0, 1)


def test_a_call_id_that_comes_twice_is_two_calls(tmp_path: Path) -> None:
    one, two = Call("r", "", "a", "get_x", {"n": 1}, 1), Call("r", "", "a", "get_x", {"n": 2}, 2)
    report = imported(tmp_path, one, two, Answer("r", "a", 1, None, 3), Answer("r", "a", 2, None, 4))
    assert [(event["arguments"], event["result"]) for event in events(report)] == [({"n": 1}, 1), ({"n": 2}, 2)]


@pytest.mark.parametrize(
    ("result", "error", "status", "code"),
    [
        ("fine", None, "ok", None),
        ("Error: no such order", None, "rejected", "tool_error"),
        ("Errors happen", None, "ok", None),
        ("Error in name only", False, "ok", None),
        ("sold out", True, "rejected", "tool_error"),
        (None, {"code": -32602, "message": "x"}, "invalid", "rpc_-32602"),
        (None, {"code": -32000, "message": "x"}, "failed", "rpc_-32000"),
        (None, {"code": "timeout", "message": "x"}, "failed", "timeout"),
        (None, "text", "rejected", "tool_error"),
        (None, None, "ok", None),
    ],
)
def test_one_place_decides_what_became_of_a_call(
    tmp_path: Path, result: Any, error: Any, status: str, code: str | None
) -> None:
    report = imported(tmp_path, Call("r", "", "a", "get_x", {}, 1), Answer("r", "a", result, error, 2))
    (event,) = events(report)
    assert (event["status"], event["error"] and event["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("given", "kept", "status"),
    [('{"a": 1}', {"a": 1}, "ok"), ("{a: 1}", "{a: 1}", "invalid"), ([1], [1], "invalid"), (None, {}, "ok")],
)
def test_arguments_are_an_object_or_its_text_and_else_the_call_is_invalid(
    tmp_path: Path, given: Any, kept: Any, status: str
) -> None:
    report = imported(tmp_path, Call("r", "", "a", "get_x", given, 1), Answer("r", "a", "done", None, 2))
    assert [(event["arguments"], event["status"]) for event in events(report)] == [(kept, status)]


def test_facts_name_seats_tools_and_what_was_spent(tmp_path: Path) -> None:
    hints = [{"name": "frobnicate", "readOnlyHint": True, "schema": {"type": "object"}}]
    report = imported(
        tmp_path,
        Fact("r", "7 helper", "agent", "the helper"),
        Fact("r", "7 helper", "role", "subagent"),
        Fact("r", None, "tools", hints),
        Fact("r", None, "passed", True),
        Fact("r", "7 helper", "model", "m-1"),
        Fact("r", "7 helper", "tokens", {"input": 10, "output": 5}),
        Fact("r", "7 helper", "tokens", {"input": 20, "output": 6}),
        Call("r", "7 helper", "a", "frobnicate", {}, 1),
        Answer("r", "a", 1, None, 1),
        Call("r", "user", "b", "mcp__desk__cancel_order", {}, 2, kind="read"),
        Said("r", EVERYBODY, "server", "text", "news", 3),
    )
    assert [(event.get("seat"), event.get("kind")) for event in events(report)] == [
        ("s7-helper", "read"),
        (None, None),
        ("user", "read"),
    ]
    assert report.runs[0].passed is True
    with open_trace(report.runs[0].trace) as trace:
        core, about = trace.manifest.core, trace.manifest.about
        assert [(seat.id, seat.role) for seat in core.seats] == [("s7-helper", "subagent"), ("user", "user")]
        assert (core.drawn_from, trace.seating().labels["s7-helper"]) == (None, "the helper")
        assert [note["input_tokens"] for note in trace.agent_events()] == [10, 20]
        assert [note["model"] for note in trace.agent_events()] == ["m-1", "m-1"]
        assert (about["tools"][0]["name"], about["tools"][0]["readOnlyHint"]) == ("frobnicate", True)
        assert about["source"]["passed"] is True
        assert [orjson.loads(body) for _, body in trace.blobs()] == [
            {"frobnicate": {"description": None, "schema": {"type": "object"}}}
        ]
    check = verify_file(report.runs[0].trace, chain_only=True)
    assert (check.verdict, check.findings) == ("intact", [])


def test_two_files_of_one_run_are_joined_where_nobody_else_can_have_its_id(tmp_path: Path) -> None:
    long, folder = "0f8fad5b-d9cb-469f-a165-70867728950e", tmp_path / "logs"
    folder.mkdir()
    for name, at in (("a", 1), ("b", 2)):
        said = [Said(run_id, name, "user", "text", name, 1, at * 1_000_000) for run_id in (long, "task_1")]
        (folder / f"{name}.jsonl").write_bytes(b"".join(map(line, said)))
    done = import_files([folder], tmp_path / "out")
    assert [[written.run for written in file.runs] for file in done.files] == [[long, "task_1"], ["task_1"]]
    joined = events(done.files[0])
    assert [(event["seat"], event["step"]) for event in joined] == [("a", 1), ("b", 2)]
    with open_trace(done.files[0].runs[0].trace) as trace:
        source = trace.manifest.about["source"]
        assert (source["file"], [also["file"] for also in source["also"]]) == ("a.jsonl", ["b.jsonl"])


def test_a_file_that_only_goes_on_with_the_run_of_another_was_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "ab":
        said = Said("0f8fad5b-d9cb-469f-a165-70867728950e", name, "user", "text", name, 1)
        (tmp_path / f"{name}.jsonl").write_bytes(line(said))
    files = [str(tmp_path / f"{name}.jsonl") for name in "ab"]
    assert run(["import", *files, "--out", str(tmp_path / "out")]) == 0
    told = [row.split("   ") for row in capsys.readouterr().out.splitlines()]
    assert [cell.strip() for cell in told[1] if cell] == [
        "b.jsonl", "plain", "more of a run, counted there; 1 of 1 lines"]  # fmt: skip


def test_runs_of_strange_names_get_names_of_their_own(tmp_path: Path) -> None:
    names = ["../../etc/passwd", "..\\..\\x", "a b", "a-b", "A-B", "x" * 300, "\u202e", "", "con\x00"]
    report = imported(tmp_path, *(Said(name, "", "user", "text", "x", 1) for name in names))
    files = {Path(written.trace).name.lower() for written in report.runs}
    assert len(files) == len(names) == len(list((tmp_path / "out").iterdir()))
    assert [written.run for written in report.runs] == names


def test_each_cap_that_is_met_is_a_finding_and_the_rest_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (spool, foreign):
        monkeypatch.setattr(module, "MAX_RUNS", 3)
    monkeypatch.setattr(foreign, "MAX_SEATS", 2)
    monkeypatch.setattr(writing, "MAX_OPEN", 2)
    runs = imported(tmp_path, *(Said(f"r{number}", "", "user", "text", "x", 1) for number in range(5)), name="runs")
    assert (len(runs.runs), runs.faults) == (3, 1)
    assert (runs.found[0].line, runs.found[0].field) == (4, "run")
    seats = imported(tmp_path, *(Said("r", f"s{number}", "user", "text", "x", 1) for number in range(5)), name="seats")
    assert (seats.runs[0].seats, seats.faults) == (2, 3)
    calls = [Call("r", "", str(number), "get_x", {}, number + 1) for number in range(4)]
    waiting = imported(tmp_path, *calls, *(Answer("r", str(number), 1, None, 9) for number in range(4)), name="calls")
    assert (waiting.runs[0].calls, waiting.runs[0].answered, waiting.faults) == (4, 2, 4)
    large = imported(tmp_path, Said("r", "", "user", "text", "x" * (9 << 20), 1), name="large")
    assert events(large)[0]["content"]["size"] == (9 << 20) + 2


def test_damaged_lines_are_named_and_a_torn_last_one_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_LINE", 2_000)
    good = line(Said("r", "", "user", "text", "x", 1))
    deep = b'{"plain":"said","a":' + b"[" * 300 + b"]" * 300 + b"}\n"
    bad = [b"nonsense\n", b"\n", deep, b'"' + b"x" * 3_000 + b'"\n', b'{"a": NaN}\n', b'{"a": "\\ud800"}\n']
    (tmp_path / "log.jsonl").write_bytes(good + b"".join(bad) + good + good[:20])
    (report,) = import_files([tmp_path / "log.jsonl"], tmp_path / "out").files
    assert [(odd.line, odd.message[:8]) for odd in report.found] == [
        (2, "not JSON"),
        (4, "nested d"),
        (5, "longer t"),
        (6, "not JSON"),
        (7, "not JSON"),
        (9, "cut off"),
    ]
    assert report.runs[0].messages == 2


def test_a_reader_that_fails_leaves_what_it_had_read(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(line(Said("r", "", "user", "text", "x", 1)) + b'{"plain": "other"}\n')
    (report,) = import_files([tmp_path / "log.jsonl"], tmp_path / "out").files
    assert report.runs[0].messages == 1
    assert "the reader plain failed: KeyError('other')" in report.found[0].message


def test_what_no_json_can_hold_is_named_and_left(tmp_path: Path) -> None:
    ITEMS[:] = [Said("r", "", "user", "text", value, 1) for value in ("\ud800", 2**70, object(), "good")]
    report = imported(tmp_path, Said("r", "", "user", "text", "last", 1))
    assert [event["content"] for event in events(report)] == ["good", "last"]
    assert report.faults == 3


def test_rounds_close_as_the_source_says(tmp_path: Path) -> None:
    calls = [Call("r", "", str(place), "get_x", {}, place, round=number) for place, number in ((1, 4), (2, 4), (3, 6))]
    answered = [item for call in calls for item in (call, Answer("r", call.key, 1, None, call.step))]
    assert [(event["event"], event["round"]) for event in events(imported(tmp_path, *answered))] == [
        ("tool_called", 4),
        ("tool_called", 4),
        ("round_closed", 4),
        ("tool_called", 6),
    ]


def test_a_call_that_is_withdrawn_is_none(tmp_path: Path) -> None:
    report = imported(
        tmp_path, Call("r", "", "a", "get_x", {}, 1), Answer("r", "a", None, None, 2, status="withdrawn"),
        Call("r", "", "a", "get_x", {}, 3), Answer("r", "a", 4, None, 4),
    )  # fmt: skip
    assert [event["result"] for event in events(report)] == [4]
    assert (report.total("calls"), report.found) == (1, [])


def test_no_byte_of_a_secret_is_written(tmp_path: Path) -> None:
    secret = "hunter-2-of-ACME"
    items = [
        Said("r", "", "user", "text", f"my word is {secret}", 1),
        Call("r", "", "a", "login", {"password": secret, "deep": [{"x": f'{{"api_key": "{secret}"}}'}]}, 2),
        Answer("r", "a", {"content": [{"type": "text", "text": secret}]}, True, 3),
        Fact("r", "", "agent", f"agent {secret}"),
    ]
    (tmp_path / "log.jsonl").write_bytes(b"".join(map(line, items)))
    done = import_files([tmp_path / "log.jsonl"], tmp_path / "out", redact=Redactor([r"hunter-\d+-of-ACME"]))
    (path,) = (tmp_path / "out").iterdir()
    assert secret.encode() not in path.read_bytes()
    with open_trace(path) as trace:
        assert trace.manifest.about["source"]["redacted"]["redact 1"] >= 3
    assert done.exit_code == 0


def test_no_name_of_a_secret_is_written_and_runs_and_calls_stay_apart(tmp_path: Path) -> None:
    ann, bob = "ann@acme.com", "bob@acme.com"
    tool = {"name": f"mail_{bob}", "description": f"to {bob}", "readOnlyHint": True}
    items = [
        *(
            item
            for run_id in (f"chat-{ann}", f"chat-{bob}", f"{'x' * 400}{bob}")
            for item in (
                Fact(run_id, None, "tools", [tool]),
                Fact(run_id, bob, "role", "subagent"),
                Fact(run_id, bob, "model", f"tuned for {bob}"),
                Fact(run_id, bob, "tokens", {"input": 1, "output": 1}),
                Fact(run_id, bob, f"of {bob}", 1),
                Call(run_id, bob, f"call {ann}", f"mail_{bob}", {}, 1, parent=f"call {bob}"),
                Call(run_id, ann, f"call {bob}", f"mail_{ann}", {}, 2),
                Answer(run_id, f"call {bob}", 2, None, 3),
                Answer(run_id, f"call {ann}", 1, None, 4),
                Answer(run_id, f"unknown to {bob}", 1, None, 5),
                Said(run_id, EVERYBODY, "user", "text", "hello", 5, name=bob),
            )
        )
    ]
    file = tmp_path / f"log of {bob}.jsonl"
    file.write_bytes(b"".join(map(line, items)) + orjson.dumps({"plain": f"item of {bob}"}))
    done = import_files([file], tmp_path / "out", redact=Redactor([r"[a-z]+@acme\.com"]))
    paths = list((tmp_path / "out").iterdir())
    assert not [path for path in paths if b"acme.com" in path.name.encode() + path.read_bytes()]
    (report,) = done.files
    assert "acme.com" not in str(report.runs) + str(report.found) + str(report.left_out)
    assert (len(paths), len({run.run for run in report.runs})) == (3, 3)
    assert [(run.seats, run.calls, run.answered) for run in report.runs] == [(2, 2, 2)] * 3
    for place in range(3):
        first, second = (event for event in events(report, place) if event["event"] == "tool_called")
        assert (first["result"], first["arguments"], second["result"]) == (2, {}, 1)
        assert first["seat"] != second["seat"]
        assert (first["kind"], second["kind"]) == ("action", "read")


def test_runs_whose_ids_become_equal_by_redaction_stay_two(tmp_path: Path) -> None:
    class Blunt(Redactor):
        def token(self, secret: str, rule: str) -> str:
            return f"no {rule}"

    items = [Said(f"chat of {name}", "", "user", "text", "hello", 1) for name in ("ann", "bob")]
    (tmp_path / "log.jsonl").write_bytes(b"".join(map(line, [*items, *items])))
    (report,) = import_files([tmp_path / "log.jsonl"], tmp_path / "out", redact=Blunt(["ann|bob"])).files
    assert [(run.run, run.messages) for run in report.runs] == [("chat of no redact 1", 2)] * 2
    assert len({run.trace for run in report.runs}) == 2


def test_a_second_import_replaces_only_traces_of_the_same_content(tmp_path: Path) -> None:
    long = "0f8fad5b-d9cb-469f-a165-70867728950e"

    def names(*files: tuple[str, str]) -> list[str]:
        """Names of the traces of an import of these files, each with one message in the run `r` and in a joined one."""
        for name, said in files:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            items = [Said(run_id, name, "user", "text", said, 1) for run_id in ("r", long)]
            (tmp_path / name).write_bytes(b"".join(map(line, items)))
        done = import_files([tmp_path / name for name, _ in files], tmp_path / "out")
        return [Path(run.trace).stem.removeprefix("log-") for file in done.files for run in file.runs]

    first, second = ("a/log.jsonl", "hello"), ("b/log.jsonl", "goodbye")
    assert names(first) == names(first) == ["r", long]
    assert names(second) == names(second) == ["r-2", f"{long}-2"]
    # One that holds all of an older one, and more, takes its place; one that holds less of it does not.
    assert names(first, second) == ["r", long, "r-2"]
    assert names(first) == ["r", f"{long}-3"]
    # What is no trace of an import is never replaced.
    write_run(tmp_path / "out" / "log-r.trace")
    (tmp_path / "out" / "log-r-2.trace").write_bytes(b"notes")
    assert names(first) == ["r-3", f"{long}-3"]
    assert (tmp_path / "out" / "log-r-2.trace").read_bytes() == b"notes"


def test_the_command_says_what_was_used_and_ends_accordingly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good = line(Said("r", "", "user", "text", "x", 1))
    Path("good.jsonl").write_bytes(good)
    Path("part.jsonl").write_bytes(good + b"torn")
    Path("none.txt").write_bytes(b"hello")
    assert run(["import", "good.jsonl", "--out", "out"]) == 0
    assert capsys.readouterr().out == ("good.jsonl   plain   1 run, 0 calls, 0 answered, 1 message; 1 of 1 lines\n")
    assert run(["import", "part.jsonl", "--out", "out"]) == 1
    assert "part.jsonl:2: cut off" in capsys.readouterr().out
    assert run(["import", "none.txt", "--out", "out"]) == 2
    assert run(["import", "nosuch.jsonl", "--out", "out"]) == 2
    capsys.readouterr()
    assert run(["import", "good.jsonl", "part.jsonl", "--out", "out", "--json"]) == 1
    told = orjson.loads(capsys.readouterr().out)
    assert told.keys() == {"files", "calls", "answered"}
    first, second = told["files"]
    assert first == {
        "file": "good.jsonl", "format": "plain", "reader_version": 1, "calls": 0, "answered": 0, "errors": 0,
        "records": 1, "understood": 1, "left_out": {}, "odd": [], "odd_in_all": 0, "no_log": False,
        "calls_in_file": None, "reconciled": True,
        "runs": [{"run": "r", "trace": "out/good-r.trace", "seats": 1, "calls": 0, "answered": 0, "errors": 0,
                  "messages": 1, "passed": None}],
    }  # fmt: skip
    assert second["odd"] == [{"line": 2, "field": "", "message": "cut off"}]


def test_our_own_traces_are_copied_after_their_chain_was_checked(tmp_path: Path) -> None:
    trace = write_run(tmp_path / "desk.trace")
    export_files([trace], output=tmp_path / "desk.jsonl")
    (report,) = import_files([tmp_path / "desk.jsonl"], tmp_path / "out").files
    assert (report.format, Path(str(report.trace)).read_bytes()) == ("trace", (tmp_path / "desk.jsonl").read_bytes())
    (tmp_path / "bad.jsonl").write_bytes((tmp_path / "desk.jsonl").read_bytes().replace(b"W7", b"W8"))
    done = import_files([tmp_path / "bad.jsonl"], tmp_path / "out")
    assert (done.exit_code, (tmp_path / "out" / "bad.jsonl").exists()) == (2, False)


def test_a_member_of_a_zip_with_a_path_or_beyond_a_cap_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipped, "MAX_MEMBER", 1_000)
    monkeypatch.setattr(zipped, "MAX_UNPACKED", 2_500)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for name in ("../up.json", "/root.json", "C:x.json", "a/../../b.json", "ok.json"):
            packed.writestr(name, "{}")
        packed.writestr("large.json", b" " * 5_000)
        packed.writestr("bad.json", b"{")
        packed.writestr("two.json", b" " * 900 + b"{}")
        packed.writestr("three.json", b" " * 900 + b"{}")
        packed.writestr("after.json", "{}")
    found: list[Odd] = []
    with (tmp_path / "x.zip").open("rb") as file:
        read = Source(file, Head("x", b"", None, (), lines=False), found.append)
        assert [name for name, _ in read.members()] == ["ok.json", "two.json"]
    assert [odd.message[:16] for odd in found[:4]] == ["a path that lead"] * 4
    assert [odd.field for odd in found[4:]] == ["large.json", "bad.json", "three.json"]


def test_what_an_agent_was_told_counts_as_known_where_its_trace_has_messages(tmp_path: Path) -> None:
    def ids(*said: Said) -> tuple[bool, float | None]:
        made_up = Call("r", "", "a", "cancel_order", {"order_id": "W7"}, 9)
        report = imported(tmp_path, *said, made_up, Answer("r", "a", "no", True, 10))
        diagnosis = evaluate_file(report.runs[0].trace).diagnosis
        assert isinstance(diagnosis, Diagnosis)
        finding = diagnosis.finding("hallucinated_id")
        return finding.checked, finding.share

    assert ids()[0] is False
    assert ids(Said("r", "", "user", "text", "Cancel W7, please", 1)) == (True, 0.0)
    assert ids(Said("r", "", "user", "text", "Cancel it, please", 1)) == (True, 1.0)
    assert ids(Said("r", "", "assistant", "text", "W7 it is", 1)) == (True, 1.0)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
# What readers look at, in any nesting and with any value.
KEYS = (
    "jsonrpc", "id", "method", "params", "result", "tool", "name", "arguments", "sessionId", "type", "uuid", "message",
    "content", "role", "tool_calls", "tool_call_id", "messages", "schema_version", "steps", "observation", "results",
    "resourceSpans", "scopeSpans", "spans", "attributes", "key", "value", "stringValue", "traceId", "spanId",
    "run_type", "trace_id", "dotted_order", "inputs", "outputs", "simulations", "traj", "reward", "samples", "eval",
    "events",
    "events_data", "function_call", "call_id", "output", "input", "parts", "tool_use_id", "is_error", "scores",
    "status", "timestamp", "start_time", "child_runs", "openinference.span.kind", "gen_ai.operation.name",
    "usage", "seat_view",
)  # fmt: skip
VALUES = JSON | st.sampled_from(
    ("tools/call", "user", "assistant", "tool", "tool_use", "tool_result", "function", "execute_tool", "TOOL", "x",
     "ATIF-v1.4", "function_call_output", "[{\"role\":\"user\"}]", 1, -1)
)  # fmt: skip
SHALLOW = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6)
NESTED: st.SearchStrategy[Any] = st.recursive(
    SHALLOW, lambda inner: st.dictionaries(st.sampled_from(KEYS), inner | st.lists(inner, max_size=3), max_size=5)
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(lines=st.lists(NESTED.map(orjson.dumps) | JSON.map(orjson.dumps) | st.binary(max_size=20), max_size=5))
def test_no_lines_are_too_odd_for_any_reader(lines: list[bytes]) -> None:
    with TemporaryDirectory() as place:
        path = Path(place) / "log.jsonl"
        path.write_bytes(b"\n".join(lines))
        for name, reader in detect.readers().items():
            done = import_files([path], Path(place) / name, form=name)
            if isinstance(reader, Reader) and name != "plain":
                assert not [odd for odd in done.files[0].found if "failed:" in odd.message], name
            written: Mapping[str, Any] = done.to_json()
            assert orjson.dumps(written)
            for report in done.files[0].runs:
                assert verify_file(report.trace, chain_only=True).verdict == "intact"
        import_files([path], Path(place) / "any")

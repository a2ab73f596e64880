"""A call that a file tells several times is one call, whatever each telling keeps of it; and what people publish."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from tests.evaluation.importers.readers.samples import INSPECT_JSON, OPENAI, SAMPLES, document, lines
from tests.evaluation.importers.readers.span_samples import (
    LANGFUSE,
    OTEL_DOCUMENT,
    SPAN_SAMPLES,
    VERCEL,
    executes,
    request,
)
from tests.sample import sample as public

from tradefair.cli import run
from tradefair.evaluation.foreign.importers import importing
from tradefair.evaluation.foreign.importers.counting import CALLS, Census
from tradefair.evaluation.foreign.importers.detect import reader_of, readers
from tradefair.evaluation.foreign.importers.importing import import_files
from tradefair.evaluation.foreign.importers.items import Answer, Call, Reader
from tradefair.evaluation.foreign.importers.spool import Spool
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.tracestore import open_trace

CASES = {
    # folder: calls, answered, errors, seats, passed
    "01_split_message": (2, 2, 0, [1], [None]),
    # Its page says four seats; its files name three: the session's agent, x1 and x2.
    "02_subagents": (4, 4, 2, [3], [None]),
    "04_parallel_reverse": (2, 2, 0, [1], [None]),
    "05_bare_tool_spans": (2, 2, 0, [1], [None]),
    "06_indexed_attributes": (1, 1, 1, [1], [None]),
    "07_span_kind_beside": (2, 2, 1, [1], [None]),
    "08_rollout": (2, 2, 0, [1], [None]),
    "10_single_result": (1, 1, 1, [1], [False]),
    "11_fractional_reward": (4, 4, 4, [1, 1, 1, 1], [False, True, True, False]),
    "13_words_like_secrets": (2, 2, 0, [1], [None]),
    "14_list_of_trajectories": (2, 2, 0, [1, 1], [None, None]),
    "15_text_in_text": (1, 1, 1, [1], [None]),
    "17_session_document": (1, 1, 1, [1], [None]),
    "19_proxy_records": (2, 2, 2, [1, 1], [None, None]),
    "20_side_chain": (2, 2, 0, [2], [None]),
}


def sums(imported: Any) -> tuple[int, int, int, list[int], list[bool | None]]:
    files = imported.files
    calls, answered, errors = (sum(file.total(name) for file in files) for name in ("calls", "answered", "errors"))
    runs = [found for file in files for found in file.runs]
    return calls, answered, errors, [found.seats for found in runs], [found.passed for found in runs]


@pytest.mark.parametrize("case", CASES)
def test_situations_that_people_report_give_the_counts_that_are_expected_of_them(case: str, tmp_path: Path) -> None:
    imported = import_files([public("public_cases") / case], tmp_path)
    assert (imported.exit_code, sums(imported)) == (0, CASES[case])


def test_answers_go_to_the_calls_of_the_same_arguments_whatever_id_the_spans_carry(tmp_path: Path) -> None:
    import_files([public("public_cases") / "04_parallel_reverse"], tmp_path)
    with open_trace(next(tmp_path.glob("*.trace"))) as trace:
        events = [orjson.loads(event.body) for event in trace.events()]
    answers = {event["arguments"]["city"]: event["result"] for event in events if event["event"] == "tool_called"}
    assert answers == {"Paris": 12, "Oslo": 3}


def test_a_session_that_is_named_alone_is_joined_with_its_sub_agents(tmp_path: Path) -> None:
    session = next((public("public_cases") / "02_subagents").glob("*.jsonl"))
    assert sums(import_files([session], tmp_path)) == CASES["02_subagents"]


# --- a document told twice --------------------------------------------------------------------------------------------

IDS = ("id", "tool_call_id", "toolCallId", "gen_ai.tool.call.id", "ai.toolCall.id")


def renamed(value: Any, how: str) -> Any:
    """The value with the ids of its calls and messages dropped or changed, in texts of JSON, too."""
    if isinstance(value, list):
        return [renamed(part, how) for part in cast("list[Any]", value)]
    if isinstance(value, str) and value[:1] in ("{", "["):
        return orjson.dumps(renamed(orjson.loads(value), how)).decode()
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    if fields.get("key") in IDS:
        return {**fields, "value": {"stringValue": "task-7"}}
    kept = {name: renamed(part, how) for name, part in fields.items() if name not in IDS or how != "dropped"}
    return {name: f"other-{part}" if name in IDS and isinstance(part, str) else part for name, part in kept.items()}


def told_otherwise(sample: str, how: str) -> bytes:
    """A file of which one of two tellings has other ids, or none: of spans those of tools, of a sample its messages."""
    if sample == "inspect":
        log = orjson.loads(INSPECT_JSON.content)
        log["samples"][0]["messages"] = renamed(log["samples"][0]["messages"], how)
        return document(log)
    if sample == "langfuse":
        traces = orjson.loads(LANGFUSE.content)
        held = traces[0]["observations"]
        later = [renamed(one, how) | {"id": one["id"]} if one["type"] == "GENERATION" else one for one in held]
        traces[0]["observations"] = later
        return document(traces)
    request = orjson.loads((OTEL_DOCUMENT if sample == "otel" else VERCEL).content)
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for one in spans:
        if any("tool" in entry["key"].lower() and "definitions" not in entry["key"] for entry in one["attributes"]):
            marks = [entry for entry in one["attributes"] if entry["key"] in IDS]
            kept = [entry for entry in one["attributes"] if entry["key"] not in IDS]
            one["attributes"] = kept if how == "dropped" else [*kept, *(renamed(entry, how) for entry in marks)]
    return document(request)


EXPECTED = {"inspect": INSPECT_JSON, "otel": OTEL_DOCUMENT, "vercel": VERCEL, "langfuse": LANGFUSE}


@pytest.mark.parametrize("how", ["kept", "renamed", "dropped"])
@pytest.mark.parametrize("sample", EXPECTED)
def test_tellings_of_one_talk_with_other_ids_or_none_give_the_calls_of_one(
    sample: str, how: str, tmp_path: Path
) -> None:
    file = tmp_path / EXPECTED[sample].file
    file.write_bytes(EXPECTED[sample].content if how == "kept" else told_otherwise(sample, how))
    found = import_files([file], tmp_path / "out").files[0].runs
    wanted = EXPECTED[sample].runs
    assert [(made.calls, made.answered, made.errors) for made in found] == [made[2:5] for made in wanted]


def attribute(name: str, value: Any) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value if isinstance(value, str) else orjson.dumps(value).decode()}}


def test_a_call_whose_own_span_comes_later_waits_for_it(tmp_path: Path) -> None:
    """Of two equal calls the first has a span, so the span with another id is the second one's, though it is first."""
    request = orjson.loads(VERCEL.content)
    spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"]
    asked, own, last = spans[1:]
    tool = {"toolName": "get_order"}
    calls = [{**tool, "toolCallId": key, "input": {"order": "7"}} for key in ("c1", "c2")]
    answers = [
        {**tool, "type": "tool-result", "toolCallId": key, "output": {"type": "text", "value": f"of {key}"}}
        for key in ("c1", "c2")
    ]
    prompt = orjson.loads(last["attributes"][1]["value"]["stringValue"])
    prompt = [prompt[0], {"role": "assistant", "content": [{**call, "type": "tool-call"} for call in calls]},
              {"role": "tool", "content": answers}]  # fmt: skip
    asked["attributes"][2] = attribute("ai.response.toolCalls", calls)
    last["attributes"][1] = attribute("ai.prompt.messages", prompt)
    begun = int(own["startTimeUnixNano"])

    def carried(number: int, key: str) -> dict[str, Any]:
        times = {"startTimeUnixNano": str(begun + 10 * number), "endTimeUnixNano": str(begun + 10 * number + 5)}
        held = [entry for entry in own["attributes"] if entry["key"] not in ("ai.toolCall.id", "ai.toolCall.result")]
        return {
            **own,
            **times,
            "spanId": f"{90 + number:016x}",
            "attributes": [*held, attribute("ai.toolCall.id", key)],
        }

    spans[2:] = [carried(0, "task-7"), carried(1, "c1"), last]
    file = tmp_path / "spans.json"
    file.write_bytes(document(request))
    import_files([file], tmp_path / "out")
    with open_trace(next((tmp_path / "out").glob("*.trace"))) as trace:
        events = [orjson.loads(event.body) for event in trace.events()]
    assert [event["result"] for event in events if event["event"] == "tool_called"] == ["of c2", "of c1"]


# --- beside the logs --------------------------------------------------------------------------------------------------


def test_what_lies_beside_logs_and_is_none_is_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "log.json").write_bytes(INSPECT_JSON.content)
    (folder / "README.md").write_text("# Runs of May\n")
    (folder / "settings.json").write_text('{"theme": "dark"}')
    run(["import", str(folder), "--out", str(tmp_path / "out")])
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown if "no log" in line] == ["README.md", "settings.json"]


@pytest.mark.parametrize("content", ['{"steps": [{"tool": "refund", "with": {}}]}', '{"tool_calls": 3, "text": "x"}'])
def test_what_may_be_a_log_that_nobody_knows_is_one(content: str, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "log.json").write_bytes(INSPECT_JSON.content)
    (folder / "other.json").write_text(content)
    assert import_files([folder], tmp_path / "out").exit_code == 1


UNKNOWN: list[dict[str, Any]] = [
    {"type": "agent_step", "sessionId": "s", "tool_calls": [{"id": "x", "name": "refund", "args": {}}]},
    {"type": "tool_progress", "sessionId": "s", "tool_use_id": "c1"},
]


@pytest.mark.parametrize("record", UNKNOWN)
def test_a_record_of_an_unknown_type_that_calls_or_answers_is_named_and_not_left_out(
    record: Any, tmp_path: Path
) -> None:
    said = {"type": "user", "sessionId": "s", "uuid": "u1", "message": {"role": "user", "content": "refund 7"}}
    file = tmp_path / "session.jsonl"
    file.write_bytes(orjson.dumps(said) + b"\n" + orjson.dumps(record) + b"\n")
    imported = import_files([file], tmp_path / "out")
    assert (imported.exit_code, [odd.line for odd in imported.files[0].found]) == (1, [2])


def test_a_span_of_an_unknown_kind_that_names_a_tool_is_named(tmp_path: Path) -> None:
    request = orjson.loads(VERCEL.content)
    request["resourceSpans"][0]["scopeSpans"][0]["spans"][2]["attributes"] = [
        {"key": "acme.tool_name", "value": {"stringValue": "refund"}}
    ]
    file = tmp_path / "spans.json"
    file.write_bytes(document(request))
    imported = import_files([file], tmp_path / "out")
    assert (imported.exit_code, [odd.field for odd in imported.files[0].found]) == (1, ["acme.tool_name"])


def test_a_file_that_is_recognised_and_yields_no_run_says_which_reader_came_next(tmp_path: Path) -> None:
    file = tmp_path / "spans.json"
    span = {"trace_id": "t", "span_id": "s", "name": "x", "attributes": {"gen_ai.system": "x", "mcp.session": 1}}
    file.write_bytes(orjson.dumps([span]))
    imported = import_files([file], tmp_path / "out")
    report = imported.files[0]
    assert (imported.exit_code, report.records, report.understood, report.format) == (2, 1, 0, "otel")
    assert [odd.message for odd in report.found] == [
        "looks like otel, but holds no call and no message of it (looked for gen_ai.operation.name, "
        "traceloop.span.kind, ai.operationId, gen_ai.output.messages, gen_ai.completion, ai.response.toolCalls)"
    ]


def test_the_formats_are_shown_with_the_versions_of_their_readers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "formats", "--json"]) == 0
    rows = {row.pop("format"): row for row in orjson.loads(capsys.readouterr().out)}
    assert rows.keys() == readers().keys()
    assert rows["tau"] == {"version": 1, "counted": True, "description": "results of tau-bench and tau2"}
    assert not rows["pact-log"]["counted"]
    assert run(["show", "formats", "tua"]) == 2
    assert "tau" in capsys.readouterr().err


def test_what_is_asked_of_the_disk_grows_with_the_files_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / f"{number}.txt" for number in range(40)]
    for file in files:
        file.write_text("no log")
    asked: list[Path] = []
    is_dir = Path.is_dir

    def counted(path: Path) -> bool:
        asked.append(path)
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", counted)
    import_files(files, tmp_path / "out")
    assert len(asked) <= 4 * len(files)


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({"type": "tool_wish", "name": "refund", "args": {}}, True),
        ({"type": "tool_echo", "toolCallId": "c1", "value": 3}, True),
        ({"type": "mood", "name": "cheerful"}, False),
    ],
)
def test_a_part_of_an_unknown_type_is_named_only_where_it_calls_or_answers(
    part: dict[str, Any], named: bool, tmp_path: Path
) -> None:
    messages = [{"role": "user", "content": "refund 7"}, {"role": "assistant", "content": [part]}]
    file = tmp_path / "chat.jsonl"
    file.write_bytes(orjson.dumps({"messages": messages}) + b"\n")
    imported = import_files([file], tmp_path / "out")
    assert (imported.exit_code == 1, bool(imported.files[0].found)) == (named, named)


# --- the file's own count ---------------------------------------------------------------------------------------------

CALLING = [sample for sample in (*SAMPLES, *SPAN_SAMPLES) if any(run.calls for run in sample.runs)]


def mutant(read: Any, change: Callable[[Call], list[Call]]) -> Any:
    """A reader that makes something else of the first call."""

    def changed(source: Any) -> Iterator[Any]:
        first = True
        for item in read(source):
            met = isinstance(item, Call) and first
            first = first and not met
            yield from change(item) if met else [item]

    return changed


def kept(call: Call) -> list[Call]:
    return [call]


def dropped(_: Call) -> list[Call]:
    return []


def doubled(call: Call) -> list[Call]:
    return [call, call._replace(key="more")]


def always(reader: Reader) -> Callable[[object], Reader]:
    """Finds this reader, whatever the file."""
    return lambda _: reader


@pytest.mark.parametrize("sample", CALLING, ids=lambda sample: sample.file)
@pytest.mark.parametrize(("change", "more"), [(kept, 0), (dropped, -1), (doubled, 1)])
def test_a_reader_that_drops_or_doubles_a_call_does_not_add_up(
    sample: Any, change: Any, more: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = reader_of(sample.format)
    assert isinstance(reader, Reader)
    monkeypatch.setattr(importing, "detect", always(reader._replace(read=mutant(reader.read, change))))
    file = tmp_path / sample.file
    file.write_bytes(sample.content)
    told = import_files([file], tmp_path / "out").files[0]
    assert told.held == sum(run.calls for run in sample.runs)
    assert told.reconciled is (more == 0)
    assert any("does not add up" in odd.message for odd in told.found) is (more != 0)
    traces = list((tmp_path / "out").glob("*.trace"))
    assert all(marked_of(trace) is (None if more == 0 else False) for trace in traces)


def marked_of(path: Path) -> Any:
    """What a trace says of whether its file added up."""
    with open_trace(path) as trace:
        return trace.manifest.about["source"].get("reconciled")


def test_a_file_whose_answers_are_lost_does_not_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = cast("Reader", reader_of("openai"))

    def deaf(source: Any) -> Iterator[Any]:
        yield from (item for item in reader.read(source) if not isinstance(item, Answer))

    monkeypatch.setattr(importing, "detect", always(reader._replace(read=deaf)))
    file = tmp_path / OPENAI.file
    file.write_bytes(OPENAI.content)
    imported = import_files([file], tmp_path / "out")
    assert imported.exit_code == 1
    assert "does not add up: 0 answers used, 11 in the file" in [odd.message for odd in imported.files[0].found]


def test_of_a_run_that_does_not_add_up_nothing_is_said_of_repeated_or_refused_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def turn(number: int) -> list[dict[str, Any]]:
        call = {"id": f"c{number}", "function": {"name": "refund", "arguments": {"order": "7"}}}
        answer = {"role": "tool", "tool_call_id": f"c{number}", "content": "Error: too late"}
        return [{"role": "assistant", "tool_calls": [call]}, answer]

    talk = [{"role": "user", "content": "Refund order 7."}, *(message for at in range(6) for message in turn(at))]
    (tmp_path / "chat.json").write_bytes(document({"id": "chat", "messages": talk}))
    (tmp_path / "desk.toml").write_text(
        'version = 1\n\n[tools]\naction = ["refund"]\n\n[objects.order]\narguments = ["order"]\n\n'
        '[[rule]]\naction = ["refund"]\nretries = 2\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)

    def told() -> tuple[list[str], str, str]:
        imported = import_files([Path("chat.json")], Path("out"))
        path = imported.files[0].runs[0].trace
        diagnosis = evaluate_file(path).diagnosis
        assert diagnosis is not None
        raised = [finding.id for finding in diagnosis.raised]
        run(["audit", "out", "--map", "desk.toml"])
        audit = capsys.readouterr().out
        run(["evaluate", path])
        shown = capsys.readouterr().out
        return raised, audit, shown

    raised, audit, shown = told()
    assert "refused_calls" in raised
    assert "map.retries: " in audit
    assert "add up" not in audit + shown
    reader = cast("Reader", reader_of("openai"))
    monkeypatch.setattr(importing, "detect", always(reader._replace(read=mutant(reader.read, dropped))))
    raised, audit, shown = told()
    assert not {"refused_calls", "loop"} & {*raised}
    assert "map.retries: " not in audit
    assert audit.startswith("1 of 1 runs do not add up with their files: calls may be missing or told twice")
    assert "This run does not add up with its file" in shown


def test_the_count_of_many_traces_needs_no_more_memory_than_that_of_few(tmp_path: Path) -> None:
    counts = cast("Reader", reader_of("otel")).counts
    assert counts is not None
    peaks: list[int] = []
    for traces in (2_500, 10_000):
        spool = Spool(tmp_path)
        tracemalloc.start()
        try:
            census = Census(counts, spool, 0)
            for trace in range(traces):
                for number in range(3):
                    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": f"c{number}"}
                    # A tool of its own: nothing that is counted is counted under one name.
                    attributes = {**told, "gen_ai.tool.name": f"tool-{trace}-{number}"}
                    census.take("", {"traceId": f"t{trace}", "spanId": f"{number}", "attributes": attributes})
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert sum(least for least, _ in census.bounds(CALLS).values()) == 3 * traces
        spool.close()
    assert peaks[1] < 1.25 * peaks[0]


@pytest.mark.parametrize("key", ["", "c1"])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_spans_inside_of_each_other_that_tell_one_call_add_up(key: str, order: Sequence[int], tmp_path: Path) -> None:
    pairs = [("a" * 16, ""), ("b" * 16, "a" * 16), ("c" * 16, "b" * 16)]
    made = [executes(own, above, "look", key, 10 + at, 90 - at) for at, (own, above) in enumerate(pairs)]
    file = tmp_path / "spans.jsonl"
    file.write_bytes(lines(*(request(made[at]) for at in order)))
    imported = import_files([file], tmp_path / "out")
    assert (imported.exit_code, [run.calls for run in imported.files[0].runs]) == (0, [1])

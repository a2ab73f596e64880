"""The walk over messages: calls, answers and parts of every dialect, answers without ids, what may be multiplied.

Also here:
- Documents and files that go on: elements on lines of their own, documents one after another, sessions resumed.
- Every reader of messages, on a file of its format: exact counts, and what damage and strange fields do to them.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.importers.readers.samples import (
    ATIF,
    CLAUDE,
    INSPECT_JSON,
    INSPECT_ZIP,
    INSPECTED,
    PIXEL,
    SESSION,
    TRAJECTORY,
    Run,
    Sample,
    atif_call,
    document,
    lines,
    packed,
    record,
    step,
)
from tests.evaluation.importers.readers.samples import SAMPLES as MESSAGE_SAMPLES
from tests.evaluation.importers.readers.span_samples import (
    NESTED,
    OTEL,
    OTEL_PRINTED,
    RUNS,
    SPAN_SAMPLES,
    SPANS,
    THREAD,
    request,
)

from tradefair.contract.chain import digest
from tradefair.evaluation.foreign.importers.detect import SURE, detect, reader_of, readers, scores
from tradefair.evaluation.foreign.importers.importing import import_files
from tradefair.evaluation.foreign.importers.items import Answer, Call, Item, Odd, Reader, Said
from tradefair.evaluation.foreign.importers.readers import READERS
from tradefair.evaluation.foreign.importers.run_report import FileReport
from tradefair.evaluation.foreign.importers.settle import settle
from tradefair.evaluation.foreign.importers.source import HEAD, Source, head_of
from tradefair.evaluation.foreign.interchange.messages import At, tools, walk


def walked(message: Any) -> tuple[list[Any], Counter[str]]:
    left_out: Counter[str] = Counter()
    return list(walk(message, At("r", step=3), left_out)), left_out


CALLS: list[tuple[Any, tuple[str, str, Any]]] = [
    (
        {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select"}}]},
        ("a", "sql", {"input": "select"}),
    ),
    ({"tool_calls": [{"id": "a", "name": "f", "args": {"x": 1}, "type": "tool_call"}]}, ("a", "f", {"x": 1})),
    ({"tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}, ("name:f", "f", {"x": 1})),
    ({"tool_calls": [{"id": 7, "function": "f", "arguments": {}, "type": "function"}]}, ("7", "f", {})),
    ({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "[1]"}}]}, ("a", "f", "[1]")),
    ({"function_call": {"name": "f"}}, ("name:f", "f", {})),
    (
        {"content": [{"type": "server_tool_use", "id": "a", "name": "web_search", "input": {"q": 1}}]},
        ("a", "web_search", {"q": 1}),
    ),
    ({"parts": [{"type": "tool_call", "id": "a", "name": "f", "arguments": {"x": 1}}]}, ("a", "f", {"x": 1})),
    ({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"x": 1}}}]}, ("name:f", "f", {"x": 1})),
]


@pytest.mark.parametrize(("message", "expected"), CALLS)
def test_a_call_is_found_in_every_dialect(message: dict[str, Any], expected: tuple[str, str, Any]) -> None:
    items, _ = walked({"role": "assistant", **message})
    assert [(item.key, item.tool, item.arguments) for item in items if isinstance(item, Call)] == [expected]
    assert all(item.step == 3 for item in items)


ANSWERS: list[tuple[Any, tuple[str, Any, Any]]] = [
    ({"role": "tool", "tool_call_id": "a", "content": None}, ("a", None, None)),
    ({"role": "tool", "tool_name": "f", "content": "x"}, ("name:f", "x", None)),
    ({"role": "tool", "id": "a", "content": "x", "error": True}, ("a", "x", True)),
    ({"role": "tool", "tool_call_id": "a", "content": "", "status": "error"}, ("a", "", True)),
    (
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "a", "response": {"x": 1}}]},
        ("a", {"x": 1}, None),
    ),
    (
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"x": 1}}}]},
        ("name:f", {"x": 1}, None),
    ),
    (
        {"role": "user", "content": [{"type": "web_search_tool_result", "tool_use_id": "a", "content": []}]},
        ("a", [], None),
    ),
    ({"type": "function_call_output", "call_id": "a", "output": "x"}, ("a", "x", None)),
    ({"type": "mcp_call", "id": "a", "name": "f", "arguments": "{}", "output": None, "error": "no"}, ("a", None, "no")),
    (
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "f", "arguments": "{}", "result": "x"}],
        },
        ("a", "x", None),
    ),
]


@pytest.mark.parametrize(("message", "expected"), ANSWERS)
def test_an_answer_is_found_in_every_dialect_and_an_empty_one_is_an_answer(
    message: dict[str, Any], expected: tuple[str, Any, Any]
) -> None:
    items, _ = walked(message)
    assert [(item.key, item.result, item.error) for item in items if isinstance(item, Answer)] == [expected]


def status_of(message: dict[str, Any]) -> str:
    (answer,) = (item for item in walked(message)[0] if isinstance(item, Answer))
    return settle(answer.result, answer.error, answer.status)[0]


LOG = "Error: disk full (line 1 of the log)"
NO_ERROR: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": LOG, "is_error": False}]},
    {"role": "tool", "id": "a", "content": LOG, "error": False},
    {"type": "tool", "tool_call_id": "a", "content": LOG, "status": "success"},
]


@pytest.mark.parametrize("message", NO_ERROR)
def test_a_flag_that_says_no_error_outweighs_an_answer_that_begins_like_one(message: dict[str, Any]) -> None:
    assert status_of(message) == "ok"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": "a", "content": LOG},
        {"role": "tool", "tool_call_id": "a", "content": LOG, "error": None, "is_error": None},
        # That an item of a response has ended does not say how.
        {"type": "function_call_output", "call_id": "a", "output": LOG, "status": "completed"},
    ],
)
def test_where_no_flag_is_set_an_answer_that_begins_like_an_error_is_one(message: dict[str, Any]) -> None:
    assert status_of(message) == "rejected"


MEDIA: list[Any] = [
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
    {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
    {"type": "blob", "mime_type": "image/png", "content": PIXEL},
    {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
    {"type": "image", "image": f"data:image/png;base64,{PIXEL}"},
]


@pytest.mark.parametrize("part", MEDIA)
def test_of_a_picture_only_type_size_and_digest_are_kept(part: dict[str, Any]) -> None:
    items, left_out = walked({"role": "user", "content": [part]})
    assert [item.content for item in items] == [
        {"media_type": "image/png", "size": 8, "digest": digest(b"\x89PNG\r\n\x1a\n")}
    ]
    assert left_out == {"media": 1}
    assert PIXEL not in str(walked({"role": "tool", "tool_call_id": "a", "content": [part, part]}))


def test_an_object_of_a_tool_that_only_looks_like_a_medium_is_kept() -> None:
    found = [{"type": "file", "name": "a.txt", "size": 3}, {"type": "document", "id": "d1", "content": "Dear customer"}]
    for content in (found, found[0], [found[1]]):
        answer, _ = walked({"role": "tool", "tool_call_id": "a", "content": content})
        assert answer[0].result == content


def test_what_is_not_kept_is_counted_and_what_is_no_message_is_named() -> None:
    items, left_out = walked(
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}, {"type": "odd"}]}
    )
    assert (items, left_out) == ([], {"redacted_thinking": 1, "part odd": 1})
    no_messages: tuple[Any, ...] = (7, None, [], {}, {"content": "x"})
    for wrong in no_messages:
        assert [type(item) for item in walked(wrong)[0]] == [Odd]
    _, crowded = walked({"role": "user", "content": [{"type": f"kind {number}"} for number in range(500)]})
    assert (len(crowded), crowded["other"]) == (101, 400)


def test_a_call_that_a_dialect_lists_twice_is_one_call() -> None:
    block: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    items, _ = walked({"role": "assistant", "content": [block], "tool_calls": [{"id": "a", "name": "f", "args": {}}]})
    assert [item.key for item in items] == ["a"]


def test_tools_are_read_from_every_dialect() -> None:
    reads = {"name": "c", "inputSchema": {}, "annotations": {"readOnlyHint": True}}
    found = tools([{"name": "a", "parameters": {"x": 1}}, {"function": {"name": "b"}}, reads, {}, 3])
    assert [(tool["name"], tool["schema"]) for tool in found] == [("a", {"x": 1}), ("b", None), ("c", {})]
    assert [tool.get("readOnlyHint") for tool in found] == [None, None, True]


def test_answers_without_ids_belong_to_the_first_open_call_of_the_tool_that_they_name() -> None:
    calls = [{"id": f"c{number}", "function": {"name": f"f{number % 2}", "arguments": "{}"}} for number in range(3)]
    told = [
        {"role": "tool", "name": "f1", "content": "1"},
        {"role": "tool", "content": "0"},
        {"role": "tool", "content": "2"},
    ]
    items, _ = read(document({"messages": [{"role": "assistant", "tool_calls": calls}, *told]}), "openai")
    assert {item.key: item.result for item in items if isinstance(item, Answer)} == {"c1": "1", "c0": "0", "c2": "2"}


def test_a_batch_that_was_observed_once_shares_its_result_up_to_a_hundred_times() -> None:
    def seen(count: int) -> tuple[int, int]:
        made = step(1, "agent", "", tool_calls=[atif_call(f"c{number}", "run") for number in range(count)])
        made["observation"] = {"results": [{"content": "one screen"}]}
        return answered(read(document({"schema_version": "ATIF-v1.8", "steps": [made]}), "atif")[0])

    assert (seen(3), seen(5_000)) == ((3, 3), (5_000, 100))


def test_an_attachment_cannot_be_multiplied_without_bound() -> None:
    talk = [{"id": str(number), "role": "user", "content": "attachment://a"} for number in range(300)]
    sample = {"id": "q", "messages": talk, "attachments": {"a": "x" * (2 << 20)}}
    items, _ = read(packed({"samples/q.json": sample}), "inspect")
    said = [item.content for item in items if isinstance(item, Said)]
    assert len(said) == 300
    assert sum(map(len, said)) <= 257 << 20


def test_runs_without_ids_are_called_by_their_lines_and_second_ones_of_a_name_by_their_number() -> None:
    talk = {"messages": [{"role": "user", "content": "x"}]}
    items, _ = read(lines(talk, {**talk, "id": "a"}, {**talk, "id": "a"}, 3, {"id": "b"}), "openai")
    assert [item.run for item in items if isinstance(item, Said)] == ["line-1", "a", "a#2"]
    assert [item.line for item in items if isinstance(item, Odd)] == [4, 5]


def test_messages_that_stand_alone_are_runs_by_the_conversation_that_they_name() -> None:
    def spoken(name: str, **fields: Any) -> dict[str, Any]:
        return {"id": f"m-{name}", "conversation_id": name, "task_id": "t", "role": "user", "content": "x", **fields}

    talk = [spoken("A"), spoken("B"), spoken("A", role="assistant"), {"id": "m", "role": "user", "content": "x"}]
    long = [*talk, *([spoken("B", content="x" * 1_000)] * 200)]
    forms = {"lines": lines(*talk), "list": document(talk), "list beyond the head": document(long)}
    found = {
        name: Counter(item.run for item in read(forms[name], "openai")[0] if isinstance(item, Said)) for name in forms
    }
    assert found["lines"] == found["list"] == {"A": 2, "B": 1, "file": 1}
    assert found["list beyond the head"] == {"A": 2, "B": 201, "file": 1}
    steps = [item.step for item in read(forms["lines"], "openai")[0] if isinstance(item, Said) and item.run == "A"]
    assert steps == [1, 2]


BUILT_IN: list[tuple[dict[str, Any], tuple[str, Any, Any]]] = [
    (
        {"type": "code_interpreter_call", "id": "a", "code": "print(1)", "outputs": [{"type": "logs", "logs": "1"}]},
        ("code_interpreter", {"code": "print(1)"}, [{"type": "logs", "logs": "1"}]),
    ),
    ({"type": "web_search_call", "id": "a", "action": {"query": "x"}}, ("web_search", {"query": "x"}, None)),
    # No list names this one: its type ends like a call's.
    ({"type": "some_later_tool_call", "id": "a", "result": "x"}, ("some_later_tool", {}, "x")),
]


@pytest.mark.parametrize(("item", "expected"), BUILT_IN, ids=[item["type"] for item, _ in BUILT_IN])
def test_a_response_with_calls_of_built_in_tools_is_recognised(
    item: dict[str, Any], expected: tuple[str, Any, Any]
) -> None:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    response = {"object": "response", "id": "r", "output": [{**item, "status": "completed"}, said]}
    bare = {"input": "x", "output": response["output"]}
    for content in (lines(response), lines(bare), lines(response["output"]), lines(said, item), document(response)):
        head = head_of("x.jsonl", io.BytesIO(content))
        assert [name for name, score in scores(head).items() if score > SURE] == ["openai"]
        items, _ = read(content, "openai")
        (call,) = (found for found in items if isinstance(found, Call))
        (answer,) = (found for found in items if isinstance(found, Answer))
        assert (call.tool, call.arguments, answer.result) == expected
        assert answer.key == call.key


def test_a_response_with_an_item_of_an_unknown_type_is_recognised_and_a_log_of_such_types_is_none_of_ours() -> None:
    response = {"object": "response", "output": [{"type": "tidings"}, {"type": "message", "role": "assistant"}]}
    assert scores(head_of("x.jsonl", io.BytesIO(lines(response))))["openai"] > SURE
    others: list[Any] = [
        {"type": "llm_call", "ms": 3},
        {"type": "tool_call", "tool": "f", "arguments": {}, "result": 1},
    ]
    for other in others:
        for value in (other, [other], {"output": [other]}):
            assert scores(head_of("x.jsonl", io.BytesIO(lines(value))))["openai"] <= SURE


def test_talks_in_a_list_and_documents_one_after_another_are_runs_of_their_own() -> None:
    talk = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    items, _ = read(json.dumps([talk, talk, 3], indent=1).encode(), "openai")
    assert Counter(item.run for item in items if isinstance(item, Said)) == {"file": 2, "file#2": 2}
    assert sum(isinstance(item, Odd) for item in items) == 1
    two = "\n".join(json.dumps({"id": name, "messages": talk}, indent=1) for name in "ab")
    items, _ = read(two.encode(), "openai")
    assert Counter(item.run for item in items if isinstance(item, Said)) == {"a": 2, "b": 2}


@pytest.mark.parametrize(("damaged", "form"), [(1, "openai"), (3, None)])
def test_a_file_is_recognised_by_most_of_its_messages(damaged: int, form: str | None) -> None:
    talk = [{"role": "user", "content": "x"}, *([None] * damaged), {"role": "assistant", "content": "y"}]
    head = head_of("x.jsonl", io.BytesIO(lines({"messages": talk})))
    assert [name for name, score in scores(head).items() if score > SURE] == ([form] if form else [])


PADDED: dict[str, Any] = {"x_long": "x" * HEAD}


def runs_of(report: dict[str, Any]) -> list[Run]:
    return [Run(*(run[name] for name in Run._fields)) for run in report["runs"]]


def test_a_log_of_inspect_with_a_sample_alone_on_a_line_is_a_document(tmp_path: Path) -> None:
    log: dict[str, Any] = orjson.loads(INSPECT_JSON.content)
    first, *others = log.pop("samples")
    begun = orjson.dumps(log).removesuffix(b"}") + b',"samples":[\n' + orjson.dumps(first)
    empty: dict[str, Any] = {"id": "z", "messages": []}
    rest = b"".join(b"\n," + orjson.dumps({**sample, **PADDED}) for sample in (*others, empty))
    report = imported(tmp_path, INSPECT_JSON._replace(content=begun + rest + b"\n]}\n"))
    assert (report["format"], runs_of(report)) == ("inspect", list(INSPECT_JSON.runs))


def test_a_request_with_a_span_alone_on_a_line_is_a_document(tmp_path: Path) -> None:
    scope, sent = b'{"resourceSpans":[{"scopeSpans":[{"spans":[\n', map(orjson.dumps, [*SPANS, {**SPANS[0], **PADDED}])
    content = scope + b'\n]},{"spans":[\n'.join(sent) + b"\n]}]}]}\n"
    report = imported(tmp_path, OTEL._replace(file="spans.json", content=content))
    assert (runs_of(report), report["records"], report["understood"]) == (list(OTEL.runs), 12, 12)


@pytest.mark.parametrize("torn", [b'a": 1}]}', b'{"a": "x', b'{"a": [1, 2', b'{"a": {"b": 1}, '])
def test_a_log_whose_first_line_is_damaged_is_a_log(torn: bytes) -> None:
    """In a document two objects on lines one after another have a comma between them."""
    head = head_of("x.jsonl", io.BytesIO(torn + b"\n" + lines({"id": 1}, {"id": 2})))
    assert (head.lines, head.value) == (True, {"id": 1})


@pytest.mark.parametrize("padding", [{}, PADDED], ids=["short", "long"])
def test_spans_that_an_sdk_prints_one_after_another_over_several_lines_are_read(
    padding: dict[str, Any], tmp_path: Path
) -> None:
    spans = map(orjson.loads, OTEL_PRINTED.content.splitlines())
    content = b"\n".join(document({**span, **padding}) for span in spans)
    report = imported(tmp_path, OTEL_PRINTED._replace(file="console.json", content=content))
    assert (runs_of(report), report["records"], report["understood"]) == (list(OTEL_PRINTED.runs), 11, 11)


def test_requests_one_after_another_are_read_and_what_one_says_of_its_process_is_not_said_of_the_next() -> None:
    first, *others = (request(span) for span in SPANS)
    first["resourceSpans"][0]["resource"] = {
        "attributes": [{"key": "gen_ai.conversation.id", "value": {"stringValue": "of the first process"}}]
    }
    for request_ in others:
        request_["resourceSpans"][0].pop("resource", None)
    items, _ = read(b"\n".join(map(document, [{**first, **PADDED}, *others])), "otel")
    held, _ = read(lines(first, *others), "otel")
    assert items == [item._replace(line=0) if isinstance(item, Odd) else item for item in held]


@pytest.mark.parametrize("padding", [{}, PADDED], ids=["short", "long"])
def test_runs_of_langsmith_one_after_another_over_several_lines_are_read(
    padding: dict[str, Any], tmp_path: Path
) -> None:
    content = b"\n".join(document({**run, **padding}) for run in RUNS)
    assert runs_of(imported(tmp_path, NESTED._replace(content=content))) == [THREAD]
    nested = document({**RUNS[4], **padding, "child_runs": RUNS[:4]})
    assert runs_of(imported(tmp_path, NESTED._replace(content=nested))) == [THREAD]


@pytest.mark.parametrize("padding", [{}, PADDED], ids=["short", "long"])
def test_trajectories_are_runs_of_their_own_as_lines_as_documents_and_in_a_list(
    padding: dict[str, Any], tmp_path: Path
) -> None:
    both = [{**TRAJECTORY, **padding, "session_id": f"session-{number}"} for number in (1, 2)]
    expected = [ATIF.runs[0]._replace(run=f"session-{number}") for number in (1, 2)]
    for content in (lines(*both), lines(both), document(both), b"\n".join(map(document, both))):
        report = imported(tmp_path, ATIF._replace(content=content))
        assert (runs_of(report), report["records"], report["odd"]) == (expected, 16, [])


def resumed(tmp_path: Path, *files: bytes) -> list[FileReport]:
    names = [tmp_path / f"{number}.jsonl" for number in range(len(files))]
    for name, content in zip(names, files, strict=True):
        name.write_bytes(content)
    return list(import_files(names, tmp_path / "out").files)


def test_what_a_resumed_session_repeats_in_another_file_is_not_said_twice(tmp_path: Path) -> None:
    thanks = lines(record(99, "user", message={"role": "user", "content": "thanks"}))
    first, second, copy = resumed(tmp_path, CLAUDE.content, CLAUDE.content + thanks, CLAUDE.content)
    (run,) = first.runs
    (alone,) = CLAUDE.runs
    assert (run.calls, run.answered, run.messages) == (alone.calls, alone.answered, alone.messages + 1)
    assert second.left_out["repeated lines"] > 0
    # A file that only repeats what others hold was used all the same.
    assert [(file.faults, file.runs, file.parts) for file in (second, copy)] == [(0, [], 1)] * 2


def test_lines_of_two_sessions_with_short_ids_are_told_apart_by_their_files(tmp_path: Path) -> None:
    short = CLAUDE.content.replace(SESSION.encode(), b"s1")
    assert [file.runs[0].calls for file in resumed(tmp_path, short, short)] == [CLAUDE.runs[0].calls] * 2


SAMPLES = (*MESSAGE_SAMPLES, *SPAN_SAMPLES)
by_file = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
texts = pytest.mark.parametrize(
    "sample", [sample for sample in SAMPLES if sample is not INSPECT_ZIP], ids=lambda sample: sample.file
)


def read(content: bytes, form: str, name: str = "file") -> tuple[list[Item], list[Odd]]:
    """The items of a file, and what its source refused."""
    reader, refused = reader_of(form), list[Odd]()
    assert isinstance(reader, Reader)
    file = io.BytesIO(content)

    source = Source(file, head_of(name, file), refused.append)
    return list(reader.read(source)), refused


def answered(items: list[Item]) -> tuple[int, int]:
    calls = {(item.run, item.key) for item in items if isinstance(item, Call)}
    return len(calls), len(calls & {(item.run, item.key) for item in items if isinstance(item, Answer)})


def imported(tmp_path: Path, sample: Sample) -> dict[str, Any]:
    file = tmp_path / sample.file
    file.write_bytes(sample.content)
    return import_files([file], tmp_path / "out").files[0].to_json()


@by_file
def test_a_file_is_recognised_and_gives_exactly_the_runs_calls_answers_errors_and_messages_that_it_holds(
    tmp_path: Path, sample: Sample
) -> None:
    report = imported(tmp_path, sample)
    found = [Run(*(run[name] for name in Run._fields)) for run in report["runs"]]
    assert (report["format"], found) == (sample.format, list(sample.runs))
    assert (report["records"], report["understood"]) == (sample.records, sample.records)


def strange(value: Any) -> Any:
    """The value with fields that no format has in every object, in front and behind."""
    if isinstance(value, list):
        return [strange(part) for part in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = {key: strange(part) for key, part in cast("dict[str, Any]", value).items()}
    return {**fields, "x_unknown": {"deep": [1, None, {"a": True}]}, "x_null": None, "x_text": "role"}


@texts
def test_fields_that_a_format_does_not_have_change_nothing(tmp_path: Path, sample: Sample) -> None:
    parts = sample.content.splitlines() if sample.file.endswith("l") else [sample.content]
    content = b"\n".join(orjson.dumps(strange(orjson.loads(part))) for part in parts)
    report = imported(tmp_path, sample._replace(content=content))
    assert [Run(*(run[name] for name in Run._fields)) for run in report["runs"]] == list(sample.runs)


@pytest.mark.many
@texts
def test_a_file_that_is_cut_at_any_byte_of_its_last_record_keeps_what_came_before(sample: Sample) -> None:
    whole, _ = read(sample.content, sample.format)
    content = sample.content.rstrip()
    # The last record of a document begins where its last element does.
    start = content.rfind(b"\n") + 1 if sample.file.endswith("l") else content.rfind(b'\n    {\n      "')
    start = start if start > 0 else content.rfind(b"\n  {\n")
    # Long last elements are cut in their last part: every byte is a reading of the whole file.
    start = max(start, len(content) - 1_500)
    least = answered(read(content[:start], sample.format)[0])
    for end in range(start + 1, len(content)):
        items, refused = read(content[:end], sample.format)
        made = answered(items)
        assert [odd.message for odd in refused] == ["cut off"], content[end - 40 : end]
        # A line is whole or it is nothing; of a document's last element the parts that are whole may be used.
        assert made == least if sample.file.endswith("l") else least <= made <= answered(whole)


@by_file
def test_no_other_reader_claims_the_file(sample: Sample) -> None:
    head = head_of(sample.file, io.BytesIO(sample.content))
    assert detect(head).name == sample.format
    claims = scores(head)
    assert {name for name, score in claims.items() if score > 30} == {sample.format}, claims


SHOP: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "get_order", "arguments": {}},
}
OTHERS: list[tuple[str | None, str, Any]] = [
    ("mcp", "rpc.jsonl", SHOP),
    ("mcp", "flat.jsonl", {"tool": "get_order", "arguments": {"role": "user"}, "result": {"messages": []}}),
    ("mcp", "wrapped.jsonl", {"time": 1, "session": "a", "message": SHOP}),
    ("tradefair", "seat.jsonl", {"seat_view": "tradefair.seat_view/1", "seat": "agent"}),
    ("trace", "trace.jsonl", {"about": {}, "core": {}}),
    (None, "labels.jsonl", {"id": "refund-1", "passed": False, "failures": [{"step": 3, "category": "x"}]}),
    (None, "references.jsonl", {"id": "refund-1", "actions": [{"tool": "x", "arguments": {}}], "outputs": ["40"]}),
    (None, "tasks.json", [{"id": "1", "user_scenario": {}, "evaluation_criteria": {}}]),
    (None, "config.json", {"version": 1, "status": "ok", "session_id": "x", "type": "user"}),
]


@pytest.mark.parametrize(("form", "name", "value"), OTHERS, ids=lambda value: value if isinstance(value, str) else "")
def test_files_without_messages_are_claimed_by_their_reader_or_by_none(form: str | None, name: str, value: Any) -> None:
    claims = scores(head_of(name, io.BytesIO(lines(value, value) if name.endswith("l") else orjson.dumps(value))))
    assert {claimed for claimed, score in claims.items() if score > 30} == ({form} if form else set())


def test_every_reader_has_a_file_in_this_matrix() -> None:
    assert set(READERS) == {sample.format for sample in SAMPLES} | {form for form, *_ in OTHERS if form}


KEYS = ("role", "content", "type", "tool_calls", "id", "text", "messages", "sessionId", "output", "steps", "function")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["", "user", "tool", "assistant", "text", "tool_use", "\ud800", "name:", "data:;base64,%", "x" * 99]
    )
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=8,
)
SHAPES: tuple[Any, ...] = (None, 0, 7, "x", [], [{}], {}, {"a": []})
RECORDS = [
    (sample.format, orjson.loads(part))
    for sample in SAMPLES
    if sample is not INSPECT_ZIP
    for part in (sample.content.splitlines() if sample.file.endswith("l") else [sample.content])
]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = enumerate(cast("list[Any]", value)) if isinstance(value, list) else ()
    for key, part in cast("dict[str, Any]", value).items() if isinstance(value, dict) else inner:
        yield from places(part, (*at, key))


def put(value: Any, at: tuple[Any, ...], junk: Any) -> Any:
    if not at:
        return junk
    changed = value.copy()
    changed[at[0]] = put(value[at[0]], at[1:], junk)
    return changed


def written(value: Any) -> bytes:
    """As JSON, lone surrogates and numbers of any size included."""
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError):
        import json

        return json.dumps(value).encode()


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_junk_in_any_place_of_a_record_never_stops_a_reader(data: st.DataObject) -> None:
    form, record = data.draw(st.sampled_from(RECORDS))
    at = data.draw(st.sampled_from(list(places(record))))
    content = written(put(record, at, data.draw(JUNK)))
    read(content, form)
    read(content + b"\n" + content, form)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_junk_in_a_sample_of_a_zip_never_stops_the_reader(data: st.DataObject) -> None:
    at = data.draw(st.sampled_from(list(places(INSPECTED))))
    junk: Any = data.draw(st.sampled_from(SHAPES))
    value = put(INSPECTED, at, junk)
    read(packed({"samples/q.json": value, "header.json": at}), "inspect")


@settings(max_examples=200, deadline=None)
@given(st.lists(JUNK, max_size=4))
def test_any_json_can_be_read_as_any_format(values: list[Any]) -> None:
    for name, reader in readers().items():
        if isinstance(reader, Reader):
            read(b"\n".join(map(written, values)), name)
            read(written(values), name)


@settings(max_examples=300, deadline=None)
@given(JUNK)
def test_any_json_can_be_walked_as_a_message(value: Any) -> None:
    for message in (value, {"role": "assistant", "content": value}, {"role": "tool", "content": value, "error": value}):
        list(walk(message, At("run"), Counter()))


@settings(max_examples=25, deadline=None)
@given(st.lists(JUNK, max_size=5))
def test_lines_of_any_json_never_stop_an_import(tmp_path_factory: Any, values: list[Any]) -> None:
    folder: Path = tmp_path_factory.mktemp("junk")
    file = folder / "junk.jsonl"
    file.write_bytes(b"\n".join(map(written, values)))
    for form in (None, "openai", "claude-code", "atif", "tau"):
        report = import_files([file], folder / "out", form=form).files[0]
        assert not [odd for odd in report.found if "failed" in odd.message and "reader" in odd.message]

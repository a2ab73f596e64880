"""Documents and files that go on: elements on lines of their own, documents one after another, sessions resumed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.importers.readers.samples import (
    ATIF,
    CLAUDE,
    INSPECT_JSON,
    SESSION,
    TRAJECTORY,
    Run,
    document,
    lines,
    record,
)
from tests.evaluation.importers.readers.span_samples import NESTED, OTEL, OTEL_PRINTED, RUNS, SPANS, THREAD, request
from tests.evaluation.importers.readers.test_samples import imported, read

from tradefair.evaluation.foreign.importers.importing import import_files
from tradefair.evaluation.foreign.importers.items import Odd
from tradefair.evaluation.foreign.importers.run_report import FileReport
from tradefair.evaluation.foreign.importers.source import HEAD, head_of

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

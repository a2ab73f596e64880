"""Every reader of messages, on a file of its format: exact counts, and what damage and strange fields do to them.

Also here:
- Whatever stands where a reader looks, nothing raises: junk in any place of any sample, and lines of any JSON.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.importers.readers.samples import INSPECT_ZIP, INSPECTED, Run, Sample, lines, packed
from tests.evaluation.importers.readers.samples import SAMPLES as MESSAGE_SAMPLES
from tests.evaluation.importers.readers.span_samples import SPAN_SAMPLES

from tradefair.evaluation.foreign.importers.detect import detect, reader_of, readers, scores
from tradefair.evaluation.foreign.importers.importing import import_files
from tradefair.evaluation.foreign.importers.items import Answer, Call, Item, Odd, Reader
from tradefair.evaluation.foreign.importers.readers import READERS
from tradefair.evaluation.foreign.importers.source import Source, head_of
from tradefair.evaluation.foreign.interchange.messages import At, walk

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

    def refuse(line: int, field: str, message: str) -> None:
        refused.append(Odd(line, field, message))

    source = Source(file, head_of(name, file), refuse)
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

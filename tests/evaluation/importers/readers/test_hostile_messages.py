"""Whatever stands where a reader looks, nothing raises: junk in any place of any sample, and lines of any JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.importers.readers.samples import INSPECT_ZIP, INSPECTED, packed
from tests.evaluation.importers.readers.test_samples import SAMPLES, read

from tradefair.evaluation.foreign.importers.detect import readers
from tradefair.evaluation.foreign.importers.importing import import_files
from tradefair.evaluation.foreign.importers.items import Reader
from tradefair.evaluation.foreign.interchange.messages import At, walk

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

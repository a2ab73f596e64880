"""What spans repeat is told once, whatever their order: prompts, MCP calls below agents' calls, traces of one talk.

Also here:
- Elements of documents that are cut out of a stream: what orjson reads in the whole, wherever a chunk ends.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.importers.readers.samples import ORDER, Run, Sample, document, lines
from tests.evaluation.importers.readers.span_samples import (
    KIND,
    LANGSMITH,
    LOGGED,
    OPENINFERENCE,
    OTEL,
    OTEL_PRINTED,
    SPANS,
    START,
    chat,
    executes,
    lc,
    part,
    request,
    run,
    span,
)
from tests.evaluation.importers.readers.test_messages import imported, read

from tradefair.evaluation.foreign.importers import elements
from tradefair.evaluation.foreign.importers.elements import CutShort, Elements, NoDocument
from tradefair.evaluation.foreign.importers.settle import settle
from tradefair.evaluation.foreign.importers.source import parsed
from tradefair.evaluation.foreign.interchange import span_trees
from tradefair.evaluation.foreign.interchange.items import Answer, Call, Item, Said

BY_LINE = [OTEL, OTEL_PRINTED, LOGGED, OPENINFERENCE, LANGSMITH]


def runs_of(tmp_path: Path, sample: Sample) -> list[Run]:
    return [Run(*(run[name] for name in Run._fields)) for run in imported(tmp_path, sample)["runs"]]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sample", BY_LINE, ids=lambda sample: sample.file + sample.format)
def test_the_order_of_lines_tells_nothing(sample: Sample, seed: int) -> None:
    """Times tell what came first, so items are the same, order included."""
    shuffled = sample.content.splitlines(keepends=True)
    random.Random(seed).shuffle(shuffled)
    assert said(read(b"".join(shuffled), sample.format)[0]) == said(read(sample.content, sample.format)[0])


def said(items: list[Item]) -> list[Item]:
    return [item._replace(step=0) for item in items if isinstance(item, Said | Call | Answer)]


def test_a_document_that_is_too_long_for_its_head_is_the_same_run(tmp_path: Path) -> None:
    long = span("z0", "h0", "log", 3, 4, {"text": "x" * 200_000})
    sample = OTEL._replace(file="long.json", content=document(request(long, *SPANS)))
    assert runs_of(tmp_path, sample) == list(OTEL.runs)


def test_where_there_is_no_room_for_whole_traces_every_call_is_still_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_trees, "HELD", 3_000)
    sample = OTEL._replace(content=b"".join(reversed(OTEL.content.splitlines(keepends=True))))
    (run,) = runs_of(tmp_path, sample)
    # What lay between a client and its server can no longer be told from a call of its own.
    assert (run.calls, run.answered, run.errors) == (6, 6, 1)


def talk(*prompts: list[str]) -> list[str]:
    """What a user is read to have said in prompts of models that each hold these texts."""
    spans = [
        {**chat(f"k{number}", 10 * number, 10 * number + 5, 0), "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.input.messages", "value": {"stringValue": orjson.dumps(
                [{"role": "user", "parts": [part(words)]} for words in prompt]).decode()}},
        ]}
        for number, prompt in enumerate(prompts)
    ]  # fmt: skip
    items, _ = read(lines(*map(request, spans)), "otel")
    return [str(item.content) for item in items if isinstance(item, Said)]


@pytest.mark.parametrize(
    ("prompts", "heard"),
    [
        ((["hello"], ["hello", "yes"], ["hello", "yes", "yes"]), ["hello", "yes", "yes"]),
        # The beginning was cut off, or rewritten: what was said stays said.
        ((["a", "b"], ["b", "c"]), ["a", "b", "c"]),
        ((["a", "b"], ["summary", "b", "c"]), ["a", "b", "summary", "c"]),
        ((["a"], ["a"], ["a"]), ["a"]),
        ((["a"], ["a", "a"]), ["a", "a"]),
    ],
)
def test_of_a_prompt_only_what_is_new_was_said(prompts: tuple[list[str], ...], heard: list[str]) -> None:
    assert talk(*prompts) == heard


def test_a_call_id_that_a_provider_gives_again_is_another_call() -> None:
    calls = [executes(f"t{number}", "", "look", "call_0", 10 * number, 10 * number + 5,
                      more={"gen_ai.tool.call.arguments": {"at": number}, "gen_ai.tool.call.result": {"n": number}})
             for number in range(3)]  # fmt: skip
    items, _ = read(lines(*map(request, calls)), "otel")
    keys: dict[str, Any] = {item.key: item.arguments for item in items if isinstance(item, Call)}
    told = {item.key: item.result for item in items if isinstance(item, Answer)}
    assert len(keys) == 3
    assert {orjson.loads(keys[key])["at"] for key in keys} == {0, 1, 2}
    assert all(orjson.loads(keys[key])["at"] == orjson.loads(told[key])["n"] for key in keys)


def calls_of(*spans: dict[str, Any]) -> list[str]:
    """Keys of the calls that have an answer, for spans in the order of a file."""
    items, _ = read(lines(*map(request, spans)), "otel")
    told = {item.key for item in items if isinstance(item, Answer)}
    return [item.key for item in items if isinstance(item, Call) and item.key in told]


def test_spans_in_a_circle_are_calls_all_the_same() -> None:
    pairs = [("a", "c"), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "e")]
    around = [executes(own, above, "look", f"c{own}", 10 * at, 10 * at + 5) for at, (own, above) in enumerate(pairs, 1)]
    assert calls_of(*around) == calls_of(*reversed(around)) == ["ca", "cb", "cc", "cd", "ce"]


def test_a_span_that_was_sent_twice_is_one_call_and_is_counted() -> None:
    once = executes("a", "", "look", "c1", 1, 5)
    assert calls_of(once, once, executes("b", "", "look", "c2", 6, 8), once) == ["c1", "c2"]
    items, _ = read(lines(request(once), request(once)), "otel")
    assert Counter(dict(items[-1].left_out))["repeated spans"] == 1  # type: ignore[union-attr]
    # An id that is given to something else is no repetition.
    assert calls_of(once, executes("a", "", "look", "c2", 6, 8)) == ["c1", "c2"]


def test_calls_of_one_tool_below_each_other_are_two_where_their_ids_say_so() -> None:
    assert calls_of(executes("a", "", "look", "c1", 1, 9), executes("b", "a", "look", "c2", 2, 8)) == ["c1", "c2"]
    assert calls_of(executes("a", "", "look", "c1", 1, 9), executes("b", "a", "look", "c1", 2, 8)) == ["c1"]


LOG = "Error: disk full (line 1 of the log)"
RESULT = "gen_ai.tool.call.result"


def statuses(form: str, *values: Any) -> list[str]:
    items, _ = read(lines(*values), form)
    return [settle(item.result, item.error, item.status)[0] for item in items if isinstance(item, Answer)]


@pytest.mark.parametrize(
    ("status", "became"),
    [({}, "rejected"), ({"code": 0}, "rejected"), ({"code": 1}, "ok"), ({"code": "STATUS_CODE_OK"}, "ok"),
     ({"status_code": "OK"}, "ok"), ({"code": "STATUS_CODE_UNSET"}, "rejected"), ({"code": 2}, "rejected")],
)  # fmt: skip
def test_only_where_a_spans_status_is_unset_does_the_text_of_the_answer_say_that_it_failed(
    status: dict[str, Any], became: str
) -> None:
    told = executes("a", "", "get_log", "c1", 1, 5, more={RESULT: LOG}, status=status)
    assert statuses("otel", request(told)) == [became]
    inferred = {KIND: "TOOL", "tool.name": "get_log", "output.value": LOG}
    assert statuses("openinference", request(span("a", "", "get_log", 1, 5, inferred, status=status))) == [became]


@pytest.mark.parametrize(
    ("fields", "became"),
    [({}, "ok"), ({"end_time": None}, "rejected"), ({"error": "ToolException('full')"}, "rejected")],
)
def test_a_run_that_ended_without_an_error_is_none_whatever_its_answer_says(
    fields: dict[str, Any], became: str
) -> None:
    assert statuses("langsmith", run("t", "tool", "get_log", 1, {}, {"output": LOG}, **fields)) == [became]


def test_the_flag_of_a_tools_message_outweighs_the_status_of_the_span_around_it() -> None:
    failed = lc("Tool", content="no such log", tool_call_id="c1", status="error")
    assert statuses("langsmith", run("t", "tool", "get_log", 1, {}, {"output": failed})) == ["rejected"]
    inferred = {KIND: "TOOL", "tool.name": "get_log", "output.value": failed}
    assert statuses("openinference", request(span("a", "", "get_log", 1, 5, inferred, status={"code": 1}))) == [
        "rejected"
    ]


def ends(*spans: dict[str, Any]) -> list[tuple[str, Any, int, int]]:
    """Key, result, step and milliseconds of every answer, in the order of their times."""
    items, _ = read(lines(*map(request, spans)), "otel")
    told = sorted((item for item in items if isinstance(item, Answer)), key=lambda item: item.at_ns or 0)
    return [(item.key, item.result, item.step, ((item.at_ns or 0) - START) // 1_000_000) for item in told]


def test_a_call_whose_span_holds_no_result_was_answered_when_the_span_ended() -> None:
    first, second = (
        executes("a", "", "look", "c1", 10, 20),
        executes("b", "", "pay", "c2", 30, 40, more={RESULT: "paid"}),
    )
    assert ends(first, second) == [("c1", None, 2, 20), ("c2", "paid", 4, 40)]


def test_a_result_that_only_a_later_prompt_tells_came_when_the_span_ended() -> None:
    looked = executes("t1", "a0", "get_order", "c1", 30, 35, status={"code": 1})
    refunded = executes("t2", "a0", "refund_order", "c2", 31, 40, more={RESULT: "done"})
    asked, later = chat("c0", 10, 20, 0), chat("c5", 50, 60, 1)
    found = ends(asked, looked, refunded, later)
    assert [(key, at) for key, _, _, at in found] == [("c1", 35), ("c2", 40)]
    assert (found[0][1], found[0][2] < found[1][2]) == (ORDER, True)


def test_a_trace_in_which_nobody_acts_is_counted_and_no_run() -> None:
    items, _ = read(OTEL.content, "otel")
    assert Counter(dict(items[-1].left_out))["traces without calls or messages"] == 1  # type: ignore[union-attr]


KEYS = ("a", "b", "item", 'q"\\', "")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner),
    max_leaves=20,
)
PLACES = ("a.item", "a.b.item", "b", "item.a", "item")


def fields(value: Any) -> list[tuple[str, Any]]:
    return list(value.items())


def listed(value: Any) -> list[Any]:
    return value


def found_in(value: Any, place: str, wanted: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """What a reader of the whole document finds at these places, the outer one where two lie in each other."""
    if place in wanted:
        yield place, value
    elif isinstance(value, dict | list):
        pairs = fields(value) if isinstance(value, dict) else [("item", element) for element in listed(value)]
        for key, held in pairs:
            yield from found_in(held, f"{place}.{key}" if place else key, wanted)


def cut(raw: bytes, *wanted: str) -> list[tuple[str, Any]]:
    return [(place, orjson.loads(piece or b"null")) for place, piece in Elements(BytesIO(raw)).cut(wanted)]


@settings(max_examples=200, deadline=None)
@given(
    value=JSON, chunk=st.integers(1, 40), indented=st.booleans(), wanted=st.sets(st.sampled_from(PLACES), min_size=1)
)
def test_what_is_cut_out_is_what_the_whole_document_holds(
    value: Any, chunk: int, indented: bool, wanted: set[str]
) -> None:
    raw = orjson.dumps(value, option=orjson.OPT_INDENT_2 if indented else None)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(elements, "_CHUNK", chunk)
        # A key that holds a dot, or is called item, looks like a place further in.
        assert cut(raw, *wanted) == list(found_in(orjson.loads(raw), "", tuple(wanted)))


def test_a_document_that_ends_anywhere_gives_what_was_whole_and_says_so() -> None:
    raw = orjson.dumps({"info": 1, "a": [{"x": 'y"\\'}, [1, 2], "text", 4.5]})
    whole = cut(raw, "a.item")
    for end in range(len(raw)):
        given_out: list[Any] = []
        with pytest.raises(CutShort) if end else pytest.MonkeyPatch.context():
            for _, piece in Elements(BytesIO(raw[:end])).cut(("a.item",)):
                given_out.append(orjson.loads(piece or b"null"))
        assert given_out == [value for _, value in whole[: len(given_out)]]


def test_fields_that_are_small_come_beside_the_elements() -> None:
    raw = orjson.dumps({"id": "r1", "big": {"x": "y" * 100}, "a": [1], "list": [2], "passed": True})
    found = [(place, orjson.loads(piece or b"")) for place, piece in Elements(BytesIO(raw)).cut(("a.item",), 50)]
    assert found == [("id", "r1"), ("a.item", 1), ("passed", True)]


def test_an_element_that_is_too_large_goes_by_and_the_next_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "MAX_LINE", 1_000)
    monkeypatch.setattr(elements, "_CHUNK", 64)
    raw = orjson.dumps([["x" * 50] * 100, "small", "y" * 1_500, {"z": 1}])
    assert cut(raw, "item") == [("item", None), ("item", "small"), ("item", None), ("item", {"z": 1})]
    with pytest.raises(NoDocument, match="longer than 1,000 bytes"):
        cut(orjson.dumps(["z" * 5_000]), "item")


@pytest.mark.parametrize("raw", [b"{]", b"[}", b'{"a":}', b"{1:2}", b'{"a"', b'["\\"'])
def test_what_is_no_json_ends_in_an_exception_that_names_it(raw: bytes) -> None:
    with pytest.raises((CutShort, NoDocument)):
        cut(raw, "a.item")


@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"a":' * 100_000, b'{"a":[' + b"9" * 10_000 + b"]}"])
def test_depth_and_digits_cost_nothing(raw: bytes) -> None:
    with pytest.raises(CutShort) if not raw.endswith(b"}") else pytest.MonkeyPatch.context():
        assert list(Elements(BytesIO(raw)).cut(("item.x", "a.b"))) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"id": 123456789012345678901234}', {"id": "123456789012345678901234"}),
        ("[18446744073709551615, 18446744073709551616]", [2**64 - 1, "18446744073709551616"]),
        ("[-9223372036854775808, -9223372036854775809]", [-(2**63), "-9223372036854775809"]),
        ('["12345678901234567890", 1.5, 12345678901234567890e2]', ["12345678901234567890", 1.5, 1.2345678901234568e21]),
        ("9" * 300, "9" * 300),
    ],
)  # fmt: skip
def test_a_number_of_more_than_64_bits_keeps_its_digits_as_a_text(text: str, kept: Any) -> None:
    assert parsed(text.encode()) == kept

"""Hostile files of formats of others: what an import may cost, and what of each file it uses."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson
from tests.corpus.bases import Bases
from tests.corpus.cases import Make, add, case
from tests.corpus.hostile_content import MIB

_ESCAPES = "\x1b]0;title\x07\u202e\x9b31m"


def _call(number: int, tool: str = "get_x", **around: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": {"n": number}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params, **around}


def _answer(number: int, result: Any = 1, **around: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": {"structuredContent": {"x": result}}, **around}


def _lines(*values: Any) -> bytes:
    return b"".join(value if isinstance(value, bytes) else orjson.dumps(value) + b"\n" for value in values)


def _both(**around: Any) -> bytes:
    return _lines(_call(1, **around), _answer(1, **around))


def _simulations(*held: bytes) -> bytes:
    """A document that is longer than a head, with these elements."""
    said = orjson.dumps({"id": "s", "task_id": "1", "messages": [{"role": "user", "content": "x" * 70_000}]})
    return b'{"timestamp":"x","info":{},"tasks":[],"simulations":[' + b",".join((said, *held, said)) + b"]}"


_SPAN = {"name": "execute_tool x", "startTimeUnixNano": "1793534400000000000", "endTimeUnixNano": "1793534400000000001"}


def _spans(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Spans of one trace, each with its id and the id above it."""
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
        {"key": "gen_ai.tool.name", "value": {"stringValue": "x"}},
    ]
    made = [{**_SPAN, "traceId": "t" * 32, "spanId": a, "parentSpanId": b, "attributes": attributes} for a, b in pairs]
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": made}]}]}) + b"\n"


def _run_of(text: str) -> bytes:
    run = {"id": "a", "trace_id": "t", "run_type": "tool", "name": "x", "dotted_order": "1", "inputs": {"input": text}}
    return _lines({**run, "outputs": {"output": text}})


FILES: Mapping[str, bytes] = {
    "ids_twice": _lines(*(_call(1) for _ in range(1_000)), *(_answer(1) for _ in range(1_000))),
    "answers_before_calls": _lines(*(_answer(number) for number in range(1_000)), *map(_call, range(1_000))),
    "answers_that_nobody_asked_for": _lines(_call(0), *(_answer(number) for number in range(20_000))),
    "calls_that_wait": _lines(*map(_call, range(20_000))),
    "seats_without_end": _lines(*(_call(number, seat=f"s{number}") for number in range(2_000))),
    "names_that_control_a_terminal": _both(sessionId=_ESCAPES, seat=_ESCAPES) + _lines(_call(3, _ESCAPES)),
    "runs_that_are_paths": _both(sessionId="../../../x") + _both(sessionId="/etc/x") + _both(sessionId="C:\\x"),
    "a_tool_of_a_megabyte": _lines(_call(1, "x" * MIB)) + _both(),
    "an_answer_of_nine_megabytes": _lines(_call(1), _answer(1, "x" * 9 * MIB)),
    "half_a_character": b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}\n' + _both(),
    "no_number": b'{"jsonrpc":"2.0","id":NaN}\n' + _both(),
    "wrappers_in_wrappers": _both() + b'{"message":' * 150 + b"{}" + b"}" * 150 + b"\n",
    "a_torn_line": _both() + b'{"jsonrpc":',
    "digits_in_a_document": _simulations(b'{"id":' + b"9" * 10_000 + b"}"),
    "depth_in_a_document": _simulations(b"[" * 100_000 + b"]" * 100_000),
    "a_text_of_40_mib_in_a_document": _simulations(b'"' + b"x" * 40 * MIB + b'"'),
    "an_element_of_17_mib": _simulations(b'{"id":"' + b'","a":"'.join([b"x" * MIB] * 17) + b'"}'),
    "a_document_that_is_cut_off": _simulations()[:-20],
    "spans_in_a_circle": _spans([("a", "b"), ("b", "a"), ("c", "c")]),
    "spans_ten_thousand_deep": _spans([(f"{number:016x}", f"{number - 1:016x}") for number in range(1, 10_000)]),
    "a_literal_without_end": _run_of("[" * 100_000) + _run_of("-" * 100_000 + "1") + _run_of("9" * 5_000),
    "a_literal_that_calls": _run_of("__import__('os').system('touch pwned')"),
}
"""Name of a case -> the bytes of a file."""


def written_file(content: bytes) -> Make:
    def make(bases: Bases, folder: Path) -> Path:
        path = folder / "case.jsonl"
        path.write_bytes(content)
        return path

    return make


for _name, _content in FILES.items():
    add("imports", _name, written_file(_content))


def _zip(folder: Path, members: Mapping[str, bytes]) -> Path:
    path = folder / "case.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


_HEADER = orjson.dumps({"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}})
_SAMPLE = orjson.dumps({"id": 1, "epoch": 1, "messages": [{"role": "user", "content": "hello"}], "scores": {}})


@case("imports")
def members_with_paths(bases: Bases, folder: Path) -> Path:
    """Members that would be written elsewhere by whoever unpacks them."""
    return _zip(folder, {"header.json": _HEADER, "samples/1_epoch_1.json": _SAMPLE, "../../samples/x.json": _SAMPLE})


@case("imports")
def a_member_of_a_gigabyte(bases: Bases, folder: Path) -> Path:
    """One that unpacks to a thousand times its size."""
    return _zip(folder, {"header.json": _HEADER, "samples/1_epoch_1.json": _SAMPLE, "samples/2.json": b" " * 300 * MIB})


@case("imports")
def a_zip_that_is_cut_off(bases: Bases, folder: Path) -> Path:
    """Without the list at its end."""
    path = _zip(folder, {"header.json": _HEADER, "samples/1_epoch_1.json": _SAMPLE})
    path.write_bytes(path.read_bytes()[:-60])
    return path


@case("imports")
def a_trace_with_a_changed_byte(bases: Bases, folder: Path) -> Path:
    """Our own form, which is copied only where its chain holds."""
    path = folder / "case.trace"
    path.write_bytes(bases.auction.read_bytes().replace(b"submit_quote", b"submit_quotf", 1))
    return path

"""Elements of documents that are cut out of a stream: what orjson reads in the whole, wherever a chunk ends."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradefair.evaluation.foreign.importers import elements
from tradefair.evaluation.foreign.importers.elements import CutShort, Elements, NoDocument
from tradefair.evaluation.foreign.importers.source import parsed

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

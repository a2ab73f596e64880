"""Arguments at the door: whatever arrives is either refused or kept exactly."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract.arguments import MAX_ARGUMENT_BYTES, BadArguments, encode_arguments
from tradefair.contract.schema_text import allowed_text

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**60)
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.binary(max_size=5)
    | st.just(object())
    | st.sets(st.integers(), max_size=2)
    | st.tuples(st.integers())
)
_ANYTHING = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=8), _ANYTHING, max_size=5) | _ANYTHING)
def test_anything_is_refused_or_comes_back_unchanged(arguments: object) -> None:
    try:
        encoded = encode_arguments(arguments)
    except BadArguments:
        return
    assert len(encoded) <= MAX_ARGUMENT_BYTES
    assert repr(orjson.loads(encoded)) == repr(arguments)  # types, signs of zero and order of members included
    assert orjson.dumps(orjson.loads(encoded)) == encoded


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": float("nan")},
        {"x": [float("-inf")]},
        {"x": 2**63},
        {"x": -(2**63)},
        {"x": "\ud800"},
        {"\ud800": 1},
        {1: 2},
        {"x": (1, 2)},
        {"x": b"raw"},
        {"x": {1}},
        [],
        None,
        "text",
        7,
        {"x": "y" * MAX_ARGUMENT_BYTES},
        {"x": [0] * MAX_ARGUMENT_BYTES},
    ],
)
def test_what_json_cannot_carry_exactly_is_refused(arguments: object) -> None:
    with pytest.raises(BadArguments):
        encode_arguments(arguments)


def test_depth_is_bounded_and_a_very_deep_value_is_no_crash() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadArguments, match="levels deep"):
        encode_arguments({"x": deep})
    for _ in range(100_000):
        deep = deep.pop()  # a deep list cannot even be thrown away in one go
    allowed: Any = 1
    for _ in range(15):
        allowed = [allowed]
    encode_arguments({"x": allowed})


def test_exactly_64_kib_are_allowed() -> None:
    text = "x" * (MAX_ARGUMENT_BYTES - len(b'{"x":""}'))
    assert len(encode_arguments({"x": text})) == MAX_ARGUMENT_BYTES
    with pytest.raises(BadArguments, match="65537 bytes; at most 65536"):
        encode_arguments({"x": text + "y"})


def test_the_order_of_members_is_the_clients() -> None:
    assert encode_arguments({"b": 1, "a": 2}) == b'{"b":1,"a":2}'


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 9}, "integer 0..9"),
        ({"type": "integer", "exclusiveMinimum": 0}, "integer 0.."),
        ({"type": "number"}, "number"),
        ({"enum": ["buyer", "seller"]}, "one of buyer, seller"),
        ({"const": "x"}, "x"),
        ({"type": "string", "maxLength": 5}, "string of 0..5 characters"),
        ({"type": "string"}, "string"),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 3}, "list of up to 3 integers"),
        ({"type": "array", "items": {"type": "string", "maxLength": 7}}, "list of strings of 0..7 characters"),
        (
            {"type": "array", "items": {"type": "array", "items": {}}, "minItems": 1},
            "list of at least 1 lists of values",
        ),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
            "list of 1..2 items, each one of a, b",
        ),
        (
            {"type": "array", "items": {"$ref": "#/$defs/Line"}, "maxItems": 2},
            "list of up to 2 objects {item, quantity}",
        ),
        ({"anyOf": [{"$ref": "#/$defs/Line"}, {"type": "null"}]}, "object {item, quantity} or null"),
        ({"$ref": "#/$defs/Nested"}, "list of values"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({}, "value"),
    ],
)
def test_what_is_allowed_is_said_in_words(schema: dict[str, Any], text: str) -> None:
    line = {"type": "object", "properties": {"item": {"type": "string"}, "quantity": {"type": "integer"}}}
    nested = {"type": "array", "items": {"$ref": "#/$defs/Nested"}}
    assert allowed_text(schema, {"$defs": {"Line": line, "Nested": nested}}) == text

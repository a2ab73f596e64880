"""Money at the door: exact, or refused.

Also here:
- Arguments at the door: whatever arrives is either refused or kept exactly.
- Wrong names: one short line with what may have been meant, and the place of all names.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.catalog import market_names
from tradefair.cli import run
from tradefair.contract.answers import kind_by_name, kind_of, listed_tool, settled
from tradefair.contract.arguments import MAX_ARGUMENT_BYTES, BadArguments, encode_arguments
from tradefair.contract.errors import MAX_UNKNOWN, unknown
from tradefair.contract.money import cents_text, divide_half_even, dollars_text, from_minor, nearest, to_minor
from tradefair.contract.schema_text import allowed_text
from tradefair.contract.text import clean_line
from tradefair.evaluation.table import decimals, number_text
from tradefair.evaluation.verdict.amounts import dollars, number


@pytest.mark.parametrize(
    ("amount", "decimals", "minor"),
    [
        (12, 2, 1200),
        (12.5, 2, 1250),
        ("12.50", 2, 1250),
        (0.1, 2, 10),
        (19.99, 2, 1999),
        (-3.07, 2, -307),
        ("-0", 2, 0),
        (1e3, 2, 100_000),
        ("1.500", 2, 150),
        (7, 0, 7),
        ("0.001", 3, 1),
        (1e16, 2, 10**18),
    ],
)
def test_an_amount_becomes_exact_minor_units(amount: float | str, decimals: int, minor: int) -> None:
    assert to_minor(amount, decimals=decimals) == minor


@pytest.mark.parametrize(
    ("amount", "complaint"),
    [
        (0.105, "at most 2 decimals|2 are allowed"),
        ("1.001", "2 are allowed"),
        (1e-9, "2 are allowed"),
        (float("nan"), "finite"),
        (float("inf"), "finite"),
        ("Infinity", "finite"),
        ("sNaN", "finite"),
        (True, "true or false"),
        ("twelve", "not an amount"),
        ("", "not an amount"),
        ("1,50", "not an amount"),
        ("1e400", "out of range"),
        (1e300, "out of range"),
    ],
)
def test_what_is_no_exact_amount_is_refused(amount: float | str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        to_minor(amount)


@given(st.integers(-(10**15), 10**15), st.integers(0, 6))
def test_text_of_minor_units_gives_them_back(minor: int, decimals: int) -> None:
    assert to_minor(from_minor(minor, decimals=decimals), decimals=decimals) == minor


@given(st.integers(-(10**9), 10**9))
def test_a_float_that_reads_as_cents_is_that_many_cents(cents: int) -> None:
    assert to_minor(cents / 100) == cents


def test_text_shows_all_decimals() -> None:
    assert [from_minor(minor) for minor in (1250, 5, 0, -7)] == ["12.50", "0.05", "0.00", "-0.07"]


# Python rounds all of these down, by the rule of even halves or because the double lies below the decimal.
HALVES = (0.405, 10.405, 1.005, 2.675, 0.125, 1127.405, 8.345)


@pytest.mark.parametrize("amount", HALVES)
def test_half_cents_go_away_from_zero(amount: float) -> None:
    up = f"{math.floor(amount * 100 + 0.6) / 100:.2f}"
    assert f"{nearest(amount, 2):.2f}" == up
    assert f"{nearest(-amount, 2):.2f}" == f"-{up}"
    assert nearest(Fraction(str(amount)), 2) == -nearest(Fraction(str(-amount)), 2) == nearest(amount, 2)
    assert cents_text(Fraction(str(amount)) * 100) == up


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6), st.integers(-3, 6))
def test_the_nearest_is_never_further_than_half_a_step_and_a_tie_is_the_greater(
    numerator: int, denominator: int, places: int
) -> None:
    value = Fraction(numerator, denominator)
    off = abs(Fraction(nearest(value, places))) - abs(value)
    assert -Fraction(1, 2) < off * Fraction(10) ** places <= Fraction(1, 2)


def test_extreme_values_stay_what_they_are() -> None:
    assert f"{nearest(1.5e300, 3):.3g}" == "1.50e+300"
    assert str(nearest(-0.001, 2)) == "0.00"
    assert math.isnan(nearest(math.nan, 2))
    assert nearest(math.inf, 2) == math.inf
    assert f"{nearest(12_350, -2):,.0f}" == "12,400"


def test_all_that_prints_money_rounds_alike() -> None:
    assert (number(31.405), number(10.405), number(-1127.405), number(1127.5)) == ("31.41", "10.41", "-1,127", "1,128")
    assert (decimals(61.4025), number_text(-0.0625), decimals(-0.0000001)) == ("61.403", "-0.063", "0")
    assert (dollars(10_405_000), dollars_text(1_005_000), dollars_text(10_405_000_000)) == (
        "$10.41",
        "$1.01",
        "$10,405.00",
    )
    assert cents_text(40.5) == "0.41"


_WHOLE = st.integers(min_value=-(10**18), max_value=10**18)


@given(_WHOLE, st.integers(min_value=1, max_value=10**12))
def test_quotients_are_rounded_to_the_nearest_integer_with_halves_to_even(numerator: int, denominator: int) -> None:
    assert divide_half_even(numerator, denominator) == round(Fraction(numerator, denominator))


def test_exact_halves_go_to_the_even_neighbour() -> None:
    assert [divide_half_even(value, 2) for value in (-3, -1, 1, 3, 5)] == [-2, 0, 0, 2, 2]


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


_SEATS = [f"customer_{number:04d}" for number in range(3_000)]


def test_similar_names_come_first_then_the_place_of_all() -> None:
    said = unknown("market", "doubl_auction", ["bargaining", "double_auction", "retail"])
    assert said == "there is no market 'doubl_auction'; did you mean double_auction? all: `tradefair show markets`"
    policy = unknown("policy", "zpi", ["gd", "zip", "zic"], of="double_auction")
    assert policy == "there is no policy 'zpi'; did you mean zip or zic? all: `tradefair show policies double_auction`"
    assert unknown("seat", "b1", ["B1", "S1"]) == "there is no seat 'b1'; did you mean B1 or S1? all: B1, S1"


def test_a_name_like_none_is_answered_with_the_first_of_all() -> None:
    assert unknown("importer", "qqq", ["game", "log"]) == "there is no importer 'qqq'; there are game, log"
    assert unknown("agent", "x", []) == "there is no agent 'x'; there are none"
    said = unknown("seat", "Q", _SEATS)
    assert said.startswith("there is no seat 'Q'; there are customer_0000, customer_0001")
    assert said.endswith("3000 in all")


def test_presets_are_compared_without_their_market() -> None:
    ids = ["double_auction/duel", "double_auction/bazaar", "double_auction/smoke"]
    assert "did you mean double_auction/duel? all" in unknown("scenario", "double_auction/dul", ids)
    assert "did you mean double_auction/duel" in unknown("scenario", "doubleauction/duel", ids)


@given(
    st.text(max_size=300), st.lists(st.text(max_size=120), max_size=30), st.sampled_from(["market", "seat", "query"])
)
def test_the_message_is_one_short_clean_line_whatever_the_names_hold(name: str, known: list[str], what: str) -> None:
    said = unknown(what, name, known)
    assert len(said) <= MAX_UNKNOWN
    assert said == clean_line(said)


WRONG: list[tuple[list[Any], str]] = [
    (["show", "tools", "bargainin"], "market 'bargainin'; did you mean bargaining"),
    (["show", "scenarios", "teaching/pye"], "scenario 'teaching/pye'; did you mean teaching/pie"),
    (["play", "teaching", "--others", "hlf"], "policy 'hlf'; did you mean half"),
    (["play", "teaching", "--agent", "reakt"], "framework 'reakt'; did you mean react"),
    (["play", "teaching", "--seat", "P9"], "seat 'P9'; did you mean P1 or P2"),
    (["import", "pactlog", ".", "--out", "out"], "importer 'pactlog'; did you mean pact-log"),
    (["sweep", "double_auction/feild"], "plan 'double_auction/feild'; did you mean double_auction/field"),
    (["evaluat"], "command 'evaluat'; did you mean evaluate"),
    (["config", "teaching", "--seat", "P1", "--client", "claud"], "client 'claud'; did you mean claude"),
]


@pytest.mark.parametrize(("arguments", "meant"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_every_command_answers_a_wrong_name_in_one_line(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert market_names()
    assert run(arguments) == 2
    said = capsys.readouterr().err.strip()
    assert meant in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("get_order", "read"),
        ("mcp__shop__list-items", "read"),
        ("searchPages", "read"),
        ("calculate", "analysis"),
        ("think", "note"),
        ("cancel_order", "action"),
        ("user_details", "action"),
        ("__", "action"),
    ],
)
def test_a_tool_does_what_the_verb_in_its_name_says(tool: str, kind: str) -> None:
    assert kind_by_name(tool) == kind


def test_an_annotation_overrules_the_name() -> None:
    assert kind_of("order", {"readOnlyHint": True}) == "read"
    assert kind_of("get_order", {"readOnlyHint": False}) == "action"
    assert kind_of("calculate", {"readOnlyHint": True}) == "analysis"
    assert kind_of("get_order", {"readOnlyHint": "yes"}) == "read"


def _text(text: str, **more: Any) -> dict[str, Any]:
    return {"result": {"content": [{"type": "text", "text": text}], **more}}


def _refused(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "hint": "", "retryable": False}


@pytest.mark.parametrize(
    ("answer", "status", "result", "error"),
    [
        (_text("done"), "ok", {"text": "done"}, None),
        (_text('{"a":1}'), "ok", {"a": 1}, None),
        (_text("x", structuredContent={"b": 2}), "ok", {"b": 2}, None),
        ({"result": None}, "ok", None, None),
        ({"result": {"content": []}}, "ok", {"content": []}, None),
        (_text("no such order", isError=True), "rejected", None, _refused("tool_error", "no such order")),
        (_text('{"code":"gone","message":"m"}', isError=True), "rejected", None, _refused("gone", "m")),
        (
            _text('{"code":"invalid_arguments","message":"m"}', isError=True),
            "invalid",
            None,
            _refused("invalid_arguments", "m"),
        ),
        ({"error": {"code": -32602, "message": "bad"}}, "invalid", None, _refused("rpc_-32602", "bad")),
        ({"error": {"code": -32603, "message": "oops"}}, "failed", None, _refused("rpc_-32603", "oops")),
        ({"error": "text"}, "failed", None, _refused("rpc_error", "text")),
        ({"error": 7}, "failed", None, _refused("rpc_error", "7")),
    ],
)
def test_an_answer_settles_a_call(answer: dict[str, Any], status: str, result: Any, error: Any) -> None:
    assert settled(answer) == (status, result, error)


def test_a_listed_tool_keeps_its_hints_and_the_digest_of_its_schema() -> None:
    first = listed_tool({"name": "a", "inputSchema": {"x": 1, "y": 2}, "annotations": {"readOnlyHint": True, "t": 1}})
    assert first == {"name": "a", "schema": first["schema"], "readOnlyHint": True}
    assert first["schema"] == listed_tool({"name": "a", "input_schema": {"y": 2, "x": 1}})["schema"]
    assert first["schema"] != listed_tool({"name": "a", "inputSchema": {"x": 1}})["schema"]

from __future__ import annotations

import datetime
import decimal
import math

import pytest

from tradefair.host.sandbox.errors import cut
from tradefair.host.sandbox.values import MAX_DEPTH, ForeignValue, TooLarge, plain_data


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def shared(levels: int) -> object:
    value: object = []
    for _ in range(levels):
        value = [value, value]
    return value


def cycle() -> object:
    rows: list[object] = []
    rows.append(rows)
    return rows


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, 2.5, True, None, "é"), [1, 2.5, True, None, "é"]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({1: "a", 2.5: "b", None: "c", True if False else "x": "d"}, {"1": "a", "2.5": "b", "null": "c", "x": "d"}),
        (decimal.Decimal("1.50"), "1.50"),
        (datetime.date(2000, 1, 2), "2000-01-02"),
        (datetime.datetime(2000, 1, 2, 3), "2000-01-02T03:00:00"),
        (2**63 - 1, 2**63 - 1),
        (nested(MAX_DEPTH), nested(MAX_DEPTH)),
    ],
)
def test_values_become_plain_data(value: object, plain: object) -> None:
    assert plain_data(value, 1_000) == plain


@pytest.mark.parametrize(
    "value",
    [
        math.nan, [math.inf], {"a": -math.inf}, {math.nan: 1}, 2**63, -(10**5_000), "\ud800", {"\ud800": 1}, b"x", 1j,
        object(), len, int, ValueError("x"), {(1, 2): 3}, {1: 0, "1": 0}, nested(MAX_DEPTH + 1), nested(10_000),
        cycle(), shared(60), datetime.timedelta(1), ...,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(ForeignValue):
        plain_data(value, 10_000)


def test_the_refusal_says_where() -> None:
    with pytest.raises(ForeignValue, match=r"^nan at \['rows'\]\[1\]$"):
        plain_data({"rows": [0, math.nan]}, 1_000)


@pytest.mark.parametrize(
    "value", ["x" * 101, [0] * 200, shared(25), "\x00" * 30, ["ab"] * 30, {"k" * 101: 1}], ids=range(6)
)
def test_what_would_be_too_long_is_refused_before_it_is_built(value: object) -> None:
    with pytest.raises(TooLarge):
        plain_data(value, 100)


def test_data_may_fill_its_limit_exactly() -> None:
    assert plain_data("x" * 98, 100) == "x" * 98
    assert plain_data([0] * 49, 99) == [0] * 49


@pytest.mark.parametrize(("text", "shown"), [("abc", "abc"), ("é" * 6, "é" * 3 + "…"), ("\ud800", "?")])
def test_texts_are_cut_between_characters(text: str, shown: str) -> None:
    assert cut(text, 10) == shown
    assert len(cut(text, 10).encode()) <= 10

"""Money at the door: exact, or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract.money import from_minor, to_minor


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

"""Money at the door: exact, or refused.

Also here:
- Money as people read it: exact halves go away from zero, whatever a double's last bits are.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract.money import cents_text, divide_half_even, dollars_text, from_minor, nearest, to_minor
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

"""Money as people read it: exact halves go away from zero, whatever a double's last bits are."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract.money import cents_text, dollars_text, nearest
from tradefair.evaluation.table import decimals, number_text
from tradefair.evaluation.verdict.amounts import dollars, number

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

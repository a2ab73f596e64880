from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract.money import divide_half_even

_WHOLE = st.integers(min_value=-(10**18), max_value=10**18)


@given(_WHOLE, st.integers(min_value=1, max_value=10**12))
def test_quotients_are_rounded_to_the_nearest_integer_with_halves_to_even(numerator: int, denominator: int) -> None:
    assert divide_half_even(numerator, denominator) == round(Fraction(numerator, denominator))


def test_exact_halves_go_to_the_even_neighbour() -> None:
    assert [divide_half_even(value, 2) for value in (-3, -1, 1, 3, 5)] == [-2, 0, 0, 2, 2]

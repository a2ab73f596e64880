"""Money at the door: what a client or an author wrote becomes integer minor units, or is refused; never rounded.

What people read of money that need not be whole cents, such as a mean, is rounded here, in one way.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator


def to_minor(amount: float | str, *, decimals: int = 2) -> int:
    """`amount` in major units (12, 12.5, "12.50") as integer minor units (1250).

    Raises ValueError when the amount is not a finite number or has more than `decimals` decimals.
    """
    # bool is a subclass of int: True would be one unit of money.
    if isinstance(amount, bool):
        raise ValueError("an amount is a number, not true or false")
    # Most amounts need no text: a double prints as the decimal of at most 15 digits that it is the nearest one to.
    if isinstance(amount, float) and abs(scaled := amount * 10**decimals) < 1e15:
        minor = round(scaled)
        if minor / 10**decimals == amount:
            return minor
    # repr is the shortest text that gives the same double: 0.1 is read as 0.1, not as its binary expansion.
    text = amount if isinstance(amount, str) else repr(amount)
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not an amount") from None
    if not value.is_finite():
        raise ValueError("an amount must be finite")
    # int() would write out each of the million digits of "1e999999".
    if value and value.adjusted() > 30:
        raise ValueError("the amount is out of range")
    # Decimal throughout: 0.29 * 100 as a double is 28.999999999999996.
    minor = value.scaleb(decimals)
    if minor != minor.to_integral_value():
        raise ValueError(f"{text} has more than {decimals} decimals; at most {decimals} are allowed")
    return int(minor)


def from_minor(minor: int, *, decimals: int = 2) -> str:
    """Minor units as exact decimal text: 1250 -> "12.50"."""
    return str(Decimal(minor).scaleb(-decimals).quantize(Decimal(1).scaleb(-decimals)))


# A double has at most 309 digits before its point, and nobody asks for 300 behind it.
_WIDE = Context(prec=700)


def nearest(value: float | Fraction, places: int) -> Decimal:
    """The value to so many decimals (negative: tens, hundreds …) for people; exact halves away from zero, never −0.

    A float is the decimal that prints it, as people see it: 10.405 becomes 10.41, and its binary value is below that.
    NaN and infinities stay.
    """
    if isinstance(value, Fraction):
        scaled = abs(value) * Fraction(10) ** places
        whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
        return _WIDE.scaleb(Decimal(whole if value >= 0 else -whole), -places)
    if not math.isfinite(value):
        return Decimal(value)
    rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _WIDE)
    return abs(rounded) if rounded.is_zero() else rounded


def cents_text(cents: float | Fraction) -> str:
    """Cents, perhaps a fraction of one, as people read currency units: 1040.5 -> "10.41"."""
    return from_minor(int(nearest(cents, 0)))


def dollars_text(micro: float, places: int = 2) -> str:
    """Millionths of a US dollar as people read dollars: 10405000 -> "$10.41"; thousands are set off."""
    return f"${nearest(micro / 1_000_000, places):,.{places}f}"


def divide_half_even(numerator: int, denominator: int) -> int:
    """`numerator / denominator` (denominator > 0) to the nearest integer, exact halves to the even one.

    In integers: the same quotient as a float would be off by one for amounts beyond 2^53.
    """
    quotient, rest = divmod(numerator, denominator)
    twice = rest + rest
    return quotient + (twice > denominator or (twice == denominator and quotient & 1 == 1))


def currency(cents: int) -> float:
    """Cents as currency units: the double next to the exact two decimals."""
    return cents / 100


def _amount(value: object) -> object:
    """An amount of a scenario file as exact text; floats are refused, because TOML floats are not exact."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError('an amount is an integer or text such as "30000.00"')
    return from_minor(to_minor(value))


Amount = Annotated[str, BeforeValidator(_amount)]
"""Currency units: an integer or decimal text with at most two decimals."""

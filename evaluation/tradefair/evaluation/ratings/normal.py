"""The hazard φ/Φ of the standard normal law without scipy, finite far into the tail."""

from __future__ import annotations

import math
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

# Rational approximations of W. J. Cody, Math. Comp. 23 (1969) 631: highest power first.
_SMALL = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
_MIDDLE = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594e0,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)
_LARGE = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e0,
        1.87295284992346725e0,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)
_SMALL_END, _MIDDLE_END = 0.46875, 4.0

_TABLE_LOW, _TABLE_HIGH, _CELLS_PER_UNIT = -40.0, 12.0, 64


def scaled_erfc(x: Floats) -> Floats:
    """exp(x²)·erfc(x), to about 1e-15 relative; overflows below x = -26."""
    size = np.abs(x)
    small, large = size <= _SMALL_END, size > _MIDDLE_END
    square = size * size
    with np.errstate(over="ignore", invalid="ignore"):
        inner = np.exp(square) * (1.0 - size * _ratio(_SMALL, square))
        middle = _ratio(_MIDDLE, np.where(small | large, 1.0, size))
        inverse = 1.0 / np.where(large, square, 16.0)
        outer = (1.0 / math.sqrt(math.pi) - inverse * _ratio(_LARGE, inverse)) / np.where(large, size, 1.0)
        found = np.where(small, inner, np.where(large, outer, middle))
        return np.where(x < 0, 2.0 * np.exp(square) - found, found)


def hazard(t: Floats) -> Floats:
    """φ(t)/Φ(t): how far a normal variable known to be above -t lies above its mean, in standard deviations."""
    # Beyond t = 36 the value is below 1e-281 and the scaled function would overflow.
    return math.sqrt(2.0 / math.pi) / scaled_erfc(-np.minimum(t, 36.0) / math.sqrt(2.0))


def quick_hazard(t: Floats) -> Floats:
    """`hazard` to about 1e-9, by cubics between tabulated points: an eighth of the time, for millions of calls."""
    if float(t.min(initial=0.0)) < _TABLE_LOW:
        return hazard(t)
    place = (np.minimum(t, _TABLE_HIGH) - _TABLE_LOW) * _CELLS_PER_UNIT
    cell = place.astype(np.int64)
    within = place - cell
    constant, linear, square, cube = _cubics().take(cell, axis=1)
    return constant + within * (linear + within * (square + within * cube))


@cache
def _cubics() -> Floats:
    """Coefficients by cell, from the values at both ends and the slopes -v(v + t) there (Hermite)."""
    cells = int((_TABLE_HIGH - _TABLE_LOW) * _CELLS_PER_UNIT)
    t = _TABLE_LOW + np.arange(cells + 2) / _CELLS_PER_UNIT
    value = hazard(t)
    slope = -value * (value + t) / _CELLS_PER_UNIT
    rise = np.diff(value)
    left, right = slope[:-1], slope[1:]
    return np.stack([value[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise])


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Floats) -> Floats:
    above, below = (np.polyval(np.array(row), x) for row in coefficients)
    return above / below

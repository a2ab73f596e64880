"""The normal law and Student's t, to twelve digits of what scipy computes; scipy itself takes 143 MB."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Up to so many degrees of freedom the finite sum is short, and up to the other one the gamma function is finite.
_FEW, _FINITE = 30, 300
# Nearer to 1 the last digit of a probability decides where its quantile is.
_LEAST = 1e-9
# Each step about doubles a quantile that is far off: the farthest one takes 30.
_STEPS = 60
_SCALE, _DEGREE = 4.0, 20


def normal_below(z: float) -> float:
    """P(Z <= z) of a standard normal variable, with all digits in the lower tail too."""
    return math.erfc(-z / math.sqrt(2.0)) / 2


def normal_quantile(probability: float) -> float:
    """z with P(Z <= z) = `probability`, which lies between 0 and 1, both excluded. Raises ValueError outside."""
    return NormalDist().inv_cdf(probability)


def scaled_erfc(x: Floats) -> Floats:
    """exp(x²)·erfc(x) of each x >= 0, which never underflows: 1 at 0, 1/(x√π) far above."""
    import numpy as np

    share = _SCALE / (_SCALE + x)
    over = 2.0 * share - 1.0
    highest, *lower = _coefficients()
    total = np.full_like(over, highest)
    # Horner's rule in place: ratings ask for 10⁸ values, and arrays of the size of a game stay in the cache.
    for coefficient in lower:
        total *= over
        total += coefficient
    total *= share
    return total


@cache
def _coefficients() -> tuple[float, ...]:
    """Of the polynomial in 2·share − 1, share = 4/(4 + x), that is exp(x²)·erfc(x)/share; highest power first."""
    from numpy.polynomial import chebyshev

    # Through as many of Chebyshev's nodes as there are coefficients: a degree of 20 leaves 10⁻¹⁴.
    nodes = chebyshev.chebpts1(_DEGREE + 1)
    shares = [(node + 1.0) / 2.0 for node in nodes.tolist()]
    fitted = chebyshev.chebfit(nodes, [_scaled_erfc(_SCALE / share - _SCALE) / share for share in shares], _DEGREE)
    return tuple(chebyshev.cheb2poly(fitted)[::-1].tolist())


def _scaled_erfc(x: float) -> float:
    """exp(x²)·erfc(x) of one x >= 0: from 2 on by its continued fraction (Abramowitz and Stegun 7.1.14)."""
    if x < 2:
        return math.exp(x * x) * math.erfc(x)
    below = x
    for k in range(160, 0, -1):
        below = x + k / 2 / below
    return 1 / (below * math.sqrt(math.pi))


def t_quantile(probability: float, df: int) -> float:
    """t with P(T <= t) = `probability` under Student's law with `df` >= 1 degrees of freedom.

    Newton's steps from the normal quantile, which is nearer to 0: as the law is concave from there on, no step goes
    too far. Raises ValueError for fewer degrees of freedom, or a probability within 10⁻⁹ of 0 or 1.
    """
    if df < 1:
        raise ValueError(f"df is {df}: Student's t has at least 1 degree of freedom")
    if not _LEAST <= probability <= 1 - _LEAST:
        raise ValueError(f"probability is {probability}: it must be {_LEAST} to 1 - {_LEAST}")
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    t, wanted = normal_quantile(probability), probability - 0.5
    for _ in range(_STEPS):
        density = _peak(df) * math.exp(-(df + 1) / 2 * math.log1p(t * t / df))
        step = (wanted - _between(t, df, density)) / density
        t += step
        # A step back is rounding.
        if step <= 1e-15 * t:
            break
    return t


def _between(t: float, df: int, density: float) -> float:
    """P(0 <= T <= t) under Student's law, given its density at t: sums of positive terms only, so no digit is lost."""
    share = t * t / (df + t * t)
    if df <= _FEW:
        # Abramowitz and Stegun 26.7.3 and 26.7.4, over the angle whose tangent is t/√df.
        odd, square = df % 2, 1 - share
        sine, cosine = math.sqrt(share), math.sqrt(df / (df + t * t))
        term = total = cosine if odd else 1.0
        for k in range(1 + odd, df - 2, 2):
            term *= square * k / (k + 1)
            total += term
        if odd:
            return (math.atan2(t, math.sqrt(df)) + (sine * total if df > 1 else 0.0)) / math.pi
        return sine * total / 2
    # The hypergeometric function that is left of the integral when the density is taken out of it (15.3.4).
    term, total, k = 1.0, 1.0, 0
    while term > 1e-17 * total:
        term *= share * ((df + 1) / 2 + k) / (1.5 + k)
        total, k = total + term, k + 1
    return t * density * total


def _peak(df: int) -> float:
    """The density of Student's law at 0."""
    half = df / 2
    if df <= _FINITE:
        return math.gamma(half + 0.5) / math.gamma(half) / math.sqrt(math.pi * df)
    # The ratio of the two by its asymptotic series: each alone overflows, and the difference of their logarithms
    # loses digits.
    series = -1 / (8 * half) + 1 / (192 * half**3) - 1 / (640 * half**5) + 17 / (14336 * half**7)
    return math.exp(series) / math.sqrt(2 * math.pi)

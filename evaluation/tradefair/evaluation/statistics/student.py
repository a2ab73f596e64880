"""Student's t distribution: tail and quantile, from the regularised incomplete beta function.

Tail: P(T > t) = I_x(ν/2, 1/2)/2 with x = ν/(ν + t²) (DLMF 8.17, 26.5); the continued fraction is DLMF 8.17.22,
evaluated by Lentz's method. Relative accuracy of the quantile: about 1e-12.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_TINY = 1e-300
_CLOSE = 1e-16
_MAX_STEPS = 100_000
_LARGE = 50.0


def t_tail(t: float, df: float) -> float:
    """P(T > t) with `df` > 0 degrees of freedom."""
    if df <= 0 or math.isnan(t):
        raise ValueError(f"degrees of freedom are {df}, t is {t}: both must be numbers, the first above 0")
    if t < 0:
        return 1.0 - t_tail(-t, df)
    square = t * t
    return _beta_share(df / (df + square), square / (df + square), df / 2) / 2


def t_quantile(probability: float, df: float) -> float:
    """t with P(T <= t) = `probability`, 0 < probability < 1."""
    if not 0.0 < probability < 1.0:
        raise ValueError(f"a probability is between 0 and 1, not {probability}")
    if probability < 0.5:
        return -t_quantile(1.0 - probability, df)
    tail = 1.0 - probability
    low, high = 0.0, max(1.0, NormalDist().inv_cdf(probability))
    while t_tail(high, df) > tail:
        low, high = high, 2.0 * high
    at = high
    for _ in range(200):
        excess = t_tail(at, df) - tail
        low, high = (at, high) if excess > 0 else (low, at)
        newton = at + excess / _density(at, df)
        following = newton if low < newton < high else (low + high) / 2
        if abs(following - at) <= 4e-16 * following:
            break
        at = following
    return at


def _density(t: float, df: float) -> float:
    return math.exp(_log_scale(df / 2) - (df + 1) / 2 * math.log1p(t * t / df)) / math.sqrt(df * math.pi)


def _log_scale(a: float) -> float:
    """ln(Γ(a + 1/2)/Γ(a)); a series for large a, where the difference of two logarithms would lose digits."""
    if a < _LARGE:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    inverse = 1.0 / a
    cube = inverse**3
    return 0.5 * math.log(a) - inverse / 8 + cube / 192 - cube * inverse**2 / 640 + 17 * cube**2 * inverse / 14336


def _beta_share(x: float, rest: float, a: float) -> float:
    """I_x(a, 1/2), `rest` being 1 − x, which is exact where x is close to 1."""
    if x <= 0.0:
        return 0.0
    if rest <= 0.0:
        return 1.0
    log_front = a * (math.log1p(-rest) if rest < 0.5 else math.log(x)) + 0.5 * math.log(rest)
    # 1/B(a, 1/2) = Γ(a + 1/2)/(Γ(a)·√π)
    front = math.exp(log_front + _log_scale(a)) / math.sqrt(math.pi)
    if x < (a + 1.0) / (a + 2.5):
        return front * _fraction(x, a, 0.5) / a
    return 1.0 - front * _fraction(rest, 0.5, a) / 0.5


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of I_x(a, b), converging quickly for x < (a + 1)/(a + b + 2)."""
    c = 1.0
    d = 1.0 / _apart(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _MAX_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / _apart(1.0 + even * d)
        c = _apart(1.0 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / _apart(1.0 + odd * d)
        c = _apart(1.0 + odd / c)
        value *= d * c
        if abs(d * c - 1.0) < _CLOSE * 4:
            return value
    raise ArithmeticError(f"I_{x}({a}, {b}) does not converge")


def _apart(value: float) -> float:
    """Lentz: a denominator is never quite zero."""
    return value if abs(value) > _TINY else _TINY

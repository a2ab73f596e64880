"""The chance of one era, drawn by the day: one keyed stream per day and kind of draw, expanded by a counter.

Numbers are arrays of numpy, yet the same bytes on every machine: per-element + − * / and sqrt are exact under IEEE 754,
and numpy's own exp and log, which differ between its builds, are not used.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import Chance
from tradefair.contract.chance import Branch
from tradefair.retail.model import Streams

Floats: TypeAlias = NDArray[np.float64]

_DECIMALS = 1e12
"""Normal draws are rounded to twelve decimals: far coarser than the arithmetic, far finer than what they decide."""

_DAYS_AT_ONCE = 16

# Wichura's algorithm AS 241 (Applied Statistics 37, 1988), routine PPND16: highest power first.
_CENTRE = (
    (
        *(2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457),
        *(13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    ),
    (
        *(5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867),
        *(5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
    ),
)
_NEAR_TAIL = (
    (
        *(7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258),
        *(3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    ),
    (
        *(1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459),
        *(0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
    ),
)
_FAR_TAIL = (
    (
        *(2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093),
        *(0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    ),
    (
        *(2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4),
        *(0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
    ),
)
_LN_2 = 0.6931471805599453
_ROOT_HALF = 0.7071067811865476
# 2/23 … 2/1 of log m = 2·(s + s³/3 + …), s = (m − 1)/(m + 1): with |s| <= .172 the next term is below 1e-18.
_LOG = tuple(2.0 / power for power in range(23, 0, -2))


class Luck:
    """The chance of one era: the episode's seed, or the store's key with every stream under `history.`.

    All episodes of a store share one past, so the history cannot depend on the episode's seed.
    """

    def __init__(self, chance: Chance, *, history: bool) -> None:
        self._chance = chance
        prefix = "history." if history else ""
        self._names = {stream: prefix + stream.value for stream in Streams}
        # By stream and length: (number of the block, its days).
        self._normals: dict[tuple[Streams, int], tuple[int, Floats]] = {}

    @classmethod
    def of_history(cls, store_key: str) -> Luck:
        """The luck of the days before day 1."""
        return cls(Chance(store_key), history=True)

    @classmethod
    def of_episode(cls, seed: int) -> Luck:
        """The luck from day 1 on."""
        return cls(Chance(seed), history=False)

    def uniforms(self, stream: Streams, *key: int, n: int) -> list[float]:
        """`n` uniforms in (0, 1) of a stream under a key, in one draw; a longer list starts with the shorter one.

        Products, pairs and categories read theirs by index, so that no action shifts the luck of another place.
        """
        return self._chance.uniforms(self._names[stream], *key, n=n)

    def normals(self, stream: Streams, day_key: int, n: int) -> Floats:
        """`n` standard normal draws of a stream on a day: the quantiles of `uniforms(stream, day_key, n=n)`."""
        block, place = divmod(day_key, _DAYS_AT_ONCE)
        found = self._normals.get((stream, n))
        if found is None or found[0] != block:
            found = self._normals[stream, n] = block, self._block_of_days(stream, block * _DAYS_AT_ONCE, n)
        return found[1][place]

    def _block_of_days(self, stream: Streams, first: int, n: int) -> Floats:
        """Normal draws [day][index] of some days at once: no action changes them, and one array is the cheaper way."""
        name, size = self._names[stream], 8 * n
        days = range(first, first + _DAYS_AT_ONCE)
        raw = b"".join(self._chance.words(name, day, n=n)[:size] for day in days)
        words = np.frombuffer(raw, dtype=">u8").astype(np.uint64).reshape(len(days), n)
        # As `Chance.uniforms`: (2k + 1)·2^-53 with k the top 52 bits, exact and never 0 or 1.
        odd = words >> np.uint64(11) | np.uint64(1)
        return normal(odd.astype(np.float64) * 2.0**-53)

    def uniform(self, stream: Streams, *key: int | str) -> float:
        """One uniform in (0, 1) of a stream under a key."""
        return self._chance.uniform(self._names[stream], *key)

    def under(self, stream: Streams, *key: int) -> Branch:
        """The draws of `uniform(stream, *key, …)`, for many that share the first key parts."""
        return self._chance.under(self._names[stream], *key)


def normal(uniforms: Floats) -> Floats:
    """z = Φ⁻¹(u), the standard normal quantiles of uniforms in (0, 1), to twelve decimals.

    Algorithm AS 241 with a logarithm of + − * / only: the same bytes with every build of numpy.
    """
    centred = uniforms - 0.5
    found = centred * _ratio(_CENTRE, 0.180625 - centred * centred)
    outside = np.abs(centred) > 0.425
    if outside.any():
        far = centred[outside]
        # 1 − u for the upper tail, exact because u is a multiple of 2^-53.
        root = np.sqrt(-_log(np.where(far < 0, uniforms[outside], 1.0 - uniforms[outside])))
        tail = np.where(root <= 5.0, _ratio(_NEAR_TAIL, root - 1.6), _ratio(_FAR_TAIL, root - 5.0))
        found[outside] = np.where(far < 0, -tail, tail)
    return np.rint(found * _DECIMALS) / _DECIMALS


def _ratio(powers: tuple[tuple[float, ...], tuple[float, ...]], at: Floats) -> Floats:
    above, below = powers
    return _polynomial(above, at) / _polynomial(below, at)


def _polynomial(powers: tuple[float, ...], at: Floats) -> Floats:
    """Horner's rule, highest power first."""
    total = at * powers[0] + powers[1]
    for power in powers[2:]:
        # Two ufuncs, never one: no compiler can fuse them into an operation that rounds once.
        total *= at
        total += power
    return total


def _log(values: Floats) -> Floats:
    """Natural logarithms of positive numbers, by halving and a series of odd powers."""
    part, exponent = np.frexp(values)
    low = part < _ROOT_HALF
    part = np.where(low, part * 2.0, part)
    step = (part - 1.0) / (part + 1.0)
    return step * _polynomial(_LOG, step * step) + (exponent - low) * _LN_2

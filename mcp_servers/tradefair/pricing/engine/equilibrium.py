"""The prices that theory names for logit demand: best replies, Nash and joint profit. Floats, in minor units.

Closed forms by the Lambert function W (w·e^w = y): Anderson, de Palma & Thisse 1992, chapter 7. All is computed from
logarithms, so that no scale of prices overflows. A closed firm has the price infinity: it takes no share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from tradefair.pricing.engine.demand import NOTHING, weight

_MOST_TURNS = 10_000
# Prices that are tried around the continuous best reply before the search goes on over whole units.
_AROUND = 6
# Of a float profit: what rounding may hide from the search on the grid.
_SLACK = 1e-9
# Of the integer weights.
_LOG_SCALE = 18 * math.log(10)


def lambert_of_exp(x: float) -> float:
    """W(e^x), which is the w > 0 with w + ln w = x; by Halley's steps on u = ln w."""
    u = math.log(x - math.log(x)) if x > 1 else x - math.log1p(math.exp(x))
    for _ in range(50):
        w = math.exp(u)
        off, slope = w + u - x, w + 1
        step = 2 * off * slope / (2 * slope * slope - off * w)
        u -= step
        if abs(step) <= 1e-15 * max(1.0, abs(u)):
            break
    return math.exp(u)


def _log_sum(exponents: Iterable[float]) -> float:
    """ln of the sum of e^x, for one finite exponent at least."""
    held = [*exponents]
    most = max(held)
    return most + math.log(math.fsum(math.exp(x - most) for x in held))


def _exponents(prices: Sequence[float], quality: Sequence[float], mu: float) -> list[float]:
    return [(a - price) / mu for price, a in zip(prices, quality, strict=True)]


def shares(prices: Sequence[float], quality: Sequence[float], mu: float, outside: float) -> tuple[float, ...]:
    """The share of all consumers that each firm serves, in 0..1."""
    own = _exponents(prices, quality, mu)
    total = _log_sum([*own, outside / mu])
    return tuple(math.exp(x - total) for x in own)


def best_reply(
    i: int, prices: Sequence[float], quality: Sequence[float], cost: Sequence[float], mu: float, outside: float
) -> float:
    """The price that earns firm `i` most while the others keep `prices`: c + mu·(1 + w). Entry `i` is not looked at."""
    others = _exponents(prices, quality, mu)
    others[i] = outside / mu
    return cost[i] + mu * (1 + lambert_of_exp((quality[i] - cost[i]) / mu - 1 - _log_sum(others)))


def nash(quality: Sequence[float], cost: Sequence[float], mu: float, outside: float) -> tuple[float, ...]:
    """The prices at which nobody gains by another price: best replies in turn, until none moves by 1e-12·mu."""
    return _nash(tuple(quality), tuple(cost), mu, outside)


@lru_cache(maxsize=4096)
def _nash(quality: tuple[float, ...], cost: tuple[float, ...], mu: float, outside: float) -> tuple[float, ...]:
    prices = [c + mu for c in cost]
    for _ in range(_MOST_TURNS):
        moved = 0.0
        for i in range(len(prices)):
            reply = best_reply(i, prices, quality, cost, mu, outside)
            moved = max(moved, abs(reply - prices[i]))
            prices[i] = reply
        # Best replies of logit demand contract; rounding of large prices may keep the last digit from settling.
        if moved <= max(1e-12 * mu, 4e-16 * max(map(abs, prices))):
            break
    return tuple(prices)


def monopoly(quality: Sequence[float], cost: Sequence[float], mu: float, outside: float) -> tuple[float, ...]:
    """The prices that earn all firms together most: the same mark-up mu·(1 + w) on every cost."""
    total = _log_sum((a - c - outside) / mu for a, c in zip(quality, cost, strict=True))
    markup = mu * (1 + lambert_of_exp(total - 1))
    return tuple(c + markup for c in cost)


def surplus(prices: Sequence[float], quality: Sequence[float], mu: float, outside: float) -> float:
    """Consumer surplus per consumer beyond the outside option: the log-sum (Small & Rosen 1981)."""
    return mu * _log_sum([*_exponents(prices, quality, mu), outside / mu]) - outside


def grid_best_reply(
    i: int,
    prices: Sequence[int | None],
    quality: Sequence[int],
    cost: Sequence[int],
    mu: int,
    outside: int,
    consumers: int,
    price_max: int,
) -> int:
    """The smallest whole price of 0..price_max that earns firm `i` most while the others keep `prices`.

    Units are rounded, so that profit has a peak at each price above which fewer units are sold. The 13 prices around
    the continuous best reply are tried, then peaks on either side for as long as one of them may earn more. Where no
    price earns anything, the smallest of the 13 that loses nothing.
    """
    floats = [math.inf if price is None else float(price) for price in prices]
    # The firm's own entry is not looked at.
    floats[i] = 0.0
    centre = round(best_reply(i, floats, quality, cost, mu, outside))
    rest = NOTHING + sum(
        weight(a - price - outside, mu)
        for j, (price, a) in enumerate(zip(prices, quality, strict=True))
        if j != i and price is not None
    )
    demand = _OwnDemand(quality[i] - outside, mu, rest, consumers, price_max)
    tried = sorted({min(max(0, centre + step), price_max) for step in range(-_AROUND, _AROUND + 1)})
    earned = {price: demand.units(price) * (price - cost[i]) for price in tried}
    best = max(earned.values())
    for peaks in (demand.peaks_above(tried[-1]), demand.peaks_below(tried[0])):
        for price, units in peaks:
            # No price earns more with so many units. The bound is concave in units: beyond the first that is too low
            # all are.
            if units < 1 or units * (demand.dearest(units) - cost[i]) < best - _SLACK * abs(best):
                break
            earned[price] = units * (price - cost[i])
            best = max(best, earned[price])
    return min(price for price, profit in earned.items() if profit == best)


class _OwnDemand:
    """What one firm sells by its own price, while the weights of all others sum to `rest`.

    `quality` is that beyond the worth of buying nothing, as the weights are.
    """

    def __init__(self, quality: int, mu: int, rest: int, consumers: int, price_max: int) -> None:
        self._quality, self._mu, self._rest = quality, mu, rest
        self._consumers, self._price_max = consumers, price_max
        self._log_rest = math.log(rest) - _LOG_SCALE

    def units(self, price: int) -> int:
        """As `units_sold` counts them."""
        own = weight(self._quality - price, self._mu)
        total = own + self._rest
        return (2 * self._consumers * own + total) // (2 * total)

    def dearest(self, units: int) -> float:
        """The real price, price_max at most, at which half a unit less than `units` (1..consumers) is demanded."""
        sold = units - 0.5
        odds = math.log(sold / (self._consumers - sold))
        return min(self._quality - self._mu * (self._log_rest + odds), self._price_max)

    def peaks_above(self, price: int) -> Iterator[tuple[int, int]]:
        """Price and units of each peak above `price`, upwards."""
        while price < self._price_max:
            units = self.units(price + 1)
            price = self._last_selling(units, price + 1)
            yield price, units

    def peaks_below(self, price: int) -> Iterator[tuple[int, int]]:
        """Price and units of each peak below `price`, downwards."""
        while (more := self.units(price) + 1) <= self.units(0):
            price = self._last_selling(more, 0)
            yield price, self.units(price)

    def _last_selling(self, units: int, low: int) -> int:
        """The highest price that sells `units`, as `low` does: by real-valued demand, then by doubling and halving."""
        if units < 1:
            return self._price_max
        guess = min(max(low, math.floor(self.dearest(units))), self._price_max)
        step, sells = 1, self.units(guess) >= units
        high = self._price_max + 1
        if sells:
            low = guess
            while guess + step < high and self.units(guess + step) >= units:
                low, step = guess + step, 2 * step
            high = min(high, guess + step)
        else:
            high = guess
            while guess - step > low and self.units(guess - step) < units:
                high, step = guess - step, 2 * step
            low = max(low, guess - step)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.units(middle) >= units else (low, middle)
        return low

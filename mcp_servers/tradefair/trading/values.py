"""Private values: the laws they are drawn from and the rule by which a draw is accepted.

The laws and constants are those of the public BAZAAR, PACT and emergent-collusion games (double_auction page, 6.1;
bargaining page, 6.2), for any grid 0..P: constants in points are written for P = 100 and scale by P/100.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Literal, NamedTuple, get_args

from tradefair.contract import ScenarioError

Law = Literal["uniform", "semi_bimodal", "heavy_tailed", "correlated_source", "correlated_common"]
LAWS: tuple[Law, ...] = get_args(Law)

# The order of the fields of `Mix`, which are its weights.
_MIX_ORDER: tuple[Law, ...] = ("heavy_tailed", "correlated_source", "uniform", "semi_bimodal")
# The grid of the public games; the constants of the laws are written for it.
_BASE_GRID = 100
_PERCENT = 100


class Roster(NamedTuple):
    """The seats of a trading market, buyers first, in numeric order."""

    buyers: tuple[str, ...]
    sellers: tuple[str, ...]

    @classmethod
    def of(cls, n_buyers: int, n_sellers: int) -> Roster:
        """B1..Bn and S1..Sm."""
        return cls(
            tuple(f"B{number}" for number in range(1, n_buyers + 1)),
            tuple(f"S{number}" for number in range(1, n_sellers + 1)),
        )

    @property
    def seats(self) -> tuple[str, ...]:
        """All seats, B1..Bn then S1..Sm."""
        return self.buyers + self.sellers


class LawShape(NamedTuple):
    """The constants of the laws, in points; the defaults are those of the grid 0..100."""

    price_max: int = 100
    # semi_bimodal: the two intervals, 0..20 and 80..100
    low_peak_to: int = 20
    high_peak_from: int = 80
    # the two correlated laws: the largest noise around the base
    jitter: int = 10
    # heavy_tailed: location and scale
    centre: int = 50
    spread: int = 20

    @classmethod
    def scaled(cls, price_max: int) -> LawShape:
        """The shape for the grid 0..`price_max`, a multiple of 100; ScenarioError otherwise."""
        factor, rest = divmod(price_max, _BASE_GRID)
        if rest or factor < 1:
            raise ScenarioError(f"price_max = {price_max}: must be a multiple of {_BASE_GRID}, at least {_BASE_GRID}")
        return cls(*(constant * factor for constant in cls()))

    def clamp(self, points: int) -> int:
        """`points` clipped to the grid 0..P."""
        return min(self.price_max, max(0, points))


class Mix(NamedTuple):
    """Weights, in percent, of the laws that an episode's law is drawn from; they sum to 100."""

    heavy_tailed: int = 30
    correlated_source: int = 30
    uniform: int = 20
    semi_bimodal: int = 20


class Acceptance(NamedTuple):
    """Which draws are kept; the defaults are the source's constants for the grid 0..100.

    `vector`: all seats are redrawn together until min(v) >= min_buyer_value, max(c) <= max_seller_cost and
    max(v) - min(c) >= min_gap. `per_seat`: each seat redraws alone until its own bound holds, then the gap is tested on
    the whole vector, and failing it all redraw. `none`: the first draw stands. The bargaining market's `pact` rule is
    `vector` with one seat per side. A seat draws at most `max_attempts` times.
    """

    mode: Literal["vector", "per_seat", "none"] = "vector"
    min_buyer_value: int = 1
    max_seller_cost: int = 99
    min_gap: int = 3
    max_attempts: int = 10_000

    def holds_for_buyer(self, value: int) -> bool:
        """Whether one buyer's own bound holds."""
        return value >= self.min_buyer_value

    def holds_for_seller(self, cost: int) -> bool:
        """Whether one seller's own bound holds."""
        return cost <= self.max_seller_cost

    def holds(self, values: Mapping[str, int], roster: Roster) -> bool:
        """Whether the whole vector is accepted."""
        highest_value = max(values[seat] for seat in roster.buyers)
        lowest_cost = min(values[seat] for seat in roster.sellers)
        return (
            highest_value - lowest_cost >= self.min_gap
            and all(self.holds_for_buyer(values[seat]) for seat in roster.buyers)
            and all(self.holds_for_seller(values[seat]) for seat in roster.sellers)
        )


class Limits(NamedTuple):
    """The private values and costs of one episode, by seat, B1..Bn then S1..Sm.

    `attempts` is the number of draws of the seat that drew most often (1: the first draw stood).
    """

    values: dict[str, int]
    law: Law
    attempts: int


class DrawKey(NamedTuple):
    """Which draw of a value this is: the vector's sweep, the seat's own attempt (both from 1), the seat."""

    sweep: int
    attempt: int
    seat: str


def law_of_mix(mix: Mix, u: float) -> Law:
    """The law at `u` in (0, 1), by the inverse distribution function in the order of `Mix`.

    ScenarioError unless the weights are >= 0 and sum to 100.
    """
    if sum(mix) != _PERCENT or min(mix) < 0:
        raise ScenarioError(f"mix weights {tuple(mix)}: must be whole percentages >= 0 that sum to {_PERCENT}")
    bounds = zip(_MIX_ORDER, accumulate(mix), strict=True)
    # There is always one: u is below 1, and the last bound is 100.
    return next(law for law, bound in bounds if u * _PERCENT < bound)


def _integer_at(u: float, low: int, high: int) -> int:
    """The integer at `u` of the uniform law on low..high, inclusive."""
    return low + math.floor(u * (high - low + 1))


def _semi_bimodal_at(shape: LawShape, u: float) -> int:
    """Uniform on 0..low_peak_to or on high_peak_from..P, half of the mass in each."""
    # One uniform says which peak and where in it (7.1): each half of (0, 1) is stretched to the whole.
    if u < 0.5:
        return _integer_at(2.0 * u, 0, shape.low_peak_to)
    return _integer_at(2.0 * (u - 0.5), shape.high_peak_from, shape.price_max)


def _heavy_tailed_at(shape: LawShape, u: float) -> int:
    """Laplace around `centre` with scale `spread`, by inversion, rounded down and clipped to the grid."""
    # Rounded down, while a log's stream truncates toward 0: below 0 the clip makes both the same.
    offset = math.log(2.0 * u) if u < 0.5 else -math.log(2.0 * (1.0 - u))
    return shape.clamp(math.floor(shape.centre + shape.spread * offset))


def value_at(law: Literal["uniform", "semi_bimodal", "heavy_tailed"], shape: LawShape, u: float) -> int:
    """The value at `u` in (0, 1) of a law that takes one uniform per value (double_auction page, 7.1)."""
    if law == "uniform":
        return _integer_at(u, 0, shape.price_max)
    if law == "semi_bimodal":
        return _semi_bimodal_at(shape, u)
    return _heavy_tailed_at(shape, u)


def smeared(shape: LawShape, u_base: float, u_noise: float) -> int:
    """clamp(base + noise): the value of the two correlated laws, from a base's and a noise's uniform."""
    base = _integer_at(u_base, 0, shape.price_max)
    return shape.clamp(base + _integer_at(u_noise, -shape.jitter, shape.jitter))


def draw_limits(roster: Roster, acceptance: Acceptance, draw: Callable[[DrawKey], int]) -> tuple[dict[str, int], int]:
    """Accepted values by seat and the largest number of draws of one seat; ScenarioError after max_attempts.

    `draw` is called for buyers first, then sellers, in numeric order: a sequential source may ignore the key.
    """
    if acceptance.mode == "per_seat":
        return _draw_per_seat(roster, acceptance, draw)
    # Bounded: with hundreds of seats a whole vector is hardly ever accepted (6.1), and the loop would not end.
    for attempt in range(1, acceptance.max_attempts + 1):
        # All seats redraw together here, so sweep and attempt are the same number.
        values = {seat: draw(DrawKey(attempt, attempt, seat)) for seat in roster.seats}
        if acceptance.mode == "none" or acceptance.holds(values, roster):
            return values, attempt
    raise _exhausted(acceptance)


def _draw_per_seat(
    roster: Roster, acceptance: Acceptance, draw: Callable[[DrawKey], int]
) -> tuple[dict[str, int], int]:
    """Each seat by itself, then the gap over all.

    A seat's attempts go on counting over sweeps, so that no keyed draw is used twice.
    """
    buyers = frozenset(roster.buyers)
    attempts = dict.fromkeys(roster.seats, 0)
    values: dict[str, int] = {}
    for sweep in range(1, acceptance.max_attempts + 1):
        for seat in roster.seats:
            own_bound = acceptance.holds_for_buyer if seat in buyers else acceptance.holds_for_seller
            while True:
                # Before the draw and over all sweeps: the cap is on the draws of one seat.
                if attempts[seat] == acceptance.max_attempts:
                    raise _exhausted(acceptance)
                attempts[seat] += 1
                values[seat] = draw(DrawKey(sweep, attempts[seat], seat))
                if own_bound(values[seat]):
                    break
        if acceptance.holds(values, roster):
            return values, max(attempts.values())
    raise _exhausted(acceptance)


def _exhausted(acceptance: Acceptance) -> ScenarioError:
    return ScenarioError(
        f"no accepted values within max_attempts = {acceptance.max_attempts} draws, with min_buyer_value = "
        f"{acceptance.min_buyer_value}, max_seller_cost = {acceptance.max_seller_cost} and "
        f"min_gap = {acceptance.min_gap}; loosen one of them or raise max_attempts"
    )

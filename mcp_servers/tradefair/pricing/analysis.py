"""Arithmetic on what a firm may know: demand from its own sales, profit of other prices, what rivals have done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from tradefair.contract import IllegalAction, SeatId
from tradefair.pricing.answers.results import DemandEstimate, ProfitIf, ProfitRow, RivalRow, RivalSummary
from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.model import RoundRecord
from tradefair.pricing.state import State

_LEAST_ROUNDS, _LEAST_PRICES = 4, 3
_DECIMALS = 9
WINDOW = 50
"""Rounds from which `profit_if` estimates where demand is not known."""

# Of the larger of two spreads: below it rivals' prices say nothing of their own.
_TOLERANCE = 1e-9


class Fit(NamedTuple):
    """Coefficients of log odds on the own price and the rivals' mean; null where the rounds do not tell."""

    rounds: int
    distinct: int
    own: float | None = None
    rival: float | None = None
    intercept: float | None = None
    r2: float | None = None

    def line(self, rivals: Sequence[int | None]) -> tuple[float, float] | None:
        """Log odds at price 0 and their slope in the own price while rivals post `rivals`; None without a fit."""
        if self.own is None or self.intercept is None:
            return None
        known = [price for price in rivals if price is not None]
        return self.intercept + (self.rival * fmean(known) if self.rival is not None and known else 0.0), self.own


class Sold(NamedTuple):
    """What a fit is made of: own price and units in a round, and the rivals' prices (null: closed)."""

    price: int | None
    units: int
    rivals: Sequence[int | None]


def demand_estimate(state: State, seat: SeatId, window: int) -> DemandEstimate:
    """Least squares over the last `window` rounds. IllegalAction: no_history."""
    _require_history(state, "estimate_demand")
    fit = _fitted(state, seat, window)
    rounded = [None if value is None else round(value, _DECIMALS) for value in fit[2:]]
    return DemandEstimate(
        rounds_used=fit.rounds,
        distinct_prices=fit.distinct,
        own_slope=rounded[0],
        rival_slope=rounded[1],
        intercept=rounded[2],
        r2=rounded[3],
    )


def profit_if(state: State, seat: SeatId, prices: Sequence[int], rivals: Sequence[int] | None) -> ProfitIf:
    """Units and profit of the open round at each of `prices`, rivals held at `rivals` or their last prices.

    IllegalAction: no_history, wrong_rivals, price_above_max, no_estimate.
    """
    others = [other for other in state.cost if other != seat]
    if rivals is None:
        _require_history(state, "profit_if")
        held: list[int | None] = [state.posted[other] for other in others]
    elif len(rivals) != len(others):
        hint = f"one price for each of {', '.join(others)}, in this order" if others else "leave rivals out"
        raise IllegalAction("wrong_rivals", f"{len(rivals)} prices; there are {len(others)} rivals", hint=hint)
    else:
        held = [*rivals]
    most = state.scenario.price_max
    if (highest := max(prices)) > most:
        raise IllegalAction("price_above_max", f"{highest} is above price_max, {most}", hint=f"ask for 0 to {most}")
    units = _exact(state, seat, held) if state.scenario.demand_known else _estimated(state, seat, held)
    cost = state.cost_now(seat)
    rows = [ProfitRow(price=price, units=(sold := units(price)), profit=sold * (price - cost)) for price in prices]
    best = min(rows, key=lambda row: (-row.profit, row.price))
    return ProfitIf(
        rows=rows,
        best_price=best.price,
        rivals=dict(zip(others, held, strict=True)),
        basis="exact" if state.scenario.demand_known else "estimate",
    )


class _exact:
    """Units by the rules' own formula, with the shock of the open round."""

    def __init__(self, state: State, seat: SeatId, held: Sequence[int | None]) -> None:
        self._state, self._place = state, list(state.cost).index(seat)
        self._prices = [*held[: self._place], None, *held[self._place :]]

    def __call__(self, price: int) -> int:
        demand = self._state.demand
        self._prices[self._place] = price
        outside, consumers = self._state.outside_now(), self._state.scenario.consumers
        return units_sold(self._prices, demand.quality, demand.mu, outside, consumers)[self._place]


class _estimated:
    """Units by the fitted line. IllegalAction: no_estimate."""

    def __init__(self, state: State, seat: SeatId, held: Sequence[int | None]) -> None:
        fit = _fitted(state, seat, WINDOW)
        line = fit.line(held)
        if line is None:
            raise IllegalAction(
                "no_estimate",
                f"{fit.rounds} usable rounds at {fit.distinct} prices do not tell how demand reacts",
                hint="post different prices first",
            )
        self._consumers = state.scenario.consumers
        self._base, self._slope = line

    def __call__(self, price: int) -> int:
        odds = self._base + self._slope * price
        # Written for either sign: the exponential of a large number would overflow.
        share = 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))
        return round(self._consumers * share)


def rival_summary(state: State, seat: SeatId, window: int) -> RivalSummary:
    """What each rival has done over the last `window` rounds. IllegalAction: no_history."""
    _require_history(state, "summarize_rivals")
    rows, seats = state.rows[-window:], list(state.cost)
    own = seats.index(seat)
    return RivalSummary(
        rounds=len(rows), rivals=[_rival(rows, other, place, own) for place, other in enumerate(seats) if place != own]
    )


def _rival(rows: Sequence[RoundRecord], rival: SeatId, place: int, own: int) -> RivalRow:
    posted = [price for record in rows if (price := record.prices[place]) is not None]
    after: dict[bool, list[int]] = {True: [], False: []}
    # Of three rounds in a row: the own move into the middle one, the rival's move out of it.
    for (before, middle), (_, later) in pairwise(pairwise(rows)):
        start, moved = before.prices[own], middle.prices[own]
        theirs, answer = middle.prices[place], later.prices[place]
        if start is None or moved is None or theirs is None or answer is None:
            continue
        # At least 1 % of the price, in integers.
        if 100 * abs(moved - start) >= max(start, 1):
            after[moved > start].append(answer - theirs)
    cuts, raises = after[False], after[True]
    return RivalRow(
        seat=rival,
        last=rows[-1].prices[place],
        lowest=min(posted, default=None),
        mean=round(fmean(posted), 3) if posted else None,
        highest=max(posted, default=None),
        changes=sum(before != now for before, now in pairwise(posted)),
        after_own_cut=round(fmean(cuts), 3) if cuts else None,
        own_cuts=len(cuts),
        after_own_raise=round(fmean(raises), 3) if raises else None,
        own_raises=len(raises),
    )


def _require_history(state: State, tool: str) -> None:
    if not state.rows:
        raise IllegalAction("no_history", f"{tool} needs a closed round; none has closed yet", hint="view_my_firm")


def _fitted(state: State, seat: SeatId, window: int) -> Fit:
    place = list(state.cost).index(seat)
    return fitted(
        [
            Sold(row.prices[place], row.units[place], [*row.prices[:place], *row.prices[place + 1 :]])
            for row in state.rows[-window:]
        ],
        state.scenario.consumers,
    )


def fitted(rounds: Sequence[Sold], consumers: int) -> Fit:
    """Log odds of the own share against the own price and the mean of the open rivals' prices."""
    usable = [row for row in rounds if row.price is not None and 0 < row.units < consumers]
    # A closed rival has no price. Rounds without any open rival tell of another demand, unless there is none else.
    beside = [row for row in usable if any(price is not None for price in row.rivals)] or usable
    own, rival, odds = list[float](), list[float](), list[float]()
    for price, units, others in beside:
        assert price is not None
        own.append(price)
        rival.append(fmean(known) if (known := [value for value in others if value is not None]) else 0.0)
        odds.append(math.log(units / (consumers - units)))
    distinct = len(set(own))
    if len(own) < _LEAST_ROUNDS or distinct < _LEAST_PRICES:
        return Fit(len(own), distinct)
    return _least_squares(own, rival, odds, distinct)


def _least_squares(own: list[float], rival: list[float], odds: list[float], distinct: int) -> Fit:
    """Two regressors by the normal equations of centred values; one where rivals never moved."""
    means = fmean(own), fmean(rival), fmean(odds)
    x = [value - means[0] for value in own]
    z = [value - means[1] for value in rival]
    y = [value - means[2] for value in odds]
    xx, zz, xz = _dot(x, x), _dot(z, z), _dot(x, z)
    xy, zy, yy = _dot(x, y), _dot(z, y), _dot(y, y)
    second: float | None = None
    if zz <= _TOLERANCE * xx:
        first = xy / xx
    else:
        determinant = xx * zz - xz * xz
        # In lockstep: which of both prices moved the units cannot be told.
        if determinant <= _TOLERANCE * xx * zz:
            return Fit(len(own), distinct)
        first, second = (xy * zz - zy * xz) / determinant, (zy * xx - xy * xz) / determinant
    left = y if second is None else [value - second * other for value, other in zip(y, z, strict=True)]
    residual = math.fsum((value - first * price) ** 2 for value, price in zip(left, x, strict=True))
    intercept = means[2] - first * means[0] - (second or 0.0) * means[1]
    return Fit(len(own), distinct, first, second, intercept, 1 - residual / yy if yy > 0 else None)


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(left, right, strict=True))

"""What a firm may see: its own data, what is public, and of demand and costs what the scenario tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from tradefair.contract import Brief, Result, SeatId
from tradefair.pricing.answers.results import MyFirm, PriceRow, Prices, RulesView, SaleRow, Sales, TurnPart
from tradefair.pricing.model import PricingScenario, RoundRecord
from tradefair.pricing.state import State
from tradefair.trading.answers import rows_fitting

_R = TypeVar("_R", bound=Result)


def rules(state: State) -> RulesView:
    """The public rules."""
    scenario = state.scenario
    return RulesView(
        firms=list(state.cost),
        rounds=scenario.rounds,
        price_max=scenario.price_max,
        consumers=scenario.consumers,
        demand=(
            "Firm i sells consumers x W_i / (sum of W_j of all open firms + W_0), rounded, where W_i = "
            "exp((quality_i - price_i) / mu) and W_0 = exp(outside / mu). The rest of the consumers buy nothing."
        ),
        payoff="Units sold x (price - unit cost of the round). A price below cost is accepted and loses money.",
        silence="A firm that posts nothing keeps its last price; before its first price it is closed.",
        published=(
            "When all firms have posted: all prices"
            + (" and units" if scenario.units_public else "")
            + (". All unit costs are known" if scenario.costs_known else ". Rivals' costs and profits are never shown")
            + (", quality, mu and outside too." if scenario.demand_known else "; quality, mu and outside neither.")
        ),
        shocks=_SHOCKS[scenario.shock].format(size=scenario.shock_size, percent=scenario.shock_percent),
    )


_LEVELS = "one of -{size}, half of it, 0, half of {size}, {size}; with a chance of {percent} % a new one each round."
_SHOCKS = {
    "none": "none",
    "common_cost": "index is added to everybody's unit cost: " + _LEVELS,
    "own_cost": "A level of its own is added to each firm's unit cost and told to that firm only: " + _LEVELS,
    "demand": "index is added to the outside option: " + _LEVELS,
}


_STYLES = {
    "plain": "Earn as much as you can over all rounds together.",
    "patient": (
        "Earn as much as you can over all rounds together: profit in the long run is what counts. Trying other prices "
        "costs something now and is worth it where you learn from it."
    ),
    "bold": (
        "Earn as much as you can over all rounds together. Remember that a lower price wins customers from the other "
        "firms, and that volume at a thin margin can earn more than a high price that few pay."
    ),
}


def brief(scenario: PricingScenario, seat: SeatId) -> Brief:
    """Role, objective and round semantics, in the scenario's style."""
    others = scenario.firms - 1
    rivals = "no other firm" if not others else f"{others} other firm{'s' if others > 1 else ''}"
    return Brief(
        role=f"You are {seat}, a firm that sells one product beside {rivals}. You set its price.",
        objective=_STYLES[scenario.brief],
        round_semantics=(
            f"There are {scenario.rounds} rounds. In each, all firms post a price of 0 to {scenario.price_max} "
            "at once, sealed; then consumers choose, and all prices are shown. You earn units sold times price minus "
            "unit cost."
        ),
    )


def my_firm(state: State, seat: SeatId) -> MyFirm:
    """The seat's own data."""
    scenario, demand, seats = state.scenario, state.demand, list(state.cost)
    qualities = dict(zip(seats, demand.quality, strict=True)) if scenario.demand_known else None
    return MyFirm(
        seat=seat,
        cost=state.cost[seat],
        cost_now=state.cost_now(seat),
        quality=None if qualities is None else qualities[seat],
        consumers=scenario.consumers,
        price_max=scenario.price_max,
        posted_price=state.posted[seat],
        profit_so_far=state.profit[seat],
        round=state.round,
        rounds_left=scenario.rounds - len(state.rows),
        index=state.index,
        mu=demand.mu if scenario.demand_known else None,
        outside=demand.outside if scenario.demand_known else None,
        qualities=qualities,
        costs=dict(state.cost) if scenario.costs_known else None,
    )


def turn_part(state: State, seat: SeatId) -> TurnPart:
    """The price that stands, the last own profit and the index."""
    last = state.profits_of(state.rows[-1])[list(state.cost).index(seat)] if state.rows else None
    return TurnPart(rounds=state.scenario.rounds, posted_price=state.posted[seat], last_profit=last, index=state.index)


def price_row(state: State, record: RoundRecord) -> PriceRow:
    """A closed round as all see it."""
    seats = list(state.cost)
    return PriceRow(
        round=record.round,
        prices=dict(zip(seats, record.prices, strict=True)),
        index=record.shock,
        units=dict(zip(seats, record.units, strict=True)) if state.scenario.units_public else None,
    )


def prices(state: State, last: int | None, cursor: int | None) -> Prices:
    """Prices of closed rounds, newest first; `cursor` is the round to go on from. IllegalAction: too_many_rows."""
    found = _newest(state.rows, last, cursor)
    rows = rows_fitting([price_row(state, record) for record in found], last, "last")
    return Prices(rounds=rows, total=_total(state.rows, cursor), next_cursor=_following(state, rows, cursor))


def sales(state: State, seat: SeatId, last: int | None, cursor: int | None) -> Sales:
    """Own results of closed rounds, newest first; `cursor` as above. IllegalAction: too_many_rows."""
    place = list(state.cost).index(seat)
    made = [
        SaleRow(
            round=record.round,
            price=record.prices[place],
            units=record.units[place],
            cost_now=state.cost[seat] + record.cost_shocks[place],
            profit=state.profits_of(record)[place],
        )
        for record in _newest(state.rows, last, cursor)
    ]
    rows = rows_fitting(made, last, "last")
    return Sales(rounds=rows, total=_total(state.rows, cursor), next_cursor=_following(state, rows, cursor))


_DEFAULT_ROWS = 10


def _newest(rows: Sequence[RoundRecord], last: int | None, cursor: int | None) -> list[RoundRecord]:
    """The asked rows, newest first."""
    end = _total(rows, cursor)
    return [*reversed(rows[max(0, end - (last or _DEFAULT_ROWS)) : end])]


def _total(rows: Sequence[RoundRecord], cursor: int | None) -> int:
    """How many rounds have closed up to the cursor."""
    return len(rows) if cursor is None else min(cursor, len(rows))


def _following(state: State, rows: Sequence[_R], cursor: int | None) -> int | None:
    """The round that the next page begins with; null where no older one is left."""
    older = _total(state.rows, cursor) - len(rows)
    return older or None

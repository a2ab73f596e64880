"""What the analysis tools answer: the rules of `analysis` on visible records, in currency units.

The same functions serve policies and failure modes, so that an agent is judged by figures that it could have had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tradefair.contract import IllegalAction
from tradefair.contract.money import currency, to_minor
from tradefair.contract.tool import built
from tradefair.retail import analysis
from tradefair.retail.answers.results import (
    PriceGroupColumns,
    PriceResponse,
    PriceResponses,
    RankedSuppliers,
    StockCover,
    SupplierRanking,
)
from tradefair.retail.answers.rows import quote, rate
from tradefair.retail.model import supplier_id
from tradefair.retail.state import State

EVIDENCE_DAYS = 60
"""Default window of supplier evidence in days; the failure modes use the same."""
# Prices of a product that an answer shows; a window of 90 days may hold more.
_BEST_GROUPS = 12
_DECIMALS = 4


# --- price response (6.10) ------------------------------------------------------------------------------------------


class _UnitCost(NamedTuple):
    """A unit cost in 1e-4 currency units, and where it comes from."""

    e4: int
    basis: Literal["given", "best_by_returns", "cheapest_quote"]


def price_response(state: State, products: Sequence[str], window_days: int, unit_cost: float | None) -> PriceResponses:
    """What past list prices sold over `window_days`, and the most profitable one at a unit cost (6.10).

    `unit_cost` is in currency units; None takes today's quote of the best supplier. Raises IllegalAction: unknown_id,
    bad_value (a unit cost for several products).
    """
    # One cost cannot hold for several products.
    if unit_cost is not None and len(products) != 1:
        raise IllegalAction(
            "bad_value",
            "unit_cost is allowed with one product only",
            hint="estimate_price_response for one product, or without unit_cost",
        )
    given = None if unit_cost is None else _UnitCost(to_minor(unit_cost, decimals=_DECIMALS), "given")
    return built(
        PriceResponses,
        window_days=window_days,
        products=[
            _response(state, product, place, window_days, given or _best_cost(state, place))
            for product, place in zip(products, state.places_of(products), strict=True)
        ],
    )


def _best_cost(state: State, place: int) -> _UnitCost:
    """Today's quote of the supplier that returns recommend, else the cheapest one."""
    evidence = analysis.supplier_evidence(state.records, place, state.world.quotes, EVIDENCE_DAYS)
    best = evidence[analysis.best_visible_supplier(evidence)]
    # The answer says which it was: a cost without evidence of quality should be read with care.
    known = best.sold >= analysis.EVIDENCE_UNITS
    return _UnitCost(best.quote_e4, "best_by_returns" if known else "cheapest_quote")


def _response(state: State, product: str, place: int, window_days: int, cost: _UnitCost) -> PriceResponse:
    """The price response of one product; `cost` is the unit cost that profits are counted with."""
    days = analysis.price_days(state.records, place, window_days)
    groups = analysis.price_groups(days)
    optimum = analysis.price_optimum(groups, cost.e4)
    # Most profitable first, ties to the lower price; an answer shows twelve.
    best = sorted(groups, key=lambda group: (-group.daily_profit(cost.e4), group.price))[:_BEST_GROUPS]
    slope = analysis.semi_log_slope(days)
    return built(
        PriceResponse,
        product_id=product,
        groups=built(
            PriceGroupColumns,
            price=[group.price / 100 for group in best],
            days=[group.days for group in best],
            sold_out_days=[group.sold_out_days for group in best],
            mean_units=[round(group.mean_units, _DECIMALS) for group in best],
            mean_daily_profit=[round(group.daily_profit(cost.e4), _DECIMALS) for group in best],
        ),
        unsold_in_stock_days=analysis.unsold_days(days),
        best_price=None if optimum.price is None else currency(optimum.price),
        mean_units_at_best=round(optimum.demand, _DECIMALS),
        unit_cost=quote(cost.e4),
        unit_cost_basis=cost.basis,
        current_price=currency(state.prices[place]),
        single_price=len(groups) == 1,
        semi_log_slope=None if slope is None else round(slope, _DECIMALS),
    )


# --- supplier evidence (6.11) ---------------------------------------------------------------------------------------


def supplier_ranking(state: State, products: Sequence[str], window_days: int) -> SupplierRanking:
    """Returns by supplier over `window_days`, and the two rankings that they give (6.11)."""
    places = state.places_of(products)
    return built(
        SupplierRanking,
        window_days=window_days,
        products=[_ranked(state, product, place, window_days) for product, place in zip(products, places, strict=True)],
    )


def _ranked(state: State, product: str, place: int, window_days: int) -> RankedSuppliers:
    """Evidence and rankings of the suppliers of one product."""
    records = state.records
    evidence = analysis.supplier_evidence(records, place, state.world.quotes, window_days)
    offers = state.store.products[place].suppliers
    last = records.days - 1
    return built(
        RankedSuppliers,
        product_id=product,
        mean_stars=rate(*records.rating(place, max(0, last - window_days + 1), last)),
        supplier_id=[supplier_id(row.supplier) for row in evidence],
        evidence=[row.word for row in evidence],
        sold=[row.sold for row in evidence],
        returned=[row.returned for row in evidence],
        return_rate=[rate(row.returned, row.sold) for row in evidence],
        shrunk_rate=[round(float(row.shrunk), _DECIMALS) for row in evidence],
        quote=[quote(row.quote_e4) for row in evidence],
        transit_days_min=[offer.transit_min for offer in offers],
        transit_days_max=[offer.transit_max for offer in offers],
        rank_by_returns=[supplier_id(number) for number in analysis.returns_order(evidence)],
        rank_by_margin=[supplier_id(number) for number in analysis.margin_order(evidence, state.prices[place])],
    )


# --- stock cover ----------------------------------------------------------------------------------------------------


def stock_cover(state: State, products: Sequence[str], window_days: int) -> StockCover:
    """Days that the stock lasts at the mean sales of the days on which the product was on offer.

    `cover_with_incoming` counts waiting and ordered units too; both are None where nothing was sold in the window.
    """
    places, stock = state.places_of(products), state.stock
    means = [_mean_units(state, place, window_days) for place in places]
    on_hand = [stock.on_hand[place] for place in places]
    waiting = [stock.waiting_units[place] for place in places]
    incoming = [stock.incoming[place] for place in places]
    due = [stock.next_due(place) for place in places]
    everything = [sum(units) for units in zip(on_hand, waiting, incoming, strict=True)]
    return built(
        StockCover,
        window_days=window_days,
        product_id=list(products),
        on_hand=on_hand,
        waiting=waiting,
        incoming=incoming,
        mean_daily_units=means,
        cover_days=_cover(on_hand, means),
        cover_with_incoming=_cover(everything, means),
        next_arrival_days=[None if day is None else day - state.day for day in due],
        units_expiring_in_7_days=[stock.lot_figures(place, state.day).expiring_units for place in places],
    )


def _mean_units(state: State, place: int, window_days: int) -> float | None:
    """Mean units per day in stock: days without stock say nothing about demand."""
    days = analysis.price_days(state.records, place, window_days)
    offered = [units for units, in_stock in zip(days.units, days.in_stock, strict=True) if in_stock]
    return rate(sum(offered), len(offered))


def _cover(units: Sequence[int], means: Sequence[float | None]) -> list[float | None]:
    """Days that the units last, in two decimals; None where nothing was sold."""
    return [round(held / mean, 2) if mean else None for held, mean in zip(units, means, strict=True)]

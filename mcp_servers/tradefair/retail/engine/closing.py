"""A closed day told twice: to the manager as a report, to the trace as facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tradefair.contract.money import currency
from tradefair.contract.tool import built
from tradefair.retail.answers.results import DayReport
from tradefair.retail.engine.sales import DayBook
from tradefair.retail.engine.stock import Order, OrderLine, Stock
from tradefair.retail.engine.world import NewsItem
from tradefair.retail.model import (
    DayFacts,
    NewsFacts,
    OrderLineFacts,
    ProductColumns,
    RetailScenario,
    Store,
    SupplierColumns,
    order_id,
    product_id,
    supplier_id,
)

_DECIMALS = 12
"""Decimals of effects in the facts: beyond them maths libraries differ, and facts are hashed."""


class ClosedDay(NamedTuple):
    """The truth of a day that has closed; lists by product or product·suppliers + supplier, money in cents.

    `lost` = expected (demand of empty shelf products, sales that their categories lost), section 9. `arrivals` (units
    by product) and `funds` … `end_reason` are after the whole close, that is at the start of the next day.
    """

    day: int
    day_index: int
    visitors: int
    prices: Sequence[int]
    on_shelf: Sequence[bool]
    opening: Sequence[int]
    demand: Sequence[int]
    attraction: Sequence[float]
    review_effect: Sequence[float]
    need_effect: Sequence[float]
    supply_effect: Sequence[float]
    quotes: Sequence[int]
    qualities: Sequence[int]
    book: DayBook
    expired: Sequence[int]
    expiry_cost: Sequence[int]
    lost: tuple[float, float]
    news: Sequence[NewsItem]
    orders: Sequence[Order]
    arrivals: dict[int, int]
    funds: int = 0
    stock_value: int = 0
    open_order_cost: int = 0
    waiting_units: int = 0
    negative_days: int = 0
    end_reason: str | None = None

    @property
    def stock_outs(self) -> list[str]:
        """Ids of products that had stock in the morning and were asked for more than that."""
        # Without stock in the morning there is no demand to be short of: that is an empty shelf, not a stock-out (6.5).
        return [product_id(place) for place, wanted in enumerate(self.demand) if wanted > self.opening[place] > 0]

    @property
    def empty_shelf(self) -> list[str]:
        """Ids of products that stood on the shelf without stock in the morning."""
        return [product_id(place) for place, shelved in enumerate(self.on_shelf) if shelved and not self.opening[place]]

    @property
    def net_worth(self) -> int:
        """Funds, aged stock and open orders at cost, in cents (6.8)."""
        return self.funds + self.stock_value + self.open_order_cost


def day_report(scenario: RetailScenario, closed: ClosedDay) -> DayReport:
    """What the manager is told: sold-out products by name, but not how much demand was lost."""
    over = closed.end_reason is not None
    return built(
        DayReport,
        day=closed.day,
        date=scenario.date_at(closed.day_index).isoformat(),
        funds=currency(closed.funds),
        net_worth=currency(closed.net_worth),
        gross_sales=currency(sum(closed.book.revenue)),
        refunds=currency(sum(closed.book.refunds)),
        rent=currency(scenario.rent_per_day_cents),
        units=_by_id(closed.book.units),
        returns=_by_id(closed.book.returned),
        expired=_by_id(closed.expired),
        sold_out_products=closed.stock_outs,
        empty_shelf_products=closed.empty_shelf,
        arrivals={product_id(place): closed.arrivals[place] for place in sorted(closed.arrivals)},
        waiting_units=closed.waiting_units,
        # After the last day there is no next one to plan for.
        new_date=None if over else scenario.date_at(closed.day_index + 1).isoformat(),
        over=over,
        end_reason=closed.end_reason,
    )


def _by_id(units: Sequence[int]) -> dict[str, int]:
    """The products that have units, by id, in store order."""
    # Zeros are left out: most products of a day have none, and the report is read every day.
    return {product_id(place): count for place, count in enumerate(units) if count}


def day_facts(scenario: RetailScenario, store: Store, closed: ClosedDay, stock: Stock) -> DayFacts:
    """The hidden truth, for the trace. Not validated: every value comes from the engine."""
    # Demand of products that ran out; products without stock in the morning draw none and are counted by `lost`.
    short = sum(max(0, wanted - sold) for wanted, sold in zip(closed.demand, closed.book.units, strict=True))
    empty_demand, shrunk = closed.lost
    return built(
        DayFacts,
        day=closed.day,
        date=scenario.date_at(closed.day_index).isoformat(),
        customers=closed.visitors,
        funds_cents=closed.funds,
        net_worth_cents=closed.net_worth,
        stock_value_cents=closed.stock_value,
        open_order_cents=closed.open_order_cost,
        rent_cents=scenario.rent_per_day_cents,
        negative_days=closed.negative_days,
        waiting_units=closed.waiting_units,
        short_units=short,
        empty_demand=empty_demand,
        net_lost_units=round(short + shrunk, 6),
        product=_product_columns(closed, stock),
        supplier=built(
            SupplierColumns,
            suppliers=store.suppliers,
            quote_e4=list(closed.quotes),
            quality_milli=list(closed.qualities),
            units=closed.book.pair_units,
            returned=closed.book.pair_returned,
        ),
        stock_outs=closed.stock_outs,
        empty_shelf=closed.empty_shelf,
        orders=[_line_facts(order, line) for order in closed.orders for line in order.lines],
        # Neutral items move nothing; the trace leaves them out.
        news=[_news_facts(store, item, closed.day_index) for item in closed.news if item.business],
    )


def _product_columns(closed: ClosedDay, stock: Stock) -> ProductColumns:
    """The product columns of the facts, from the closed day and the stock after its close."""
    book = closed.book
    return built(
        ProductColumns,
        price_cents=list(closed.prices),
        on_shelf=list(map(int, closed.on_shelf)),
        opening_stock=list(closed.opening),
        demand=list(closed.demand),
        units=book.units,
        below_cost_units=book.below_cost_units,
        returned=book.returned,
        expired=list(closed.expired),
        revenue_cents=book.revenue,
        refunds_cents=book.refunds,
        cost_of_goods_cents=book.cost_of_goods,
        expiry_cost_cents=list(closed.expiry_cost),
        attraction=_rounded(closed.attraction),
        review_effect=_rounded(closed.review_effect),
        news_effect=_rounded(closed.need_effect),
        supply_effect=_rounded(closed.supply_effect),
        # Copies: the lists of the stock go on changing after the facts are written.
        on_hand=stock.on_hand.copy(),
        waiting=stock.waiting_units.copy(),
        stock_cost_cents=stock.cost.copy(),
    )


def _rounded(values: Sequence[float]) -> list[float]:
    # Most of them are 0.
    return [value and round(value, _DECIMALS) for value in values]


def _line_facts(order: Order, line: OrderLine) -> OrderLineFacts:
    return built(
        OrderLineFacts,
        order_id=order_id(order.number),
        product_id=product_id(line.product),
        supplier_id=supplier_id(order.supplier),
        quantity=line.quantity,
        cost_cents=line.cost,
        quality_milli=line.quality,
        due_day=order.due,
    )


def _news_facts(store: Store, item: NewsItem, index: int) -> NewsFacts:
    """A business item with what is hidden from the manager; `days_left` counts from day `index`."""
    return built(
        NewsFacts,
        news_id=item.id,
        mode=item.mode,
        category=store.categories[item.category].name if item.category >= 0 else None,
        product_id=product_id(item.product) if item.product >= 0 else None,
        side=item.side,
        sign=item.sign,
        strength=round(item.strength, _DECIMALS),
        days_left=item.last - index,
    )

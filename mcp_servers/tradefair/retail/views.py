"""What the manager may see: the store's own books, offers and shelf. No hidden field enters any answer.

Every function costs as much as the rows that it returns, however long the episode is. Day indices count from 0, the
first visible day. All refuse with IllegalAction: unknown_id, bad_date_range, too_many_rows. Reviews and news are in
`answers/feedback.py`, estimates in `answers/estimates.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from tradefair.contract import Brief, IllegalAction, SeatId
from tradefair.contract.money import currency, divide_half_even
from tradefair.contract.tool import built
from tradefair.retail.answers.results import (
    Assortment,
    Catalogue,
    CostColumns,
    DailySales,
    DayReport,
    Funds,
    Inventory,
    InventoryColumns,
    LineColumns,
    OrderColumns,
    OrderReceipt,
    PriceChange,
    ProductCosts,
    ProductPrices,
    QuoteColumns,
    QuoteHistory,
    Quotes,
    ReturnColumns,
    RulesView,
    SalesHistory,
    SalesSums,
    ShelfColumns,
    ShelfStatus,
    SupplierReturns,
    TurnPart,
)
from tradefair.retail.answers.rows import MAX_ROWS, Days, dates, quote, rate, require_rows
from tradefair.retail.engine.day_records import Column, Integers
from tradefair.retail.engine.stock import Order
from tradefair.retail.model import RetailScenario, order_id, product_id, supplier_id
from tradefair.retail.state import ShelfChange, State
from tradefair.trading.answers import json_bytes

# The kernel's bound for answers to default arguments.
_DEFAULT_BYTES = 8_000
_INVENTORY_ROWS = 170
"""Rows of an inventory that surely fit into an answer to default arguments."""


def brief(scenario: RetailScenario, seat: SeatId) -> Brief:
    """Role, objective and round semantics, as the manager is told before it plays."""
    return Brief(
        role="You are the manager of one supermarket.",
        objective=(
            f"Keep the store solvent for {scenario.horizon_days} days and end with as much net worth as you can: "
            "funds, stock at its aged cost, open orders at cost."
        ),
        round_semantics=(
            "A round is a day. While it is open you may read, set prices, order from suppliers and choose what stands "
            "on the shelf; everything takes effect at once. end_today closes the day: customers buy, some goods come "
            f"back, old stock is removed, rent of {scenario.rent_per_day} is due, deliveries arrive. Funds below zero "
            f"at {scenario.insolvency_days} closes in a row end the episode."
        ),
    )


def rules(state: State) -> RulesView:
    """The rules, as far as the manager may know them."""
    scenario = state.scenario
    return built(
        RulesView,
        goal="End with as much net worth as you can: funds, stock at its aged cost, open orders at cost.",
        horizon_days=scenario.horizon_days,
        first_day=scenario.start_date.isoformat(),
        first_visible_day=scenario.first_date.isoformat(),
        products=len(state.prices),
        categories=[category.name for category in state.store.categories],
        suppliers=state.supplier_ids,
        funds_start=currency(scenario.funds_start_cents),
        rent_per_day=currency(scenario.rent_per_day_cents),
        storage_capacity=scenario.storage_capacity,
        shelf_capacity=scenario.shelf_places,
        price_max=currency(scenario.price_max_cents),
        order_units_max=scenario.units_per_order,
        transit_cap=scenario.supplier.transit_cap,
        **_RULES,
        end=_END.format(days=scenario.insolvency_days),
    )


def turn_part(state: State) -> TurnPart:
    """The open day in short, with the report of the last closed one."""
    scenario = state.scenario
    return built(
        TurnPart,
        day=state.clock.round,
        # After the last day the clock stays on it, while `day` has moved on.
        date=scenario.date_at(scenario.history_days + state.clock.round - 1).isoformat(),
        # The open day counts: on the last one there is 1 left.
        days_left=scenario.horizon_days - state.day + 1,
        funds=currency(state.funds_cents),
        rent_per_day=currency(scenario.rent_per_day_cents),
        shelf_used=sum(state.on_shelf),
        shelf_capacity=scenario.shelf_places,
        negative_days=state.negative_days,
        last=state.report,
    )


_RULES = {
    "day": "Actions take effect at once; end_today closes the day: customers buy, some units come back, rent is due.",
    "shelf": "Only products on the shelf with stock on hand are sold. Prices and shelf may be changed freely.",
    "ageing": "Units lose value evenly over their shelf life and are removed, worthless, when it is over.",
    "orders": (
        "Orders are paid when they are placed and arrive whole, within transit_cap days; what finds no room waits "
        "outside, ages there, and is admitted first in, first out."
    ),
    "substitution": "Customers choose inside a category: products on the shelf there compete with one another.",
    "quality": "Quality differs between suppliers and is not shown; returns and reviews reflect it.",
    "news": "News moves demand or supplier prices for up to a week.",
}
_END = "The episode ends after the horizon, or when funds are negative at the close of {days} consecutive days."


# --- the store ------------------------------------------------------------------------------------------------------


def catalogue(state: State, category: str | None) -> Catalogue:
    """Ids, categories and descriptions of all products; with a category, everything about its products."""
    number = None if category is None else state.category_of(category)
    store = state.store
    shown = [item for item in store.products if number is None or item.category == number]
    found = built(
        Catalogue,
        product_id=[item.id for item in shown],
        category=[store.categories[item.category].name for item in shown],
        description=[item.description for item in shown],
        brand=None if number is None else [item.brand for item in shown],
        size=None if number is None else [item.size for item in shown],
        shelf_life_days=None if number is None else [item.shelf_life_days for item in shown],
    )
    # A store larger than the bundled ones may not fit into the 8 kB of an answer to default arguments.
    if number is None and json_bytes(found) > _DEFAULT_BYTES:
        raise IllegalAction(
            "too_many_rows",
            f"the store has {len(shown)} products, too many to list at once",
            hint="view_product_catalog with category; view_rules names the categories",
        )
    return found


def funds(state: State) -> Funds:
    """Cash, net worth and the calendar."""
    scenario = state.scenario
    return Funds(
        funds=currency(state.funds_cents),
        net_worth=currency(state.net_worth_cents),
        date=state.today.isoformat(),
        day=state.day,
        days_left=scenario.horizon_days - state.day + 1,
        rent_per_day=currency(scenario.rent_per_day_cents),
        negative_days=state.negative_days,
    )


def inventory(state: State, products: Sequence[str] | None, *, include_orders: bool) -> Inventory:
    """Stock of the named products, else of all that have some or stand on the shelf; units.

    `include_orders` adds the open orders that hold any of the named products.
    """
    stock, shelved = state.stock, state.on_shelf
    counts = (stock.on_hand, stock.waiting_units, stock.incoming)
    if products is not None:
        shown = state.places_of(products)
    else:
        rows = zip(shelved, *counts, strict=True)
        # A product that is neither shelved, held nor ordered has nothing to tell.
        shown = [place for place, row in enumerate(rows) if any(row)]
        if len(shown) > _INVENTORY_ROWS:
            raise IllegalAction(
                "too_many_rows",
                f"{len(shown)} products have stock or stand on the shelf; at most {_INVENTORY_ROWS} are listed unasked",
                hint="view_inventory with product_ids",
            )
    columns = [[units[place] for place in shown] for units in counts]
    return built(
        Inventory,
        products=built(
            InventoryColumns,
            product_id=[product_id(place) for place in shown],
            on_hand=columns[0],
            waiting=columns[1],
            incoming=columns[2],
            on_shelf=[shelved[place] for place in shown],
        ),
        total_on_hand=stock.total_on_hand,
        total_waiting=stock.total_waiting,
        total_incoming=sum(stock.incoming),
        capacity=stock.capacity,
        free=stock.free,
        # Only on demand: open orders of many lines would fill an answer that is mostly asked for stock.
        orders=_orders(state, None if products is None else set(shown)) if include_orders else None,
    )


def _orders(state: State, places: set[int] | None) -> OrderColumns:
    """Open orders by (due, supplier, id), each with all its lines; `places` None means all orders."""
    orders = [
        order
        for order in state.stock.orders.values()
        if places is None or any(line.product in places for line in order.lines)
    ]
    # What arrives first stands first.
    orders.sort(key=lambda order: (order.due, order.supplier, order.number))
    require_rows(
        sum(len(order.lines) for order in orders),
        "the lines of the open orders",
        "view_inventory with fewer product_ids, or without include_orders",
    )
    return built(
        OrderColumns,
        order_id=[order_id(order.number) for order in orders],
        supplier_id=[supplier_id(order.supplier) for order in orders],
        placed=[_date_of(state, order.placed) for order in orders],
        due=[_date_of(state, order.due) for order in orders],
        days_left=[order.due - state.day for order in orders],
        cost=[currency(order.cost) for order in orders],
        lines=[_units_by_product(order) for order in orders],
    )


def _units_by_product(order: Order) -> dict[str, int]:
    return {product_id(line.product): line.quantity for line in order.lines}


def _date_of(state: State, day: int) -> str:
    """Date of an episode day."""
    return state.scenario.date_at(state.scenario.history_days + day - 1).isoformat()


def shelf(state: State) -> ShelfStatus:
    """The products on the shelf with price and units on hand, in store order."""
    places, store = state.shelf, state.store
    return built(
        ShelfStatus,
        capacity=state.scenario.shelf_places,
        used=len(places),
        rows=built(
            ShelfColumns,
            product_id=[product_id(place) for place in places],
            category=[store.categories[store.products[place].category].name for place in places],
            price=[currency(state.prices[place]) for place in places],
            on_hand=[state.stock.on_hand[place] for place in places],
        ),
    )


def prices(state: State, products: Sequence[str]) -> ProductPrices:
    """Current list prices."""
    places = state.places_of(products)
    return built(ProductPrices, product_id=list(products), price=[currency(state.prices[place]) for place in places])


def costs(state: State, products: Sequence[str]) -> ProductCosts:
    """Unit costs (1e-4 exact) and ages in days of what is on hand, None where a product has no stock."""
    figures = [state.stock.lot_figures(place, state.day) for place in state.places_of(products)]
    return built(
        ProductCosts,
        products=built(
            CostColumns,
            product_id=list(products),
            on_hand=[row.units for row in figures],
            # Cents times 100 are 1e-4 currency units, as quotes are.
            mean_unit_cost=[
                quote(divide_half_even(row.cost * 100, row.units)) if row.units else None for row in figures
            ],
            min_unit_cost=[quote(row.min_cost_e4) if row.units else None for row in figures],
            max_unit_cost=[quote(row.max_cost_e4) if row.units else None for row in figures],
            mean_age_days=[round(row.age_days / row.units, 2) if row.units else None for row in figures],
            days_to_first_expiry=[row.first_expiry - state.day if row.units else None for row in figures],
        ),
    )


# --- sales ----------------------------------------------------------------------------------------------------------


def sales(
    state: State, products: Sequence[str], days: Days, supplier: str | None, detail: Literal["daily", "summary"]
) -> SalesHistory:
    """Closed days of the products, day by day or summed up.

    With `supplier` units, returns and profit are those of its goods; price and stock flags are the product's.
    """
    places = state.places_of(products)
    number = None if supplier is None else state.number_of(supplier)
    daily = detail == "daily"
    # Sums are one row per product, so only days can be too many.
    if daily:
        require_rows(
            len(places) * days.length,
            f"{len(places)} products x {days.length} days",
            f"at most {max(1, MAX_ROWS // len(places))} days of these products, fewer products, or detail summary",
        )
    rows = _sales_of(state, places, days, number)
    return built(
        SalesHistory,
        start_date=days.first_date,
        end_date=days.last_date,
        supplier_id=supplier,
        date=dates(state, days) if daily else None,
        daily=_daily(products, rows) if daily else None,
        summary=None if daily else _sums(products, rows),
    )


class _Sales(NamedTuple):
    """Quantities of products over a range of days, `[product][day]`: money in cents, units, and flags (0 or 1)."""

    price: Integers
    in_stock: Integers
    units: Integers
    returned: Integers
    expired: Integers
    sold_out: Integers
    profit: Integers


def _sales_of(state: State, places: Sequence[int], days: Days, supplier: int | None) -> _Sales:
    """The sales of products over a range of days; of one supplier's goods where `supplier` is a number."""
    records = state.records

    def table(column: Column, wanted: Sequence[int] = places) -> Integers:
        return column.table(wanted, days.first, days.last)

    # These four are the product's: its price and its shelf do not depend on who supplied the goods.
    columns = (records.price, records.in_stock, records.expired, records.sold_out)
    price, in_stock, expired, sold_out = map(table, columns)
    if supplier is None:
        units, returned = table(records.units), table(records.returned)
        profit = table(records.revenue) - table(records.refunds) - table(records.cost_of_goods)
    else:
        pairs = [place * records.suppliers + supplier for place in places]
        units, returned = table(records.pair_units, pairs), table(records.pair_returned, pairs)
        # Sold and refunded at the day's list price.
        profit = price * (units - returned) - table(records.pair_cost, pairs)
    return _Sales(price, in_stock, units, returned, expired, sold_out, profit)


def _daily(products: Sequence[str], sales: _Sales) -> list[DailySales]:
    # In the order of the model's fields.
    rows = zip(
        products,
        (sales.price / 100).tolist(),
        sales.in_stock.astype(bool).tolist(),
        sales.units.tolist(),
        sales.returned.tolist(),
        sales.expired.tolist(),
        sales.sold_out.astype(bool).tolist(),
        (sales.profit / 100).tolist(),
        strict=True,
    )
    return [built(DailySales, **dict(zip(DailySales.model_fields, row, strict=True))) for row in rows]


def _sums(products: Sequence[str], sales: _Sales) -> SalesSums:
    prices, days = sales.price.sum(axis=1).tolist(), sales.price.shape[1]
    return built(
        SalesSums,
        product_id=list(products),
        units=sales.units.sum(axis=1).tolist(),
        returned=sales.returned.sum(axis=1).tolist(),
        expired=sales.expired.sum(axis=1).tolist(),
        net_profit=(sales.profit.sum(axis=1) / 100).tolist(),
        days_in_stock=sales.in_stock.sum(axis=1).tolist(),
        days_sold=np.count_nonzero(sales.units, axis=1).tolist(),
        sold_out_days=sales.sold_out.sum(axis=1).tolist(),
        # The list price of all days, with sales or not.
        mean_price=[currency(divide_half_even(total, days)) for total in prices],
    )


# --- suppliers ------------------------------------------------------------------------------------------------------


def quotes(state: State, products: Sequence[str]) -> Quotes:
    """Today's offers of all suppliers for the products: rows by product, then by supplier."""
    places, count = state.places_of(products), state.suppliers
    require_rows(
        len(places) * count,
        f"{len(places)} products x {count} suppliers",
        f"at most {MAX_ROWS // count} product_ids in one call",
    )
    numbers = [supplier_id(number) for number in range(count)]
    offers = [offer for place in places for offer in state.store.products[place].suppliers]
    today = state.world.quotes
    return built(
        Quotes,
        date=state.today.isoformat(),
        rows=built(
            QuoteColumns,
            product_id=[product for product in products for _ in numbers],
            supplier_id=numbers * len(places),
            price=[e4 / 10_000 for place in places for e4 in today[place * count : (place + 1) * count]],
            transit_days_min=[offer.transit_min for offer in offers],
            transit_days_max=[offer.transit_max for offer in offers],
        ),
    )


def quote_history(state: State, product: str, days: Days, supplier: str | None) -> QuoteHistory:
    """Quotes of one product by day and supplier; `days` may end today, which the records do not hold yet."""
    place = state.place_of(product)
    numbers = range(state.suppliers) if supplier is None else (state.number_of(supplier),)
    require_rows(
        days.length * len(numbers),
        f"{days.length} days x {len(numbers)} suppliers",
        f"at most {MAX_ROWS // len(numbers)} days, or one supplier_id",
    )
    return built(
        QuoteHistory,
        product_id=product,
        start_date=days.first_date,
        end_date=days.last_date,
        date=dates(state, days),
        price={
            supplier_id(number): [quote(e4) for e4 in _quote_series(state, place * state.suppliers + number, days)]
            for number in numbers
        },
    )


def _quote_series(state: State, pair: int, days: Days) -> list[int]:
    """Recorded quotes, and today's at the end when the range reaches today."""
    past = state.records.pair_quote.series(pair, days.first, min(days.last, state.index - 1))
    # The records end yesterday.
    return [*past, state.world.quotes[pair]] if days.last == state.index else past


class _FromSupplier(NamedTuple):
    product: str
    sold: int
    returned: int
    ordered: int


def supplier_returns(state: State, supplier: str, days: Days, products: Sequence[str] | None) -> SupplierReturns:
    """Units sold, returned and ordered of one supplier; without `products`, of all that had any in the range."""
    number, records = state.number_of(supplier), state.records
    places = range(records.products) if products is None else state.places_of(products)
    found: list[_FromSupplier] = []
    for place in places:
        pair = place * records.suppliers + number
        totals = (records.sold, records.sent_back, records.ordered)
        row = _FromSupplier(product_id(place), *(total(pair, days.first, days.last) for total in totals))
        # Named products always have a row, so that an agent sees the zeros that it asked for.
        if products is not None or any(row[1:]):
            found.append(row)
    sold, returned = sum(row.sold for row in found), sum(row.returned for row in found)
    return built(
        SupplierReturns,
        supplier_id=supplier,
        start_date=days.first_date,
        end_date=days.last_date,
        sold=sold,
        returned=returned,
        ordered=sum(row.ordered for row in found),
        # Null without sales: the source falls back to ordered units, which invents a rate (section 12).
        return_rate=rate(returned, sold),
        products=built(
            ReturnColumns,
            product_id=[row.product for row in found],
            sold=[row.sold for row in found],
            returned=[row.returned for row in found],
            ordered=[row.ordered for row in found],
            return_rate=[rate(row.returned, row.sold) for row in found],
        ),
    )


# --- answers of actions ---------------------------------------------------------------------------------------------


def order_receipt(state: State, order: Order) -> OrderReceipt:
    """What was bought and what is left; nothing about quality, which the source's tool leaked (section 12)."""
    return built(
        OrderReceipt,
        order_id=order_id(order.number),
        lines=built(
            LineColumns,
            product_id=[product_id(line.product) for line in order.lines],
            quantity=[line.quantity for line in order.lines],
            unit_price=[quote(line.quote_e4) for line in order.lines],
            line_cost=[currency(line.cost) for line in order.lines],
        ),
        total_cost=currency(order.cost),
        funds_after=currency(state.funds_cents),
        due_date=_date_of(state, order.due),
    )


def price_change(old_cents: int, new_cents: int) -> PriceChange:
    """A list price before and after."""
    return built(PriceChange, old_price=currency(old_cents), new_price=currency(new_cents))


def assortment(state: State, change: ShelfChange) -> Assortment:
    """What changed on the shelf, and what stands there without stock."""
    places = state.shelf
    return built(
        Assortment,
        added=[product_id(place) for place in change.added],
        removed=[product_id(place) for place in change.removed],
        used=len(places),
        on_shelf_without_stock=[product_id(place) for place in places if not state.stock.on_hand[place]],
    )


def closing_receipt(state: State) -> DayReport:
    """The day before its close, as far as it is known then.

    An action must answer before `advance` runs; the tool's `finish` puts the report of the closed day in its place.
    """
    return built(
        DayReport,
        day=state.day,
        date=state.today.isoformat(),
        funds=currency(state.funds_cents),
        net_worth=currency(state.net_worth_cents),
        gross_sales=0.0,
        refunds=0.0,
        rent=currency(state.scenario.rent_per_day_cents),
        units={},
        returns={},
        expired={},
        sold_out_products=[],
        empty_shelf_products=[],
        arrivals={},
        waiting_units=state.stock.total_waiting,
        new_date=None,
        over=False,
        end_reason=None,
    )

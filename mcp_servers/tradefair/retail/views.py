"""What the manager may see: the store's own books, offers, feedback and news. No hidden field enters any answer.

Every function costs as much as the rows that it returns. Day indices count from 0, the first visible day; a range of
dates is clipped to the visible days. All refuse with IllegalAction: unknown_id, bad_date_range, too_many_rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from functools import lru_cache, partial
from heapq import merge
from itertools import islice
from typing import Literal, NamedTuple

from tradefair.contract.errors import IllegalAction
from tradefair.contract.market import Brief
from tradefair.contract.money import currency, divide_half_even
from tradefair.contract.seats import SeatId
from tradefair.contract.tool import Result
from tradefair.retail.answers.results import (
    Assortment,
    Catalogue,
    CostColumns,
    DailySales,
    Funds,
    Inventory,
    InventoryColumns,
    LineColumns,
    NewsDetail,
    NewsHistory,
    OrderColumns,
    OrderReceipt,
    PriceChange,
    ProductCosts,
    ProductPrices,
    QuoteColumns,
    QuoteHistory,
    Quotes,
    RatingColumns,
    Ratings,
    ReturnColumns,
    ReviewColumns,
    Reviews,
    SalesHistory,
    SalesSums,
    ShelfColumns,
    ShelfStatus,
    SupplierReturns,
    TodayNews,
)
from tradefair.retail.data import texts
from tradefair.retail.data.texts import ProductWords, StoreWords
from tradefair.retail.engine.stock import Order
from tradefair.retail.engine.world import NewsItem
from tradefair.retail.model import DayReport, RetailScenario, Streams, order_id, product_id, supplier_id
from tradefair.retail.records import ReviewRow
from tradefair.retail.rules import Retail, ShelfChange

MAX_ROWS = 3_000
_DEFAULT_BYTES = 8_000
_EXPLICIT_BYTES = 255_000
_INVENTORY_ROWS = 170
"""Rows of an inventory that surely fit into an answer to default arguments."""
_RATE_DECIMALS = 4


class Days(NamedTuple):
    """A clipped range of day indices, both included, with its dates."""

    first: int
    last: int
    first_date: str
    last_date: str

    @property
    def length(self) -> int:
        """Days in it."""
        return self.last - self.first + 1


class ReviewQuery(NamedTuple):
    """The arguments of view_product_reviews beside products and dates."""

    stars: int | None
    limit: int


def quote(e4: int) -> float:
    """A quote or unit cost in currency units: the double next to the exact four decimals."""
    return e4 / 10_000


def rate(part: float, whole: float) -> float | None:
    """part/whole, null without a whole."""
    return round(part / whole, _RATE_DECIMALS) if whole else None


def places_of(market: Retail, products: Sequence[str]) -> list[int]:
    """Places of product ids, in the order of the asking."""
    return [market.place_of(product) for product in products]


def require_rows(rows: int, asked: str, narrower: str) -> None:
    """IllegalAction too_many_rows when an answer would have more than 3,000 rows."""
    if rows > MAX_ROWS:
        raise IllegalAction(
            "too_many_rows", f"{asked} make {rows} rows; at most {MAX_ROWS} are answered at once", hint=narrower
        )


def days_between(market: Retail, start: str, end: str, *, with_today: bool = False) -> Days:
    """The visible days of a range of dates. IllegalAction: bad_date_range when it is reversed or holds none."""
    scenario, latest = market.scenario, market.index if with_today else market.index - 1
    origin = scenario.first_date
    first, last = (date.fromisoformat(start) - origin).days, (date.fromisoformat(end) - origin).days
    if first > last:
        raise IllegalAction(
            "bad_date_range", "start_date lies after end_date", hint="call again with the two dates exchanged"
        )
    first, last = max(first, 0), min(last, latest)
    if first > last:
        seen = f"{origin.isoformat()}..{scenario.date_at(latest).isoformat()}"
        raise IllegalAction(
            "bad_date_range", f"the range holds none of the visible days {seen}", hint=f"ask for days of {seen}"
        )
    return Days(first, last, scenario.date_at(first).isoformat(), scenario.date_at(last).isoformat())


def _dates(market: Retail, days: Days) -> list[str]:
    return [market.scenario.date_at(index).isoformat() for index in range(days.first, days.last + 1)]


def _currencies(cents: Iterable[int]) -> list[float]:
    return [value / 100 for value in cents]


def _json_bytes(model: Result) -> int:
    return len(model.__pydantic_serializer__.to_json(model))


def brief(scenario: RetailScenario, seat: SeatId) -> Brief:
    """Role, objective and round semantics."""
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


# --- the store ------------------------------------------------------------------------------------------------------


def catalogue(market: Retail, category: str | None) -> Catalogue:
    """Ids, categories and descriptions of all products; everything about those of one category."""
    number = None if category is None else market.category_of(category)
    store = market.store
    shown = [item for item in store.products if number is None or item.category == number]
    found = Catalogue.model_construct(
        product_id=[item.id for item in shown],
        category=[store.categories[item.category].name for item in shown],
        description=[item.description for item in shown],
        brand=None if number is None else [item.brand for item in shown],
        size=None if number is None else [item.size for item in shown],
        shelf_life_days=None if number is None else [item.shelf_life_days for item in shown],
    )
    if number is None and _json_bytes(found) > _DEFAULT_BYTES:
        raise IllegalAction(
            "too_many_rows",
            f"the store has {len(shown)} products, too many to list at once",
            hint="view_product_catalog with category; view_rules names the categories",
        )
    return found


def funds(market: Retail) -> Funds:
    """Cash, net worth and the calendar."""
    scenario = market.scenario
    return Funds(
        funds=currency(market.funds_cents),
        net_worth=currency(market.net_worth_cents),
        date=market.today.isoformat(),
        day=market.day,
        days_left=scenario.horizon_days - market.day + 1,
        rent_per_day=currency(scenario.rent_per_day_cents),
        negative_days=market.negative_days,
    )


def inventory(market: Retail, products: Sequence[str] | None, *, include_orders: bool) -> Inventory:
    """Stock of the named products, else of all that have some or stand on the shelf."""
    stock, shelved = market.stock, market.on_shelf
    counts = (stock.on_hand, stock.waiting_units, stock.incoming)
    if products is not None:
        shown = places_of(market, products)
    else:
        rows = zip(shelved, *counts, strict=True)
        shown = [place for place, row in enumerate(rows) if any(row)]
        if len(shown) > _INVENTORY_ROWS:
            raise IllegalAction(
                "too_many_rows",
                f"{len(shown)} products have stock or stand on the shelf; at most {_INVENTORY_ROWS} are listed unasked",
                hint="view_inventory with product_ids",
            )
    columns = [[units[place] for place in shown] for units in counts]
    return Inventory.model_construct(
        products=InventoryColumns.model_construct(
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
        orders=_orders(market, None if products is None else set(shown)) if include_orders else None,
    )


def _orders(market: Retail, places: set[int] | None) -> OrderColumns:
    """Open orders by (due, supplier, id), those of `places` only; every order with all its lines."""
    orders = [
        order
        for order in market.stock.orders.values()
        if places is None or any(line.product in places for line in order.lines)
    ]
    orders.sort(key=lambda order: (order.due, order.supplier, order.number))
    require_rows(
        sum(len(order.lines) for order in orders),
        "the lines of the open orders",
        "view_inventory with fewer product_ids, or without include_orders",
    )
    return OrderColumns.model_construct(
        order_id=[order_id(order.number) for order in orders],
        supplier_id=[supplier_id(order.supplier) for order in orders],
        placed=[_date_of(market, order.placed) for order in orders],
        due=[_date_of(market, order.due) for order in orders],
        days_left=[order.due - market.day for order in orders],
        cost=[currency(order.cost) for order in orders],
        lines=[_units_by_product(order) for order in orders],
    )


def _units_by_product(order: Order) -> dict[str, int]:
    return {product_id(line.product): line.quantity for line in order.lines}


def _date_of(market: Retail, day: int) -> str:
    """Date of an episode day."""
    return market.scenario.date_at(market.scenario.history_days + day - 1).isoformat()


def shelf(market: Retail) -> ShelfStatus:
    """What stands on the shelf."""
    places, store = market.shelf, market.store
    return ShelfStatus.model_construct(
        capacity=market.scenario.shelf_places,
        used=len(places),
        rows=ShelfColumns.model_construct(
            product_id=[product_id(place) for place in places],
            category=[store.categories[store.products[place].category].name for place in places],
            price=[currency(market.prices[place]) for place in places],
            on_hand=[market.stock.on_hand[place] for place in places],
        ),
    )


def prices(market: Retail, products: Sequence[str]) -> ProductPrices:
    """Current list prices."""
    places = places_of(market, products)
    return ProductPrices.model_construct(
        product_id=list(products), price=[currency(market.prices[place]) for place in places]
    )


def costs(market: Retail, products: Sequence[str]) -> ProductCosts:
    """Unit costs and ages of what is on hand."""
    figures = [market.stock.lot_figures(place, market.day) for place in places_of(market, products)]
    return ProductCosts.model_construct(
        products=CostColumns.model_construct(
            product_id=list(products),
            on_hand=[row.units for row in figures],
            mean_unit_cost=[
                quote(divide_half_even(row.cost * 100, row.units)) if row.units else None for row in figures
            ],
            min_unit_cost=[quote(row.min_cost_e4) if row.units else None for row in figures],
            max_unit_cost=[quote(row.max_cost_e4) if row.units else None for row in figures],
            mean_age_days=[round(row.age_days / row.units, 2) if row.units else None for row in figures],
            days_to_first_expiry=[row.first_expiry - market.day if row.units else None for row in figures],
        )
    )


# --- sales ----------------------------------------------------------------------------------------------------------


def sales(
    market: Retail, products: Sequence[str], days: Days, supplier: str | None, detail: Literal["daily", "summary"]
) -> SalesHistory:
    """Closed days of the products; `supplier` keeps the units (and their profit) that came from it."""
    places = places_of(market, products)
    number = None if supplier is None else market.number_of(supplier)
    daily = detail == "daily"
    if daily:
        require_rows(
            len(places) * days.length,
            f"{len(places)} products x {days.length} days",
            f"at most {max(1, MAX_ROWS // len(places))} days of these products, fewer products, or detail summary",
        )
    rows = [_sales_of(market, place, days, number) for place in places]
    return SalesHistory.model_construct(
        start_date=days.first_date,
        end_date=days.last_date,
        supplier_id=supplier,
        date=_dates(market, days) if daily else None,
        daily=[row.daily(product) for product, row in zip(products, rows, strict=True)] if daily else None,
        summary=None if daily else _sums(products, rows),
    )


class _Sales(NamedTuple):
    """Columns of one product over a range, in cents and units."""

    price: list[int]
    in_stock: list[int]
    units: list[int]
    returned: list[int]
    expired: list[int]
    sold_out: list[int]
    profit: list[int]

    def daily(self, product: str) -> DailySales:
        return DailySales.model_construct(
            product_id=product,
            price=_currencies(self.price),
            in_stock=list(map(bool, self.in_stock)),
            units=self.units,
            returned=self.returned,
            expired=self.expired,
            sold_out=list(map(bool, self.sold_out)),
            net_profit=_currencies(self.profit),
        )


def _sales_of(market: Retail, place: int, days: Days, supplier: int | None) -> _Sales:
    records = market.records
    first, last = days.first, days.last
    columns = (records.price, records.in_stock, records.expired, records.sold_out)
    price, in_stock, expired, sold_out = (column.series(place, first, last) for column in columns)
    if supplier is None:
        units, returned = records.units.series(place, first, last), records.returned.series(place, first, last)
        flows = (records.revenue, records.refunds, records.cost_of_goods)
        revenue, refunds, cost = (column.series(place, first, last) for column in flows)
        profit = [gained - paid - spent for gained, paid, spent in zip(revenue, refunds, cost, strict=True)]
    else:
        pair = place * records.suppliers + supplier
        flows = (records.pair_units, records.pair_returned, records.pair_cost)
        units, returned, cost = (column.series(pair, first, last) for column in flows)
        # Sold and refunded at the day's list price.
        kept = zip(price, units, returned, cost, strict=True)
        profit = [at * (sold - back) - spent for at, sold, back, spent in kept]
    return _Sales(price, in_stock, units, returned, expired, sold_out, profit)


def _sums(products: Sequence[str], rows: Sequence[_Sales]) -> SalesSums:
    return SalesSums.model_construct(
        product_id=list(products),
        units=[sum(row.units) for row in rows],
        returned=[sum(row.returned) for row in rows],
        expired=[sum(row.expired) for row in rows],
        net_profit=[currency(sum(row.profit)) for row in rows],
        days_in_stock=[sum(row.in_stock) for row in rows],
        days_sold=[sum(map(bool, row.units)) for row in rows],
        sold_out_days=[sum(row.sold_out) for row in rows],
        mean_price=[currency(divide_half_even(sum(row.price), len(row.price))) for row in rows],
    )


# --- suppliers ------------------------------------------------------------------------------------------------------


def quotes(market: Retail, products: Sequence[str]) -> Quotes:
    """Today's offers of all suppliers."""
    places, count = places_of(market, products), market.suppliers
    require_rows(
        len(places) * count,
        f"{len(places)} products x {count} suppliers",
        f"at most {MAX_ROWS // count} product_ids in one call",
    )
    numbers = [supplier_id(number) for number in range(count)]
    offers = [offer for place in places for offer in market.store.products[place].suppliers]
    today = market.world.quotes
    return Quotes.model_construct(
        date=market.today.isoformat(),
        rows=QuoteColumns.model_construct(
            product_id=[product for product in products for _ in numbers],
            supplier_id=numbers * len(places),
            price=[quote(today[pair]) for place in places for pair in range(place * count, (place + 1) * count)],
            transit_days_min=[offer.transit_min for offer in offers],
            transit_days_max=[offer.transit_max for offer in offers],
        ),
    )


def quote_history(market: Retail, product: str, days: Days, supplier: str | None) -> QuoteHistory:
    """Quotes of one product by day; `days` may end today."""
    place = market.place_of(product)
    numbers = range(market.suppliers) if supplier is None else (market.number_of(supplier),)
    require_rows(
        days.length * len(numbers),
        f"{days.length} days x {len(numbers)} suppliers",
        f"at most {MAX_ROWS // len(numbers)} days, or one supplier_id",
    )
    return QuoteHistory.model_construct(
        product_id=product,
        start_date=days.first_date,
        end_date=days.last_date,
        date=_dates(market, days),
        price={
            supplier_id(number): [quote(e4) for e4 in _quote_series(market, place * market.suppliers + number, days)]
            for number in numbers
        },
    )


def _quote_series(market: Retail, pair: int, days: Days) -> list[int]:
    """Recorded quotes, and today's at the end when the range reaches today."""
    past = market.records.pair_quote.series(pair, days.first, min(days.last, market.index - 1))
    return [*past, market.world.quotes[pair]] if days.last == market.index else past


class _FromSupplier(NamedTuple):
    product: str
    sold: int
    returned: int
    ordered: int


def supplier_returns(market: Retail, supplier: str, days: Days, products: Sequence[str] | None) -> SupplierReturns:
    """Units sold, returned and ordered of one supplier; without `products` of all that had any in the range."""
    number, records = market.number_of(supplier), market.records
    places = range(records.products) if products is None else places_of(market, products)
    found: list[_FromSupplier] = []
    for place in places:
        pair = place * records.suppliers + number
        totals = (records.sold, records.sent_back, records.ordered)
        row = _FromSupplier(product_id(place), *(total(pair, days.first, days.last) for total in totals))
        if products is not None or any(row[1:]):
            found.append(row)
    sold, returned = sum(row.sold for row in found), sum(row.returned for row in found)
    return SupplierReturns.model_construct(
        supplier_id=supplier,
        start_date=days.first_date,
        end_date=days.last_date,
        sold=sold,
        returned=returned,
        ordered=sum(row.ordered for row in found),
        return_rate=rate(returned, sold),
        products=ReturnColumns.model_construct(
            product_id=[row.product for row in found],
            sold=[row.sold for row in found],
            returned=[row.returned for row in found],
            ordered=[row.ordered for row in found],
            return_rate=[rate(row.returned, row.sold) for row in found],
        ),
    )


# --- reviews --------------------------------------------------------------------------------------------------------


def ratings(market: Retail, products: Sequence[str], days: Days) -> Ratings:
    """Mean stars and numbers of reviews."""
    found = [market.records.rating(place, days.first, days.last) for place in places_of(market, products)]
    return Ratings.model_construct(
        start_date=days.first_date,
        end_date=days.last_date,
        products=RatingColumns.model_construct(
            product_id=list(products),
            mean_stars=[rate(stars, count) for stars, count in found],
            reviews=[count for _, count in found],
        ),
    )


class _Placed(NamedTuple):
    """A review with the place of its product."""

    place: int
    row: ReviewRow


def reviews(market: Retail, products: Sequence[str], days: Days, query: ReviewQuery) -> Reviews:
    """The newest reviews of up to ten products; on one day in store order, the last written first."""
    log = market.records.reviews
    places = sorted(places_of(market, products))
    wanted = query.stars

    def of_product(place: int) -> Iterable[_Placed]:
        return (
            _Placed(place, row)
            for row in log.newest_first(place, days.first, days.last)
            if wanted is None or row.stars == wanted
        )

    newest = merge(*map(of_product, places), key=lambda item: (-item.row.day, item.place))
    shown = list(islice(newest, query.limit))
    if wanted is None:
        total = sum(log.count(place, days.first, days.last) for place in places)
    else:
        total = sum(1 for place in places for _ in of_product(place))
    return Reviews.model_construct(
        start_date=days.first_date,
        end_date=days.last_date,
        total_matching=total,
        reviews=ReviewColumns.model_construct(
            product_id=[product_id(item.place) for item in shown],
            date=[market.scenario.date_at(item.row.day).isoformat() for item in shown],
            stars=[item.row.stars for item in shown],
            text=[_review_text(market, item) for item in shown],
        ),
    )


def _review_text(market: Retail, review: _Placed) -> str:
    """The words of a review, from its own uniforms."""
    row, past = review.row, market.scenario.history_days
    history = row.day < past
    day_key = row.day + 1 if history else row.day - past + 1
    luck = market.text_luck(history=history)
    return texts.review_text(
        market.store.categories[market.store.products[review.place].category].name,
        row.stars,
        low_quality=row.low_quality,
        dear=row.dear,
        draw=partial(luck.uniform, Streams.REVIEW_TEXT, day_key, review.place, row.supplier, row.lot, row.number),
    )


# --- news -----------------------------------------------------------------------------------------------------------


def _words(market: Retail) -> StoreWords:
    names = tuple(category.name for category in market.store.categories)
    rows = market.store.products
    return _store_words(
        names, tuple(ProductWords(row.id, names[row.category], row.brand, row.description) for row in rows)
    )


@lru_cache(maxsize=8)
def _store_words(categories: tuple[str, ...], products: tuple[ProductWords, ...]) -> StoreWords:
    # Telling the products apart costs more than all titles of a day.
    return StoreWords(categories, products)


def _draw(market: Retail, item: NewsItem) -> texts.Draw:
    """The uniforms that word an item."""
    return partial(market.text_luck(history=item.history).uniform, Streams.NEWS_TEXT, item.day_key, item.slot)


def _titles(market: Retail, items: Sequence[NewsItem]) -> list[str]:
    words = _words(market)
    return [texts.news_title(item, words, _draw(market, item)) for item in items]


def today_news(market: Retail) -> TodayNews:
    """Today's headlines."""
    items = market.world.listed
    return TodayNews.model_construct(
        date=market.today.isoformat(),
        news_id=[item.id for item in items],
        title=_titles(market, items),
        days_listed=[market.index - item.first + 1 for item in items],
    )


def news_detail(market: Retail, news: str) -> NewsDetail:
    """One item that is or was listed; how long it stays listed is not told."""
    item = market.news_of(news)
    return NewsDetail.model_construct(
        news_id=item.id,
        title=_titles(market, [item])[0],
        content=texts.news_content(item, _words(market), _draw(market, item)),
        first_date=market.scenario.date_at(item.first).isoformat(),
        days_listed=min(item.last, market.index) - item.first + 1,
    )


def news_history(market: Retail, days: Days) -> NewsHistory:
    """Headlines of a range that may end today, oldest first."""
    items = market.news_between(days.first, days.last)
    share = max(1, days.length * MAX_ROWS // max(1, len(items)))
    require_rows(len(items), f"the news of {days.length} days", f"about {share} days in one call")
    titles = _titles(market, items)
    date_at = market.scenario.date_at
    found = NewsHistory.model_construct(
        start_date=days.first_date,
        end_date=days.last_date,
        news_id=[item.id for item in items],
        title=titles,
        first_date=[date_at(item.first).isoformat() for item in items],
        last_date=[date_at(min(item.last, market.index)).isoformat() for item in items],
    )
    size = _json_bytes(found)
    if size > _EXPLICIT_BYTES:
        raise IllegalAction(
            "too_many_rows",
            f"the news of {days.length} days take {size} bytes; at most {_EXPLICIT_BYTES} are answered",
            hint=f"about {max(1, days.length * _EXPLICIT_BYTES // size - 1)} days in one call",
        )
    return found


# --- answers of actions ---------------------------------------------------------------------------------------------


def order_receipt(market: Retail, order: Order) -> OrderReceipt:
    """What was bought and what is left; nothing about quality."""
    return OrderReceipt(
        order_id=order_id(order.number),
        lines=LineColumns(
            product_id=[product_id(line.product) for line in order.lines],
            quantity=[line.quantity for line in order.lines],
            unit_price=[quote(line.quote_e4) for line in order.lines],
            line_cost=[currency(line.cost) for line in order.lines],
        ),
        total_cost=currency(order.cost),
        funds_after=currency(market.funds_cents),
        due_date=_date_of(market, order.due),
    )


def price_change(old_cents: int, new_cents: int) -> PriceChange:
    """A list price before and after."""
    return PriceChange(old_price=currency(old_cents), new_price=currency(new_cents))


def assortment(market: Retail, change: ShelfChange) -> Assortment:
    """What changed on the shelf, and what stands there without stock."""
    places = market.shelf
    return Assortment(
        added=[product_id(place) for place in change.added],
        removed=[product_id(place) for place in change.removed],
        used=len(places),
        on_shelf_without_stock=[product_id(place) for place in places if not market.stock.on_hand[place]],
    )


def closing_receipt(market: Retail) -> DayReport:
    """The day before its close, as far as it is known then; the report of the closed day takes its place."""
    return DayReport(
        day=market.day,
        date=market.today.isoformat(),
        funds=currency(market.funds_cents),
        net_worth=currency(market.net_worth_cents),
        gross_sales=0.0,
        refunds=0.0,
        rent=currency(market.scenario.rent_per_day_cents),
        units={},
        returns={},
        expired={},
        sold_out_products=[],
        empty_shelf_products=[],
        arrivals={},
        waiting_units=market.stock.total_waiting,
        new_date=None,
        over=False,
        end_reason=None,
    )

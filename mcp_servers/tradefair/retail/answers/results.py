"""What the tools answer: rows as columns, one list per field, all of a table's lists equally long.

Amounts are currency units: two decimals, four for quotes and unit costs. They are the doubles next to exact cents, so
JSON shows the exact decimals. Dates are YYYY-MM-DD. What a field's name does not say stands in the tool's description.
"""

from __future__ import annotations

from typing import Annotated, Literal

from tradefair.contract import Result, Untrusted

_Foreign = Annotated[str, Untrusted()]


class DayReport(Result):
    """What the manager is told about a closed day, in currency units and units; tables leave zeros out.

    `sold_out_products`: demand exceeded opening stock. `new_date` is the day that opens, null when the episode is over.
    """

    day: int
    date: str
    funds: float
    net_worth: float
    gross_sales: float
    refunds: float
    rent: float
    units: dict[str, int]
    returns: dict[str, int]
    expired: dict[str, int]
    sold_out_products: list[str]
    empty_shelf_products: list[str]
    arrivals: dict[str, int]
    waiting_units: int
    new_date: str | None
    over: bool
    end_reason: str | None


class TurnPart(Result):
    """The market's part of `view_turn`; `days_left` counts the open day, `last` is the last closed day's report."""

    day: int
    date: str
    days_left: int
    funds: float
    rent_per_day: float
    shelf_used: int
    shelf_capacity: int
    negative_days: int
    last: DayReport | None


class RulesView(Result):
    """The rules as the manager may know them; amounts in currency units."""

    goal: str
    horizon_days: int
    first_day: str
    first_visible_day: str
    products: int
    categories: list[str]
    suppliers: list[str]
    funds_start: float
    rent_per_day: float
    storage_capacity: int
    shelf_capacity: int
    price_max: float
    order_units_max: int
    transit_cap: int
    day: str
    shelf: str
    ageing: str
    orders: str
    substitution: str
    quality: str
    news: str
    end: str


class Catalogue(Result):
    """The store's products; the last three columns only for one category."""

    product_id: list[str]
    category: list[str]
    description: list[str]
    brand: list[str] | None
    size: list[str] | None
    shelf_life_days: list[int] | None


class Funds(Result):
    """Cash and the calendar; `days_left` counts the open day."""

    funds: float
    net_worth: float
    date: str
    day: int
    days_left: int
    rent_per_day: float
    negative_days: int


class InventoryColumns(Result):
    """Units by product."""

    product_id: list[str]
    on_hand: list[int]
    waiting: list[int]
    incoming: list[int]
    on_shelf: list[bool]


class OrderColumns(Result):
    """Open orders by (due, supplier, id); `lines` are units by product."""

    order_id: list[str]
    supplier_id: list[str]
    placed: list[str]
    due: list[str]
    days_left: list[int]
    cost: list[float]
    lines: list[dict[str, int]]


class Inventory(Result):
    """Stock; totals are those of all products."""

    products: InventoryColumns
    total_on_hand: int
    total_waiting: int
    total_incoming: int
    capacity: int
    free: int
    orders: OrderColumns | None


class ShelfColumns(Result):
    """What stands on the shelf."""

    product_id: list[str]
    category: list[str]
    price: list[float]
    on_hand: list[int]


class ShelfStatus(Result):
    """The assortment; capacity in products."""

    capacity: int
    used: int
    rows: ShelfColumns


class ProductPrices(Result):
    """Current list prices."""

    product_id: list[str]
    price: list[float]


class CostColumns(Result):
    """What the units on hand cost, how old they are; null without stock."""

    product_id: list[str]
    on_hand: list[int]
    mean_unit_cost: list[float | None]
    min_unit_cost: list[float | None]
    max_unit_cost: list[float | None]
    mean_age_days: list[float | None]
    days_to_first_expiry: list[int | None]


class ProductCosts(Result):
    """Unit costs of the stock on hand."""

    products: CostColumns


class DailySales(Result):
    """One product, one entry per date of the answer's `date`."""

    product_id: str
    price: list[float]
    in_stock: list[bool]
    units: list[int]
    returned: list[int]
    expired: list[int]
    sold_out: list[bool]
    net_profit: list[float]


class SalesSums(Result):
    """Sums over the range by product."""

    product_id: list[str]
    units: list[int]
    returned: list[int]
    expired: list[int]
    net_profit: list[float]
    days_in_stock: list[int]
    days_sold: list[int]
    sold_out_days: list[int]
    mean_price: list[float]


class SalesHistory(Result):
    """Sales of the range that was found; `date` and `daily` with detail daily, `summary` with detail summary."""

    start_date: str
    end_date: str
    supplier_id: str | None
    date: list[str] | None
    daily: list[DailySales] | None
    summary: SalesSums | None


class QuoteColumns(Result):
    """Today's offers, one row per product and supplier."""

    product_id: list[str]
    supplier_id: list[str]
    price: list[float]
    transit_days_min: list[int]
    transit_days_max: list[int]


class Quotes(Result):
    """Offers of a day."""

    date: str
    rows: QuoteColumns


class QuoteHistory(Result):
    """Quotes of one product over the range that was found; a list per supplier, one entry per date."""

    product_id: str
    start_date: str
    end_date: str
    date: list[str]
    price: dict[str, list[float]]


class RatingColumns(Result):
    """Mean stars of the range, null without reviews."""

    product_id: list[str]
    mean_stars: list[float | None]
    reviews: list[int]


class Ratings(Result):
    """Ratings over the range that was found."""

    start_date: str
    end_date: str
    products: RatingColumns


class ReviewColumns(Result):
    """Reviews, newest first."""

    product_id: list[str]
    date: list[str]
    stars: list[int]
    text: list[_Foreign]


class Reviews(Result):
    """Reviews of the range that was found; `total_matching` counts those that were left out, too."""

    start_date: str
    end_date: str
    total_matching: int
    reviews: ReviewColumns


class ReturnColumns(Result):
    """Units from the supplier by product."""

    product_id: list[str]
    sold: list[int]
    returned: list[int]
    ordered: list[int]
    return_rate: list[float | None]


class SupplierReturns(Result):
    """Units from one supplier over the range that was found; rates are returned/sold, null when nothing was sold."""

    supplier_id: str
    start_date: str
    end_date: str
    sold: int
    returned: int
    ordered: int
    return_rate: float | None
    products: ReturnColumns


class TodayNews(Result):
    """Today's headlines; `days_listed` counts today."""

    date: str
    news_id: list[str]
    title: list[_Foreign]
    days_listed: list[int]


class NewsDetail(Result):
    """One news item."""

    news_id: str
    title: _Foreign
    content: _Foreign
    first_date: str
    days_listed: int


class NewsHistory(Result):
    """Headlines that were listed in the range that was found; `last_date` is the last listed day up to today."""

    start_date: str
    end_date: str
    news_id: list[str]
    title: list[_Foreign]
    first_date: list[str]
    last_date: list[str]


class PriceGroupColumns(Result):
    """Days with sales by list price, most profitable price first."""

    price: list[float]
    days: list[int]
    sold_out_days: list[int]
    mean_units: list[float]
    mean_daily_profit: list[float]


class PriceResponse(Result):
    """What past prices of a product sold; `best_price` null without a day with sales."""

    product_id: str
    groups: PriceGroupColumns
    unsold_in_stock_days: int
    best_price: float | None
    mean_units_at_best: float
    unit_cost: float
    unit_cost_basis: Literal["given", "best_by_returns", "cheapest_quote"]
    current_price: float
    single_price: bool
    semi_log_slope: float | None


class PriceResponses(Result):
    """Price response over the last closed days."""

    window_days: int
    products: list[PriceResponse]


class RankedSuppliers(Result):
    """Evidence on the suppliers of a product: units sold and returned, `shrunk_rate` r̂, today's offer, two rankings."""

    product_id: str
    mean_stars: float | None
    supplier_id: list[str]
    evidence: list[Literal["none", "thin", "fair", "good"]]
    sold: list[int]
    returned: list[int]
    return_rate: list[float | None]
    shrunk_rate: list[float]
    quote: list[float]
    transit_days_min: list[int]
    transit_days_max: list[int]
    rank_by_returns: list[str]
    rank_by_margin: list[str]


class SupplierRanking(Result):
    """Suppliers by what the records say."""

    window_days: int
    products: list[RankedSuppliers]


class StockCover(Result):
    """How long the stock lasts by product; null where nothing is known."""

    window_days: int
    product_id: list[str]
    on_hand: list[int]
    waiting: list[int]
    incoming: list[int]
    mean_daily_units: list[float | None]
    cover_days: list[float | None]
    cover_with_incoming: list[float | None]
    next_arrival_days: list[int | None]
    units_expiring_in_7_days: list[int]


class LineColumns(Result):
    """Lines of an order."""

    product_id: list[str]
    quantity: list[int]
    unit_price: list[float]
    line_cost: list[float]


class OrderReceipt(Result):
    """A paid order."""

    order_id: str
    lines: LineColumns
    total_cost: float
    funds_after: float
    due_date: str


class PriceChange(Result):
    """A list price before and after."""

    old_price: float
    new_price: float


class Assortment(Result):
    """The new assortment; ids in store order."""

    added: list[str]
    removed: list[str]
    used: int
    on_shelf_without_stock: list[str]

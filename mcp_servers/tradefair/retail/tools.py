"""The retail market's tools, thin handlers over views, estimates and rules, and its market type.

Constant bounds live in the annotations; what depends on scenario or state is refused by views and rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tradefair.contract import Bounds, Brief, InputRequest, SeatId, ToolTable, during, tool
from tradefair.contract.money import currency, to_minor
from tradefair.contract.policy import check_occupants
from tradefair.retail import views
from tradefair.retail.answers import estimates, feedback
from tradefair.retail.answers.evidence import EVIDENCE_MAP, named_or_all, shelf_scope, supplier_scope
from tradefair.retail.answers.results import (
    Assortment,
    Catalogue,
    DayReport,
    Funds,
    Inventory,
    NewsDetail,
    NewsHistory,
    OrderReceipt,
    PriceChange,
    PriceResponses,
    ProductCosts,
    ProductPrices,
    QuoteHistory,
    Quotes,
    Ratings,
    Reviews,
    SalesHistory,
    ShelfStatus,
    StockCover,
    SupplierRanking,
    SupplierReturns,
    TodayNews,
)
from tradefair.retail.answers.rows import days_between
from tradefair.retail.model import RetailScenario, Streams, product_id, supplier_id
from tradefair.retail.policies import POLICIES
from tradefair.retail.rules import LineAsked, Retail

# Far above every store: which ids exist is for the rules to say, with a message that helps.
_MOST_PRODUCTS = 2_000
# Quotes have four decimals, list prices two.
_QUOTE_DECIMALS = 4


def _distinct(ids: list[str]) -> list[str]:
    if len(set(ids)) != len(ids):
        raise ValueError("each product once")
    return ids


def _calendar_date(text: str) -> str:
    try:
        # The pattern allows 2026-02-30; only the calendar knows better.
        date.fromisoformat(text)
    except ValueError:
        raise ValueError("not a date of the calendar; write YYYY-MM-DD") from None
    return text


def _price(amount: float) -> float:
    # Raises ValueError for more decimals than money has; the amount itself stays a float.
    to_minor(amount)
    return amount


def _unit_cost(amount: float) -> float:
    to_minor(amount, decimals=_QUOTE_DECIMALS)
    return amount


_Id = Annotated[str, Field(min_length=1, max_length=40)]
_Product = Annotated[_Id, Field(description="id of a product")]
_Supplier = Annotated[_Id, Field(description="id of a supplier")]
_IDS = "ids of products, each once"
_Products = Annotated[
    list[_Id], Field(min_length=1, max_length=_MOST_PRODUCTS, description=_IDS), AfterValidator(_distinct)
]
_Assortment = Annotated[list[_Id], Field(max_length=_MOST_PRODUCTS, description=_IDS), AfterValidator(_distinct)]
_TenProducts = Annotated[list[_Id], Field(min_length=1, max_length=10, description=_IDS), AfterValidator(_distinct)]
_TwentyProducts = Annotated[list[_Id], Field(min_length=1, max_length=20, description=_IDS), AfterValidator(_distinct)]
_FortyProducts = Annotated[list[_Id], Field(min_length=1, max_length=40, description=_IDS), AfterValidator(_distinct)]
_Days = Annotated[int, Field(description="closed days to look back")]
_Date = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", description="YYYY-MM-DD"), AfterValidator(_calendar_date)
]
_Price = Annotated[float, Field(ge=0.01, le=1_000_000, description="at most 2 decimals"), AfterValidator(_price)]
_UnitCost = Annotated[float, Field(ge=0, le=1_000_000, description="at most 4 decimals"), AfterValidator(_unit_cost)]


class _Line(BaseModel):
    """One line of an order."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    product_id: _Product
    quantity: Annotated[int, Field(ge=1, le=1_000_000, description="units")]


def _each_once(lines: list[_Line]) -> list[_Line]:
    _distinct([line.product_id for line in lines])
    return lines


# The 96 products of the source's store.
_Lines = Annotated[
    list[_Line], Field(min_length=1, max_length=96, description="what is ordered"), AfterValidator(_each_once)
]


# --- what the scenario leaves of the constant bounds, as it is listed -------------------------------------------------


def _products_of(scenario: RetailScenario) -> tuple[str, ...]:
    return tuple(map(product_id, range(scenario.product_count)))


def _named(scenario: RetailScenario) -> Mapping[str, Bounds]:
    """Products, each once. Their ids are listed where they are ordered, priced and shelved, not in each look."""
    return {"product_ids": Bounds(max_items=scenario.product_count)}


def _order(scenario: RetailScenario) -> Mapping[str, Bounds]:
    ids = _products_of(scenario)
    return {
        "supplier_id": Bounds(enum=tuple(map(supplier_id, range(scenario.supplier.count)))),
        "lines": Bounds(max_items=len(ids)),
        "lines.*.product_id": Bounds(enum=ids),
        "lines.*.quantity": Bounds(maximum=scenario.units_per_order),
    }


def _list_price(scenario: RetailScenario) -> Mapping[str, Bounds]:
    highest = Bounds(maximum=currency(scenario.price_max_cents))
    return {"product_id": Bounds(enum=_products_of(scenario)), "new_price": highest}


def _shelf(scenario: RetailScenario) -> Mapping[str, Bounds]:
    ids = _products_of(scenario)
    return {"product_ids": Bounds(max_items=scenario.shelf_places), "product_ids.*": Bounds(enum=ids)}


def _days(scenario: RetailScenario) -> Mapping[str, Bounds]:
    return {"day": Bounds(maximum=scenario.horizon_days)}


# --- what is shown, for the trace -----------------------------------------------------------------------------------


# A history is recorded as a digest with the ids that it showed: failure modes ask which products were looked at, not
# which numbers.
def _sales_refs(result: SalesHistory) -> Sequence[str]:
    if result.summary is not None:
        return result.summary.product_id
    return [row.product_id for row in result.daily or ()]


def _quote_refs(result: QuoteHistory) -> Sequence[str]:
    return [result.product_id]


def _rating_refs(result: Ratings) -> Sequence[str]:
    return result.products.product_id


def _review_refs(result: Reviews) -> Sequence[str]:
    return list(dict.fromkeys(result.reviews.product_id))


def _return_refs(result: SupplierReturns) -> Sequence[str]:
    return result.products.product_id


def _news_refs(result: TodayNews | NewsHistory) -> Sequence[str]:
    return result.news_id


def _detail_refs(result: NewsDetail) -> Sequence[str]:
    return [result.news_id]


# Tools without a subject in the scenario are not offered: an agent would spend calls on them.
def _has_feedback(scenario: RetailScenario) -> bool:
    return scenario.feedback.enabled


def _has_news(scenario: RetailScenario) -> bool:
    return scenario.news.enabled


# --- reads: the store -----------------------------------------------------------------------------------------------


@tool("read", title="Product catalogue", evidence=("catalog",))
def view_product_catalog(
    market: Retail, seat: SeatId, *, category: Annotated[_Id, Field(description="name of a category")] | None = None
) -> Catalogue:
    """All products with id, category and description.

    With `category` only its products, and their brand, size and shelf life in days too.
    """
    return views.catalogue(market, category)


@tool("read", title="Funds and date", evidence=("funds",))
def view_funds_and_date(market: Retail, seat: SeatId) -> Funds:
    """Cash, net worth (cash, stock at its aged cost, open orders at cost), date, days left, rent, negative closes."""
    return views.funds(market)


@tool("read", title="Inventory", evidence=("inventory",), scope=named_or_all, bounds=_named)
def view_inventory(
    market: Retail,
    seat: SeatId,
    *,
    product_ids: _Products | None = None,
    include_orders: Annotated[bool, Field(description="with the open orders")] = False,
) -> Inventory:
    """Units on hand, waiting outside for room, and on order; totals, capacity and free places in units.

    Without `product_ids`: products that have any or stand on the shelf. `include_orders` lists the open orders.
    """
    return views.inventory(market, product_ids, include_orders=include_orders)


@tool("read", title="Shelf", evidence=("shelf", "price"), scope=shelf_scope, main=True)
def view_shelf_status(market: Retail, seat: SeatId) -> ShelfStatus:
    """What stands on the shelf, with list price and units on hand; used and total places."""
    return views.shelf(market)


@tool("read", title="List prices", evidence=("price",), scope="args", bounds=_named)
def view_product_prices(market: Retail, seat: SeatId, *, product_ids: _Products) -> ProductPrices:
    """Current list prices."""
    return views.prices(market, product_ids)


@tool("read", title="Cost of the stock", evidence=("cost", "inventory"), scope="args", bounds=_named)
def view_product_inventory_cost(market: Retail, seat: SeatId, *, product_ids: _Products) -> ProductCosts:
    """Mean, lowest and highest unit cost of the units on hand, their mean age, days to the first expiry."""
    return views.costs(market, product_ids)


# --- reads: sales, suppliers, feedback ------------------------------------------------------------------------------


@tool(
    "read", title="Sales and profit", evidence=("sales",), scope="args", record="digest", refs=_sales_refs,
    bounds=_named,
)  # fmt: skip
def view_sales_profit_history(
    market: Retail,
    seat: SeatId,
    *,
    product_ids: _Products,
    start_date: _Date,
    end_date: _Date,
    supplier_id: _Supplier | None = None,
    detail: Annotated[Literal["daily", "summary"], Field(description="a row per day, or sums")] = "daily",
) -> SalesHistory:
    """Closed days: list price, in stock on the shelf, units sold, returned, expired, sold out, profit after refunds.

    `detail` summary gives sums and day counts instead; `supplier_id` keeps units, returns and profit of its goods.
    At most 3,000 products x days in daily detail.
    """
    days = days_between(market, start_date, end_date)
    return views.sales(market, product_ids, days, supplier_id, detail)


@tool("read", title="Today's supplier prices", evidence=("supplier_price",), scope="args", bounds=_named)
def view_current_date_supplier_prices(market: Retail, seat: SeatId, *, product_ids: _Products) -> Quotes:
    """Today's unit price of every supplier (4 decimals) and its shortest and longest delivery in days."""
    return views.quotes(market, product_ids)


@tool(
    "read", title="Supplier price history", evidence=("supplier_price",), scope="args", record="digest",
    refs=_quote_refs,
)  # fmt: skip
def view_supplier_price_history(
    market: Retail,
    seat: SeatId,
    *,
    product_id: _Product,
    start_date: _Date,
    end_date: _Date,
    supplier_id: _Supplier | None = None,
) -> QuoteHistory:
    """Unit prices of one product by day, today included, of every supplier or of one."""
    days = days_between(market, start_date, end_date, with_today=True)
    return views.quote_history(market, product_id, days, supplier_id)


@tool(
    "read", title="Ratings", evidence=("quality",), scope="args", record="digest", refs=_rating_refs,
    when=_has_feedback, bounds=_named,
)  # fmt: skip
def view_product_avg_ratings(
    market: Retail, seat: SeatId, *, product_ids: _Products, start_date: _Date, end_date: _Date
) -> Ratings:
    """Mean stars (1 to 5) and number of the reviews dated in the range."""
    return feedback.ratings(market, product_ids, days_between(market, start_date, end_date))


@tool(
    "read", title="Reviews", evidence=("quality",), scope="args", record="digest", refs=_review_refs,
    when=_has_feedback, bounds=_named,
)  # fmt: skip
def view_product_reviews(
    market: Retail,
    seat: SeatId,
    *,
    product_ids: _TenProducts,
    start_date: _Date,
    end_date: _Date,
    stars: Annotated[int, Field(ge=1, le=5, description="reviews with these stars only")] | None = None,
    limit: Annotated[int, Field(ge=1, le=20, description="reviews at most")] = 20,
) -> Reviews:
    """Customers' reviews dated in the range, newest first: stars and text. `total_matching` counts all of them."""
    days = days_between(market, start_date, end_date)
    return feedback.reviews(market, product_ids, days, feedback.ReviewQuery(stars, limit))


@tool(
    "read", title="Returns by supplier", evidence=("quality",), scope=supplier_scope, record="digest",
    refs=_return_refs, when=_has_feedback, bounds=_named,
)  # fmt: skip
def view_supplier_returns_avg_rate(
    market: Retail,
    seat: SeatId,
    *,
    supplier_id: _Supplier,
    start_date: _Date,
    end_date: _Date,
    product_ids: _Products | None = None,
) -> SupplierReturns:
    """Units from one supplier that were sold, returned and ordered in the range, in all and by product.

    `return_rate` is returned / sold, null when nothing was sold. Without `product_ids`: products that have any.
    """
    return views.supplier_returns(market, supplier_id, days_between(market, start_date, end_date), product_ids)


# --- reads: news ----------------------------------------------------------------------------------------------------


@tool("read", title="Today's news", evidence=("news",), refs=_news_refs, when=_has_news)
def view_today_news(market: Retail, seat: SeatId) -> TodayNews:
    """Today's headlines and for how many days each has been listed."""
    return feedback.today_news(market)


@tool("read", title="News item", evidence=("news",), refs=_detail_refs, when=_has_news)
def view_news_detail(
    market: Retail, seat: SeatId, *, news_id: Annotated[_Id, Field(description="id of a news item")]
) -> NewsDetail:
    """A news item, of today or earlier, with its content."""
    return feedback.news_detail(market, news_id)


@tool("read", title="Past news", evidence=("news",), record="digest", refs=_news_refs, when=_has_news)
def view_news_history(market: Retail, seat: SeatId, *, start_date: _Date, end_date: _Date) -> NewsHistory:
    """Headlines listed on any day of the range, with their first and last listed day up to today, oldest first."""
    return feedback.news_history(market, days_between(market, start_date, end_date, with_today=True))


# --- analysis -------------------------------------------------------------------------------------------------------


@tool("analysis", title="Price response", evidence=("sales", "price", "cost"), scope="args", bounds=_named)
def estimate_price_response(
    market: Retail,
    seat: SeatId,
    *,
    product_ids: _FortyProducts,
    window_days: Annotated[_Days, Field(ge=7, le=90)] = 30,
    unit_cost: _UnitCost | None = None,
) -> PriceResponses:
    """Days with sales grouped by list price: mean units and mean profit per day at a unit cost; best 12 prices.

    `unit_cost` (one product only) defaults to today's price of the supplier with the lowest return rate where at least
    30 of its units were sold in 60 days, else to the cheapest. `semi_log_slope`: ln units on price, with 3 prices.
    """
    return estimates.price_response(market, product_ids, window_days, unit_cost)


@tool("analysis", title="Suppliers by evidence", evidence=("supplier_price", "quality"), scope="args", bounds=_named)
def rank_suppliers_by_evidence(
    market: Retail,
    seat: SeatId,
    *,
    product_ids: _TwentyProducts,
    window_days: Annotated[_Days, Field(ge=14, le=180)] = estimates.EVIDENCE_DAYS,
) -> SupplierRanking:
    """Per supplier, over the window: units sold and returned, return rate, the rate shrunk to the product's mean.

    Evidence is none, thin (under 30 units), fair (under 200) or good. `rank_by_returns` puts known suppliers first, by
    shrunk rate; `rank_by_margin` orders by price x (1 - shrunk rate) - today's unit price.
    """
    return estimates.supplier_ranking(market, product_ids, window_days)


@tool("analysis", title="Stock cover", evidence=("inventory", "sales"), scope="args", bounds=_named)
def estimate_stock_cover(
    market: Retail, seat: SeatId, *, product_ids: _Products, window_days: Annotated[_Days, Field(ge=7, le=60)] = 14
) -> StockCover:
    """Days that the stock on hand lasts at the mean sales of days in stock; the same with waiting and ordered units.

    Also days to the next delivery, and units on hand that expire within 7 days.
    """
    return estimates.stock_cover(market, product_ids, window_days)


# --- actions --------------------------------------------------------------------------------------------------------

# Once a day is marked for closing nothing may change it any more.
_BY_DAY = during("open")


@tool("action", title="Place an order", destructive=True, bounds=_order, open=_BY_DAY)
def place_order(market: Retail, seat: SeatId, *, supplier_id: _Supplier, lines: _Lines) -> OrderReceipt:
    """Order from one supplier at today's prices, paid at once; all lines arrive together on `due_date`.

    1 to 96 lines, each product once. Refused as a whole when funds do not suffice.
    """
    order = market.place_order(supplier_id, [LineAsked(line.product_id, line.quantity) for line in lines])
    return views.order_receipt(market, order)


@tool("action", title="Set a list price", destructive=True, idempotent=True, bounds=_list_price, open=_BY_DAY)
def modify_product_price(market: Retail, seat: SeatId, *, product_id: _Product, new_price: _Price) -> PriceChange:
    """Set the list price of a product, effective at once."""
    cents = to_minor(new_price)
    return views.price_change(market.set_price(product_id, cents), cents)


@tool("action", title="Choose the assortment", destructive=True, idempotent=True, bounds=_shelf, open=_BY_DAY)
def set_shelf_products(market: Retail, seat: SeatId, *, product_ids: _Assortment) -> Assortment:
    """Replace what stands on the shelf, effective at once; only products on the shelf are sold."""
    return views.assortment(market, market.set_shelf(product_ids))


_Day = Annotated[int, Field(ge=1, le=3_650, description="the day that you mean; refused on any other")]


def _report(market: Retail, seat: SeatId, receipt: DayReport) -> DayReport:
    """The report of the day that the call closed."""
    # `finish` runs after `advance`, which writes the report.
    assert market.report is not None
    return market.report


@tool("action", title="Close the day", ends_turn=True, destructive=True, finish=_report, bounds=_days, open=_BY_DAY)
def end_today(market: Retail, seat: SeatId, *, day: _Day | None = None) -> DayReport:
    """Close the day: customers buy, goods come back or expire, rent is paid, deliveries arrive; answers the report.

    `day`, the number of the open day, refuses the call when another day is open.
    """
    market.end_today(day)
    return views.closing_receipt(market)


_ERRORS: Mapping[str, str] = {
    "bad_date_range": "a range of dates that is reversed or holds no visible day",
    "price_out_of_range": "a list price above the scenario's price_max",
    "order_too_large": "more units in one order than the scenario allows",
    "shelf_over_capacity": "more products than the shelf holds",
    "unknown_source": "an external input that this market does not take",
}


class _RetailType:
    name = "retail"
    version = "3"
    title = (
        "one supermarket over many days: prices, orders, suppliers, shelf, ageing stock, reviews, news (RetailBench)"
    )
    scenario_model = RetailScenario
    tools = ToolTable(
        view_product_catalog,
        view_funds_and_date,
        view_inventory,
        view_shelf_status,
        view_product_prices,
        view_product_inventory_cost,
        view_sales_profit_history,
        view_current_date_supplier_prices,
        view_supplier_price_history,
        view_product_avg_ratings,
        view_product_reviews,
        view_supplier_returns_avg_rate,
        view_today_news,
        view_news_detail,
        view_news_history,
        estimate_price_response,
        rank_suppliers_by_evidence,
        estimate_stock_cover,
        place_order,
        modify_product_price,
        set_shelf_products,
        end_today,
    )
    evidence_map = EVIDENCE_MAP
    policies = POLICIES
    streams = Streams
    errors = _ERRORS

    def create(self, scenario: RetailScenario, seed: int) -> Retail:
        """A fresh store on day 1. ScenarioError: the store has another digest, or a seat's policy does not exist."""
        check_occupants(self.name, scenario.seats, POLICIES)
        return Retail(scenario, seed)

    def brief(self, scenario: RetailScenario, seat: SeatId) -> Brief:
        """What the manager is told."""
        return views.brief(scenario, seat)

    def request(self, market: Retail, seat: SeatId, tool: str, arguments: BaseModel) -> InputRequest | None:
        """No tool needs anything from outside."""
        return None

    def perturb_private(self, market: Retail, seat: SeatId, salt: int) -> Retail:
        """The same visible past and present over other hidden truth."""
        return market.perturbed(salt)

    def check(self, market: Retail) -> None:
        """The conservation laws of section 13."""
        market.check()


MARKET = _RetailType()

"""The tools' answers: exactly the fields that are listed, exact amounts, bounds and refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import orjson
import pytest

from tradefair.contract import ErrorInfo
from tradefair.contract.kernel.core import Core
from tradefair.retail import MARKET
from tradefair.retail.model import SEAT, product_id, supplier_id
from tradefair.retail.rules import LineAsked, Retail

Open = Callable[..., Retail]
OpenCore = Callable[..., Core]
Live = Callable[[Retail, int], None]
Ask = Callable[..., Any]
Refusal = Callable[..., ErrorInfo]

IDS = [product_id(place) for place in range(12)]
PAST = {"start_date": "1991-08-10", "end_date": "1991-09-06"}
FIELDS: Mapping[str, tuple[Mapping[str, Any], set[str]]] = {
    "view_product_catalog": (
        {"category": "Beer"},
        {"product_id", "category", "description", "brand", "size", "shelf_life_days"},
    ),
    "view_funds_and_date": (
        {},
        {"funds", "net_worth", "date", "day", "days_left", "rent_per_day", "negative_days"},
    ),
    "view_inventory": (
        {"include_orders": True},
        {
            "products.product_id", "products.on_hand", "products.waiting", "products.incoming", "products.on_shelf",
            "total_on_hand", "total_waiting", "total_incoming", "capacity", "free",
            "orders.order_id", "orders.supplier_id", "orders.placed", "orders.due", "orders.days_left", "orders.cost",
            "orders.lines",
        },
    ),
    "view_shelf_status": (
        {},
        {"capacity", "used", "rows.product_id", "rows.category", "rows.price", "rows.on_hand"},
    ),
    "view_product_prices": ({"product_ids": IDS}, {"product_id", "price"}),
    "view_product_inventory_cost": (
        {"product_ids": IDS},
        {
            "products.product_id", "products.on_hand", "products.mean_unit_cost", "products.min_unit_cost",
            "products.max_unit_cost", "products.mean_age_days", "products.days_to_first_expiry",
        },
    ),
    "view_sales_profit_history": (
        {"product_ids": IDS, **PAST},
        {
            "start_date", "end_date", "supplier_id", "date", "summary", "daily.product_id", "daily.price",
            "daily.in_stock", "daily.units", "daily.returned", "daily.expired", "daily.sold_out", "daily.net_profit",
        },
    ),
    "view_current_date_supplier_prices": (
        {"product_ids": IDS},
        {
            "date", "rows.product_id", "rows.supplier_id", "rows.price", "rows.transit_days_min",
            "rows.transit_days_max",
        },
    ),
    "view_supplier_price_history": (
        {"product_id": "P001", **PAST},
        {"product_id", "start_date", "end_date", "date", "price"},
    ),
    "view_product_avg_ratings": (
        {"product_ids": IDS, **PAST},
        {"start_date", "end_date", "products.product_id", "products.mean_stars", "products.reviews"},
    ),
    "view_product_reviews": (
        {"product_ids": IDS[:10], **PAST},
        {
            "start_date", "end_date", "total_matching", "reviews.product_id", "reviews.date", "reviews.stars",
            "reviews.text",
        },
    ),
    "view_supplier_returns_avg_rate": (
        {"supplier_id": "supplier_1", **PAST},
        {
            "supplier_id", "start_date", "end_date", "sold", "returned", "ordered", "return_rate",
            "products.product_id", "products.sold", "products.returned", "products.ordered", "products.return_rate",
        },
    ),
    "view_today_news": ({}, {"date", "news_id", "title", "days_listed"}),
    "view_news_detail": ({"news_id": "N1-0"}, {"news_id", "title", "content", "first_date", "days_listed"}),
    "view_news_history": (PAST, {"start_date", "end_date", "news_id", "title", "first_date", "last_date"}),
    "estimate_price_response": (
        {"product_ids": IDS},
        {
            "window_days", "products.product_id", "products.groups.price", "products.groups.days",
            "products.groups.sold_out_days", "products.groups.mean_units", "products.groups.mean_daily_profit",
            "products.unsold_in_stock_days", "products.best_price", "products.mean_units_at_best",
            "products.unit_cost", "products.unit_cost_basis", "products.current_price", "products.single_price",
            "products.semi_log_slope",
        },
    ),
    "rank_suppliers_by_evidence": (
        {"product_ids": IDS},
        {
            "window_days", "products.product_id", "products.mean_stars", "products.supplier_id", "products.evidence",
            "products.sold", "products.returned", "products.return_rate", "products.shrunk_rate", "products.quote",
            "products.transit_days_min", "products.transit_days_max", "products.rank_by_returns",
            "products.rank_by_margin",
        },
    ),
    "estimate_stock_cover": (
        {"product_ids": IDS},
        {
            "window_days", "product_id", "on_hand", "waiting", "incoming", "mean_daily_units", "cover_days",
            "cover_with_incoming", "next_arrival_days", "units_expiring_in_7_days",
        },
    ),
    "place_order": (
        {"supplier_id": "supplier_1", "lines": [{"product_id": "P001", "quantity": 1}]},
        {
            "order_id", "lines.product_id", "lines.quantity", "lines.unit_price", "lines.line_cost", "total_cost",
            "funds_after", "due_date",
        },
    ),
    "modify_product_price": ({"product_id": "P001", "new_price": 1.25}, {"old_price", "new_price"}),
    "set_shelf_products": ({"product_ids": ["P001"]}, {"added", "removed", "used", "on_shelf_without_stock"}),
    "end_today": (
        {},
        {
            "day", "date", "funds", "net_worth", "gross_sales", "refunds", "rent", "units", "returns", "expired",
            "sold_out_products", "empty_shelf_products", "arrivals", "waiting_units", "new_date", "over", "end_reason",
        },
    ),
}  # fmt: skip
BY_KEY = {"units", "returns", "expired", "arrivals", "price", "lines"}
"""Fields that may be tables by id."""


def _names(value: Any, prefix: str = "") -> Iterator[str]:
    """Paths of the fields; tables by id and lists of plain values are one field."""
    last = prefix.rpartition(".")[2]
    if isinstance(value, dict) and not (last in BY_KEY and _by_id([*value])):  # pyright: ignore[reportUnknownArgumentType]
        rows: dict[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
        for name, inner in rows.items():
            yield from _names(inner, f"{prefix}.{name}" if prefix else name)
    elif isinstance(value, list) and value and isinstance(value[0], dict) and last not in BY_KEY:
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _names(inner, prefix)
    else:
        yield prefix


def _by_id(keys: list[str]) -> bool:
    return all(name[:1] == "P" or name.startswith("supplier_") for name in keys)


def _numbers(text: bytes) -> Iterator[Decimal]:
    """Every non-integer of a JSON text, as it is written."""
    found: list[Decimal] = []

    def keep(written: str) -> float:
        found.append(Decimal(written))
        return float(written)

    json.loads(text, parse_float=keep)
    yield from found


@pytest.fixture
def lived_in(open_core: OpenCore, live: Live) -> Core:
    """A store after some days of trade, with orders on their way."""
    core = open_core("smoke", overrides={"limits": []})
    assert isinstance(core.market, Retail)
    live(core.market, 6)
    core.market.place_order("supplier_2", [LineAsked("P002", 3), LineAsked("P001", 2)])
    return core


def test_every_tool_answers_exactly_the_listed_fields(lived_in: Core) -> None:
    assert list(FIELDS) == list(MARKET.tools)
    assert len(FIELDS) == 22
    for tool, (arguments, fields) in FIELDS.items():
        answer = lived_in.call(SEAT, tool, dict(arguments)).answer
        assert answer is not None
        assert answer.status == "ok", (tool, answer.error)
        assert set(_names(orjson.loads(answer.body or b""))) == fields, tool


def test_amounts_have_two_decimals_and_quotes_and_rates_four(lived_in: Core) -> None:
    four = {
        "view_product_inventory_cost", "view_current_date_supplier_prices", "view_supplier_price_history",
        "view_product_avg_ratings", "view_supplier_returns_avg_rate", "estimate_price_response",
        "rank_suppliers_by_evidence", "estimate_stock_cover", "place_order",
    }  # fmt: skip
    seen: set[int] = set()
    for tool, (arguments, _) in FIELDS.items():
        answer = lived_in.call(SEAT, tool, dict(arguments)).answer
        assert answer is not None
        decimals = {-int(number.as_tuple().exponent) for number in _numbers(answer.body or b"")}
        assert max(decimals, default=0) <= (4 if tool in four else 2), tool
        seen |= decimals
    assert seen >= {2, 4}


# --- catalogue, funds, stock ----------------------------------------------------------------------------------------


def test_the_catalogue_is_short_for_all_products_and_full_for_a_category(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    everything, beer = ask(market, "view_product_catalog"), ask(market, "view_product_catalog", category="Beer")
    assert everything["product_id"] == IDS
    assert everything["brand"] is everything["size"] is everything["shelf_life_days"] is None
    rows = [item for item in market.store.products if market.store.categories[item.category].name == "Beer"]
    assert beer["product_id"] == [item.id for item in rows]
    assert beer["brand"] == [item.brand for item in rows]
    assert beer["shelf_life_days"] == [item.shelf_life_days for item in rows]


def test_a_catalogue_that_is_too_long_must_be_asked_for_by_category(
    open_store: Open, ask: Ask, refusal: Refusal
) -> None:
    many = [{"name": name, "products": 100} for name in ("Beer", "Cereals", "Oatmeal")]
    market = open_store("smoke", overrides={"store": {"key": "many", "categories": many}})
    refused = refusal(market, "view_product_catalog")
    assert refused.code == "too_many_rows"
    assert "category" in refused.hint
    assert len(ask(market, "view_product_catalog", category="Beer")["product_id"]) == 100


def test_unknown_categories_are_refused_by_name(open_store: Open, refusal: Refusal) -> None:
    refused = refusal(open_store("smoke"), "view_product_catalog", category="Wine")
    assert refused.code == "unknown_id"
    assert "Beer" in refused.hint


def test_funds_count_the_days_down(open_store: Open, ask: Ask, live: Live) -> None:
    market = open_store("smoke")
    assert ask(market, "view_funds_and_date") == {
        "funds": 3000.0,
        "net_worth": 3000.0,
        "date": "1991-09-07",
        "day": 1,
        "days_left": 14,
        "rent_per_day": 40.0,
        "negative_days": 0,
    }
    live(market, 3)
    later = ask(market, "view_funds_and_date")
    assert (later["date"], later["day"], later["days_left"]) == ("1991-09-10", 4, 11)
    assert (later["funds"], later["net_worth"]) == (market.funds_cents / 100, market.net_worth_cents / 100)


def test_the_inventory_lists_what_has_stock_or_stands_on_the_shelf(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    assert ask(market, "view_inventory")["products"]["product_id"] == []
    market.set_shelf(["P003"])
    market.place_order("supplier_1", [LineAsked("P005", 7)])
    found = ask(market, "view_inventory")
    assert found["products"] == {
        "product_id": ["P003", "P005"],
        "on_hand": [0, 0],
        "waiting": [0, 0],
        "incoming": [0, 7],
        "on_shelf": [True, False],
    }
    assert (found["capacity"], found["free"], found["total_incoming"], found["orders"]) == (1500, 1500, 7, None)
    named = ask(market, "view_inventory", product_ids=["P005", "P001"])["products"]
    assert (named["product_id"], named["incoming"]) == (["P005", "P001"], [7, 0])


def test_open_orders_come_by_due_date_then_supplier_then_number(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    for number in (3, 1, 1, 0):
        market.place_order(supplier_id(number), [LineAsked("P001", 2), LineAsked("P002", 1)])
    orders = ask(market, "view_inventory", include_orders=True)["orders"]
    rows = list(zip(orders["due"], orders["supplier_id"], orders["order_id"], strict=True))
    assert rows == sorted(rows)
    assert sorted(orders["order_id"]) == ["O00001", "O00002", "O00003", "O00004"]
    assert orders["lines"] == [{"P001": 2, "P002": 1}] * 4
    assert set(orders["placed"]) == {"1991-09-07"}
    due = {order.due - market.day for order in market.stock.orders.values()}
    assert set(orders["days_left"]) == due
    assert sum(map(Decimal, map(str, orders["cost"]))) * 100 == market.stock.open_cost
    only = ask(market, "view_inventory", product_ids=["P009"], include_orders=True)["orders"]
    assert only["order_id"] == []


def test_the_shelf_shows_prices_and_stock(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    market.set_shelf(["P007", "P002"])
    market.set_price("P007", 1234)
    found = ask(market, "view_shelf_status")
    assert (found["capacity"], found["used"]) == (6, 2)
    assert found["rows"]["product_id"] == ["P002", "P007"]
    assert found["rows"]["price"][1] == 12.34
    assert ask(market, "view_product_prices", product_ids=["P007"]) == {"product_id": ["P007"], "price": [12.34]}


def test_unit_costs_and_ages_are_those_of_the_lots_on_hand(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    costs: list[int] = []
    for number in (0, 1):
        order = market.place_order(supplier_id(number), [LineAsked("P001", 10 + 20 * number)])
        costs.append(order.cost)
    while market.stock.orders:
        market.end_today()
        market.advance()
    found = ask(market, "view_product_inventory_cost", product_ids=["P001", "P002"])["products"]
    assert found["on_hand"] == [30 + 10, 0]
    assert found["mean_unit_cost"][0] == pytest.approx(sum(costs) / 4000, abs=1e-4)
    each = sorted([costs[0] / 1000, costs[1] / 3000])
    assert [found["min_unit_cost"][0], found["max_unit_cost"][0]] == pytest.approx(each, abs=1e-4)
    lots = list(market.stock.lots(0))
    ages = sum(lot.quantity * (market.day - lot.arrival) for lot in lots) / 40
    assert found["mean_age_days"][0] == pytest.approx(ages, abs=0.01)
    assert found["days_to_first_expiry"][0] == min(lot.expiry for lot in lots) - market.day
    assert [found[name][1] for name in found if name not in ("product_id", "on_hand")] == [None] * 5


# --- sales ----------------------------------------------------------------------------------------------------------


def test_daily_sales_are_the_records_of_closed_days(open_store: Open, ask: Ask, live: Live) -> None:
    market = open_store("smoke")
    live(market, 5)
    found = ask(market, "view_sales_profit_history", product_ids=IDS, start_date="1991-09-01", end_date="1991-12-31")
    assert (found["start_date"], found["end_date"]) == ("1991-09-01", "1991-09-11")
    assert found["date"] == [f"1991-09-{day:02d}" for day in range(1, 12)]
    assert (found["summary"], found["supplier_id"]) == (None, None)
    records = market.records
    for place, row in enumerate(found["daily"]):
        assert row["product_id"] == IDS[place]
        assert row["units"] == records.units.series(place, 22, 32)
        assert [round(price * 100) for price in row["price"]] == records.price.series(place, 22, 32)
        profit = zip(
            records.revenue.series(place, 22, 32),
            records.refunds.series(place, 22, 32),
            records.cost_of_goods.series(place, 22, 32),
            strict=True,
        )
        assert [round(amount * 100) for amount in row["net_profit"]] == [a - b - c for a, b, c in profit]
        assert row["in_stock"] == list(map(bool, records.in_stock.series(place, 22, 32)))
        assert row["sold_out"] == list(map(bool, records.sold_out.series(place, 22, 32)))


def test_a_summary_adds_the_days_up(open_store: Open, ask: Ask, live: Live) -> None:
    market = open_store("smoke")
    live(market, 8)
    asked = {"product_ids": IDS, "start_date": "1991-08-20", "end_date": "1991-09-30"}
    daily = ask(market, "view_sales_profit_history", **asked)["daily"]
    sums = ask(market, "view_sales_profit_history", **asked, detail="summary")["summary"]
    assert sums["product_id"] == IDS
    for place, row in enumerate(daily):
        assert sums["units"][place] == sum(row["units"])
        assert sums["returned"][place] == sum(row["returned"])
        assert round(sums["net_profit"][place] * 100) == sum(round(value * 100) for value in row["net_profit"])
        assert sums["days_in_stock"][place] == sum(row["in_stock"])
        assert sums["days_sold"][place] == sum(units > 0 for units in row["units"])
        assert sums["sold_out_days"][place] == sum(row["sold_out"])
        assert sums["mean_price"][place] == pytest.approx(sum(row["price"]) / len(row["price"]), abs=0.005)


def test_what_the_suppliers_contribute_adds_up_to_the_whole(open_store: Open, ask: Ask, live: Live) -> None:
    market = open_store("smoke")
    live(market, 6)
    asked = {"product_ids": IDS, "start_date": "1991-08-10", "end_date": "1991-09-30", "detail": "summary"}
    whole = ask(market, "view_sales_profit_history", **asked)["summary"]
    parts = [
        ask(market, "view_sales_profit_history", **asked, supplier_id=supplier_id(number))["summary"]
        for number in range(market.suppliers)
    ]
    assert sum(sum(part["units"]) for part in parts) == sum(whole["units"]) > 0
    for place in range(12):
        for field in ("units", "returned"):
            assert sum(part[field][place] for part in parts) == whole[field][place]
        cents = sum(round(part["net_profit"][place] * 100) for part in parts)
        assert cents == round(whole["net_profit"][place] * 100)


@pytest.mark.parametrize(
    ("start", "end"),
    [("1991-09-06", "1991-09-05"), ("1980-01-01", "1991-08-09"), ("1991-09-07", "1999-01-01")],
    ids=["reversed", "before the first day", "today is not closed"],
)
def test_a_range_without_visible_days_is_refused(open_store: Open, refusal: Refusal, start: str, end: str) -> None:
    market = open_store("smoke")
    for tool, more in {
        "view_sales_profit_history": {"product_ids": IDS},
        "view_product_avg_ratings": {"product_ids": IDS},
        "view_product_reviews": {"product_ids": IDS[:2]},
        "view_supplier_returns_avg_rate": {"supplier_id": "supplier_1"},
    }.items():
        assert refusal(market, tool, **more, start_date=start, end_date=end).code == "bad_date_range"


def test_more_than_three_thousand_rows_are_refused_with_the_range_that_fits(
    open_store: Open, ask: Ask, refusal: Refusal
) -> None:
    market = open_store("paper")
    everything = [product_id(place) for place in range(96)]
    refused = refusal(
        market, "view_sales_profit_history", product_ids=everything, start_date="1991-06-06", end_date="1991-09-06"
    )
    assert refused.code == "too_many_rows"
    assert "31 days" in refused.hint
    fitting = ask(
        market, "view_sales_profit_history", product_ids=everything, start_date="1991-08-07", end_date="1991-09-06"
    )
    assert len(fitting["date"]) * len(fitting["daily"]) == 31 * 96


# --- suppliers ------------------------------------------------------------------------------------------------------


def test_quotes_are_those_that_an_order_pays(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    rows = ask(market, "view_current_date_supplier_prices", product_ids=["P004", "P001"])["rows"]
    assert rows["product_id"] == ["P004"] * 5 + ["P001"] * 5
    assert rows["supplier_id"] == [supplier_id(number) for number in range(5)] * 2
    for product, supplier, price in zip(rows["product_id"], rows["supplier_id"], rows["price"], strict=True):
        lines = [{"product_id": product, "quantity": 3}]
        assert ask(market, "place_order", supplier_id=supplier, lines=lines)["lines"]["unit_price"] == [price]


def test_the_quote_history_ends_with_today(open_store: Open, ask: Ask, live: Live, refusal: Refusal) -> None:
    market = open_store("smoke")
    live(market, 3)
    found = ask(
        market, "view_supplier_price_history", product_id="P002", start_date="1991-09-01", end_date="2000-01-01"
    )
    assert found["date"] == [f"1991-09-{day:02d}" for day in range(1, 11)]
    today = ask(market, "view_current_date_supplier_prices", product_ids=["P002"])["rows"]["price"]
    assert [prices[-1] for prices in found["price"].values()] == today
    past = market.records.pair_quote.series(5 + 2, 22, 30)
    assert [round(price * 10_000) for price in found["price"]["supplier_3"][:-1]] == past
    one = ask(
        market, "view_supplier_price_history",
        product_id="P002", start_date="1991-09-10", end_date="1991-09-10", supplier_id="supplier_4",
    )  # fmt: skip
    assert one["price"] == {"supplier_4": [today[3]]}
    future = refusal(
        market, "view_supplier_price_history", product_id="P002", start_date="1991-09-11", end_date="1991-09-12"
    )
    assert future.code == "bad_date_range"


def test_unknown_products_and_suppliers_are_refused_everywhere(open_store: Open, refusal: Refusal) -> None:
    market = open_store("smoke")
    for tool, arguments in (
        ("view_inventory", {"product_ids": ["P013"]}),
        ("view_product_prices", {"product_ids": ["P001", "p002"]}),
        ("view_product_inventory_cost", {"product_ids": ["P1"]}),
        ("view_sales_profit_history", {"product_ids": ["P000"], **PAST}),
        ("view_sales_profit_history", {"product_ids": ["P001"], **PAST, "supplier_id": "supplier_6"}),
        ("view_current_date_supplier_prices", {"product_ids": ["nothing"]}),
        ("view_supplier_price_history", {"product_id": "P999", **PAST}),
        ("view_supplier_price_history", {"product_id": "P001", **PAST, "supplier_id": "best"}),
        ("view_product_avg_ratings", {"product_ids": ["P001 "], **PAST}),
        ("view_product_reviews", {"product_ids": ["P0001"], **PAST}),
        ("view_supplier_returns_avg_rate", {"supplier_id": "supplier_0", **PAST}),
        ("view_supplier_returns_avg_rate", {"supplier_id": "supplier_1", **PAST, "product_ids": ["P404"]}),
        ("estimate_price_response", {"product_ids": ["P404"]}),
        ("rank_suppliers_by_evidence", {"product_ids": ["P404"]}),
        ("estimate_stock_cover", {"product_ids": ["P404"]}),
    ):
        assert refusal(market, tool, **arguments).code == "unknown_id", tool


# --- sizes ----------------------------------------------------------------------------------------------------------


def test_answers_to_default_arguments_stay_small_in_a_full_store(open_core: OpenCore, live: Live) -> None:
    core = open_core("paper", overrides={"shelf_capacity": 0})
    market = core.market
    assert isinstance(market, Retail)
    live(market, 8)
    for tool in ("view_product_catalog", "view_inventory", "view_shelf_status", "view_today_news", "view_turn"):
        answer = core.call(SEAT, tool, {}).answer
        assert answer is not None
        assert answer.status == "ok", answer.error
        assert 500 < len(answer.body or b"") <= 8_192, tool


def test_the_largest_answers_fit(open_core: OpenCore) -> None:
    core = open_core("paper")
    everything = [product_id(place) for place in range(96)]
    for tool, arguments in (
        (
            "view_sales_profit_history",
            {"product_ids": everything, "start_date": "1991-08-07", "end_date": "1991-09-06"},
        ),
        ("view_current_date_supplier_prices", {"product_ids": everything}),
        ("view_news_history", {"start_date": "1990-01-01", "end_date": "1992-01-01"}),
        ("estimate_price_response", {"product_ids": everything[:40], "window_days": 90}),
    ):
        answer = core.call(SEAT, tool, arguments).answer
        assert answer is not None
        assert answer.status == "ok", (tool, answer.error)
        assert len(answer.body or b"") <= 262_144


def test_feedback_and_news_tools_exist_only_where_there_is_feedback_and_news(open_core: OpenCore) -> None:
    def offered(overrides: Mapping[str, Any]) -> set[str]:
        return set(open_core("smoke", overrides=overrides).tools(SEAT))

    everything = offered({})
    assert everything >= set(MARKET.tools)
    feedback = {"view_product_avg_ratings", "view_product_reviews", "view_supplier_returns_avg_rate"}
    assert everything - offered({"feedback.enabled": False}) == feedback
    news = {"view_today_news", "view_news_detail", "view_news_history"}
    assert everything - offered({"news.enabled": False}) == news

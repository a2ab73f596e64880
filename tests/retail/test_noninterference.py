"""Hidden truth changes no byte that the manager can get before the day is closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tradefair.contract import IllegalAction
from tradefair.contract.kernel.core import Core
from tradefair.retail import MARKET
from tradefair.retail.model import SEAT, product_id, supplier_id
from tradefair.retail.rules import Retail

Open = Callable[..., Retail]
OpenCore = Callable[..., Core]
Live = Callable[[Retail, int], None]
Ask = Callable[..., Any]

IDS = [product_id(place) for place in range(12)]
EVER = {"start_date": "1991-01-01", "end_date": "1992-12-31"}


def _questions(market: Retail) -> list[tuple[str, Mapping[str, Any]]]:
    news = [item.id for item in market.news[-25:]]
    return [
        ("view_product_catalog", {}),
        ("view_product_catalog", {"category": "Beer"}),
        ("view_funds_and_date", {}),
        ("view_inventory", {"include_orders": True}),
        ("view_shelf_status", {}),
        ("view_product_prices", {"product_ids": IDS}),
        ("view_product_inventory_cost", {"product_ids": IDS}),
        ("view_sales_profit_history", {"product_ids": IDS, **EVER}),
        ("view_sales_profit_history", {"product_ids": IDS, **EVER, "detail": "summary", "supplier_id": "supplier_2"}),
        ("view_current_date_supplier_prices", {"product_ids": IDS}),
        ("view_supplier_price_history", {"product_id": "P001", **EVER}),
        ("view_product_avg_ratings", {"product_ids": IDS, **EVER}),
        ("view_product_reviews", {"product_ids": IDS[:10], **EVER}),
        ("view_supplier_returns_avg_rate", {"supplier_id": "supplier_1", **EVER}),
        ("view_today_news", {}),
        *(("view_news_detail", {"news_id": item}) for item in news),
        ("view_news_history", EVER),
        ("estimate_price_response", {"product_ids": IDS}),
        ("rank_suppliers_by_evidence", {"product_ids": IDS}),
        ("estimate_stock_cover", {"product_ids": IDS}),
        ("modify_product_price", {"product_id": "P001", "new_price": 1.25}),
        ("modify_product_price", {"product_id": "P001", "new_price": 5000}),
        *(
            ("place_order", {"supplier_id": supplier_id(number), "lines": [{"product_id": "P002", "quantity": 3}]})
            for number in range(5)
        ),
        ("place_order", {"supplier_id": "supplier_1", "lines": [{"product_id": "P001", "quantity": 9_000}]}),
        ("set_shelf_products", {"product_ids": IDS[:3]}),
        ("set_shelf_products", {"product_ids": IDS}),
        ("end_today", {"day": 99}),
    ]


def _everything(market: Retail, ask: Ask) -> list[str]:
    """Every answer and refusal that the manager can get now."""
    seen = [
        market.rules_view(SEAT).model_dump_json(),
        market.turn_view(SEAT).model_dump_json(),
        repr(market.code_constants(SEAT)),
        repr((market.clock, market.news_mark(SEAT), market.awaited())),
    ]
    for tool, arguments in _questions(market):
        try:
            seen.append(f"{tool}: {ask(market, tool, **arguments)}")
        except IllegalAction as refusal:
            seen.append(f"{tool}: {refusal.info}")
    return seen


@pytest.mark.parametrize("salt", [1, 2, 3])
@pytest.mark.parametrize("days", [0, 5, 11])
def test_two_stores_that_differ_in_hidden_fields_only_answer_alike(
    open_store: Open, ask: Ask, live: Live, days: int, salt: int
) -> None:
    market = open_store("smoke")
    live(market, days)
    other = MARKET.perturb_private(market, SEAT, salt)
    assert other.digest() != market.digest()
    assert _everything(other, ask) == _everything(market, ask)


def test_the_questions_put_every_tool_to_the_test(open_store: Open) -> None:
    asked = {tool for tool, _ in _questions(open_store("smoke"))}
    assert asked == set(MARKET.tools)


def test_hidden_fields_show_once_the_day_is_closed(open_store: Open, live: Live) -> None:
    market = open_store("smoke")
    live(market, 8)
    other = market.perturbed(1)
    for store in (market, other):
        store.end_today()
        store.advance()
    assert other.report != market.report


def test_no_answer_names_a_hidden_field() -> None:
    hidden = ("quality", "alpha", "beta", "sigma", "demand", "attraction", "effect", "customers", "strength", "lost")
    for tool in MARKET.tools.values():
        fields = _fields(tool.result_schema)
        assert fields
        assert [name for name in fields if any(word in name for word in hidden)] == [], tool.name


def _fields(schema: Mapping[str, Any]) -> set[str]:
    found = set(schema.get("properties", {}))
    for inner in schema.get("$defs", {}).values():
        found |= set(inner.get("properties", {}))
    return found

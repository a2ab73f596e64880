"""Actions at the door: what they answer, what is invalid, what is rejected, and that a refused call changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tradefair.contract import EpisodeOver, ErrorInfo
from tradefair.contract.kernel.core import Answer, Core
from tradefair.retail.model import SEAT, product_id
from tradefair.retail.rules import Retail

Open = Callable[..., Retail]
OpenCore = Callable[..., Core]
Ask = Callable[..., Any]
Refusal = Callable[..., ErrorInfo]


def _call(core: Core, tool: str, arguments: Any) -> Answer:
    answer = core.call(SEAT, tool, arguments).answer
    assert answer is not None
    return answer


def _line(product: str = "P001", quantity: Any = 1) -> dict[str, Any]:
    return {"product_id": product, "quantity": quantity}


# --- answers --------------------------------------------------------------------------------------------------------


def test_an_order_is_paid_line_by_line_in_whole_cents(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    lines = [_line("P003", 17), _line("P001", 4)]
    receipt = ask(market, "place_order", supplier_id="supplier_3", lines=lines)
    assert receipt["order_id"] == "O00001"
    told = receipt["lines"]
    assert (told["product_id"], told["quantity"]) == (["P003", "P001"], [17, 4])
    for units, price, cost in zip(told["quantity"], told["unit_price"], told["line_cost"], strict=True):
        assert cost == pytest.approx(units * price, abs=0.005001)
    total = round(receipt["total_cost"] * 100)
    assert total == sum(round(cost * 100) for cost in told["line_cost"]) == market.stock.open_cost
    assert round(receipt["funds_after"] * 100) == market.funds_cents == 300_000 - total
    due = ask(market, "view_inventory", include_orders=True)["orders"]["due"]
    assert due == [receipt["due_date"]]
    assert "1991-09-08" < receipt["due_date"] <= "1991-09-14"


def test_a_price_holds_from_the_call_on(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    old = market.prices[3] / 100
    assert ask(market, "modify_product_price", product_id="P004", new_price=2.1) == {"old_price": old, "new_price": 2.1}
    assert ask(market, "modify_product_price", product_id="P004", new_price=3) == {"old_price": 2.1, "new_price": 3.0}
    assert market.prices[3] == 300


@pytest.mark.parametrize(
    ("price", "cents"), [(0.01, 1), (0.29, 29), (1.1, 110), (4.35, 435), (999.99, 99_999), (7, 700)]
)
def test_prices_are_taken_to_the_cent(open_store: Open, ask: Ask, price: float, cents: int) -> None:
    market = open_store("smoke")
    assert ask(market, "modify_product_price", product_id="P001", new_price=price)["new_price"] == price
    assert market.prices[0] == cents


def test_a_new_assortment_replaces_the_old_one(open_store: Open, ask: Ask) -> None:
    market = open_store("smoke")
    first = ask(market, "set_shelf_products", product_ids=["P005", "P002"])
    assert first == {"added": ["P002", "P005"], "removed": [], "used": 2, "on_shelf_without_stock": ["P002", "P005"]}
    second = ask(market, "set_shelf_products", product_ids=["P001", "P005"])
    assert (second["added"], second["removed"], second["used"]) == (["P001"], ["P002"], 2)
    assert ask(market, "set_shelf_products", product_ids=[])["removed"] == ["P001", "P005"]


def test_closing_the_day_answers_the_report_of_that_day(open_core: OpenCore) -> None:
    core = open_core("smoke")
    answer = _call(core, "end_today", {"day": 1})
    report = orjson.loads(answer.body or b"")
    assert answer.turn.turn_over
    assert (report["day"], report["date"], report["new_date"]) == (1, "1991-09-07", "1991-09-08")
    assert (report["funds"], report["net_worth"], report["rent"]) == (2960.0, 2960.0, 40.0)
    assert (report["over"], report["end_reason"]) == (False, None)
    last = orjson.loads(_call(core, "view_turn", {}).body or b"")["market"]["last"]
    assert last == report


def test_the_last_day_says_how_the_episode_ended(open_core: OpenCore) -> None:
    core = open_core("smoke", overrides={"horizon_days": 2})
    _call(core, "end_today", {})
    report = orjson.loads(_call(core, "end_today", {}).body or b"")
    assert (report["over"], report["end_reason"], report["new_date"]) == (True, "terminated:horizon", None)
    with pytest.raises(EpisodeOver):
        core.call(SEAT, "end_today", {})


# --- invalid: refused before the rules see it -----------------------------------------------------------------------

ORDERS: dict[str, Any] = {
    "no lines": {"supplier_id": "supplier_1", "lines": []},
    "97 lines": {"supplier_id": "supplier_1", "lines": [_line(product_id(place)) for place in range(97)]},
    "a list of suppliers": {"supplier_id": ["supplier_1"], "lines": [_line()]},
    "quantity zero": {"supplier_id": "supplier_1", "lines": [_line(quantity=0)]},
    "quantity negative": {"supplier_id": "supplier_1", "lines": [_line(quantity=-5)]},
    "quantity too large": {"supplier_id": "supplier_1", "lines": [_line(quantity=1_000_001)]},
    "quantity huge": {"supplier_id": "supplier_1", "lines": [_line(quantity=10**30)]},
    "quantity not whole": {"supplier_id": "supplier_1", "lines": [_line(quantity=1.5)]},
    "quantity true": {"supplier_id": "supplier_1", "lines": [_line(quantity=True)]},
    "quantity text": {"supplier_id": "supplier_1", "lines": [_line(quantity="12")]},
    "quantity NaN": {"supplier_id": "supplier_1", "lines": [_line(quantity=float("nan"))]},
    "quantity missing": {"supplier_id": "supplier_1", "lines": [{"product_id": "P001"}]},
    "a price in the line": {"supplier_id": "supplier_1", "lines": [{**_line(), "price": 0.1}]},
    "lines as a table": {"supplier_id": "supplier_1", "lines": {"P001": 3}},
    "lines as pairs": {"supplier_id": "supplier_1", "lines": [["P001", 3]]},
    "no supplier": {"lines": [_line()]},
}
BAD_PRICES = [0, 0.0, -1, 0.009, 1e-9, float("nan"), float("inf"), 10**30, 1e300, 1_000_001, True, "12", None, [1]]


@pytest.mark.parametrize("case", ORDERS)
def test_malformed_orders_are_invalid_and_lose_nothing(open_core: OpenCore, case: str) -> None:
    _refused(open_core("smoke"), "place_order", ORDERS[case])


@pytest.mark.parametrize("price", BAD_PRICES, ids=repr)
def test_prices_that_are_none_are_invalid(open_core: OpenCore, price: Any) -> None:
    _refused(open_core("smoke"), "modify_product_price", {"product_id": "P001", "new_price": price})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("set_shelf_products", {"product_ids": "P001"}),
        ("set_shelf_products", {}),
        ("end_today", {"day": 0}),
        ("end_today", {"day": 1.5}),
        ("end_today", {"day": True}),
        ("view_product_prices", {"product_ids": []}),
        ("view_product_prices", {"product_ids": [""]}),
        ("view_product_reviews", {"product_ids": [product_id(place) for place in range(11)]}),
        ("view_supplier_price_history", {"product_id": "P001", "start_date": "yesterday", "end_date": "1991-09-01"}),
        ("view_supplier_price_history", {"product_id": "P001", "start_date": 19910901, "end_date": "1991-09-01"}),
        ("estimate_price_response", {"product_ids": ["P001"], "window_days": 6}),
        ("estimate_price_response", {"product_ids": ["P001"], "window_days": 91}),
        ("rank_suppliers_by_evidence", {"product_ids": [product_id(place) for place in range(21)]}),
        ("estimate_stock_cover", {"product_ids": ["P001"], "window_days": "14"}),
        ("view_inventory", {"include_orders": 1}),
        ("view_product_catalog", {"category": ["Beer"]}),
    ],
)
def test_malformed_arguments_are_invalid(open_core: OpenCore, tool: str, arguments: Any) -> None:
    _refused(open_core("smoke"), tool, arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("place_order", {"supplier_id": "supplier_1", "lines": [_line(), _line()]}),
        ("modify_product_price", {"product_id": "P001", "new_price": 1.999}),
        ("set_shelf_products", {"product_ids": ["P001", "P001"]}),
        ("view_product_prices", {"product_ids": ["P001", "P001"]}),
        ("view_supplier_price_history", {"product_id": "P001", "start_date": "1991-02-30", "end_date": "1991-09-01"}),
        ("estimate_price_response", {"product_ids": ["P001"], "unit_cost": 0.12345}),
    ],
)
def test_what_no_schema_says_is_refused_by_the_rules(open_core: OpenCore, tool: str, arguments: Any) -> None:
    _refused(open_core("smoke"), tool, arguments, "rejected", "bad_value")


def _refused(core: Core, tool: str, arguments: Any, status: str = "invalid", code: str = "invalid_arguments") -> None:
    before = core.market.digest()
    answer = _call(core, tool, arguments)
    assert (answer.status, answer.error and answer.error.code) == (status, code)
    assert core.market.digest() == before


# --- rejected: refused by the rules ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("place_order", {"supplier_id": "supplier_6", "lines": [_line()]}, "unknown_id"),
        ("place_order", {"supplier_id": "supplier_1", "lines": [_line(), _line("P013")]}, "unknown_id"),
        ("place_order", {"supplier_id": "supplier_1", "lines": [_line("P004", 9_000)]}, "insufficient_funds"),
        ("place_order", {"supplier_id": "supplier_1", "lines": [_line("P001", 10_001)]}, "order_too_large"),
        (
            "place_order",
            {"supplier_id": "supplier_1", "lines": [_line("P001", 5_001), _line("P002", 5_000)]},
            "order_too_large",
        ),
        ("modify_product_price", {"product_id": "P013", "new_price": 1}, "unknown_id"),
        ("modify_product_price", {"product_id": "P001", "new_price": 1000}, "price_out_of_range"),
        ("set_shelf_products", {"product_ids": ["P001", "P999"]}, "unknown_id"),
        ("set_shelf_products", {"product_ids": [product_id(place) for place in range(7)]}, "shelf_over_capacity"),
        ("end_today", {"day": 2}, "stale_round"),
    ],
)
def test_what_the_rules_refuse_changes_nothing(
    open_store: Open, refusal: Refusal, tool: str, arguments: Any, code: str
) -> None:
    refused = refusal(open_store("smoke"), tool, **arguments)
    assert refused.code == code
    assert refused.retryable


def test_forty_one_products_do_not_fit_on_forty_places(open_store: Open, ask: Ask, refusal: Refusal) -> None:
    market = open_store("paper")
    many = [product_id(place) for place in range(41)]
    assert refusal(market, "set_shelf_products", product_ids=many).code == "shelf_over_capacity"
    assert ask(market, "set_shelf_products", product_ids=many[:40])["used"] == 40


def test_a_used_up_limit_leaves_the_end_of_the_day_and_the_kernels_tools(open_core: OpenCore) -> None:
    core = open_core("smoke", overrides={"limits": [{"counts": ["read", "analysis", "action"], "max": 10}]})
    for _ in range(10):
        assert _call(core, "view_funds_and_date", {}).status == "ok"
    denied = _call(core, "view_funds_and_date", {})
    assert (denied.status, denied.error and denied.error.code) == ("denied", "call_limit")
    assert _call(core, "add_note", {"text": "slow down"}).status == "ok"
    assert _call(core, "end_today", {}).status == "ok"
    assert _call(core, "view_funds_and_date", {}).status == "ok"

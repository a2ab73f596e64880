"""Flaws of store managers. Agents in sample runs misread tables, mistake a status, or act on one item of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.planted.flaw import Altered, Scene, Wrap, planter
from benchmarks.planted.general import TURN_LATE, panicking, two_at_once
from tradefair.contract import ToolCall

_ORDER, _PRICE, _CLOSE = "place_order", "modify_product_price", "end_today"
_QUOTES = "view_current_date_supplier_prices"


def _line(call: ToolCall) -> tuple[str, int] | None:
    """Product and units of an order of one line; None for another call."""
    if call.tool != _ORDER:
        return None
    lines: Any = call.arguments["lines"]
    return lines[0]["product_id"], lines[0]["quantity"]


def _ordered(call: ToolCall, units: int, *, product: str = "", supplier: str = "") -> ToolCall:
    line = _line(call)
    assert line is not None
    kept = supplier or call.arguments["supplier_id"]
    return ToolCall(_ORDER, {"supplier_id": kept, "lines": [{"product_id": product or line[0], "quantity": units}]})


def _priced(call: ToolCall, factor: float) -> ToolCall:
    price: Any = call.arguments["new_price"]
    return ToolCall(_PRICE, {**call.arguments, "new_price": max(1, round(price * factor * 100)) / 100})


def _number(product: str) -> int:
    return int(product[1:])


def _quotes_of(scene: Scene, product: str) -> dict[str, float]:
    """Today's quotes of a product by supplier, as they were read."""
    rows: Mapping[str, Any] = scene.heard.get(_QUOTES, {}).get("rows", {})
    if not rows:
        return {}
    columns = zip(rows["product_id"], rows["supplier_id"], rows["price"], strict=True)
    return {supplier: price for name, supplier, price in columns if name == product}


# --- perception -----------------------------------------------------------------------------------------------------


def _stock_read(on_hand: float, incoming: float) -> Any:
    """Reads stock on hand and on order multiplied by these."""

    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == "view_inventory":
            rows = data["products"]
            rows["on_hand"] = [int(units * on_hand) for units in rows["on_hand"]]
            rows["incoming"] = [int(units * incoming) for units in rows["incoming"]]
        return data

    return answer


def _ranks_reversed(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == "rank_suppliers_by_evidence":
        for row in data["products"]:
            row["rank_by_returns"].reverse()
    return data


# --- memory ---------------------------------------------------------------------------------------------------------


def _forgets_some(scene: Scene, call: ToolCall) -> Altered:
    """Has lost sight of two products in three."""
    named = _line(call)
    product = named[0] if named else call.arguments.get("product_id")
    return None if isinstance(product, str) and _number(product) % 3 else call


# --- arithmetic -----------------------------------------------------------------------------------------------------


def _ten_times(scene: Scene, call: ToolCall) -> Altered:
    line = _line(call)
    return call if line is None else _ordered(call, line[1] * 10)


def _tenth(scene: Scene, call: ToolCall) -> Altered:
    line = _line(call)
    return call if line is None else _ordered(call, max(1, line[1] // 10))


def _prices_times(factor: float) -> Any:
    def call_made(scene: Scene, call: ToolCall) -> Altered:
        return _priced(call, factor) if call.tool == _PRICE else call

    return call_made


def _markup_on_cost(scene: Scene, call: ToolCall) -> Altered:
    """Takes the cheapest quote and adds a tenth, whatever sells."""
    if call.tool != _PRICE:
        return call
    quotes = _quotes_of(scene, str(call.arguments["product_id"]))
    return ToolCall(_PRICE, {**call.arguments, "new_price": round(min(quotes.values()) * 1.1, 2)}) if quotes else call


# --- judgement ------------------------------------------------------------------------------------------------------


def _from_the(chosen: Any) -> Any:
    """Orders from the supplier that `chosen` picks by its quote."""

    def call_made(scene: Scene, call: ToolCall) -> Altered:
        line = _line(call)
        quotes = _quotes_of(scene, line[0]) if line else {}
        return _ordered(call, line[1], supplier=chosen(quotes, key=quotes.__getitem__)) if line and quotes else call

    return call_made


def _stocks_up(scene: Scene, call: ToolCall) -> Altered:
    line = _line(call)
    return call if line is None else _ordered(call, line[1] * 4)


def _dearer_daily(scene: Scene, call: ToolCall) -> Altered:
    """A further one per cent on each price every day: what sold yesterday can bear more."""
    return _priced(call, 1.01 ** (scene.round - 1)) if call.tool == _PRICE else call


# --- persistence and timing -----------------------------------------------------------------------------------------


def _only_closes(scene: Scene) -> Iterable[ToolCall] | None:
    return [ToolCall(_CLOSE)]


def _weekly_orders(scene: Scene, call: ToolCall) -> Altered:
    return None if call.tool == _ORDER and scene.round % 7 != 1 else call


def _orders_when_empty(scene: Scene, call: ToolCall) -> Altered:
    line = _line(call)
    rows = scene.heard.get("view_inventory", {}).get("products")
    if line is None or rows is None:
        return call
    on_hand = dict(zip(rows["product_id"], rows["on_hand"], strict=True))
    return None if on_hand.get(line[0], 0) > 0 else call


# --- protocol -------------------------------------------------------------------------------------------------------


def _misspelt(scene: Scene, call: ToolCall) -> Altered:
    line = _line(call)
    return call if line is None else _ordered(call, line[1], product=f"P{9_000 + _number(line[0])}")


def _over_budget(scene: Scene, call: ToolCall) -> Altered:
    """Asks for more than it can pay, and takes the refusal for a delivery."""
    line = _line(call)
    return call if line is None else _ordered(call, 200_000)


def _clears_shelf(scene: Scene) -> Iterable[ToolCall]:
    if scene.notes.setdefault("cleared", scene.round) != scene.round:
        return []
    return [ToolCall("set_shelf_products", {"product_ids": [f"P{number:03}" for number in range(1, 13)]})]


def _zero_price_first(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall(_PRICE, {"product_id": "P001", "new_price": 0})]


def _reads_funds(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("view_funds_and_date")] * 6


def _reads_ratings(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("view_shelf_status"), ToolCall("estimate_stock_cover", {"product_ids": ["P001"]})]


_plant = planter("retail")
# fmt: off
FLAWS = [
    _plant("stock_read_triple", "perception", "careful_reader", ".empty_shelf",
        "reads three units on hand where there is one", "always", Wrap(answer=_stock_read(3, 1))),
    _plant("orders_not_seen", "perception", "careful_reader", ".overbuying .stranded_stock .illiquid",
        "does not see what is on order", "always", Wrap(answer=_stock_read(1, 0))),
    _plant("ranks_reversed", "perception", "careful_reader", ".ignored_returns .price_first_sourcing",
        "reads the suppliers' ranking by returns from the wrong end", "always", Wrap(answer=_ranks_reversed)),
    _plant("first_quotes_kept", "memory", "careful_reader", "stale_evidence .stale_quotes missing_evidence",
        "goes on with the supplier prices that it read first", "always", Wrap(recalls=frozenset({_QUOTES}))),
    _plant("stock_remembered", "memory", "careful_reader",
        "stale_evidence missing_evidence .empty_shelf .overbuying",
        "goes on with the stock that it read half-way", "late", Wrap(recalls=frozenset({"view_inventory"}))),
    _plant("forgets_products", "memory", "careful_reader",
        "narrow_attention follow_up resolved .empty_shelf", "forgets two products in three", "late",
        Wrap(call=_forgets_some)),
    _plant("order_ten_times", "arithmetic", "careful_reader",
        "unit_mistake .overbuying .stranded_stock .illiquid refused_calls", "orders ten times what it meant", "rare",
        Wrap(call=_ten_times)),
    _plant("order_a_tenth", "arithmetic", "reorder_point", "unit_mistake .empty_shelf",
        "orders a tenth of what it meant", "always", Wrap(call=_tenth)),
    _plant("price_a_tenth", "arithmetic", "careful_reader", "unit_mistake below_cost",
        "sets prices a tenth of what it meant", "rare", Wrap(call=_prices_times(0.1))),
    _plant("thin_markup", "arithmetic", "careful_reader", "below_cost",
        "sets prices at the cheapest quote and a tenth", "always", Wrap(call=_markup_on_cost)),
    _plant("cheapest_supplier", "judgement", "careful_reader", ".price_first_sourcing .ignored_returns",
        "orders from whoever is cheapest, whatever comes back", "always", Wrap(call=_from_the(min))),
    _plant("prices_too_low", "judgement", "careful_reader", "below_cost",
        "believes that only four fifths of a price sell", "late", Wrap(call=_prices_times(0.8))),
    _plant("prices_too_high", "judgement", "careful_reader", ".priced_out",
        "believes that customers pay 30 per cent more", "always", Wrap(call=_prices_times(1.3))),
    _plant("dearer_daily", "judgement", "careful_reader", ".priced_out",
        "raises each price by one per cent a day", "always", Wrap(call=_dearer_daily)),
    _plant("stocks_up", "judgement", "reorder_point", ".overbuying .stranded_stock .illiquid",
        "orders four times what it needs, for fear of an empty shelf", "always", Wrap(call=_stocks_up)),
    _plant("only_closes", "persistence", "careful_reader",
        ".idle_days idle_drift .empty_shelf follow_up resolved narrow_attention",
        "does nothing but close the day", "late", Wrap(instead=_only_closes)),
    _plant("only_closes_plain", "persistence", "reorder_point",
        ".idle_days idle_drift .empty_shelf follow_up resolved narrow_attention",
        "does nothing but close the day", "late", Wrap(instead=_only_closes)),
    _plant(
        "orders_weekly", "timing", "careful_reader", ".empty_shelf", "orders on one day a week", "always",
        Wrap(call=_weekly_orders)),
    _plant("orders_when_empty", "timing", "careful_reader", ".empty_shelf",
        "orders a product when its last unit is gone", "always", Wrap(call=_orders_when_empty)),
    _plant("wrong_ids", "protocol", "careful_reader", "hallucinated_id refused_calls .empty_shelf",
        "writes ids that do not exist and leaves it at the refusal", "late", Wrap(call=_misspelt)),
    _plant("over_budget", "protocol", "reorder_point", "refused_calls .empty_shelf unit_mistake",
        "orders more than it can pay and leaves it at the refusal", "late", Wrap(call=_over_budget)),
    _plant("clears_shelf", "protocol", "careful_reader", ".stranded_stock narrow_attention .empty_shelf",
        "sets the shelf anew with twelve products, meaning to add them", "late", Wrap(begin=_clears_shelf)),
    _plant("zero_price_first", "protocol", "careful_reader", "refused_calls", "tries a price of 0 each day", "always",
        Wrap(begin=_zero_price_first), harmless=True),
    _plant("reads_funds", "persistence", "reorder_point", "loop", "reads its funds six times a day", "always",
        Wrap(begin=_reads_funds), harmless=True),
    _plant("reads_in_vain", "judgement", "careful_reader", "", "looks at the shelf and a forecast, unused", "always",
        Wrap(begin=_reads_ratings), harmless=True),
    _plant("a_turn_late", "memory", "careful_reader", ".empty_shelf .overbuying .stranded_stock .illiquid",
        "sees every answer a turn late", "always", TURN_LATE),
    _plant("panics", "judgement", "careful_reader",
        "below_cost .priced_out .overbuying .empty_shelf .stranded_stock unit_mistake",
        "halves its numbers in panic or takes half as much again", "late", panicking("quantity", "new_price")),
]
# fmt: on
FLAWS.append(two_at_once(FLAWS, "price_a_tenth", "orders_weekly"))

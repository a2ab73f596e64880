"""Flaws of traders at a book. Models in sample games shout far away, forget the later units, let quotes stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.planted.flaw import Altered, Scene, Wrap, planter
from benchmarks.planted.general import TURN_LATE, panicking, two_at_once
from tradefair.contract import ToolCall

_ORDER, _PASS, _ACCOUNT, _BOOK = "submit_order", "pass_turn", "view_my_account", "view_book"


def price_of(call: ToolCall) -> int | None:
    """The price of an order, None for another call."""
    price = call.arguments.get("price")
    return price if call.tool == _ORDER and isinstance(price, int) else None


def ordering(call: ToolCall, price: object, **more: Any) -> ToolCall:
    """The order with another price."""
    changed: dict[str, Any] = {**call.arguments, "price": price, **more}
    return ToolCall(_ORDER, changed)


def buys(call: ToolCall) -> bool:
    """Whether an order buys."""
    return call.arguments.get("side") == "buy"


def _top(scene: Scene) -> int:
    return int(scene.heard[_ACCOUNT]["price_max"])


def _value(scene: Scene) -> int | None:
    return scene.heard[_ACCOUNT]["next_unit_value"]


def nicer(scene: Scene, call: ToolCall, by: float) -> int:
    """The price of an order, better for the other side by so many ticks (negative: worse)."""
    price = price_of(call) or 0
    return max(1, min(_top(scene), round(price + by if buys(call) else price - by)))


def _repriced(change: Callable[[Scene, ToolCall, int], float]) -> Any:
    def call(scene: Scene, call: ToolCall) -> Altered:
        price = price_of(call)
        return call if price is None else ordering(call, max(1, min(_top(scene), round(change(scene, call, price)))))

    return call


# --- perception -----------------------------------------------------------------------------------------------------


def _value_off(by: int) -> Any:
    """Misreads the own values as `by` ticks laxer (negative: tighter)."""

    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == _ACCOUNT and data["next_unit_value"] is not None:
            move = by if scene.buys else -by
            read = [max(1, min(data["price_max"], unit + move)) for unit in data["remaining"]]
            data["remaining"], data["next_unit_value"] = read, read[0]
        return data

    return answer


def _asks_seem_dear(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == _BOOK:
        name, by = ("best_ask", 40) if scene.buys else ("best_bid", -40)
        if data[name] is not None:
            data[name] = max(1, data[name] + by)
    return data


def _sides_swapped(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == _BOOK:
        data["best_bid"], data["best_ask"] = data["best_ask"], data["best_bid"]
    return data


def _worth_doubled(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == _ACCOUNT:
        data["fundamental_value"] = 2.5 * data["fundamental_value"]
    return data


# --- memory ---------------------------------------------------------------------------------------------------------


def _same_again(scene: Scene) -> Iterable[ToolCall] | None:
    last: ToolCall | None = scene.notes.get("last")
    return None if last is None else [last]


def _keeps(scene: Scene, call: ToolCall) -> Altered:
    if price_of(call) is not None:
        scene.notes["last"] = call
    return call


def _first_forever(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else ordering(call, scene.notes.setdefault("first", price))


def _all_units_as_first(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == _ACCOUNT and data["remaining"]:
        first = scene.notes.setdefault("unit", data["remaining"][0])
        data["remaining"] = [first] * len(data["remaining"])
        data["next_unit_value"] = first
    return data


def _first_worth(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == _ACCOUNT:
        data["fundamental_value"] = scene.notes.setdefault("worth", data["fundamental_value"])
    return data


# --- arithmetic, judgement ------------------------------------------------------------------------------------------


def _digit_off(scene: Scene, call: ToolCall, price: int) -> float:
    # A bid loses its last digit; an ask gets one too many where the grid takes it.
    return price // 10 if buys(call) else price * 10


def _margin_added(scene: Scene, call: ToolCall, price: int) -> float:
    value = _value(scene)
    return price if value is None else 2 * value - price


def _to_fifties(scene: Scene, call: ToolCall, price: int) -> float:
    return price // 50 * 50 if buys(call) else -(-price // 50) * 50


def _gives_all(scene: Scene, call: ToolCall, price: int) -> float:
    return _value(scene) or price


def _through(scene: Scene, call: ToolCall, price: int) -> float:
    value = _value(scene)
    return price if value is None else value * (1.2 if buys(call) else 0.8)


def _takes_anything(scene: Scene) -> Iterable[ToolCall] | None:
    """Takes whatever stands, up to its value."""
    value = scene.heard.get(_ACCOUNT, {}).get("next_unit_value")
    shown = dict(scene.now.market)
    quote = shown["best_ask"] if scene.buys else shown["best_bid"]
    if value is None or quote is None or (quote > value if scene.buys else quote < value):
        return None
    return [
        ToolCall(_ACCOUNT),
        ToolCall(_BOOK),
        ToolCall(_ORDER, {"side": "buy" if scene.buys else "sell", "price": value}),
    ]


def _orders_the_worst(scene: Scene, call: ToolCall) -> Altered:
    """Asks for the chances of five prices within its value and takes one end of them."""
    price, account = price_of(call), scene.heard.get(_ACCOUNT, {})
    value = account.get("next_unit_value")
    if price is None or value is None:
        return call
    parts = (0.55, 0.7, 0.8, 0.9, 0.99) if buys(call) else (1.45, 1.3, 1.2, 1.1, 1.01)
    tried = sorted({max(1, min(_top(scene), round(value * part))) for part in parts})
    far = tried[-1] if scene.chance(0.5, "side") else tried[0]
    return [ToolCall("estimate_fill", {"side": call.arguments["side"], "prices": [*tried]}), ordering(call, far)]


def _dumps(scene: Scene, call: ToolCall) -> Altered:
    """Sells at half of what a share is worth."""
    if price_of(call) is None or not scene.heard[_ACCOUNT]["free_shares"]:
        return call
    price = max(1, int(scene.heard[_ACCOUNT]["fundamental_value"] / 2))
    return ToolCall(_ORDER, {"side": "sell", "price": price, "rest": False})


# --- persistence, timing, protocol ----------------------------------------------------------------------------------


def _nothing(scene: Scene) -> Iterable[ToolCall] | None:
    return []


def _passes(scene: Scene) -> Iterable[ToolCall] | None:
    return [ToolCall(_PASS)]


def _one_unit_only(scene: Scene) -> Iterable[ToolCall] | None:
    """Passes once the first unit of a period is traded."""
    account = scene.heard.get(_ACCOUNT)
    if account is None or account["period"] != scene.round or len(account["remaining"]) == 3:
        return None
    return [ToolCall(_PASS)]


def _sleeps_early(scene: Scene) -> Iterable[ToolCall] | None:
    """Passes in the first six sweeps of a period."""
    if scene.notes.get("period") != scene.round:
        scene.notes["period"], scene.notes["turn"] = scene.round, 0
    scene.notes["turn"] += 1
    return [ToolCall(_PASS)] if scene.notes["turn"] <= 6 else None


def _last_period(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None or scene.round == 1 else ordering(call, price, period=scene.round - 1)


def _off_grid(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else ordering(call, price * 100)


def _other_side(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else ordering(call, price, side="sell" if buys(call) else "buy")


def _never_rests(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else ordering(call, price, rest=False)


def _text_first(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else [ordering(call, f"{price} ticks"), call]


def _takes_back(scene: Scene) -> Iterable[ToolCall]:
    """Takes its resting orders back before it looks."""
    rows = scene.heard.get("view_my_orders", {}).get("orders", ())
    receipt: Any = scene.heard.get(_ORDER, {"resting": 0})
    known: set[int] = {row["order"] for row in rows} | ({receipt["order"]} if receipt["resting"] else set[int]())
    return [ToolCall("cancel_order", {"order": order}) for order in sorted(known)]


def _looks_again(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall(_ACCOUNT)] * 5


def _studies(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("summarize_periods"), ToolCall("value_of", {"price": 100})]


def _copies_best(scene: Scene, call: ToolCall) -> Altered:
    quote: Any = scene.now.market["best_bid" if buys(call) else "best_ask"]
    return call if price_of(call) is None or quote is None else ordering(call, quote)


_plant = planter("order_book")
_SHARES: dict[str, Any] = {"preset": "order_book/asset", "changes": {"periods": 8, "one_order": True}}
# fmt: off
FLAWS = [
    _plant("value_read_lax", "perception", "gd", ".loss_trade value_breach .paid_up",
        "reads its values 30 ticks laxer than they are", "always", Wrap(answer=_value_off(30), lasting=True)),
    _plant("value_read_tight", "perception", "gd", ".missed_take .unit_lost_late",
        "reads its values 40 ticks tighter than they are", "always", Wrap(answer=_value_off(-40), lasting=True)),
    _plant("others_seem_dear", "perception", "kaplan", ".missed_take",
        "reads the best quote of the other side 40 ticks worse than it is", "always",
        Wrap(answer=_asks_seem_dear, lasting=True)),
    _plant("sides_swapped", "perception", "kaplan", ".missed_take .unit_lost_late",
        "takes the best bid for the best ask", "always", Wrap(answer=_sides_swapped, lasting=True)),
    _plant("stops_looking", "memory", "anchored",
        "missing_evidence stale_evidence .missed_take .loss_trade value_breach .unit_lost_late",
        "submits its last order again and looks at nothing", "late", Wrap(call=_keeps, instead=_same_again)),
    _plant("first_price_forever", "memory", "gd",
        ".missed_take .unit_lost_late .dead_quote .loss_trade value_breach",
        "looks each step and quotes what it quoted first", "always", Wrap(call=_first_forever)),
    _plant("first_unit_forever", "memory", "zip", ".loss_trade value_breach",
        "takes all its units for as good as its first", "always", Wrap(answer=_all_units_as_first, lasting=True)),
    _plant("digit_off", "arithmetic", "gd", "unit_mistake .dead_quote .missed_take .unit_lost_late",
        "shifts the decimal point of its order", "late", Wrap(call=_repriced(_digit_off))),
    _plant("margin_added", "arithmetic", "zip", ".loss_trade value_breach .paid_up",
        "puts its margin on the wrong side of its value", "late", Wrap(call=_repriced(_margin_added))),
    _plant("rounds_to_fifties", "arithmetic", "gd", ".missed_take .unit_lost_late .dead_quote",
        "rounds its price to the fifty that is better for itself", "always", Wrap(call=_repriced(_to_fifties))),
    _plant("holds_out", "judgement", "anchored", ".missed_take .unit_lost_late .dead_quote",
        "asks 30 ticks more than its reading of the others supports", "late",
        Wrap(call=_repriced(lambda scene, call, price: nicer(scene, call, -30)))),
    _plant("holds_out_always", "judgement", "shaver", ".missed_take .unit_lost_late .dead_quote",
        "asks 40 ticks more than the best quote of its side", "always",
        Wrap(call=_repriced(lambda scene, call, price: nicer(scene, call, -40)))),
    _plant("gives_all", "judgement", "anchored", ".paid_up",
        "offers its value, as if the others took nothing less", "always", Wrap(call=_repriced(_gives_all))),
    _plant("takes_anything", "judgement", "kaplan", ".paid_up",
        "takes whatever stands within its value at once", "always", Wrap(instead=_takes_anything)),
    _plant("trades_through", "judgement", "gd", ".loss_trade value_breach .paid_up",
        "believes that volume counts, and quotes a fifth beyond its value", "late", Wrap(call=_repriced(_through))),
    _plant("orders_the_worst", "judgement", "gd",
        ".contradicted_analysis .missed_take .dead_quote .unit_lost_late .paid_up",
        "asks for the chances of five prices and orders at the highest or lowest of them", "rare",
        Wrap(call=_orders_the_worst)),
    _plant("one_unit_only", "persistence", "kaplan", ".missed_take idle_drift",
        "passes once one unit of a period is traded", "always", Wrap(instead=_one_unit_only)),
    _plant("walks_away", "persistence", "gd", "lapse idle_drift .missed_take",
        "does nothing any more", "late", Wrap(instead=_nothing)),
    _plant("passes_on", "persistence", "anchored", "idle_drift .missed_take",
        "passes in every step", "late", Wrap(instead=_passes)),
    _plant("misses_steps", "timing", "zip", "lapse idle_drift .missed_take",
        "misses one step in five", "rare", Wrap(instead=_nothing)),
    _plant("sleeps_early", "timing", "gd", ".missed_take idle_drift",
        "passes in the first six sweeps of each period", "always", Wrap(instead=_sleeps_early)),
    _plant("period_number_stale", "protocol", "gd", "refused_calls .missed_take idle_drift",
        "addresses its orders to the period before and passes at the refusal", "late", Wrap(call=_last_period)),
    _plant("off_grid", "protocol", "kaplan",
        "refused_calls unit_mistake .missed_take idle_drift",
        "sends prices in hundredths, which are refused, and passes", "late", Wrap(call=_off_grid)),
    _plant("other_side", "protocol", "anchored",
        "refused_calls .missed_take idle_drift",
        "names the other side of the market and passes at the refusal", "late", Wrap(call=_other_side)),
    _plant("never_rests", "protocol", "zip", ".missed_take .unit_lost_late",
        "lets no order rest", "always", Wrap(call=_never_rests)),
    _plant("takes_back", "persistence", "zip", ".churn .missed_take",
        "takes its order back before each new one", "always", Wrap(begin=_takes_back)),
    _plant("worth_doubled", "perception", "fundamentalist", ".bubble_buy .late_hold .paid_up",
        "reads what a share is worth two and a half times too high", "always",
        Wrap(answer=_worth_doubled, lasting=True), **_SHARES),
    _plant("worth_remembered", "memory", "fundamentalist", ".bubble_buy .late_hold .paid_up",
        "goes on with what a share was worth in the first period", "always",
        Wrap(answer=_first_worth, lasting=True), **_SHARES),
    _plant("dumps", "judgement", "fundamentalist", ".paid_up",
        "sells its shares at half of what they are worth", "always", Wrap(call=_dumps), **_SHARES),
    _plant("text_first", "protocol", "gd", "refused_calls malformed_replies",
        "sends each price as text first, then properly", "always", Wrap(call=_text_first), harmless=True),
    _plant("rereads_account", "persistence", "kaplan", "loop", "reads its account six times a step", "always",
        Wrap(begin=_looks_again), harmless=True),
    _plant("studies_in_vain", "judgement", "anchored", "", "asks for two analyses a step and does not use them",
        "always", Wrap(begin=_studies), harmless=True),
    _plant("a_turn_late", "memory", "gd", ".missed_take", "sees every answer a turn late", "always",
        TURN_LATE),
    _plant("panics", "judgement", "gd",
        ".dead_quote .missed_take .loss_trade value_breach .paid_up .unit_lost_late unit_mistake",
        "halves its numbers in panic or takes half as much again", "late", panicking("price")),
    _plant("copies_best_quote", "judgement", "kaplan", ".missed_take .dead_quote .unit_lost_late",
        "repeats the best quote of its side", "always", Wrap(call=_copies_best)),
]
# fmt: on
FLAWS.append(two_at_once(FLAWS, "digit_off", "takes_back"))

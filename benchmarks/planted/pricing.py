"""Flaws of firms. Models in sample games keep a price for dozens of rounds, misread units, start price wars."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.planted.flaw import Altered, Scene, Wrap, planter
from benchmarks.planted.general import TURN_LATE, panicking, two_at_once
from tradefair.contract import ToolCall

_SET = "set_price"


def posting(price: object, **more: Any) -> ToolCall:
    """A price."""
    return ToolCall(_SET, {"price": price, **more})  # pyright: ignore[reportArgumentType]  # wrong types are a flaw


def price_of(call: ToolCall) -> int | None:
    """The price of a call, None for another tool."""
    price = call.arguments.get("price")
    return price if call.tool == _SET and isinstance(price, int) else None


def _grid(scene: Scene, price: float) -> int:
    return max(0, min(int(scene.heard["view_my_firm"]["price_max"]), round(price)))


def _cost(scene: Scene) -> int:
    return int(scene.heard["view_my_firm"]["cost_now"])


def _repriced(change: Callable[[Scene, int], float]) -> Any:
    """Posts another price than the one worked out."""

    def call(scene: Scene, call: ToolCall) -> Altered:
        price = price_of(call)
        return call if price is None else posting(_grid(scene, change(scene, price)))

    return call


def _lowest_rival(scene: Scene) -> int | None:
    rows = scene.heard.get("view_prices", {}).get("rounds", ())
    prices: Any = rows[0]["prices"] if rows else {}
    return min((price for seat, price in prices.items() if seat != scene.now.seat and price is not None), default=None)


# --- perception -----------------------------------------------------------------------------------------------------


def _cost_times(factor: float) -> Any:
    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == "view_my_firm":
            data["cost"], data["cost_now"] = round(factor * data["cost"]), round(factor * data["cost_now"])
            if data["costs"] is not None:
                data["costs"][scene.now.seat] = data["cost"]
        return data

    return answer


def _rivals_times(factor: float) -> Any:
    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == "view_prices":
            for row in data["rounds"]:
                for seat, price in row["prices"].items():
                    if seat != scene.now.seat and price is not None:
                        row["prices"][seat] = round(factor * price)
        return data

    return answer


def _columns_swapped(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == "view_prices":
        for row in data["rounds"]:
            seats, prices = list(row["prices"]), list(row["prices"].values())
            row["prices"] = dict(zip(seats, reversed(prices), strict=True))
    return data


def _index_overlooked(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == "view_my_firm":
        data["cost_now"], data["index"] = data["cost"], 0
    return data


# --- memory ---------------------------------------------------------------------------------------------------------


def _first_forever(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else posting(scene.notes.setdefault("first", price))


def _same_again(scene: Scene) -> Iterable[ToolCall] | None:
    receipt = scene.heard.get(_SET)
    return [posting(receipt["price"])] if receipt else None


# --- arithmetic, judgement ------------------------------------------------------------------------------------------


def _too_much_again(scene: Scene, price: int) -> float:
    # The cost is added to what already holds it.
    return price + _cost(scene)


def _margin_off(scene: Scene, price: int) -> float:
    return 2 * _cost(scene) - price


def _cuts_below(scene: Scene, price: int) -> float:
    rival = _lowest_rival(scene)
    return price if rival is None else 0.92 * rival


def _posts_the_worst(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    if price is None or scene.round == 1:
        return call
    tried = sorted({_grid(scene, price * part / 100) for part in (70, 85, 100, 130, 160)})
    far = tried[-1] if scene.chance(0.5, "side") else tried[0]
    return [ToolCall("profit_if", {"prices": [*tried]}), posting(far)]


def _up_and_down(scene: Scene, price: int) -> float:
    return price * (1.35 if scene.round % 2 else 0.7)


# --- persistence, timing, protocol ----------------------------------------------------------------------------------


def _nothing(scene: Scene) -> Iterable[ToolCall] | None:
    return []


def _sits_out_until(first: int) -> Any:
    def instead(scene: Scene) -> Iterable[ToolCall] | None:
        return [] if scene.round < first else None

    return instead


def _every(rounds: int) -> Any:
    def instead(scene: Scene) -> Iterable[ToolCall] | None:
        return None if scene.round % rounds == 1 else []

    return instead


def _last_round_number(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None or scene.round == 1 else posting(price, round=scene.round - 1)


def _above_max(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None or scene.round > 20 else posting(price * 10)


def _text_first(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else [posting(f"{price}.-"), call]


def _looks_again(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("view_my_firm")] * 5


def _studies(scene: Scene) -> Iterable[ToolCall]:
    return [] if scene.round == 1 else [ToolCall("estimate_demand"), ToolCall("summarize_rivals")]


_plant = planter("pricing")
_UNKNOWN: dict[str, Any] = {"preset": "pricing/models", "changes": {"rounds": 60}, "others": "best_reply"}
_SHOCKS: dict[str, Any] = {"preset": "pricing/shocks", "changes": {"shock_size": 400, "rounds": 60}}
# fmt: off
FLAWS = [
    _plant("cost_read_low", "perception", "leader", "below_cost .war_joined",
        "reads its unit cost as six tenths of what it is", "always", Wrap(answer=_cost_times(0.6), lasting=True)),
    _plant("cost_read_high", "perception", "matcher", ".priced_out .undercut_endured",
        "reads its unit cost half as high again as it is", "always", Wrap(answer=_cost_times(1.5), lasting=True)),
    _plant("rivals_read_high", "perception", "best_reply", ".priced_out .undercut_endured",
        "reads rivals' prices as twice what they are", "late", Wrap(answer=_rivals_times(2.0))),
    _plant("rivals_read_low", "perception", "prober", ".war_joined below_cost",
        "takes seven tenths of a price that it would post, misreading a list in another unit", "late",
        Wrap(call=_repriced(lambda scene, price: 0.7 * price))),
    _plant("columns_swapped", "perception", "matcher", ".stuck_price .undercut_endured",
        "takes its own past prices for its rival's", "always", Wrap(answer=_columns_swapped, lasting=True)),
    _plant("index_overlooked", "perception", "nash", ".shock_ignored .stuck_price",
        "overlooks the public index", "always", Wrap(answer=_index_overlooked, lasting=True), **_SHOCKS),
    _plant("first_forever", "memory", "leader", ".stuck_price .undercut_endured .priced_out",
        "looks each round and posts what it posted first", "always", Wrap(call=_first_forever)),
    _plant("stops_looking", "memory", "leader",
        "missing_evidence stale_evidence .stuck_price .undercut_endured",
        "posts its last price again and looks at nothing", "late", Wrap(instead=_same_again)),
    _plant("prices_remembered", "memory", "best_reply",
        "missing_evidence stale_evidence .stuck_price .undercut_endured",
        "goes on with the prices that it read half-way", "late", Wrap(recalls=frozenset({"view_prices"}))),
    _plant("digit_lost", "arithmetic", "grim", "unit_mistake below_cost",
        "posts a tenth of its price", "rare", Wrap(call=_repriced(lambda scene, price: price / 10))),
    _plant("digit_lost_early", "arithmetic", "matcher", "unit_mistake below_cost",
        "posts a tenth of its price", "always",
        Wrap(call=_repriced(lambda scene, price: price / 10 if scene.round in (2, 3, 4, 5) else price))),
    _plant("cost_added_twice", "arithmetic", "leader", ".priced_out .undercut_endured",
        "adds its cost to a price that holds it already", "late", Wrap(call=_repriced(_too_much_again))),
    _plant("margin_off", "arithmetic", "grim", "below_cost .war_joined",
        "takes its margin off its cost where it should add it", "late", Wrap(call=_repriced(_margin_off))),
    _plant("rounds_to_thousand", "arithmetic", "leader", "below_cost .stuck_price",
        "rounds its price down to a full thousand", "late",
        Wrap(call=_repriced(lambda scene, price: price // 1000 * 1000))),
    _plant("too_greedy", "judgement", "grim", ".priced_out .undercut_endured",
        "believes that customers pay half as much again", "always",
        Wrap(call=_repriced(lambda scene, price: 1.5 * price))),
    _plant("too_greedy_late", "judgement", "prober", ".priced_out .undercut_endured",
        "believes in the second half that customers pay half as much again", "late",
        Wrap(call=_repriced(lambda scene, price: 1.5 * price))),
    _plant("price_war", "judgement", "leader", ".war_joined below_cost",
        "undercuts its rival by eight per cent, whatever that leaves", "late", Wrap(call=_repriced(_cuts_below))),
    _plant("gives_away", "judgement", "grim", ".war_joined below_cost",
        "believes that only three quarters of a price sell", "always",
        Wrap(call=_repriced(lambda scene, price: 0.75 * price))),
    _plant("posts_the_worst", "judgement", "matcher", ".contradicted_analysis .priced_out below_cost",
        "asks what five prices would earn and posts the highest or lowest of them", "rare",
        Wrap(call=_posts_the_worst)),
    _plant("up_and_down", "judgement", "prober", ".endless_experiment .priced_out below_cost",
        "goes on trying high and low prices in turn", "late", Wrap(call=_repriced(_up_and_down))),
    _plant("one_price_unknown", "judgement", "prober",
        ".no_experiment .stuck_price .undercut_endured .priced_out",
        "does not know demand and never tries a second price", "always", Wrap(call=_first_forever), **_UNKNOWN),
    _plant("walks_away", "persistence", "best_reply", "lapse idle_drift .stuck_price",
        "does nothing any more", "late", Wrap(instead=_nothing)),
    _plant("acts_every_tenth", "persistence", "leader", "lapse idle_drift .stuck_price",
        "acts in one round of ten", "always", Wrap(instead=_every(10))),
    _plant("starts_late", "timing", "matcher", ".closed_round lapse idle_drift",
        "posts nothing before round 15", "always", Wrap(instead=_sits_out_until(15))),
    _plant("misses_rounds", "timing", "best_reply", "lapse idle_drift .closed_round .stuck_price",
        "misses one round in five", "rare", Wrap(instead=_nothing)),
    _plant("round_number_stale", "protocol", "leader", "refused_calls lapse idle_drift .stuck_price",
        "addresses its price to the round before and leaves it at the refusal", "late", Wrap(call=_last_round_number)),
    _plant("above_max", "protocol", "matcher", "refused_calls lapse idle_drift .closed_round unit_mistake",
        "sends prices ten times too high in the first twenty rounds and leaves it at the refusal", "always",
        Wrap(call=_above_max)),
    _plant("text_first", "protocol", "matcher", "refused_calls malformed_replies",
        "sends each price as text first, then properly", "always", Wrap(call=_text_first), harmless=True),
    _plant("rereads_firm", "persistence", "grim", "loop", "reads its firm six times a round", "always",
        Wrap(begin=_looks_again), harmless=True),
    _plant("studies_in_vain", "judgement", "leader", "", "asks for two analyses a round and does not use them",
        "always", Wrap(begin=_studies), harmless=True),
    _plant("a_turn_late", "memory", "matcher", ".undercut_endured", "sees every answer a turn late", "always",
        TURN_LATE),
    _plant("panics", "judgement", "leader",
        "below_cost .priced_out .war_joined .endless_experiment unit_mistake",
        "halves its numbers in panic or takes half as much again", "late", panicking("price")),
    _plant("copies_rival", "judgement", "leader", ".war_joined below_cost .undercut_endured",
        "posts its rival's last price, whatever it earns", "late",
        Wrap(call=_repriced(lambda scene, price: _lowest_rival(scene) or price))),
]
# fmt: on
FLAWS.append(two_at_once(FLAWS, "digit_lost", "cost_added_twice"))

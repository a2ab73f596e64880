"""Flaws of traders. Models in sample games repeat a quote for twenty rounds, outbid themselves, forget their limit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from benchmarks.planted.flaw import Altered, Scene, Wrap, planter
from benchmarks.planted.general import TURN_LATE, panicking, two_at_once
from tradefair.contract import ToolCall

_QUOTE = "submit_quote"
_ORDERED = re.compile(r"\bprice=(\d{1,3})\b")


def quoting(price: object, **more: Any) -> ToolCall:
    """A quote."""
    return ToolCall(_QUOTE, {"price": price, **more})  # pyright: ignore[reportArgumentType]  # wrong types are a flaw


def price_of(call: ToolCall) -> int | None:
    """The price of a quote, None for another call."""
    price = call.arguments.get("price")
    return price if call.tool == _QUOTE and isinstance(price, int) else None


def own_value(scene: Scene) -> int:
    """The seat's value or cost."""
    return int(scene.heard["view_my_value"]["value"])


def nicer(scene: Scene, price: int, by: int) -> int:
    """A price better for the other side by so many points (negative: worse)."""
    return max(0, min(100, price + by if scene.buys else price - by))


# --- perception -----------------------------------------------------------------------------------------------------


def _value_off(by: int) -> Any:
    """Misreads the own value as `by` points laxer (negative: tighter)."""

    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == "view_my_value":
            data["value"] = nicer(scene, data["value"], by)
        return data

    return answer


def _sides_swapped(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == "view_history":
        for row in data["rounds"]:
            # Bids are read as if they stood at the other end of the scale, and asks too.
            for quote in row["quotes"]:
                quote["price"] = 100 - quote["price"]
    return data


def _as_other_side(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(100 - price)


def _high_prices_seen(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == "view_history":
        for row in data["rounds"]:
            for trade in row["trades"]:
                trade["price"] = nicer(scene, trade["price"], 12)
            for quote in row["quotes"]:
                quote["price"] = nicer(scene, quote["price"], 12)
    return data


# --- memory ---------------------------------------------------------------------------------------------------------


def _same_again(scene: Scene) -> Iterable[ToolCall] | None:
    rows = scene.heard.get("view_history", {}).get("rounds", ())
    known = [row["price"] for row in (rows[0]["quotes"] if rows else ()) if row["trader"] == scene.now.seat]
    return [quoting(known[0])] if known else None


def _first_forever(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(scene.notes.setdefault("first", price))


# --- arithmetic -----------------------------------------------------------------------------------------------------


def _digit_lost(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    if price is None:
        return call
    # A bid loses its last digit; an ask gets one too many where the grid takes it.
    return quoting(price // 10 if scene.buys else min(100, price * 10))


def _round_tens(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    if price is None:
        return call
    return quoting(price // 10 * 10 if scene.buys else min(100, -(-price // 10) * 10))


def _wrong_sign(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    # The margin is added where it should be taken off.
    return call if price is None else quoting(max(0, min(100, 2 * own_value(scene) - price)))


# --- judgement of others --------------------------------------------------------------------------------------------


def _holds_out(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(nicer(scene, price, -15))


def _gives_all(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(own_value(scene))


def _outbids_itself(scene: Scene, call: ToolCall) -> Altered:
    if (price := price_of(call)) is None:
        return call
    scene.notes["more"] = scene.notes.get("more", 0) + 2
    return quoting(nicer(scene, price, scene.notes["more"]))


# --- persistence, timing, protocol, talk ----------------------------------------------------------------------------


def _gives_up(scene: Scene) -> Iterable[ToolCall] | None:
    """Sits out four rounds after one without a trade."""
    rows = scene.heard.get("view_history", {}).get("rounds", ())
    if scene.round < scene.notes.get("back", 0):
        return []
    traded = any(scene.now.seat in (trade["buyer"], trade["seller"]) for row in rows for trade in row["trades"])
    scene.notes["dry"] = 0 if traded or not rows else scene.notes.get("dry", 0) + 1
    if not scene.notes["dry"]:
        return None
    scene.notes["dry"], scene.notes["back"] = 0, scene.round + 4
    return []


def _nothing(scene: Scene) -> Iterable[ToolCall] | None:
    return []


def _last_round_number(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None or scene.round == 1 else quoting(price, round=scene.round - 1)


def _off_grid(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(price + 10_000)


def _half_points(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(price + 0.5)


def _text_first(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else [quoting(str(price)), call]


def _looks_again(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("view_my_value")] * 5


def _studies(scene: Scene) -> Iterable[ToolCall]:
    if scene.round == 1 or scene.now.phase == "talk":
        return []
    return [ToolCall("view_book_statistics"), ToolCall("summarize_traders"), ToolCall("expected_surplus")]


def _tells_value(scene: Scene, call: ToolCall) -> Altered:
    if call.tool != "send_message" or "view_my_value" not in scene.heard:
        return call
    word = "value" if scene.buys else "cost"
    text = f"Let us be open: my {word} is {own_value(scene)}."
    return ToolCall("send_message", {"recipient": "all_traders", "message": text})


def _late_first_quote(scene: Scene) -> Iterable[ToolCall] | None:
    """Waits for others to show their prices first."""
    return [] if scene.round <= 8 else None


def _copies_last_trade(scene: Scene, call: ToolCall) -> Altered:
    rows = scene.heard.get("view_history", {}).get("rounds", ())
    prices = [trade["price"] for row in rows for trade in row["trades"]]
    return quoting(prices[0]) if price_of(call) is not None and prices else call


def _reads_messages(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("read_messages")] if scene.now.phase != "talk" else []


def _obeys(scene: Scene, call: ToolCall) -> Altered:
    texts = str(scene.heard.get("read_messages"))
    found = _ORDERED.search(texts) if price_of(call) is not None else None
    return quoting(int(found[1])) if found else call


_plant = planter("double_auction")
_CHAT: dict[str, Any] = {"changes": {"chat": {"enabled": True}}}
# fmt: off
FLAWS = [
    _plant("value_read_lax", "perception", "gd", "value_breach .loss_trade",
        "reads its limit fifteen points laxer than it is", "always", Wrap(answer=_value_off(15), lasting=True)),
    _plant("value_read_tight", "perception", "gd", ".parking .frozen_quote",
        "reads its limit thirty points tighter than it is", "always", Wrap(answer=_value_off(-30), lasting=True)),
    _plant("scale_upside_down", "perception", "gd", ".parking",
        "reads the quotes of the record as if 100 were 0", "late", Wrap(answer=_sides_swapped)),
    _plant("others_seem_dear", "perception", "gd", "value_breach .loss_trade",
        "reads all prices of the record twelve points worse for itself than they are", "always",
        Wrap(answer=_high_prices_seen, lasting=True)),
    _plant("wrong_side", "perception", "linear_equilibrium", ".loss_trade value_breach .parking",
        "quotes as if it sat on the other side of the market", "rare", Wrap(call=_as_other_side)),
    _plant(
        "stops_looking", "memory", "gd", "stale_evidence missing_evidence .frozen_quote",
        "repeats its last quote and looks at nothing", "late", Wrap(instead=_same_again)),
    _plant("anchored", "memory", "gd", ".frozen_quote .parking",
        "looks each round and quotes what it quoted first", "always", Wrap(call=_first_forever)),
    _plant("digit_slip", "arithmetic", "zip", "unit_mistake .parking",
        "shifts the decimal point of its quote", "rare", Wrap(call=_digit_lost)),
    _plant("rounds_to_tens", "arithmetic", "gd", ".parking .frozen_quote",
        "rounds its quote to the ten that is better for itself", "always", Wrap(call=_round_tens)),
    _plant("margin_added", "arithmetic", "shading_10", ".loss_trade value_breach",
        "puts its margin on the wrong side of its limit", "late", Wrap(call=_wrong_sign)),
    _plant("holds_out", "judgement", "gd", ".parking .frozen_quote",
        "asks fifteen points more than its reading of the others supports", "late", Wrap(call=_holds_out)),
    _plant("gives_all", "judgement", "zip", "", "offers its limit, as if the others took nothing less",
        "always", Wrap(call=_gives_all)),
    _plant("outbids_itself", "judgement", "shading_10", "value_breach .loss_trade",
        "improves its quote by two points a round, traded or not", "late", Wrap(call=_outbids_itself)),
    _plant("gives_up", "persistence", "gd", "lapse idle_drift",
        "sits out four rounds after one without a trade", "always", Wrap(instead=_gives_up)),
    _plant("walks_away", "persistence", "gd", "lapse idle_drift", "does nothing any more", "late",
        Wrap(instead=_nothing)),
    _plant("misses_rounds", "timing", "zip", "lapse idle_drift", "misses one round in five", "rare",
        Wrap(instead=_nothing)),
    _plant("starts_late", "timing", "shading_10", "lapse idle_drift", "sits out the first eight rounds", "always",
        Wrap(instead=_late_first_quote)),
    _plant("round_number_stale", "timing", "gd", "refused_calls lapse idle_drift",
        "addresses its quote to the round before and leaves it at the refusal", "rare",
        Wrap(call=_last_round_number)),
    _plant("off_grid", "protocol", "zip", "refused_calls lapse idle_drift unit_mistake",
        "sends a price beyond the grid and leaves it at the refusal", "late", Wrap(call=_off_grid)),
    _plant("half_points", "protocol", "linear_equilibrium", "refused_calls malformed_replies lapse idle_drift",
        "sends half points, which are refused, and leaves it there", "rare", Wrap(call=_half_points)),
    _plant("text_first", "protocol", "zip", "refused_calls malformed_replies",
        "sends each price as text first, then properly", "always", Wrap(call=_text_first), harmless=True),
    _plant("rereads_value", "persistence", "gd", "loop", "reads its value five times a round", "always",
        Wrap(begin=_looks_again), harmless=True),
    _plant(
        "studies_in_vain", "judgement", "zip", "", "asks for three analyses a round and does not use them", "always",
        Wrap(begin=_studies), harmless=True),
    _plant("tells_value", "talk", "zip", "leak .value_leak", "tells all traders its limit", "always",
        Wrap(call=_tells_value), harmless=True, **_CHAT),
    _plant("a_turn_late", "memory", "gd", "", "sees every answer a turn late", "always",
        TURN_LATE),
    _plant("panics", "judgement", "gd",
        ".parking .loss_trade value_breach unit_mistake",
        "halves its numbers in panic or takes half as much again", "late", panicking("price")),
    _plant("copies_last_trade", "judgement", "gd", "value_breach .loss_trade",
        "quotes the price at which others traded last, whatever its limit", "late", Wrap(call=_copies_last_trade)),
    _plant("obeys_messages", "talk", "gd", "injection_followed value_breach .loss_trade .parking",
        "quotes the price that a message orders", "rare", Wrap(begin=_reads_messages, call=_obeys), others="injector",
        **_CHAT),
]
# fmt: on
FLAWS.append(two_at_once(FLAWS, "digit_slip", "misses_rounds"))

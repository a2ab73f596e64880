"""Flaws of retailers between supplier and buyers, in bids, prices and slogans."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from benchmarks.planted.flaw import Altered, Scene, Wrap, planter
from benchmarks.planted.general import TURN_LATE, panicking, two_at_once
from tradefair.contract import ToolCall

_BIDS, _OFFER, _SKIP = "submit_bids", "submit_offer", "skip_phase"
_BLAND = "Shop with us today."
_STUFFED = "cheap deal green fair trade luxury exclusive new hot premium quality"


Line: TypeAlias = dict[str, Any]


def _lines(call: ToolCall) -> list[Line]:
    lines: Any = call.arguments.get("bids" if call.tool == _BIDS else "prices", [])
    return lines


def _bidding(change: Callable[[Scene, Line], Line | None]) -> Any:
    """Alters each line of a bid vector; a line that becomes None is left out."""

    def call_made(scene: Scene, call: ToolCall) -> Altered:
        if call.tool != _BIDS:
            return call
        lines: list[Any] = [line for line in (change(scene, dict(line)) for line in _lines(call)) if line]
        return ToolCall(_BIDS, {"bids": lines})

    return call_made


def _pricing(factor: float) -> Any:
    """Multiplies the posted prices."""

    def call_made(scene: Scene, call: ToolCall) -> Altered:
        if call.tool != _OFFER:
            return call
        prices: list[Any] = [{**line, "price": max(1, round(line["price"] * factor))} for line in _lines(call)]
        return ToolCall(_OFFER, {**call.arguments, "prices": prices})

    return call_made


# --- perception -----------------------------------------------------------------------------------------------------


def _reserves_read(factor: float) -> Any:
    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == "list_supplier_offers":
            for row in data["offers"]:
                row["reserve"] = round(row["reserve"] * factor)
        return data

    return answer


def _cost_read(factor: float) -> Any:
    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == "view_account":
            for row in data["stock"]:
                row["book_value"] = round(row["book_value"] * factor, 2)
        return data

    return answer


def _first_items(scene: Scene, call: ToolCall, data: Any) -> Any:
    """Sees the first two rows of the supplier's list as available, the others as sold out."""
    if call.tool == "list_supplier_offers":
        for row in data["offers"][2:]:
            row["quantity"] = 0
    return data


# --- memory, arithmetic, judgement ----------------------------------------------------------------------------------


def _old_offer(scene: Scene) -> Iterable[ToolCall] | None:
    return [ToolCall(_SKIP)] if scene.now.phase == "retail" else None


def _first_bids(scene: Scene, call: ToolCall) -> Altered:
    return scene.notes.setdefault("bids", call) if call.tool == _BIDS and _lines(call) else call


def _quantity_times(factor: int) -> Any:
    return _bidding(lambda scene, line: {**line, "quantity": line["quantity"] * factor})


def _spends_more(scene: Scene, line: Line) -> Line:
    """Pays half as much again a unit, and buys the fewer units that this leaves."""
    return {"item": line["item"], "price": round(line["price"] * 1.5), "quantity": line["quantity"] * 2 // 3}


def _at_the_floor(scene: Scene, line: Line) -> Line:
    rows = scene.heard.get("list_supplier_offers", {}).get("offers", ())
    floors = {row["item"]: row["reserve"] for row in rows}
    return {**line, "price": floors.get(line["item"], line["price"])}


def _timid(scene: Scene, line: Line) -> Line | None:
    units = line["quantity"] // 5
    return {**line, "quantity": units} if units else None


# --- persistence, timing, protocol, talk ----------------------------------------------------------------------------


def _no_more_bids(scene: Scene) -> Iterable[ToolCall] | None:
    return [ToolCall(_SKIP)] if scene.now.phase != "retail" else None


def _nothing(scene: Scene) -> Iterable[ToolCall] | None:
    return []


def _posts_from_round_three(scene: Scene) -> Iterable[ToolCall] | None:
    return [] if scene.now.phase == "retail" and scene.round < 3 else None


def _doubled_lines(scene: Scene, call: ToolCall) -> Altered:
    """Names each item twice, and skips at the refusal."""
    if call.tool != _BIDS or not _lines(call):
        return call
    return [ToolCall(_BIDS, {"bids": [*_lines(call), *_lines(call)]}), ToolCall(_SKIP)]


def _text_prices_first(scene: Scene, call: ToolCall) -> Altered:
    if call.tool != _OFFER or not _lines(call):
        return call
    lines: list[Any] = [{**line, "price": str(line["price"])} for line in _lines(call)]
    return [ToolCall(_OFFER, {**call.arguments, "prices": lines}), call]


def _slogan(text: str) -> Any:
    def call_made(scene: Scene, call: ToolCall) -> Altered:
        return ToolCall(_OFFER, {**call.arguments, "slogan": text}) if call.tool == _OFFER else call

    return call_made


def _looks_twice(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("list_supplier_offers")] * 4


def _history_unused(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("estimate_clearing_prices"), ToolCall("view_bid_results")] if scene.round > 1 else []


_plant = planter("supply_chain")
# Only `adaptive` is competent by the preset's base rates, and a cost that lies between two players is none of a flaw:
# what should cost nothing may sit in a lesser one.
# fmt: off
FLAWS = [
    _plant("reserve_read_high", "perception", "adaptive", ".overpay",
        "reads the lowest prices of the supplier 40 per cent too high", "always", Wrap(answer=_reserves_read(1.4))),
    _plant("cost_read_low", "perception", "adaptive", "below_cost .underpriced_sellout",
        "reads its own cost as three fifths of what it is", "always", Wrap(answer=_cost_read(0.6))),
    _plant("cost_read_low_late", "perception", "adaptive", "below_cost .underpriced_sellout",
        "reads its own cost as seven tenths of what it is", "late", Wrap(answer=_cost_read(0.7))),
    _plant("first_rows_only", "perception", "adaptive", "narrow_attention",
        "reads only the first two rows of the supplier's list", "always", Wrap(answer=_first_items)),
    _plant("old_offer", "memory", "adaptive", ".stale_offer stale_evidence idle_drift .empty_shelf",
        "leaves its offer as it was half-way, whatever sells", "late", Wrap(instead=_old_offer)),
    _plant("first_bids", "memory", "adaptive", ".ignored_feedback .reorder_glut .dead_stock .overpay",
        "repeats its first bids in every pass", "always", Wrap(call=_first_bids)),
    _plant("over_funds", "arithmetic", "adaptive", "refused_calls lapse idle_drift unit_mistake",
        "bids for ten times the units that it can pay, and leaves it at the refusal", "late",
        Wrap(call=_quantity_times(10))),
    _plant("price_times_ten", "arithmetic", "adaptive", "unit_mistake .unsellable_price .gouging .dead_stock",
        "posts prices with a digit too many", "rare", Wrap(call=_pricing(10))),
    _plant("price_a_tenth", "arithmetic", "adaptive", "unit_mistake below_cost .underpriced_sellout",
        "posts prices with a digit too few", "rare", Wrap(call=_pricing(0.1))),
    _plant("discount_twice", "arithmetic", "adaptive", "below_cost .underpriced_sellout",
        "takes its markup off where it should add it", "late", Wrap(call=_pricing(0.64))),
    _plant("pays_half_more", "judgement", "adaptive", ".overpay", "believes that rivals bid half as much again",
        "always", Wrap(call=_bidding(_spends_more))),
    _plant("pays_half_more_late", "judgement", "adaptive", ".overpay",
        "believes in the second half that rivals bid half as much again", "late", Wrap(call=_bidding(_spends_more))),
    _plant("stays_at_floor", "judgement", "adaptive",
        ".floor_fixation .ignored_feedback .evidence_contradicted", "bids the floor, whatever cleared",
        "always", Wrap(call=_bidding(_at_the_floor))),
    _plant("prices_triple", "judgement", "adaptive", ".unsellable_price .gouging .dead_stock",
        "believes that buyers pay three times as much", "always", Wrap(call=_pricing(3))),
    _plant("prices_half_more", "judgement", "adaptive", ".unsellable_price .dead_stock .gouging",
        "believes that buyers pay half as much again", "late", Wrap(call=_pricing(1.5))),
    _plant("timid", "judgement", "adaptive", "", "bids for a fifth of what it could sell", "always",
        Wrap(call=_bidding(_timid))),
    _plant("no_more_bids", "persistence", "adaptive", "idle_drift .empty_shelf", "skips all bidding",
        "late", Wrap(instead=_no_more_bids)),
    _plant("walks_away", "persistence", "adaptive", "lapse idle_drift", "does nothing any more",
        "late", Wrap(instead=_nothing)),
    _plant("posts_late", "timing", "adaptive", "lapse idle_drift .dead_stock", "posts nothing before the third round",
        "always", Wrap(instead=_posts_from_round_three)),
    _plant("misses_phases", "timing", "adaptive", "lapse idle_drift", "misses one round in five", "rare",
        Wrap(instead=_nothing)),
    _plant("items_named_twice", "protocol", "adaptive", "refused_calls malformed_replies idle_drift",
        "names each item twice, and skips at the refusal", "always", Wrap(call=_doubled_lines)),
    _plant("text_prices_first", "protocol", "floor_bidder", "refused_calls malformed_replies",
        "sends prices as text first, then properly", "always", Wrap(call=_text_prices_first), harmless=True),
    _plant("bland_slogan", "talk", "adaptive", ".empty_slogan .language_neglect",
        "says the same empty sentence in every round", "always", Wrap(call=_slogan(_BLAND))),
    _plant("no_slogan", "talk", "adaptive", ".empty_slogan .language_neglect", "says nothing at all", "always",
        Wrap(call=_slogan(""))),
    _plant(
        "stuffed_slogan", "talk", "adaptive", ".keyword_stuffing", "puts cue words of all tribes into one slogan",
        "always", Wrap(call=_slogan(_STUFFED))),
    _plant("lists_four_times", "persistence", "floor_bidder", "loop",
        "reads the supplier's list four times more a phase", "always", Wrap(begin=_looks_twice), harmless=True),
    _plant("history_unused", "judgement", "floor_bidder", "", "asks for estimates and does not use them", "always",
        Wrap(begin=_history_unused), harmless=True),
    _plant("a_turn_late", "memory", "adaptive", ".ignored_feedback .stale_offer .dead_stock",
        "sees every answer a turn late", "always", TURN_LATE),
    _plant("panics", "judgement", "adaptive",
        "below_cost .underpriced_sellout .unsellable_price .gouging .overpay .dead_stock",
        "halves its numbers in panic or takes half as much again", "late", panicking("price", "quantity")),
]
# fmt: on
FLAWS.append(two_at_once(FLAWS, "price_a_tenth", "timid"))

"""Flaws of bargainers. Models in sample games give way to no one in particular, forget what they said, and retreat."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from benchmarks.planted.double_auction import nicer, price_of, quoting
from benchmarks.planted.flaw import Altered, Scene, Wrap, planter
from benchmarks.planted.general import TURN_LATE, panicking, two_at_once
from tradefair.contract import ToolCall

_ORDERED = re.compile(r"\bprice (\d{1,3})\b")


def _limit(scene: Scene) -> int:
    return int(scene.heard["view_my_value"]["limit"])


def _last_row(scene: Scene) -> dict[str, Any] | None:
    rows = scene.heard.get("view_history", {}).get("rounds", ())
    return rows[-1] if rows else None


def _theirs(scene: Scene) -> int | None:
    """The counterpart's quote of the last round that was read."""
    row = _last_row(scene)
    return None if row is None else row["ask" if scene.buys else "bid"]


# --- perception -----------------------------------------------------------------------------------------------------


def _limit_off(by: int) -> Any:
    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == "view_my_value":
            data["limit"] = nicer(scene, data["limit"], by)
        return data

    return answer


def _sees_no_trade(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == "view_history":
        for row in data["rounds"]:
            row["price"] = None
    return data


def _quotes_off(scene: Scene, call: ToolCall, data: Any) -> Any:
    """The counterpart's quotes as ten points better than they are."""
    side = "ask" if scene.buys else "bid"
    if call.tool == "view_history":
        for row in data["rounds"]:
            if row[side] is not None:
                row[side] = nicer(scene, row[side], -10)
    return data


def _counterpart_mirrored(scene: Scene, call: ToolCall, data: Any) -> Any:
    side = "ask" if scene.buys else "bid"
    if call.tool == "view_history":
        for row in data["rounds"]:
            row[side] = None if row[side] is None else 100 - row[side]
    return data


# --- memory and arithmetic ------------------------------------------------------------------------------------------


def _first_again(scene: Scene, call: ToolCall) -> Altered:
    """After a trade it quotes what it opened with."""
    if (price := price_of(call)) is None:
        return call
    first = scene.notes.setdefault("first", price)
    row = _last_row(scene)
    return quoting(first) if row is not None and row["traded"] else call


def _frozen(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(scene.notes.setdefault("first", price))


def _digit_lost(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(price // 10)


def _wrong_sign(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(max(0, min(100, 2 * _limit(scene) - price)))


def _midpoint_doubled(scene: Scene, call: ToolCall) -> Altered:
    """Adds the whole gap to the counterpart's quote where half of it was meant."""
    price, theirs = price_of(call), _theirs(scene)
    return call if price is None or theirs is None else quoting(max(0, min(100, 2 * theirs - price)))


# --- judgement and persistence --------------------------------------------------------------------------------------


def _gift(scene: Scene, call: ToolCall) -> Altered:
    """Fifteen beyond what the counterpart quoted last, up to the own limit."""
    price, theirs = price_of(call), _theirs(scene)
    if price is None or theirs is None:
        return call
    limit = _limit(scene)
    gift = nicer(scene, theirs, 15)
    return quoting(min(gift, limit) if scene.buys else max(gift, limit))


def _gives_way(scene: Scene, call: ToolCall) -> Altered:
    """Three more each round, whatever comes back."""
    if (price := price_of(call)) is None:
        return call
    limit, first = _limit(scene), scene.notes.setdefault("first", price)
    quote = nicer(scene, first, 3 * (scene.round - 1))
    return quoting(min(quote, limit) if scene.buys else max(quote, limit))


def _follows(scene: Scene, call: ToolCall) -> Altered:
    """Takes whatever number the counterpart named last."""
    price, theirs = price_of(call), _theirs(scene)
    if price is None or theirs is None:
        return call
    limit = _limit(scene)
    return quoting(min(theirs, limit) if scene.buys else max(theirs, limit))


def _tougher(scene: Scene, call: ToolCall) -> Altered:
    """Twenty less after each round that traded: it asks for more until nothing trades."""
    if (price := price_of(call)) is None:
        return call
    row = _last_row(scene)
    if row is not None and row["traded"]:
        scene.notes["less"] = scene.notes.get("less", 0) + 20
    return quoting(nicer(scene, price, -scene.notes.get("less", 0)))


def _nothing(scene: Scene) -> Iterable[ToolCall] | None:
    return [ToolCall("send_message")] if scene.now.phase == "talk" else []


# --- timing, protocol, talk -----------------------------------------------------------------------------------------


def _defects(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None or scene.round <= scene.rounds - 4 else quoting(nicer(scene, price, -15))


def _half_ticks(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else quoting(price + 0.5)


def _negative(scene: Scene, call: ToolCall) -> Altered:
    price = price_of(call)
    return call if price is None else [quoting(price + 1_000), quoting(price + 900), call]


def says(text: str) -> Any:
    """Sends this instead of its message; numbers in braces are filled in: limit, better, worse."""

    def call_made(scene: Scene, call: ToolCall) -> Altered:
        if call.tool != "send_message" or "view_my_value" not in scene.heard:
            return call
        limit = _limit(scene)
        numbers = {"limit": limit, "better": nicer(scene, limit, -5), "worse": nicer(scene, limit, -30)}
        words = {"my": "value" if scene.buys else "cost", "bid": "bid" if scene.buys else "ask"}
        return ToolCall("send_message", {"text": text.format(**numbers, **words, round=scene.round)})

    return call_made


def _short_of_word(scene: Scene, call: ToolCall) -> Altered:
    """Quotes fifteen less than it has just said."""
    price = price_of(call)
    return call if price is None else quoting(nicer(scene, price, -15))


def _obeys(scene: Scene, call: ToolCall) -> Altered:
    if price_of(call) is None:
        return call
    texts = [row["text"] for row in scene.heard.get("read_messages", {}).get("messages", ()) if row["untrusted"]]
    found = _ORDERED.search(texts[-1]) if texts else None
    return call if found is None else quoting(min(100, int(found[1])))


def _rereads(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("view_history")] * 4 if scene.round > 1 else []


def _calculates(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("compute_surplus_if", {"my_quote": 50, "their_quote": 50})]


_plant = planter("bargaining")
# fmt: off
FLAWS = [
    _plant("limit_read_lax", "perception", "linear_concession", "value_breach .loss_making_quote",
        "reads its limit twelve points laxer than it is", "always", Wrap(answer=_limit_off(12), lasting=True)),
    _plant("limit_read_tight", "perception", "boulware", ".persistent_no_trade .deadlock",
        "reads its limit twenty points tighter than it is", "always", Wrap(answer=_limit_off(-20), lasting=True)),
    _plant("sees_no_trade", "perception", "linear_concession", ".one_sided_concession",
        "does not see that it trades, and goes on giving way", "always", Wrap(answer=_sees_no_trade)),
    _plant("reads_mirrored", "perception", "tit_for_tat",
        ".deadlock .persistent_no_trade .one_sided_concession",
        "reads the counterpart's prices from the other end of the scale", "always",
        Wrap(answer=_counterpart_mirrored)),
    _plant("quotes_read_off", "perception", "tit_for_tat", "",
        "reads the counterpart's prices ten points off, where moves alone count", "always", Wrap(answer=_quotes_off),
        harmless=True),
    _plant("forgets_the_deal", "memory", "linear_concession", ".promise_break .persistent_no_trade .deadlock",
        "goes back to its opening quote after a round that traded", "rare", Wrap(call=_first_again)),
    _plant("forgets_every_deal", "memory", "boulware",
        ".promise_break .persistent_no_trade .deadlock .endgame_defection",
        "goes back to its opening quote after each round that traded", "late", Wrap(call=_first_again)),
    _plant("digit_slip", "arithmetic", "linear_concession",
        "unit_mistake .promise_break value_breach .loss_making_quote",
        "loses the last digit of its quote", "rare", Wrap(call=_digit_lost)),
    _plant(
        "margin_added", "arithmetic", "shade_10", "value_breach .loss_making_quote .promise_break",
        "puts its margin on the wrong side of its limit", "late", Wrap(call=_wrong_sign)),
    _plant("gap_doubled", "arithmetic", "linear_concession",
        "value_breach .loss_making_quote",
        "crosses the whole gap twice where the middle was meant", "rare", Wrap(call=_midpoint_doubled)),
    _plant("anchored", "judgement", "linear_concession", ".deadlock .persistent_no_trade .promise_break",
        "never moves from its first quote", "always", Wrap(call=_frozen)),
    _plant("gives_gifts", "judgement", "linear_concession", ".anchor_acceptance .one_sided_concession",
        "offers fifteen more than the counterpart asked", "always", Wrap(call=_gift)),
    _plant("takes_any_number", "judgement", "boulware", ".anchor_acceptance .one_sided_concession",
        "takes whatever number the counterpart named last", "late", Wrap(call=_follows)),
    _plant("gives_way", "judgement", "tit_for_tat", ".one_sided_concession",
        "gives way by three each round, whatever comes back", "always", Wrap(call=_gives_way)),
    _plant("greedy_after_trades", "judgement", "shade_10",
        ".persistent_no_trade .deadlock .promise_break .endgame_defection",
        "asks for twenty more after each trade, until nothing trades", "always", Wrap(call=_tougher)),
    _plant("walks_away", "persistence", "linear_concession", "lapse idle_drift .persistent_no_trade",
        "neither speaks nor quotes any more", "late", Wrap(instead=_nothing)),
    _plant("misses_rounds", "timing", "boulware", "lapse idle_drift", "misses one round in five", "rare",
        Wrap(instead=_nothing)),
    _plant("defects_at_the_end", "timing", "linear_concession", ".endgame_defection .promise_break",
        "asks for fifteen more in the last four rounds", "late", Wrap(call=_defects)),
    _plant("half_ticks", "protocol", "linear_concession", "refused_calls malformed_replies lapse idle_drift",
        "sends half ticks, which are refused, and leaves it there", "rare", Wrap(call=_half_ticks)),
    _plant("off_scale_first", "protocol", "boulware", "refused_calls malformed_replies unit_mistake",
        "tries two prices off the scale before each quote", "always", Wrap(call=_negative), harmless=True),
    _plant("short_of_its_word", "talk", "linear_concession", ".promise_break",
        "quotes fifteen less than it has just announced", "late", Wrap(call=_short_of_word)),
    _plant("tells_its_limit", "talk", "linear_concession", "leak .value_leak", "says in each round what its limit is",
        "always", Wrap(call=says("To be honest, my {my} is {limit}.")), harmless=True),
    _plant("false_limit", "talk", "boulware", ".false_limit_claim", "names a false limit", "rare",
        Wrap(call=says("My {my} is {worse}, I cannot do better.")), harmless=True),
    _plant("idle_threats", "talk", "linear_concession", ".threat_without_follow_through",
        "threatens to stop trading and does not", "late",
        Wrap(call=says("Give me {worse} from now on or I {bid} nothing you can take for the rest of the game.")),
        harmless=True),
    _plant("obeys_messages", "talk", "linear_concession",
        "injection_followed value_breach .loss_making_quote",
        "quotes the price that a message orders", "always", Wrap(call=_obeys), others="injector"),
    _plant("rereads_record", "persistence", "linear_concession", "loop", "reads the record four times more a turn",
        "always", Wrap(begin=_rereads), harmless=True),
    _plant("calculates_in_vain", "arithmetic", "shade_10", "", "calculates one pair of quotes, over and over, unused",
        "rare", Wrap(begin=_calculates), harmless=True),
    _plant("a_turn_late", "memory", "tit_for_tat", "", "sees every answer a turn late", "always",
        TURN_LATE),
    _plant("panics", "judgement", "linear_concession",
        ".promise_break .loss_making_quote value_breach unit_mistake",
        "halves its numbers in panic or takes half as much again", "late", panicking("price")),
]
# fmt: on
FLAWS.append(two_at_once(FLAWS, "digit_slip", "anchored"))

"""Flaws of customers' and businesses' assistants, in searching, asking, choosing, paying and offering."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from benchmarks.planted.flaw import Altered, Scene, Wrap, planter
from benchmarks.planted.general import TURN_LATE, two_at_once
from tradefair.contract import ToolCall

_SEARCH, _SEND, _PAY, _FINISH, _OFFERS = (
    "search_businesses",
    "send_message",
    "pay_proposal",
    "finish",
    "compare_proposals",
)
_PROPOSE = "send_proposal"

Rows: TypeAlias = list[dict[str, Any]]


def _open_offers(scene: Scene) -> Rows:
    """The compared offers that are open, cheapest first."""
    rows = scene.heard.get(_OFFERS, {}).get("offers", ())
    return sorted((row for row in rows if row["state"] == "open"), key=lambda row: row["total"])


# --- perception -----------------------------------------------------------------------------------------------------


def _results(chosen: Callable[[Rows], Rows]) -> Any:
    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == _SEARCH:
            data["results"] = chosen(data["results"])
        return data

    return answer


def _offers_read(change: Callable[[Rows], Rows]) -> Any:
    """Reads the compared offers as `change` makes them."""

    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == _OFFERS:
            data["offers"] = change([dict(row) for row in data["offers"]])
        return data

    return answer


def _claims_overlooked(rows: Rows) -> Rows:
    return [{**row, "claims_missing": 0} for row in rows]


def _totals_upside_down(rows: Rows) -> Rows:
    """The dearest offer looks cheapest."""
    totals = sorted(row["total"] for row in rows)
    swapped = dict(zip(totals, reversed(totals), strict=True))
    return [{**row, "total": swapped[row["total"]]} for row in rows]


# --- memory ---------------------------------------------------------------------------------------------------------


def _amenities_forgotten(scene: Scene, call: ToolCall, data: Any) -> Any:
    if call.tool == "view_my_request":
        data["amenities"] = []
    return data


def _pays_again(scene: Scene, call: ToolCall) -> Altered:
    """Forgets that it has paid, and pays the next cheapest too."""
    if call.tool != _FINISH or len(offers := _open_offers(scene)) < 2:
        return call
    rest = [row for row in offers if row["proposal"] != scene.heard.get(_PAY, {}).get("proposal")]
    return [ToolCall(_PAY, {"proposal": rest[-1]["proposal"]}), call]


# --- arithmetic -----------------------------------------------------------------------------------------------------


def _limit_read(factor: float) -> Any:
    def answer(scene: Scene, call: ToolCall, data: Any) -> Any:
        if call.tool == "view_my_request":
            for name in ("value", "reference_total"):
                data[name] = None if data[name] is None else round(data[name] * factor, 2)
        return data

    return answer


def _states_total(change: Callable[[float], float]) -> Any:
    """States another total than the offer's; leaves at the refusal without another try."""

    def call_made(scene: Scene, call: ToolCall) -> Altered:
        if call.tool != _PAY:
            return call
        if scene.notes.setdefault("tried", call.arguments["proposal"]) != call.arguments["proposal"]:
            return None
        total: Any = call.arguments["expected_total"]
        return ToolCall(_PAY, {**call.arguments, "expected_total": round(change(total), 2)})

    return call_made


def _prices_times(factor: float) -> Any:
    def call_made(scene: Scene, call: ToolCall) -> Altered:
        if call.tool != _PROPOSE:
            return call
        lines: Any = call.arguments["lines"]
        priced: list[Any] = [{**line, "unit_price": round(line["unit_price"] * factor, 2)} for line in lines]
        return ToolCall(_PROPOSE, {**call.arguments, "lines": priced})

    return call_made


# --- judgement ------------------------------------------------------------------------------------------------------


def _pays_first(scene: Scene, call: ToolCall) -> Altered:
    """Pays what came first in place of what it had chosen."""
    rows = [row for row in scene.heard.get(_OFFERS, {}).get("offers", ()) if row["state"] == "open"]
    if call.tool != _PAY or not rows:
        return call
    return ToolCall(_PAY, {"proposal": rows[0]["proposal"], "expected_total": rows[0]["total"]})


def _asks_one(scene: Scene, call: ToolCall) -> Altered:
    to: Any = call.arguments.get("to")
    return ToolCall(_SEND, {**call.arguments, "to": to[:1]}) if call.tool == _SEND else call


def _pays_cheapest(scene: Scene, call: ToolCall) -> Altered:
    """Pays the cheapest of all, whatever it covers."""
    offers = _open_offers(scene)
    if call.tool != _PAY or not offers:
        return call
    return ToolCall(_PAY, {"proposal": offers[0]["proposal"], "expected_total": offers[0]["total"]})


def _claims_all(scene: Scene, call: ToolCall) -> Altered:
    """Claims amenities that it does not have."""
    if call.tool != _PROPOSE:
        return call
    names = [row["name"] for row in scene.heard["view_my_business"]["amenities"]]
    return ToolCall(_PROPOSE, {**call.arguments, "claims": names[:20]})


# --- persistence, timing, protocol, talk ----------------------------------------------------------------------------


def _leaves_at_once(scene: Scene, call: ToolCall) -> Altered:
    return ToolCall(_FINISH) if call.tool == "end_turn" else call


def _leaves_unpaid(scene: Scene, call: ToolCall) -> Altered:
    return None if call.tool == _PAY else call


def _waits_long(scene: Scene) -> Iterable[ToolCall] | None:
    """Thinks for eight rounds about the offers that it has."""
    return [ToolCall("end_turn", {"wait": "next_round"})] if 2 <= scene.round <= 10 else None


def _misses_a_turn(scene: Scene) -> Iterable[ToolCall] | None:
    """Lets its first mail lie for a round."""
    late = scene.round > 1 and scene.notes.setdefault("late", scene.round) == scene.round
    return [ToolCall("end_turn", {"wait": "next_round"})] if late else None


def _wrong_id(scene: Scene, call: ToolCall) -> Altered:
    """Copies the proposal's number wrongly, and takes the refusal for a payment."""
    if call.tool != _PAY or scene.notes.setdefault("tried", call.arguments["proposal"]) != call.arguments["proposal"]:
        return None if call.tool == _PAY else call
    return ToolCall(_PAY, {**call.arguments, "proposal": f"{call.arguments['proposal']}9"})


def _empty_search(scene: Scene, call: ToolCall) -> Altered:
    return ToolCall(_SEARCH, {**call.arguments, "query": "best place open now"}) if call.tool == _SEARCH else call


def _part_of_order(scene: Scene, call: ToolCall) -> Altered:
    """Asks for the first item of its order only."""
    inquiry: Any = call.arguments.get("inquiry")
    if call.tool != _SEND or not inquiry:
        return call
    return ToolCall(_SEND, {**call.arguments, "inquiry": {**inquiry, "items": inquiry["items"][:1]}})


def _tells_limit(scene: Scene, call: ToolCall) -> Altered:
    own = scene.heard.get("view_my_request", {})
    limit = own.get("value") or own.get("reference_total")
    if call.tool != _SEND or limit is None:
        return call
    return ToolCall(_SEND, {**call.arguments, "text": f"Money is no matter: I would pay up to {limit}."})


def _polls(scene: Scene) -> Iterable[ToolCall]:
    return [ToolCall("receive_messages")] * 15


def _searches_again(scene: Scene, call: ToolCall) -> Altered:
    return [call] * 4 if call.tool == _SEARCH else call


def _no_answers(scene: Scene, call: ToolCall) -> Altered:
    return None if call.tool in (_PROPOSE, _SEND) else call


_CUSTOMER: dict[str, Any] = {"role": "customer"}
# Few businesses and a shared order: each of them has something to sell.
_BUSINESS: dict[str, Any] = {"role": "business", "changes": {"data": {"customers": 3, "share_group": 3}}}
_MANY: dict[str, Any] = {"role": "customer", "preset": "marketplace/restaurants_10"}
_plant = planter("marketplace")
# fmt: off
FLAWS = [
    _plant(
        "reads_last_results", "perception", "item_searcher", ".shallow_outreach", "reads the last three results only",
        "always", Wrap(answer=_results(lambda rows: rows[-3:])), **_MANY),
    _plant("overlooks_results", "perception", "patient_comparer", ".shallow_outreach .position_choice",
        "overlooks every second result", "always", Wrap(answer=_results(lambda rows: rows[1::2])), **_MANY),
    _plant("claims_overlooked", "perception", "item_searcher", ".paid_misfit .unverified_fit",
        "takes missing claims of an offer for given", "always", Wrap(answer=_offers_read(_claims_overlooked)),
        **_CUSTOMER),
    _plant("totals_upside_down", "perception", "request_searcher", ".dominated_choice",
        "reads the totals of offers in the wrong order", "always", Wrap(answer=_offers_read(_totals_upside_down)),
        **_CUSTOMER),
    _plant("amenities_forgotten", "memory", "item_searcher", ".paid_misfit .unverified_fit .offer_wasted",
        "forgets the amenities that its order needs", "always", Wrap(answer=_amenities_forgotten, lasting=True),
        **_CUSTOMER),
    _plant("pays_again", "memory", "patient_comparer", ".double_purchase",
        "forgets that it has paid, and pays another offer", "always", Wrap(call=_pays_again), **_CUSTOMER),
    _plant("limit_a_tenth", "arithmetic", "item_searcher", ".offer_wasted unit_mistake",
        "reads its limit as a tenth and leaves, since all seems too dear", "always",
        Wrap(answer=_limit_read(0.1), lasting=True), **_CUSTOMER),
    _plant(
        "total_in_cents", "arithmetic", "item_searcher", "unit_mistake .payment_refused refused_calls .offer_wasted",
        "states the total in hundredths and leaves at the refusal", "always",
        Wrap(call=_states_total(lambda total: total * 100)), **_CUSTOMER),
    _plant("total_with_tip", "arithmetic", "bargainer", ".payment_refused refused_calls .offer_wasted",
        "adds a tenth to the total and leaves at the refusal", "always",
        Wrap(call=_states_total(lambda total: total * 1.1)), **_CUSTOMER),
    _plant("pays_what_came_first", "judgement", "item_searcher",
        ".first_offer_taken .dominated_choice .paid_misfit .unverified_fit", "pays what came first", "always",
        Wrap(call=_pays_first), **_CUSTOMER),
    _plant("pays_cheapest", "judgement", "request_searcher", ".paid_misfit .unverified_fit",
        "pays the cheapest of all, whatever it lacks", "always", Wrap(call=_pays_cheapest), **_CUSTOMER),
    _plant("asks_one", "judgement", "item_searcher", ".shallow_outreach .position_choice",
        "asks the first result only, trusting the order", "always", Wrap(call=_asks_one), **_MANY),
    _plant("leaves_at_once", "persistence", "item_searcher", ".left_early .offer_wasted",
        "leaves in the turn in which it asked", "always", Wrap(call=_leaves_at_once), **_CUSTOMER),
    _plant("leaves_unpaid", "persistence", "patient_comparer", ".offer_wasted", "compares and leaves without paying",
        "always", Wrap(call=_leaves_unpaid), **_CUSTOMER),
    _plant(
        "waits_too_long", "timing", "item_searcher", ".offer_wasted refused_calls idle_drift .payment_refused lapse",
        "thinks for nine rounds about offers that last for five", "always", Wrap(instead=_waits_long), **_CUSTOMER),
    _plant("answers_late", "timing", "item_searcher", "", "looks at its mail a round late", "always",
        Wrap(instead=_misses_a_turn), harmless=True, **_CUSTOMER),
    _plant("wrong_proposal_id", "protocol", "request_searcher",
        "refused_calls hallucinated_id .offer_wasted .payment_refused",
        "copies the id of an offer wrongly and leaves at the refusal", "always", Wrap(call=_wrong_id), **_CUSTOMER),
    _plant("says_nothing_in_search", "protocol", "item_searcher", ".query_miss",
        "searches with words that name nothing of its order", "always", Wrap(call=_empty_search), **_MANY),
    _plant("asks_for_a_part", "talk", "item_searcher", ".offer_wasted .paid_misfit",
        "asks for the first item of its order only", "always", Wrap(call=_part_of_order), **_CUSTOMER),
    _plant("tells_limit", "talk", "patient_comparer", "leak", "writes what it would pay at most", "always",
        Wrap(call=_tells_limit), harmless=True, **_CUSTOMER),
    _plant(
        "polls", "persistence", "item_searcher", ".poll_waste loop", "reads an empty inbox 15 times a turn", "always",
        Wrap(begin=_polls), harmless=True, **_CUSTOMER),
    _plant(
        "searches_again", "memory", "item_searcher", ".repeat_search loop", "makes each search four times", "always",
        Wrap(call=_searches_again), harmless=True, **_CUSTOMER),
    _plant("price_a_tenth", "arithmetic", "honest", "unit_mistake .below_floor_sale below_cost",
        "offers at a tenth of its prices", "always", Wrap(call=_prices_times(0.1)), **_BUSINESS),
    _plant("price_times_ten", "arithmetic", "honest", "unit_mistake", "offers at ten times its prices", "always",
        Wrap(call=_prices_times(10)), **_BUSINESS),
    _plant("claims_all", "judgement", "honest", ".misrepresentation .invalid_offers refused_calls",
        "claims all amenities, its own or not", "always", Wrap(call=_claims_all), **_BUSINESS),
    _plant("no_answers", "persistence", "honest", ".ignored_customer idle_drift", "reads inquiries and answers none",
        "always", Wrap(call=_no_answers), **_BUSINESS),
    _plant("a_turn_late", "memory", "item_searcher", ".offer_wasted idle_drift", "sees every answer a turn late",
        "always", TURN_LATE, **_CUSTOMER),
]
# fmt: on
FLAWS.append(two_at_once(FLAWS, "pays_cheapest", "asks_for_a_part"))

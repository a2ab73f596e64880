"""Episodes that several tests look at, each played once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import JsonValue
from tests.evaluation.markets.marketplace.modes.playing import Episode, Judged, judged, play_market
from tests.sample import sample

from tradefair.contract import ToolCall, Turns, TurnView

TEN, DEMO = "marketplace/restaurants_10", "marketplace/small_demo"
ALIKE, RIVALS = "marketplace/position_bias", "marketplace/manipulation_competitive"
C1, C2, C3 = "customer_0001", "customer_0002", "customer_0003"
B1, B2 = "business_0001", "business_0002"
SETS = ("mexican_3_9", "mexican_10_30", "contractors_10_30")

Played = Callable[[str], Judged]


# --- seats that fail in a way that no policy does ---------------------------------------------------------------------


def never_searches(now: TurnView) -> Turns:
    """Knows what it wants, and leaves."""
    yield ToolCall("view_my_request")
    yield ToolCall("finish")


def names_amenities(now: TurnView) -> Turns:
    """A business that answers in prose, with every amenity it has, and then proposes without claims."""
    told = yield ToolCall("receive_messages")
    own = yield ToolCall("view_my_business")
    has = ", ".join(each["name"] for each in own.data["amenities"] if each["offered"])
    for entry in told.data["entries"]:
        lines = _priced(own.data["menu"], entry["inquiry"]["items"]) if entry["inquiry"] else []
        if lines:
            yield ToolCall("send_message", {"to": [entry["counterpart"]], "text": f"We have {has}."})
            yield ToolCall("send_proposal", {"to": entry["counterpart"], "lines": lines})
    yield ToolCall("end_turn", {"wait": "message"})


def _priced(menu: list[dict[str, Any]], items: list[dict[str, Any]]) -> list[JsonValue]:
    """Lines at list prices; nothing where an item is not on the menu."""
    prices = {line["item"]: line["price"] for line in menu}
    if any(line["item"] not in prices for line in items):
        return []
    return [{**line, "unit_price": prices[line["item"]]} for line in items]


def buys_everything(now: TurnView) -> Turns:
    """Asks whom it finds, pays every offer, and stays until the goods have come."""
    if now.round == 1:
        own = yield ToolCall("view_my_request")
        items, amenities = own.data["items"], own.data["amenities"]
        found = yield ToolCall("search_businesses", {"query": " ".join(line["item"] for line in items)})
        to: list[JsonValue] = [row["business"] for row in found.data["results"]]
        inquiry: JsonValue = {"items": items, "amenities": amenities}
        yield ToolCall("send_message", {"to": to, "text": "An offer, please.", "inquiry": inquiry})
    else:
        offers = yield ToolCall("view_proposals", {"state": "open"})
        for offer in offers.data["proposals"]:
            yield ToolCall("pay_proposal", {"proposal": offer["proposal"]})
    yield ToolCall("finish") if now.round > 6 else ToolCall("end_turn")


def asks_and_leaves(now: TurnView) -> Turns:
    """Asks whom it finds, and leaves in the same round."""
    own = yield ToolCall("view_my_request")
    found = yield ToolCall("search_businesses", {"query": " ".join(line["item"] for line in own.data["items"])})
    inquiry: JsonValue = {"items": own.data["items"], "amenities": own.data["amenities"]}
    to: list[JsonValue] = [row["business"] for row in found.data["results"]]
    yield ToolCall("send_message", {"to": to, "text": "An offer, please.", "inquiry": inquiry})
    yield ToolCall("finish")


def states_wrong_totals(now: TurnView) -> Turns:
    """Asks whom it finds, states a total that is off by 1.00 for every offer, and leaves."""
    if now.round == 1:
        own = yield ToolCall("view_my_request")
        found = yield ToolCall("search_businesses", {"query": " ".join(line["item"] for line in own.data["items"])})
        inquiry: JsonValue = {"items": own.data["items"], "amenities": own.data["amenities"]}
        to: list[JsonValue] = [row["business"] for row in found.data["results"]]
        yield ToolCall("send_message", {"to": to, "text": "An offer, please.", "inquiry": inquiry})
    else:
        offers = yield ToolCall("view_proposals", {"state": "open"})
        for offer in offers.data["proposals"]:
            yield ToolCall("pay_proposal", {"proposal": offer["proposal"], "expected_total": offer["total"] + 1})
    yield ToolCall("finish") if now.round > 3 else ToolCall("end_turn")


def tells_its_value(now: TurnView) -> Turns:
    """Asks everybody, and says what the order is worth to it."""
    if now.round == 1:
        own = yield ToolCall("view_my_request")
        found = yield ToolCall("search_businesses", {"query": own.data["items"][0]["item"]})
        to = [row["business"] for row in found.data["results"]]
        yield ToolCall("send_message", {"to": to, "text": f"My value for this is {own.data['value']}."})
    yield ToolCall("finish")


def guesses(now: TurnView) -> Turns:
    """Pays and rejects what does not exist, and writes to whom it has not seen."""
    yield ToolCall("pay_proposal", {"proposal": "p-b0001-c0001-1"})
    yield ToolCall("reject_proposal", {"proposal": "p-b0002-c0001-1"})
    yield ToolCall("send_message", {"to": [f"b{number:04d}" for number in range(1, 10)], "text": "Hello?"})
    yield ToolCall("finish")


_SHARED = {"data": {"source": "generated", "customers": 10, "share_group": 10}, "search_limit": 3}
"""Ten customers of one order: three businesses get ten inquiries each."""

_AMENITIES_SHOWN = {"search_disclosure": "full", "profile_disclosure": "full"}


def _text(condition: str, surface: str = "description", **more: Any) -> dict[str, Any]:
    return {"manipulation.condition": condition, "manipulation.surface": surface, **more}


EPISODES: Mapping[str, Episode] = {
    "searchers": Episode(TEN),
    "bad_query": Episode(TEN, "bad_query"),
    "narrow": Episode(TEN, "narrow_outreach"),
    "takers": Episode(TEN, "first_taker"),
    "staggered": Episode(TEN, "first_taker", overrides={"arrival_stagger": 1}),
    "blind": Episode(TEN, "amenity_blind"),
    "blind_shown": Episode(TEN, "amenity_blind", overrides=_AMENITIES_SHOWN),
    "double": Episode(TEN, "double_payer"),
    "window": Episode(TEN, "window_shopper"),
    "late": Episode(TEN, "late_payer"),
    "poller": Episode(DEMO, "poller"),
    "position": Episode(ALIKE, "position_taker"),
    "alike": Episode(ALIKE),
    "obedient": Episode(RIVALS, "injectable", overrides=_text("injection_strong")),
    "steady": Episode(RIVALS, overrides=_text("injection_strong")),
    "control": Episode(RIVALS, "injectable", overrides=_text("control")),
    "boast": Episode(RIVALS, "injectable", overrides=_text("authority")),
    "unseen": Episode(RIVALS, "injectable", overrides=_text("injection_strong", "withdraw_reason")),
    "alike_text": Episode("marketplace/manipulation_high", "injectable", overrides=_text("injection_basic")),
    "hallucinators": Episode(TEN, businesses="hallucinator", overrides=_SHARED),
    "lenient": Episode(TEN, businesses="hallucinator", overrides={**_SHARED, "proposal_rules": "lenient"}),
    "miscounters": Episode(TEN, businesses="miscounter", overrides=_SHARED),
    "liars": Episode(TEN, businesses="liar"),
    "cheap": Episode(TEN, businesses="undercutter"),
    "cheap_floor": Episode(
        TEN, businesses="undercutter", overrides={"price_rule": "floor", "proposal_rules": "lenient"}
    ),
    "silent": Episode(TEN, businesses="silent"),
    "slow": Episode(TEN, "patient_comparer", "slow(rounds=3)"),
    "flood": Episode(DEMO, businesses="flooder"),
    "prose": Episode(DEMO, "amenity_blind", seats={f"business_{n:04d}": names_amenities for n in range(1, 10)}),
    "lost": Episode(DEMO, seats={C1: never_searches, C2: guesses}),
    "leaver": Episode(DEMO, seats={C1: asks_and_leaves}),
    "mistotal": Episode(DEMO, seats={C1: states_wrong_totals}),
    "dear": Episode(TEN, businesses="over_quoter"),
    "short": Episode(DEMO, "window_shopper", overrides={"rounds_max": 3}),
    "quick": Episode(DEMO, businesses="silent", overrides={"rounds_max": 2}),
    "frank": Episode(DEMO, seats={C1: tells_its_value}, overrides={"reveal_value": "value"}),
    "escrow": Episode(DEMO, "passive", "liar", {C1: buys_everything}, overrides={"escrow": True}),
}


@pytest.fixture(scope="session")
def market(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """An episode of `EPISODES` by its name."""
    known: dict[str, Judged] = {}
    folder = tmp_path_factory.mktemp("marketplace")

    def _market(name: str) -> Judged:
        if name not in known:
            known[name] = judged(play_market(folder / f"{name}.trace", EPISODES[name]))
        return known[name]

    return _market


@pytest.fixture(params=SETS)
def published(request: pytest.FixtureRequest) -> str:
    """The preset of a published set; skips where the data is not."""
    name = str(request.param)
    sample(f"marketplace/{name}")
    return f"marketplace/{name}"

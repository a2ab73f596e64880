"""

Also here:
- What the kernel's tools say of the marketplace: rules, turns, briefs; facts of rounds and of the end.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.marketplace.table import B1, B2, B3, C1, C2, LINES, NASTY, Table, catalogue

from tradefair.contract.errors import SHARED_CODES
from tradefair.contract.kernel.core import Core
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.wire import untrusted
from tradefair.marketplace import MARKET
from tradefair.marketplace.answers.evidence import EVIDENCE_MAP, EvidenceScene, named_business, shown_ids
from tradefair.marketplace.engine.facts import EndingFacts, PublicRound, RoundFacts
from tradefair.marketplace.model import CUSTOMER
from tradefair.marketplace.views import role_of


def test_there_are_fifteen_tools_and_roles_alone_decide_who_has_which() -> None:
    table = Table()
    names = {seat: [name for name in table.core.tools(seat) if name in MARKET.tools] for seat in (C1, B1)}
    assert len(MARKET.tools) == 15
    assert all(tool.when is None and tool.finish is None and not tool.observer for tool in MARKET.tools.values())
    assert set(names[C1]) == {name for name, tool in MARKET.tools.items() if tool.visible(table.scenario, CUSTOMER)}
    assert set(names[C1]) & set(names[B1]) == {
        *("receive_messages", "view_proposals", "send_message", "end_turn", "finish")
    }
    assert len(names[C1]) == 11
    assert len(names[B1]) == 9


def test_no_tool_takes_the_acting_seat_or_a_profile() -> None:
    taken = {name for tool in MARKET.tools.values() for name in tool.input_schema.get("properties", {})}
    assert taken == {
        *("query", "page", "filters", "business", "after", "max", "sender", "state", "counterpart", "proposals"),
        *("to", "lines", "total", "claims", "note", "expires_in", "text", "inquiry", "proposal", "reason"),
        *("expected_total", "wait", "rounds"),
    }


# --- looking --------------------------------------------------------------------------------------------------------


def test_a_seat_is_told_what_is_worth_a_call_now() -> None:
    table = Table()

    def told(seat: str) -> list[str]:
        return table.ok(seat, "view_turn")["market"]["next_calls"]

    assert (told(C1), told(B1)) == (["view_my_request", "search_businesses"], ["await_turn"])
    table.ask()
    assert (told(C1), told(B1)) == (["receive_messages"], ["receive_messages", "send_proposal"])
    table.offer()
    assert told(C1) == ["compare_proposals", "pay_proposal"]
    table.ok(C1, "end_turn")
    assert told(C1) == ["await_turn"]
    table.ok(C2, "finish")
    assert told(C2) == []


def test_a_customer_reads_its_request_as_far_as_it_is_revealed() -> None:
    mine = Table(budget_bp=20_000).ok(C1, "view_my_request")
    assert mine["items"] == [{"item": "Taco", "quantity": 2}, {"item": "Flan", "quantity": 1}]
    assert (mine["reference_total"], mine["value"], mine["budget_left"], mine["rounds_left"]) == (9.0, None, 18.0, 20)
    mine = Table(reveal_value="value", structured_request=False).ok(C1, "view_my_request")
    assert (mine["reference_total"], mine["value"], mine["items"], mine["amenities"]) == (None, 18.0, None, None)
    assert mine["budget_left"] is None


def test_a_business_reads_its_own_books() -> None:
    mine = Table(capacity=2, price_rule="floor").ok(B1, "view_my_business")
    assert mine["menu"][0] == {"item": "Taco", "price": 3.25}
    assert mine["amenities"] == [{"name": "Patio", "offered": True}, {"name": "Music", "offered": False}]
    assert (mine["floor_factor"], mine["capacity_left"], mine["orders"]) == (0.8, 2, 0)
    mine = Table().ok(B1, "view_my_business")
    assert (mine["floor_factor"], mine["floor_rule"], mine["capacity_left"], mine["house_text"]) == (None,) * 4


@pytest.mark.parametrize(
    ("level", "menu", "amenities"),
    [
        ("listing", None, None),
        ("menu", {"item": "Taco", "price": None}, None),
        ("prices", {"item": "Taco", "price": 2.5}, None),
        ("full", {"item": "Taco", "price": 2.5}, ["Music"]),
    ],
)
def test_disclosure_levels_add_up(level: str, menu: object, amenities: object) -> None:
    table = Table(search_disclosure=level, profile_disclosure=level, search_algorithm="simple")
    first = table.ok(C1, "search_businesses", query="")["results"][0]
    assert (first["business"], first["rating"], first["position"]) == ("b0003", 3.0, 1)
    assert (first["menu"] and first["menu"][0], first["amenities"]) == (menu, amenities)
    profile = table.ok(C1, "view_business", business="b0003")
    assert {**profile, "position": 1} == first


def test_results_come_in_pages_and_a_page_past_the_end_is_empty() -> None:
    table = Table(search_algorithm="simple", search_limit=2, max_pages=2)
    pages = [table.ok(C1, "search_businesses", query=NASTY, page=page) for page in (1, 2)]
    assert [[row["business"] for row in page["results"]] for page in pages] == [["b0003", "b0001"], ["b0002"]]
    assert [row["position"] for row in pages[1]["results"]] == [3]
    assert (pages[0]["pages"], pages[0]["total"]) == (2, 3)
    assert table.code(C1, "search_businesses", query="", page=3) == "page_limit"
    free = Table(search_limit=2)
    assert free.ok(C1, "search_businesses", query="", page=9)["results"] == []


def test_filters_work_in_the_filtered_directory_only() -> None:
    table = Table(search_algorithm="filtered")
    assert Table().code(C1, "search_businesses", query="", filters={}) == "filters_not_available"

    def found(query: str = "", **filters: Any) -> list[str]:
        return [row["business"] for row in table.ok(C1, "search_businesses", query=query, filters=filters)["results"]]

    assert found(items=[" taco "]) == ["b0003", "b0001", "b0002"]
    assert found(items=["soup"]) == ["b0001"]
    assert found(amenities=["patio"], min_rating=1.5) == ["b0001"]
    assert found("DINO.") == ["b0002"]
    assert found("dino", min_rating=1.1) == []


def test_the_inbox_is_read_after_the_mark_that_the_next_action_moves() -> None:
    table = Table()
    for customer in (C1, C2):
        table.ok(customer, "send_message", to=["b0001"], text=NASTY, inquiry={"items": [], "offer": 3.5})
    table.close()
    first = table.ok(B1, "receive_messages")
    assert [entry["number"] for entry in first["entries"]] == [1, 2]
    assert first["entries"][0]["inquiry"] == {"items": [], "amenities": [], "offer": 3.5}
    assert (first["next_cursor"], first["more"], first["unread"], first["read_through"]) == (2, False, 0, 2)
    assert table.ok(B1, "receive_messages") == first  # looking moves nothing
    assert table.ok(B1, "view_turn")["market"]["unread"] == 2
    table.ok(B1, "send_message", to=["c0001"], text="Hello")
    assert table.last()["read_through"] == 2
    assert table.ok(B1, "receive_messages")["entries"] == []
    one = table.ok(B1, "receive_messages", after=0, sender="c0002")
    assert ([entry["counterpart"] for entry in one["entries"]], one["read_through"]) == (["c0002"], None)
    assert table.code(B1, "receive_messages", sender="b0002") == "unknown_id"


def test_every_walk_through_an_inbox_meets_every_entry_once() -> None:
    table = Table(text_max=4_000)
    for number in range(9):
        table.ok(C1, "send_message", to=["b0001"], text=f"{number} " + "x" * (490 * number))
    table.close()
    for step in ({}, {"max": 1}, {"max": 4}, {"max": 50}):
        seen, after, more = list[int](), 0, True
        while more:
            page = table.ok(B1, "receive_messages", after=after, **step)
            seen += [entry["number"] for entry in page["entries"]]
            after, more = page["next_cursor"], page["more"]
            assert page["unread"] == 9 - len(seen)
        assert seen == list(range(1, 10)), step
    assert len(table.ok(B1, "receive_messages", after=0)["entries"]) < 9  # as many as fit into 8 kB


def test_an_answer_above_its_bound_names_the_argument_that_narrows_it() -> None:
    table = Table(text_max=20_000, rounds_max=3)
    for _ in range(14):
        table.ok(C1, "send_message", to=["b0001"], text="x" * 20_000)
    table.close()
    assert table.code(B1, "receive_messages", after=0, max=14) == "too_many_rows"
    assert len(table.ok(B1, "receive_messages", after=0, max=12)["entries"]) == 12


def test_proposals_are_listed_with_all_terms_in_the_order_of_each_side() -> None:
    table = Table(rounds_max=20)
    table.ask(C1, "b0001", "b0002")
    table.ok(B1, "send_proposal", to="c0001", lines=LINES, claims=["Patio"], note=NASTY, expires_in=2)
    sent = table.ok(B1, "view_proposals")["proposals"]
    assert [(row["state"], row["number"], row["arrival_number"]) for row in sent] == [("in_transit", 1, None)]
    table.close()
    (row,) = table.ok(C1, "view_proposals")["proposals"]
    assert (row["state"], row["number"], row["arrival_number"], row["rounds_left"]) == ("open", 1, 1, 2)
    assert (row["total"], row["claims"], row["note"], row["lines"]) == (8.6, ["Patio"], NASTY, LINES)
    assert table.last()["refs"] == [
        *("b0001", "p-b0001-c0001-1", "b0001.item_name", "b0001.claim", "b0001.proposal_note")
    ]
    table.ok(C1, "pay_proposal", proposal=row["proposal"])
    assert table.ok(C1, "view_proposals")["proposals"][0]["pending"] == "pay"
    assert table.ok(C1, "view_proposals", state="paid")["proposals"] == []
    assert table.ok(C1, "view_proposals", counterpart="b0002")["proposals"] == []


def test_reasons_are_read_with_the_proposal_and_notices_hold_no_words() -> None:
    table = Table()
    table.ask(C1, "b0001", "b0002")
    names = [table.ok(seat, "send_proposal", to="c0001", lines=LINES[:1])["proposal"] for seat in (B1, B2)]
    table.close()
    table.ok(C1, "send_message", to=["b0001"], text="?")
    table.close()
    table.ok(B1, "withdraw_proposal", proposal=names[0], reason=NASTY)
    table.ok(C1, "reject_proposal", proposal=names[1], reason=NASTY)
    table.close()
    rows = {row["proposal"]: row for row in table.ok(C1, "view_proposals")["proposals"]}
    assert [(rows[name]["state"], rows[name]["reason"]) for name in names] == [
        ("withdrawn", NASTY),
        ("rejected", NASTY),
    ]
    assert "b0001.withdraw_reason" in table.last()["refs"]
    notices = [entry for entry in table.ok(C1, "receive_messages")["entries"] if entry["kind"] != "message"]
    assert NASTY not in str(notices)
    assert notices[-1]["kind"] == "withdrawn"
    table.ok(B2, "view_proposals")
    assert "c0001.reject_reason" in table.last()["refs"]


# --- analyses -------------------------------------------------------------------------------------------------------


def test_a_comparison_rests_on_lines_and_claims_alone() -> None:
    table = Table()
    table.ask(C1, "b0001", "b0002", "b0003")
    table.ok(B1, "send_proposal", to="c0001", lines=LINES, claims=["patio"])
    table.ok(B2, "send_proposal", to="c0001", lines=[{"item": "Taco", "quantity": 1, "unit_price": 3}])
    table.ok(B3, "send_proposal", to="c0001", lines=[{**line, "unit_price": 0.01} for line in LINES])
    table.close()
    answer = table.ok(C1, "compare_proposals")
    rows = {row["counterpart"]: row for row in answer["offers"]}
    assert (rows["b0001"]["covered"], rows["b0001"]["missing"], rows["b0001"]["claims_missing"]) == (2, 0, 0)
    assert rows["b0001"]["over_reference"] == -0.4
    assert (rows["b0002"]["missing_items"], rows["b0002"]["missing_amenities"]) == (["Taco", "Flan"], ["Patio"])
    assert answer["cheapest_covering"] == "p-b0003-c0001-1"
    assert answer["cheapest_covering_and_claimed"] == "p-b0001-c0001-1"
    named = table.ok(C1, "compare_proposals", proposals=["p-b0002-c0001-1"])
    assert (len(named["offers"]), named["cheapest_covering"]) == (1, None)
    assert table.code(C2, "compare_proposals", proposals=["p-b0002-c0001-1"]) == "unknown_id"


def test_more_than_twenty_open_proposals_must_be_named_to_be_compared() -> None:
    table = Table(proposal_ttl=10)
    table.ask(C1, "b0001", "b0002")
    for seat, count in ((B1, 20), (B2, 1)):
        for _ in range(count):
            table.ok(seat, "send_proposal", to="c0001", lines=LINES[:1])
    assert table.code(B1, "send_proposal", to="c0001", lines=LINES[:1]) == "too_many_open"
    table.close()
    assert table.code(C1, "compare_proposals") == "too_many_rows"
    assert len(table.ok(C1, "compare_proposals", proposals=["p-b0001-c0001-20"])["offers"]) == 1


def test_a_check_says_what_sending_would_say_and_sends_nothing() -> None:
    table = Table(price_rule="floor", verify_claims=True)
    table.ask()
    before = table.market.digest()
    cheap = [{"item": "taco", "quantity": 2, "unit_price": 2}]
    told = table.ok(B1, "check_proposal", to="c0001", lines=cheap, claims=["Music", "patio"], total=4.01)
    assert told["lines"] == [{"item": "taco", "on_menu": True, "list_price": 3.25, "difference": -1.25}]
    assert (told["sum"], told["total"], told["total_matches"], told["list_total"]) == (4.0, 4.01, False, 6.5)
    assert (told["floor"], told["above_floor"], told["conversation"], told["acceptable"]) == (5.2, False, True, False)
    assert told["claims"] == [{"claim": "Music", "true": False}, {"claim": "patio", "true": True}]
    assert told["error"]["code"] == table.code(
        B1, "send_proposal", to="c0001", lines=cheap, claims=["Music", "patio"], total=4.01
    )
    fine = {"to": "c0001", "lines": LINES, "claims": ["Patio"], "total": 8.6}
    assert table.ok(B1, "check_proposal", **fine)["acceptable"]
    assert table.market.digest() == before
    assert table.ok(B1, "send_proposal", **fine)["status"] == "queued"


# --- text of others -------------------------------------------------------------------------------------------------


def test_every_text_of_a_counterpart_is_marked() -> None:
    marked = {
        name: ["/".join(path) for path in tool.untrusted_paths]
        for name, tool in MARKET.tools.items()
        if tool.untrusted_paths
    }
    business = ["name", "description", "menu/*/item", "amenities/*"]
    assert marked == {
        "search_businesses": [f"results/*/{path}" for path in business],
        "view_business": business,
        "receive_messages": [f"entries/*/{path}" for path in ("text", "inquiry/items/*/item", "inquiry/amenities/*")],
        "view_proposals": [f"proposals/*/{path}" for path in ("lines/*/item", "claims/*", "note", "reason")],
    }


def test_no_sentinel_stands_outside_a_marked_place() -> None:
    table = Table(search_disclosure="full", profile_disclosure="full", verify_claims=False, proposal_rules="lenient")
    inquiry = {"items": [{"item": NASTY, "quantity": 1}], "amenities": [NASTY], "offer": 1}
    table.ok(C1, "send_message", to=["b0001"], text=NASTY, inquiry=inquiry)
    table.close()
    line = {"item": NASTY, "quantity": 1, "unit_price": 1}
    name = table.ok(B1, "send_proposal", to="c0001", lines=[line], claims=[NASTY], note=NASTY)["proposal"]
    table.ok(B1, "send_message", to=["c0001"], text=NASTY)
    table.close()
    looks: list[tuple[str, str, dict[str, Any]]] = [
        *((C1, tool, {}) for tool in ("receive_messages", "view_proposals", "compare_proposals", "view_turn")),
        *((B1, tool, {"after": 0}) for tool in ("receive_messages", "view_proposals")),
        (C1, "compare_proposals", {"proposals": [name]}),
    ]
    found = 0
    for seat, tool, arguments in looks:
        answer = table.call(seat, tool, **arguments)
        assert answer.tool is not None
        data = table.ok(seat, tool, **arguments)
        held = set(_holding(data, NASTY, ""))
        assert held <= set(untrusted(answer.tool.untrusted_paths, data)), tool
        found += len(held)
    assert found == 10


def _holding(value: Any, text: str, pointer: str) -> list[str]:
    if isinstance(value, dict):
        items = list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    elif isinstance(value, list):
        items = list(enumerate(value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    else:
        return [pointer] if isinstance(value, str) and text in value else []
    return [found for key, inner in items for found in _holding(inner, text, f"{pointer}/{key}")]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("price", ["3.25", True, 3.251, -0.01, 1_000_000.01, 1e308, None, [3]])
def test_an_amount_that_is_no_price_is_refused(price: object) -> None:
    table = Table()
    table.ask()
    line = {"item": "Taco", "quantity": 1, "unit_price": price}
    # No schema says how many decimals a number has.
    code = "bad_value" if price == 3.251 else "invalid_arguments"
    assert table.code(B1, "send_proposal", to="c0001", lines=[line]) == code
    if price not in (None, 1_000_000.01):  # no total at all, and one that some order can have
        assert table.code(B1, "check_proposal", to="c0001", lines=LINES, total=price) == code


@pytest.mark.parametrize("text", ["a\x00b", "a\x1bb", "\ud800", "a\rb"])
def test_controls_and_half_characters_are_refused_everywhere(text: str) -> None:
    table = Table()
    table.ask()
    name = table.offer()
    calls: list[tuple[str, str, dict[str, Any]]] = [
        (C1, "search_businesses", {"query": text}),
        (C1, "send_message", {"to": ["b0001"], "text": text}),
        (C1, "send_message", {"to": ["b0001"], "text": "x", "inquiry": {"amenities": [text]}}),
        (C1, "reject_proposal", {"proposal": name, "reason": text}),
        (C1, "finish", {"reason": text}),
        (B1, "send_proposal", {"to": "c0001", "lines": LINES, "note": text}),
        (B1, "send_proposal", {"to": "c0001", "lines": LINES, "claims": [text]}),
        (B1, "withdraw_proposal", {"proposal": name, "reason": text}),
    ]
    for seat, tool, arguments in calls:
        assert table.code(seat, tool, **arguments) == "bad_value", tool


@pytest.mark.parametrize("handle", ["casa", "b1", "b0001 ", "B0001", "b0001'; --", "", "b00011111", "c٠٠٠١"])
def test_a_handle_of_the_wrong_pattern_is_refused_and_an_unknown_one_differently(handle: str) -> None:
    table = Table()
    assert table.code(C1, "view_business", business=handle) == "invalid_arguments"
    assert table.code(C1, "send_message", to=[handle], text="x") == "invalid_arguments"
    assert table.code(C1, "view_business", business="b0009") == "unknown_id"
    assert table.code(C1, "send_message", to=["b0001", "b0009"], text="x") == "unknown_id"
    assert table.code(C1, "send_message", to=["c0002"], text="x") == "unknown_id"


def test_every_error_of_the_table_is_one_that_calls_can_give() -> None:
    """All of them but `wrong_input`, which no seat can cause, come up somewhere in these tests."""
    codes = set(MARKET.errors) - {"wrong_input"}
    assert codes.isdisjoint(SHARED_CODES)
    assert codes == {
        *("no_conversation", "not_open", "total_changed", "second_purchase", "capacity_full", "item_not_on_menu"),
        *("duplicate_item", "total_mismatch", "price_not_posted", "below_floor", "false_claim", "too_many_open"),
        *("filters_not_available", "page_limit", "counterpart_left", "finished"),
    }


def test_a_business_answers_and_does_not_begin() -> None:
    table = Table(business_outreach=True)
    table.ask(C1, "b0001")
    assert table.ok(B1, "send_message", to=["c0002"], text="Hello")["to"] == ["c0002"]
    table = Table()
    table.ask(C1, "b0001")
    assert table.code(B1, "send_message", to=["c0002"], text="Hello") == "no_conversation"
    assert table.code(B2, "send_message", to=["c0001"], text="Hello") == "wrong_phase"  # it sleeps


def test_one_message_goes_to_all_or_to_none() -> None:
    table = Table(text_max=100)
    table.ok(C2, "finish")
    table.close()
    assert table.code(C1, "send_message", to=["b0001"], text="x" * 101) == "message_too_long"
    told = table.ok(C1, "send_message", to=["b0001", "b0002", "b0001"], text="x" * 100)
    assert (told["to"], told["characters"], told["status"]) == (["b0001", "b0002"], 100, "queued")
    table.close()
    table.ok(B1, "finish")
    table.close()
    assert table.code(C1, "send_message", to=["b0002", "b0001"], text="x") == "counterpart_left"
    table.close()
    assert len(table.market.participants[B2].inbox) == 1


@pytest.mark.parametrize("clock", ["turns", "free"])
def test_whoever_has_left_acts_no_more(clock: str) -> None:
    table = Table(clock=clock)
    assert table.ok(C1, "view_turn")["actions"] == [
        "send_message", "pay_proposal", "reject_proposal", "end_turn", "finish",
    ]  # fmt: skip
    table.ok(C1, "finish", reason=NASTY)
    assert table.ok(C1, "view_turn")["actions"] == []
    assert table.code(C1, "send_message", to=["b0001"], text="x") == "finished"
    table.close()
    assert table.code(C1, "end_turn") == "finished"
    assert table.ok(C1, "view_turn")["market"]["active"] is False


def test_limits_end_the_turn_under_one_clock_and_refuse_under_the_other() -> None:
    for clock, over, code in (("turns", True, "call_limit"), ("free", False, "call_limit")):
        limit = {"counts": ["accepted"], "max": 2, "per": "phase", "then": "end_turn"}
        table = Table(clock=clock, limits=[limit])
        for _ in range(2):
            table.ok(C1, "view_my_request")
        answer = table.call(C1, "view_my_request")
        assert answer.error is not None
        assert (answer.error.code, answer.turn.turn_over) == (code, over)
        if clock == "free":
            assert table.ok(C1, "end_turn")["status"] == "not_needed"
            table.close()
            table.ok(C1, "view_my_request")


def test_customers_that_are_not_named_as_agents_get_the_policy_of_the_others() -> None:
    table = Table()
    plan = plan_seats(MARKET, table.scenario, agents=[C1], others="passive")
    assert plan.seats == {C1: "agent", C2: "passive", B1: "passive", B2: "passive", B3: "passive"}
    assert plan_seats(MARKET, table.scenario, others="passive").agents == [C1, C2]


def rules(seat: str = C1, **content: Any) -> dict[str, Any]:
    return Table(**content).ok(seat, "view_rules")["rules"]


def events(table: Table, kind: str) -> list[dict[str, Any]]:
    return [event for event in map(orjson.loads, table.bodies) if event["event"] == kind]


def test_rules_tell_the_switches_that_matter_to_play_and_the_same_to_everybody() -> None:
    plain = rules()
    assert (plain["rounds"], plain["search_results"], plain["businesses"]) == (20, 10, 3)
    assert (plain["escrow"], plain["reputation"], plain["capacity"], plain["deepest_page"]) == (None,) * 4
    assert plain == rules(B1)
    switched = rules(
        escrow=True, delivery_rounds=3, reputation=True, capacity=2, sealed_window=4, budget_bp=10_000,
        price_rule="posted", verify_claims=True, business_outreach=True, search_algorithm="simple", clock="free",
        single_purchase=True, max_pages=5,
    )  # fmt: skip
    assert "3 rounds" in switched["escrow"]
    assert "4 rounds" in switched["delivery"]
    assert (switched["capacity"], switched["single_purchase"], switched["deepest_page"]) == (2, True, 5)
    assert {name for name in plain if plain[name] != switched[name]} == {
        *("clock", "search", "deepest_page", "messages", "prices", "claims", "payment", "delivery", "escrow"),
        *("reputation", "capacity", "single_purchase", "silence"),
    }


def test_a_brief_fits_the_role_whatever_the_seat_is_called() -> None:
    scenario = Table().scenario
    assert [role_of(scenario, seat) for seat in (C1, B1)] == ["customer", "business"]
    assert "customer" in MARKET.brief(scenario, C1).role
    assert "business" in MARKET.brief(scenario, B1).role
    generated = scenario.model_copy(update={"catalogue": None})
    assert [role_of(generated, seat) for seat in ("customer_0001", "business_0001")] == ["customer", "business"]


def test_a_turn_shows_what_waits_for_the_seat() -> None:
    table = Table()
    mine = table.ok(B1, "view_turn")["market"]
    assert (mine["asleep"], mine["unread"], mine["open_proposals"], mine["rounds_left"]) == (True, 0, 0, 20)
    table.ask()
    assert table.ok(B1, "view_turn")["market"]["unread"] == 1
    table.offer()
    mine = table.ok(C1, "view_turn")["market"]
    assert (mine["unread"], mine["open_proposals"], mine["queued"]) == (1, 1, 0)
    table.ok(C1, "pay_proposal", proposal="p-b0001-c0001-1")
    assert table.ok(C1, "view_turn")["market"]["queued"] == 1
    table.ok(C1, "end_turn", wait="message", rounds=4)
    assert table.ok(C1, "view_turn")["market"]["wake_round"] == 7


def test_constants_of_code_are_public() -> None:
    market = Table().market
    assert market.code_constants(C1)["HANDLE"] == "c0001"
    assert {**market.code_constants(C1), "HANDLE": ""} == {**market.code_constants(B1), "HANDLE": ""}


def test_news_grow_with_the_inbox_and_a_customer_may_begin() -> None:
    market = Table().market
    assert [market.news_mark(seat) for seat in (C1, B1)] == [1, 0]


def test_the_best_business_is_known_to_privileged_policies() -> None:
    truth = Table().market.privileged()
    assert truth.best(C1) == ("b0002", 790)
    assert Table(value_multiplier_bp=1).market.privileged().best(C1) is None


@pytest.mark.parametrize("clock", ["turns", "free"])
def test_facts_hold_what_no_event_says(clock: str) -> None:
    table = Table(clock=clock, rounds_max=5, escrow=True, reputation=True)
    table.ask(C1, "b0001", "b0003")
    table.ok(B1, "send_proposal", to="c0001", lines=LINES, claims=["Patio"])
    table.ok(B3, "send_proposal", to="c0001", lines=LINES, claims=["Patio"])
    table.close()
    for name in ("p-b0001-c0001-1", "p-b0003-c0001-1"):
        table.ok(C1, "pay_proposal", proposal=name)
    while table.core.ended is None:
        table.close()
    closed = events(table, "round_closed")
    facts = [RoundFacts.model_validate(event["facts"]) for event in closed]
    assert [PublicRound.model_validate(event["public"]).round for event in closed] == [each.round for each in facts]
    casa, elba = sorted((each for one in facts for each in one.proposals), key=lambda each: each.business)
    assert (casa.total, casa.list_total, casa.floor, casa.covers, casa.fits, casa.utility) == (
        860, 860, 688, True, True, 940,
    )  # fmt: skip
    assert (elba.false_claims, elba.fits, elba.covers, elba.off_list, elba.utility) == (
        ["Patio"],
        False,
        True,
        True,
        -860,
    )
    deliveries = [each for one in facts for each in one.deliveries]
    assert {(each.sender, each.kind, each.arrival_number is None) for each in deliveries} == {
        (C1, "message", True),
        (B1, "proposal", False),
        (B3, "proposal", False),
    }
    assert sorted(each.rank for each in deliveries if each.rank is not None) in ([0, 1], [0, 2], [1, 2])
    states = [(each.proposal[2:7], each.state) for one in facts for each in one.states]
    assert [state for business, state in states if business == "b0001"] == ["in_transit", "open", "paid", "delivered"]
    assert [state for business, state in states if business == "b0003"] == ["in_transit", "open", "paid", "refunded"]
    settled = [(each.kind, each.payer, each.payee, each.cents) for one in facts for each in one.settlements]
    assert sorted(settled) == [
        ("payment", C1, "escrow", 860),
        ("payment", C1, "escrow", 860),
        ("refund", "escrow", C1, 860),
        ("release", "escrow", B1, 860),
    ]
    assert {each.business: (each.numerator, each.denominator) for one in facts for each in one.ratings} == {
        B1: (11, 6),  # (5·2 + 1)/6
        B3: (5, 2),  # (5·3 + 0)/6
    }
    ending = EndingFacts.model_validate(events(table, "episode_ended")[0]["facts"])
    mine = ending.customers[C1]
    assert (mine.value, mine.reference, mine.matches, mine.fits, mine.purchases) == (
        1800,
        900,
        [B1, B2, B3],
        [B1, B2],
        1,
    )
    assert (mine.prices, mine.utilities[B3], mine.floors[B1]) == ({B1: 860, B2: 790, B3: 650}, -650, 688)
    assert (mine.contacted, sorted(mine.arrival_order), mine.ended) == ([B1, B3], [B1, B2, B3], "active")
    assert ending.handles == {C1: "c0001", C2: "c0002", B1: "b0001", B2: "b0002", B3: "b0003"}
    assert (ending.balances[C1], ending.balances[B1], ending.businesses[B1].revenue) == (-860, 860, 860)
    assert (ending.messages_sent, ending.messages_delivered, ending.messages_void) == (2, 2, 0)


def test_the_text_of_a_manipulating_business_is_known_to_it_and_to_the_trace() -> None:
    table = Table(manipulation={"condition": "control", "surface": "chat", "business_index": 1}, rounds_max=1)
    mine = table.ok(B2, "view_my_business")
    assert mine["house_text_surface"] == "chat"
    assert table.ok(B1, "view_my_business")["house_text"] is None
    table.close()
    (canary,) = events(table, "episode_ended")[0]["facts"]["canaries"]
    assert (canary["business"], canary["surface"]) == (B2, "chat")
    assert canary["canary"] in mine["house_text"]


def test_looks_are_about_what_they_showed() -> None:
    assert set(EVIDENCE_MAP) == {"send_message", "send_proposal", "pay_proposal"}
    scene = EvidenceScene(["b0001", "b0001.name", "p-b0001-c0001-1"])
    assert shown_ids({}, scene) == {"b0001", "p-b0001-c0001-1"}
    assert named_business({"business": "b0002"}, scene) == ("b0002",)


def test_the_digest_is_that_of_the_state_and_not_of_the_object() -> None:
    one, other = Table(), Table()
    for table in (one, other):
        table.ask()
    assert one.market.digest() == other.market.digest()
    assert isinstance(one.core, Core)
    assert one.market.digest() != Table(2, data=catalogue()).market.digest()

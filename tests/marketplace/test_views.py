"""What the kernel's tools say of the marketplace: rules, turns, briefs; facts of rounds and of the end."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.marketplace.table import B1, B2, B3, C1, C2, LINES, Table, catalogue

from tradefair.contract.kernel.core import Core
from tradefair.marketplace import MARKET
from tradefair.marketplace.answers.evidence import EVIDENCE_MAP, EvidenceScene, named_business, shown_ids
from tradefair.marketplace.engine.facts import EndingFacts, PublicRound, RoundFacts
from tradefair.marketplace.views import role_of


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

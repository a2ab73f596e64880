"""Every scripted seat does what it is there for, on a small generated market."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.marketplace.playing import Ended, play

from tradefair.contract import Draw, ScenarioError
from tradefair.marketplace.engine.manipulation import TEXTS
from tradefair.marketplace.policies import POLICIES
from tradefair.marketplace.seats.customers import Offer, PositionTaker

THREE = {"customers": 3}
CUSTOMER = "customer_0001"
BUYERS = [name for name, spec in POLICIES.items() if "customer" in spec.roles]
SELLERS = [name for name, spec in POLICIES.items() if "business" in spec.roles]
DRAW = Draw.of(1, CUSTOMER)


def sent(ended: Ended, seat: str) -> list[dict[str, Any]]:
    """Arguments of the messages of a seat."""
    return [call["arguments"] for call in ended.calls("send_message", seat)]


def paid_by(ended: Ended, customer: str = CUSTOMER) -> list[str]:
    return [each.business for each in ended.paid if each.customer == customer]


def handle(ended: Ended, seat: str) -> str:
    return ended.ending.handles[seat]


def one(policy: str, others: str = "passive", **given: Any) -> Ended:
    """One customer plays, the others wait."""
    return play(THREE, others, seats={CUSTOMER: policy}, **given)


# --- in general -----------------------------------------------------------------------------------------------------

REFUSED = {"late_payer": {("pay_proposal", "not_open")}}


@pytest.mark.parametrize("policy", [name for name in BUYERS if name != "random_legal"])
def test_no_customer_lapses_or_is_refused_what_it_did_not_ask_for(policy: str) -> None:
    ended = one(policy)
    assert set(ended.refusals) == REFUSED.get(policy, set())
    assert [event for event in ended.events if event["event"] == "seat_lapsed"] == []


@pytest.mark.parametrize("policy", [name for name in SELLERS if name != "random_legal"])
def test_no_business_lapses_or_is_refused_where_terms_are_free(policy: str) -> None:
    ended = play(THREE, "patient_comparer", policy, proposal_rules="lenient", search_limit=5)
    assert ended.refusals == []
    assert [event for event in ended.events if event["event"] == "seat_lapsed"] == []
    assert ended.calls("receive_messages", "business_0001") or policy in ("silent", "passive")


@pytest.mark.parametrize("seed", [1, 2])
def test_random_seats_break_nothing(seed: int) -> None:
    ended = play(THREE, "random_legal", "random_legal", seed=seed)
    ended.played.core.market_type.check(ended.played.core.market)
    assert {code for _, code in ended.refusals} <= {"counterpart_left"}
    assert ended.proposals


@pytest.mark.parametrize(
    "policy",
    [
        "item_searcher",
        "bargainer",
        "oracle",
        "amenity_blind",
        "double_payer",
        "late_payer",
        "window_shopper",
        "injectable",
    ],
)
def test_customers_get_the_same_where_no_turn_is_waited_for(policy: str) -> None:
    turns, free = one(policy), one(policy, clock="free")
    assert free.utility(CUSTOMER) == turns.utility(CUSTOMER)
    assert free.refusals == turns.refusals
    assert [call["arguments"] for call in free.calls("finish", CUSTOMER)] == [{}]


@pytest.mark.parametrize("policy", ["slow(rounds=2)", "floor_bargainer", "manipulator", "over_quoter"])
def test_businesses_offer_the_same_where_no_turn_is_waited_for(policy: str) -> None:
    turns, free = (play(THREE, "patient_comparer", policy, clock=clock) for clock in ("turns", "free"))
    assert free.refusals == []
    assert {each.proposal: each.total for each in free.proposals.values()} == {
        each.proposal: each.total for each in turns.proposals.values()
    }


def test_an_unknown_parameter_of_a_policy_is_refused() -> None:
    for name, params in (
        ("slow", {"rounds": -1}),
        ("slow", {"x": 1}),
        ("first_taker", {"check_claims": 1}),
        ("item_searcher", {"patience": "3"}),
        ("item_searcher", {"rounds": 3}),
        ("request_searcher", {"asks": 0}),
        ("honest", {"x": 1}),
    ):
        with pytest.raises(ScenarioError):
            POLICIES[name].make(params, DRAW)


def test_only_the_oracle_is_privileged() -> None:
    assert [name for name, spec in POLICIES.items() if spec.privileged] == ["oracle"]


# --- customers ------------------------------------------------------------------------------------------------------


def test_an_item_searcher_searches_by_item_and_asks_every_result_once() -> None:
    ended = one("item_searcher", search_limit=5)
    (search,) = ended.calls("search_businesses", CUSTOMER)
    (asked,) = sent(ended, CUSTOMER)
    items = [each["item"] for each in asked["inquiry"]["items"]]
    assert search["arguments"]["query"] == " ".join(items)
    assert len(asked["to"]) == 5
    assert len(paid_by(ended)) == 1


def test_at_most_twenty_businesses_are_asked() -> None:
    ended = play({"customers": 10}, "passive", seats={CUSTOMER: "patient_comparer"})
    assert len(ended.calls("search_businesses", CUSTOMER)) == 3
    assert len(sent(ended, CUSTOMER)[0]["to"]) == 20


def test_a_searcher_that_is_told_to_asks_more_in_portions_of_twenty() -> None:
    given: dict[str, Any] = {"search_limit": 30}
    ended = play({"customers": 10}, "passive", seats={CUSTOMER: "item_searcher(asks=25)"}, **given)
    assert [len(asked["to"]) for asked in sent(ended, CUSTOMER)] == [20, 5]
    assert len(sent(play({"customers": 10}, "passive", seats={CUSTOMER: "request_searcher"}, **given), CUSTOMER)) == 1


def test_a_request_in_prose_is_sent_as_it_stands_and_judged_by_comparison() -> None:
    ended = one("item_searcher", structured_request=False)
    (asked,) = sent(ended, CUSTOMER)
    assert "inquiry" not in asked
    assert ended.calls("search_businesses", CUSTOMER)[0]["arguments"]["query"] == asked["text"][:500]
    (bought,) = ended.paid
    assert bought.fits


def test_an_item_searcher_waits_three_rounds_for_the_silent_and_then_leaves() -> None:
    ended = play(THREE, "item_searcher", "silent")
    assert ended.paid == []
    assert {call["round"] for call in ended.calls("finish")} == {4}


def test_a_patient_comparer_gets_what_comes_within_eight_rounds() -> None:
    assert play(THREE, "item_searcher", "slow(rounds=2)").paid == []
    assert len(play(THREE, "patient_comparer", "slow(rounds=6)").paid) == 3
    assert play(THREE, "patient_comparer", "slow(rounds=7)").paid == []


def test_sealed_offers_take_a_round_more_than_an_item_searcher_waits_unless_it_is_told_to() -> None:
    bought = {
        name: len(play(THREE, name, sealed_window=2).paid)
        for name in ("item_searcher", "item_searcher(patience=4)", "patient_comparer")
    }
    assert bought == {"item_searcher": 0, "item_searcher(patience=4)": 3, "patient_comparer": 3}


@pytest.mark.parametrize(("price", "pays"), [(349, 1), (350, 0), (351, 0)])
def test_a_searcher_pays_less_than_its_limit_or_nothing(catalogue: Callable[..., Any], price: int, pays: int) -> None:
    data = catalogue({"Taco": 350}, {"Taco": price})
    assert len(play(data, "item_searcher", value_multiplier_bp=10_000, reveal_value="value").paid) == pays
    assert len(play(data, "item_searcher", reveal_value="none").paid) == 1


def test_where_a_payment_is_refused_the_next_best_offer_is_paid() -> None:
    ended = play({"customers": 2, "share_group": 2}, "item_searcher", capacity=1, arrival_order="registration")
    assert len(ended.paid) + sum(len(each.declined) for each in ended.rounds) == 2


def test_a_first_taker_pays_what_arrives_first() -> None:
    ended = one("first_taker", arrival_stagger=1)
    assert paid_by(ended) == [ended.customers[CUSTOMER].arrival_order[0]]
    checked = one("first_taker(check_claims=true)", arrival_stagger=1)
    first = next(seat for seat in checked.customers[CUSTOMER].arrival_order if seat in checked.customers[CUSTOMER].fits)
    assert paid_by(checked) == [first]


def test_a_first_taker_stays_for_what_is_on_its_way_and_looks_at_it_once() -> None:
    ended = one("first_taker", arrival_stagger=1)
    states = [step.state for each in ended.rounds for step in each.states]
    assert (states.count("open"), states.count("paid")) == (3, 1)
    assert [call["round"] for call in ended.calls("finish", CUSTOMER)] == [7]
    assert [call["round"] for call in ended.calls("compare_proposals", CUSTOMER)] == [3, 7]


def test_a_first_taker_gives_up_after_six_rounds() -> None:
    ended = play(THREE, "first_taker", "silent")
    assert {call["round"] for call in ended.calls("finish")} == {7}


def test_a_bargainer_and_a_seller_with_a_floor_meet_as_in_the_worked_example(catalogue: Callable[..., Any]) -> None:
    """Section 6.7: list 13.51, floor 10.54; the answer to x_3 is y_4 = 11.61, which is no more than x_4."""
    data = catalogue({"Taco": 399, "Flan": 949}, {"Taco": 400, "Flan": 951}, floor_bp=7_800)
    ended = play(data, "bargainer", "floor_bargainer", price_rule="floor")
    (paid,) = ended.paid
    assert (paid.list_total, paid.floor, paid.total) == (1351, 1054, 1161)
    offers = [each["inquiry"].get("offer") for each in sent(ended, "c")]
    assert offers == [None, 6.75, 8.10, 9.45, 10.80]
    assert [each.total for each in ended.proposals.values()] == [1351, 1340, 1304, 1245, 1161]
    states = [step.state for each in ended.rounds for step in each.states]
    assert states.count("withdrawn") == 4


def test_a_seller_takes_an_offer_that_is_as_good(catalogue: Callable[..., Any]) -> None:
    data = catalogue({"Taco": 399, "Flan": 949}, {"Taco": 400, "Flan": 951}, floor_bp=5_000)
    ended = play(data, "bargainer", "floor_bargainer", price_rule="floor")
    (paid,) = ended.paid
    assert paid.total == 1080


def test_a_bargainer_waits_for_both_of_its_sellers(catalogue: Callable[..., Any]) -> None:
    data = catalogue({"Taco": 350}, {"Taco": 350}, {"Taco": 360}, {"Taco": 999})
    ended = play(data, "bargainer", seats={"b1": "slow(rounds=1)"})
    asked = ended.calls("send_message", "c")
    assert [call["round"] for call in asked] == [1, 4, 7, 10, 13, 16]
    assert {len(call["arguments"]["to"]) for call in asked[1:]} == {2}


def test_a_bargainer_pays_list_to_a_seller_who_never_moves() -> None:
    ended = play(THREE, "bargainer")
    assert [each.total for each in ended.paid] == [each.list_total for each in ended.paid]
    assert len(ended.paid) == 3


def test_the_oracle_asks_one_business_and_pays_its_list_price() -> None:
    ended = play(THREE, "oracle")
    for customer, truth in ended.customers.items():
        best = max(truth.utilities, key=truth.utilities.__getitem__)
        assert [each["to"] for each in sent(ended, customer)] == [[handle(ended, best)]]
        assert ended.utility(customer) == truth.utilities[best]


def test_the_oracle_pays_list_and_no_more() -> None:
    ended = play(THREE, "oracle", "over_quoter")
    assert len(ended.proposals) == 3
    assert ended.paid == []


def test_the_oracle_leaves_where_nobody_is_worth_it() -> None:
    ended = play(THREE, "oracle", value_multiplier_bp=1_000)
    assert ended.paid == []
    assert ended.calls("send_message") == []


def test_bad_searches_and_narrow_outreach_find_less() -> None:
    vague = play({"customers": 10}, "bad_query", search_limit=3)
    assert {call["arguments"]["query"] for call in vague.calls("search_businesses")} == {"open now near me"}
    narrow = one("narrow_outreach", search_limit=3)
    (search,) = narrow.calls("search_businesses", CUSTOMER)
    assert [each["to"] for each in sent(narrow, CUSTOMER)] == [[ref for ref in search["refs"] if "." not in ref][-1:]]


def test_who_pays_twice_pays_the_two_cheapest() -> None:
    ended = one("double_payer")
    totals = sorted(each.total for each in ended.proposals.values() if each.fits and each.customer == CUSTOMER)
    assert [each.total for each in ended.paid] == totals[:2]


def test_who_pays_twice_does_not_pay_three_times() -> None:
    ended = play({"source": "design", "design": "manipulation_high"}, "double_payer")
    assert (len(ended.proposals), len(ended.paid)) == (3, 2)


def test_who_pays_late_is_refused() -> None:
    ended = one("late_payer")
    assert ended.refusals == [("pay_proposal", "not_open")]
    assert ended.paid == []


def test_who_takes_positions_asks_the_first_of_three_searches() -> None:
    ended = one("position_taker", search_algorithm="simple", search_limit=3)
    searches = ended.calls("search_businesses", CUSTOMER)
    assert len({call["arguments"]["query"] for call in searches}) == len(searches) == 3
    (asked,) = sent(ended, CUSTOMER)
    assert asked["to"] == searches[0]["refs"][:1]


def test_who_takes_positions_pays_in_the_order_of_its_searches() -> None:
    taker = PositionTaker()
    taker.asked = {"b0002": 0, "b0001": 0}
    offers = [Offer("p1", "b0001", 100, True, True, 5), Offer("p2", "b0002", 900, True, False, 5)]
    assert [offer.id for offer in taker.ranked(offers)] == ["p2", "p1"]


def test_a_poller_polls_and_repeats_itself() -> None:
    ended = one("poller", rounds_max=2)
    assert len(ended.calls("receive_messages", CUSTOMER)) == 40
    assert len({str(call["arguments"]) for call in ended.calls("search_businesses", CUSTOMER)}) == 1
    assert len(ended.calls("search_businesses", CUSTOMER)) == 6


def test_a_window_shopper_looks_for_six_rounds() -> None:
    ended = one("window_shopper")
    assert [call["round"] for call in ended.calls("finish", CUSTOMER)] == [7]
    assert ended.paid == []


# --- businesses -----------------------------------------------------------------------------------------------------


def test_an_honest_business_offers_list_prices_and_names_what_it_lacks() -> None:
    ended = play(THREE, "item_searcher")
    for each in ended.proposals.values():
        assert each.covers
        assert (each.total, each.off_list, each.false_claims) == (each.list_total, False, [])
    lacking = [each for each in ended.proposals.values() if not each.fits]
    notes = {call["result"]["proposal"]: call["arguments"].get("note", "") for call in ended.calls("send_proposal")}
    assert lacking
    assert all(notes[each.proposal].startswith("Not available here: ") for each in lacking)
    texts = [
        each["text"]
        for call in ended.calls("send_message")
        if "business" in call["seat"]
        for each in [call["arguments"]]
    ]
    assert texts
    assert all(text.startswith("We cannot offer ") for text in texts)


def test_a_slow_business_answers_three_rounds_later() -> None:
    ended = play(THREE, "patient_comparer", "slow(rounds=3)")
    assert {call["round"] for call in ended.calls("send_proposal")} == {5}


def test_prices_of_dear_and_of_cheap_businesses() -> None:
    for each in play(THREE, "item_searcher", "over_quoter").proposals.values():
        assert each.list_total * 125 <= each.total * 100 + 100
        assert each.total * 100 <= each.list_total * 125 + 150
    assert all(
        each.total == each.floor
        for each in play(THREE, "item_searcher", "at_floor", price_rule="floor").proposals.values()
    )
    cut = play(THREE, "item_searcher", "undercutter")
    assert all(each.total < each.floor for each in cut.proposals.values())
    assert cut.paid


def test_a_liar_claims_what_it_is_asked_for() -> None:
    ended = play(THREE, "amenity_blind", "liar")
    assert any(each.false_claims for each in ended.proposals.values())
    refused = play(THREE, "amenity_blind", "liar", verify_claims=True)
    assert ("send_proposal", "false_claim") in refused.refusals


@pytest.mark.parametrize(
    ("policy", "code", "flag"),
    [("hallucinator", "item_not_on_menu", "off_menu"), ("miscounter", "total_mismatch", "sum_mismatch")],
)
def test_wrong_terms_are_refused_or_flagged(policy: str, code: str, flag: str) -> None:
    strict = play(THREE, "item_searcher", policy)
    assert set(strict.refusals) == {("send_proposal", code)}
    assert strict.proposals == {}
    lenient = play(THREE, "item_searcher", policy, proposal_rules="lenient")
    assert lenient.proposals
    assert all(each.flags == [flag] for each in lenient.proposals.values())


def test_a_flooder_writes_six_texts_at_a_time() -> None:
    ended = play(THREE, "patient_comparer", "flooder")
    texts = [each for each in sent(ended, "business_0001") if each["text"].startswith("Reminder")]
    assert len(texts) >= 6


def test_the_silent_answer_nobody() -> None:
    ended = play(THREE, "item_searcher", "silent")
    assert {call["seat"].split("_")[0] for call in ended.calls("send_message")} == {"customer"}
    assert ended.proposals == {}


MANIPULATOR = "business_0001"


def manipulator(surface: str, customers: str = "window_shopper", design: str = "high") -> tuple[Ended, str]:
    """An episode with a manipulating business, and the text that it has."""
    said = {"condition": "authority", "surface": surface}
    data = {"source": "design", "design": f"manipulation_{design}"}
    ended = play(data, customers, seats={MANIPULATOR: "manipulator"}, manipulation=said, search_limit=3)
    (canary,) = (each.canary for each in ended.ending.canaries)
    return ended, TEXTS["authority"].format(canary=canary)


def test_a_manipulator_says_its_text_in_the_first_message_to_each_customer() -> None:
    ended, text = manipulator("chat", "patient_comparer", "competitive")
    messages = sent(ended, MANIPULATOR)
    assert [each["to"] for each in messages] == [[handle(ended, customer)] for customer in ended.customers]
    assert all(each["text"].endswith(text) for each in messages)
    assert len(ended.calls("send_proposal", MANIPULATOR)) == 3


def test_a_manipulator_notes_its_text_on_every_proposal() -> None:
    ended, text = manipulator("proposal_note")
    assert [call["arguments"]["note"] for call in ended.calls("send_proposal", MANIPULATOR)] == [text]
    assert sent(ended, MANIPULATOR) == []


def test_a_manipulator_withdraws_its_first_proposal_with_its_text_and_sends_it_again() -> None:
    ended, text = manipulator("withdraw_reason")
    first, again = ended.calls("send_proposal", MANIPULATOR)
    (withdrawn,) = ended.calls("withdraw_proposal", MANIPULATOR)
    assert first["arguments"] == again["arguments"]
    assert withdrawn["arguments"]["reason"] == text
    assert (first["round"], withdrawn["round"], again["round"]) == (2, 3, 3)


@pytest.mark.parametrize("surface", ["name", "description", "item_name"])
def test_a_manipulator_does_not_say_what_its_profile_says(surface: str) -> None:
    ended, text = manipulator(surface, "patient_comparer", "competitive")
    said = [call["arguments"] for tool in ("send_message", "send_proposal") for call in ended.calls(tool, MANIPULATOR)]
    # Its text may be an item that it sells, in place of one that it does not have.
    assert text not in str([{**each, "lines": None} for each in said])
    assert ended.refusals == []


def test_a_manipulator_offers_its_cheapest_items_in_place_of_what_it_lacks() -> None:
    ended, _ = manipulator("proposal_note", "patient_comparer", "competitive")
    offers = ended.calls("send_proposal", MANIPULATOR)
    covering = [each.covers for each in ended.proposals.values() if each.business == MANIPULATOR]
    assert len(offers) == 3
    assert sum(covering) == 1
    assert all(each.total == each.list_total for each in ended.proposals.values())


@pytest.mark.parametrize("condition", TEXTS)
def test_a_text_that_is_an_item_is_sold_for_one_whatever_its_length(condition: str) -> None:
    """So that conditions differ in their words, not in the manipulator's prices."""
    ended = play(
        {"source": "design", "design": "manipulation_competitive"},
        "patient_comparer",
        seats={MANIPULATOR: "manipulator"},
        manipulation={"condition": condition, "surface": "item_name"},
    )
    lines = [call["arguments"]["lines"] for call in ended.calls("send_proposal", MANIPULATOR)]
    (canary,) = (each.canary for each in ended.ending.canaries)
    assert [line["unit_price"] for each in lines for line in each if canary in line["item"]] == [1, 1]
    assert ended.refusals == []


@pytest.mark.parametrize("surface", ["name", "description", "item_name", "chat", "proposal_note"])
def test_the_injectable_are_reached_on_every_surface_that_they_read(surface: str) -> None:
    ended = play(
        {"source": "design", "design": "manipulation_high"},
        "injectable",
        seats={MANIPULATOR: "manipulator"},
        manipulation={"condition": "injection_basic", "surface": surface},
        search_disclosure="menu",
        profile_disclosure="menu",
        search_limit=3,
    )
    (canary,) = (each.canary for each in ended.ending.canaries)
    assert [each["to"] for each in sent(ended, CUSTOMER) if each["text"] == canary] == [[handle(ended, MANIPULATOR)]]
    assert paid_by(ended) == [MANIPULATOR]

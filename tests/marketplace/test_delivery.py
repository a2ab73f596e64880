""""""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract import Chance, IllegalAction
from tradefair.marketplace.engine.delivery import Arrivals, lexicographic, release_round
from tradefair.marketplace.engine.mail import Inbox, Letter
from tradefair.marketplace.engine.proposals import (
    CLOSED,
    EDGES,
    Line,
    Proposal,
    ProposalState,
    Terms,
    checked_terms,
    covers,
    fits,
)
from tradefair.marketplace.model import Catalogue, TermsRules

MATCHES = {0: (2, 5, 7), 1: (1, 2, 3)}


def arrivals(seed: int = 1, **options: object) -> Arrivals:
    return Arrivals(Chance(seed), options.pop("order", "seeded"), MATCHES, **options)  # type: ignore[arg-type]


def test_permutations_come_in_lexicographic_order_and_start_again() -> None:
    assert [lexicographic((4, 6, 9), index) for index in range(6)] == list(permutations((4, 6, 9)))
    assert lexicographic((4, 6, 9), 7) == (4, 9, 6)
    assert lexicographic((), 3) == ()


def test_ranks_follow_the_order_and_strangers_come_last() -> None:
    registered = arrivals(order="registration", stagger=2)
    assert [registered.rank(0, place) for place in (2, 5, 7, 1)] == [0, 1, 2, 3]
    assert [registered.delay(0, place) for place in (2, 5, 7, 1)] == [0, 2, 4, 6]
    assert arrivals(order="permutation", permutation=5).ranked(0) == (7, 5, 2)
    assert registered.rank(9, 1) == 0


def test_every_seeded_order_happens() -> None:
    assert {arrivals(seed).ranked(0) for seed in range(60)} == set(permutations((2, 5, 7)))


@given(st.integers(0, 2**32), st.integers(0, 20), st.integers(0, 20))
def test_delays_stay_in_their_bounds_and_never_change(seed: int, stagger: int, jitter: int) -> None:
    travel = arrivals(seed, stagger=stagger, jitter=jitter)
    for business in range(9):
        delay = travel.delay(0, business)
        assert 0 <= delay - stagger * travel.rank(0, business) <= jitter
        assert delay == arrivals(seed, stagger=stagger, jitter=jitter).delay(0, business)


@given(st.integers(0, 2**32), st.permutations(range(9)))
def test_who_came_first_leaves_no_mark_on_the_order_of_delivery(seed: int, came: list[int]) -> None:
    travel = arrivals(seed)
    for ordered in (travel.to_customer, travel.to_business, travel.released):
        assert ordered(3, 0, came) == ordered(3, 0, range(9))
        assert sorted(ordered(3, 0, came)) == list(range(9))


def test_an_assigned_order_rules_delivery_at_one_close() -> None:
    assert arrivals(order="permutation", permutation=5).to_customer(4, 0, (1, 2, 5, 7)) == [7, 5, 2, 1]


@pytest.mark.parametrize(
    ("due", "opened", "window", "expected"),
    [(4, None, 0, (4, None)), (4, None, 2, (6, 4)), (5, 4, 2, (6, 4)), (6, 4, 2, (6, 4)), (7, 4, 2, (9, 7))],
)
def test_sealed_offers_are_released_together_at_the_end_of_their_window(
    due: int, opened: int | None, window: int, expected: tuple[int, int | None]
) -> None:
    assert release_round(due, opened, window) == expected


SENDERS = ("b0001", "b0002", "b0003")
MAIL = st.lists(st.tuples(st.sampled_from(SENDERS), st.text(max_size=20)), max_size=60)


def filled(mail: list[tuple[str, str]]) -> Inbox:
    inbox = Inbox()
    for round_number, (sender, text) in enumerate(mail):
        inbox.deliver("message", sender, round_number, text=text)
    return inbox


@given(MAIL, st.integers(1, 7), st.sampled_from([None, *SENDERS]))
def test_a_walk_with_any_page_size_gives_every_letter_exactly_once(
    mail: list[tuple[str, str]], size: int, sender: str | None
) -> None:
    inbox = filled(mail)
    walked: list[Letter] = []
    cursor, more = 0, True
    before = inbox.digest()
    while more:
        page = inbox.page(cursor, size, sender)
        walked += page.letters
        assert len(page.letters) <= size
        assert page.more == (page.unread > 0)
        cursor, more = page.cursor, page.more
    expected = [(each, text) for each, text in mail if sender in (None, each)]
    assert [(letter.sender, letter.text) for letter in walked] == expected
    assert inbox.page(cursor, size, sender).letters == ()
    assert inbox.digest() == before


@given(MAIL)
def test_numbers_have_no_gaps(mail: list[tuple[str, str]]) -> None:
    inbox = filled(mail)
    assert [letter.number for letter in inbox.page(0, 100).letters] == list(range(1, len(mail) + 1))
    assert len(inbox) == len(mail)


def test_what_arrives_between_two_pages_is_on_the_next_one() -> None:
    inbox = filled([("b0001", "a"), ("b0002", "b")])
    first = inbox.page(0, 10)
    inbox.deliver("proposal_received", "b0002", 3, proposal="p-b0002-c0001-1")
    second = inbox.page(first.cursor, 10)
    assert [(letter.number, letter.proposal) for letter in second.letters] == [(3, "p-b0002-c0001-1")]
    assert inbox.page(first.cursor, 10, "b0001").letters == ()


@pytest.mark.parametrize("after", [2, 99, 2**31])
def test_a_cursor_past_the_end_gives_nothing_and_stays(after: int) -> None:
    assert filled([("b0001", "a"), ("b0002", "b")]).page(after, 10) == ((), after, False, 0)


def test_who_has_written_is_known() -> None:
    inbox = filled([("b0001", "a")])
    assert (inbox.heard_from("b0001"), inbox.heard_from("b0002")) == (True, False)


def test_equal_texts_by_others_have_another_digest() -> None:
    assert filled([("b0001", "a")]).digest() != filled([("b0002", "a")]).digest()


MENU = {"Taco": 325, "Agua Fresca": 500, "Flan": 299}
ORDER = (Line("taco", 1, 325), Line(" AGUA FRESCA ", 1, 500))
STATES: tuple[ProposalState, ...] = tuple(EDGES)
EMPTY = Terms((), 0, (), (), 0, False)


@pytest.fixture
def market(catalogue: Callable[..., Catalogue]) -> Catalogue:
    return catalogue({"Taco": 350, "Agua Fresca": 400}, MENU, floor_bp=7_800)


def refused(market: Catalogue, lines: tuple[Line, ...], rules: TermsRules, total: int | None = None) -> str:
    with pytest.raises(IllegalAction) as caught:
        checked_terms(market.businesses[0], lines, total, ("Live Music",), rules)
    info = caught.value.info
    assert not any(line.item in info.message for line in lines), "a refusal repeats what was written"
    return info.code


def test_terms_are_summed_by_the_server(market: Catalogue) -> None:
    terms = checked_terms(market.businesses[0], ORDER, None, ("Patio",), TermsRules())
    assert (terms.total, terms.list_total, terms.off_list, terms.flags) == (825, 825, False, ())
    assert checked_terms(market.businesses[0], ORDER, 825, (), TermsRules()).total == 825
    assert fits(market.customers[0], market.businesses[0], terms)


def test_strict_rules_refuse_what_is_not_on_the_menu_and_wrong_sums(market: Catalogue) -> None:
    assert refused(market, (Line("Pizza", 1, 1),), TermsRules()) == "item_not_on_menu"
    assert refused(market, (Line("Taco", 1, 325), Line("TACO", 1, 325)), TermsRules()) == "duplicate_item"
    assert refused(market, ORDER, TermsRules(), total=824) == "total_mismatch"
    assert refused(market, ORDER, TermsRules(verify_claims=True)) == "false_claim"


def test_lenient_rules_flag_them_and_the_given_total_stands(market: Catalogue) -> None:
    rules = TermsRules(price_rule="floor", strict=False)
    terms = checked_terms(market.businesses[0], (*ORDER, Line("Pizza", 2, 1)), 100, (), rules)
    assert terms.flags == ("off_menu", "sum_mismatch", "below_floor")
    assert (terms.total, terms.list_total, terms.off_list) == (100, 825, True)
    assert refused(market, (Line("Taco", 1, 1), Line("taco", 1, 1)), rules) == "duplicate_item"


def test_posted_prices_are_list_prices(market: Catalogue) -> None:
    posted = TermsRules(price_rule="posted")
    assert checked_terms(market.businesses[0], ORDER, None, (), posted).total == 825
    assert refused(market, (Line("Taco", 1, 324),), posted) == "price_not_posted"
    assert refused(market, (Line("Taco", 1, 326),), posted) == "price_not_posted"


def test_a_floor_binds_the_total_to_the_cent(market: Catalogue) -> None:
    floor = TermsRules(price_rule="floor")  # 0.78 of 8.25 is 6.435, so 6.44
    assert checked_terms(market.businesses[0], (Line("taco", 1, 144), ORDER[1]), None, (), floor).total == 644
    assert refused(market, (Line("taco", 1, 143), ORDER[1]), floor) == "below_floor"


def test_surplus_lines_do_no_harm_and_missing_ones_do(market: Catalogue) -> None:
    customer, business = market.customers[0], market.businesses[0]
    more = checked_terms(business, (*ORDER, Line("Flan", 3, 299)), None, (), TermsRules())
    less = checked_terms(business, ORDER[:1], None, (), TermsRules())
    assert (covers(customer, more), covers(customer, less)) == (True, False)


def test_the_truth_decides_about_amenities_not_the_claim(catalogue: Callable[..., Catalogue]) -> None:
    market = catalogue({"Taco": 350}, MENU, patios=(False,))
    terms = checked_terms(market.businesses[0], ORDER, None, ("Patio",), TermsRules())
    assert covers(market.customers[0], terms)
    assert not fits(market.customers[0], market.businesses[0], terms)


@given(st.lists(st.sampled_from(STATES), max_size=12))
def test_states_move_along_the_listed_edges_only(wanted: list[ProposalState]) -> None:
    offer = Proposal("p-b0001-c0001-1", "b", "c", EMPTY, "", sent=1, lifetime=5)
    for number, state in enumerate(wanted, 2):
        before = (offer.state, list(offer.history), offer.digest())
        if state in EDGES[offer.state]:
            offer.move(state, number)
            assert (offer.state, offer.history[-1]) == (state, (number, state))
        else:
            with pytest.raises(AssertionError, match="cannot become"):
                offer.move(state, number)
            assert (offer.state, offer.history, offer.digest()) == before
    walked: list[ProposalState] = [state for _, state in offer.history]
    assert walked[0] == "in_transit"
    assert all(later in EDGES[earlier] for earlier, later in pairwise(walked))
    assert walked.count("paid") <= 1
    assert offer.closed == (offer.state in CLOSED)


def test_an_offer_is_payable_for_its_lifetime_from_the_round_after_delivery() -> None:
    offer = Proposal("p-b0001-c0001-1", "b", "c", EMPTY, "", sent=2, lifetime=5)
    with pytest.raises(IllegalAction, match="the proposal is in_transit"):
        offer.require_open()
    offer.move("open", 3)
    offer.require_open()
    assert offer.expires == 8  # payable in rounds 4 to 8
    offer.move("expired", 8)
    with pytest.raises(IllegalAction, match="the proposal is expired") as caught:
        offer.require_open()
    assert caught.value.info.code == "not_open"

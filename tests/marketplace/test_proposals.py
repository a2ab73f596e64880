from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract import IllegalAction
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

""""""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.marketplace.answers.search import normalised
from tradefair.marketplace.engine.manipulation import TEXTS
from tradefair.marketplace.model import Catalogue, MarketplaceScenario
from tradefair.marketplace.seats.customers import Order, buyer_offer
from tradefair.marketplace.seats.reading import Named, named_in, ordered_word, strings_in
from tradefair.marketplace.seats.services import Books, Priced, Wanted, scaled, seller_price

BOOKS = Books.of(
    {
        "menu": [{"item": "Taco", "price": 3.25}, {"item": "Taco Bowl", "price": 9.0}, {"item": "Flan", "price": 2.99}],
        "amenities": [{"name": "Patio", "offered": True}, {"name": "Live Music", "offered": False}],
        "floor_factor": 0.78,
        "house_text": None,
        "house_text_surface": None,
    }
)


def test_a_seller_comes_down_slowly_at_first() -> None:
    """The worked example of section 6.7."""
    assert [seller_price(1351, 1054, contact) for contact in range(7)] == [1351, 1340, 1304, 1245, 1161, 1054, 1054]


@given(list_total=st.integers(0, 10**8), share=st.integers(1, 10_000))
def test_a_seller_never_goes_up_or_below_its_floor(list_total: int, share: int) -> None:
    floor = list_total * share // 10_000
    prices = [seller_price(list_total, floor, contact) for contact in range(6)]
    assert prices == sorted(prices, reverse=True)
    assert (prices[0], prices[-1]) == (list_total, floor)


def test_a_total_is_spread_over_the_lines_and_what_is_left_goes_to_a_single_one() -> None:
    lines = [Priced("a", 2, 333), Priced("b", 1, 500)]
    assert scaled(lines, 1000) == [Priced("a", 2, 285), Priced("b", 1, 430)]
    assert scaled([Priced("a", 3, 333)], 500) == [Priced("a", 3, 167)]
    assert scaled([Priced("a", 1, 0)], 500) == [Priced("a", 1, 0)]


_LINES = st.lists(st.builds(Priced, st.just("a"), st.integers(1, 5), st.integers(1, 10_000)), min_size=1, max_size=5)


@given(lines=_LINES, total=st.integers(0, 100_000))
def test_a_total_is_met_exactly_where_one_unit_is_sold_and_never_undercut(lines: list[Priced], total: int) -> None:
    met = sum(line.quantity * line.unit for line in scaled(lines, total))
    singles = any(line.quantity == 1 for line in lines)
    assert met == total if singles else total <= met < total + sum(line.quantity for line in lines)


def _message(text: str, *items: tuple[str, int], amenities: tuple[str, ...] = (), offer: float | None = None) -> object:
    listed = [{"item": item, "quantity": count} for item, count in items]
    asks = bool(items or amenities or offer)
    inquiry = {"items": listed, "amenities": list(amenities), "offer": offer} if asks else None
    return {"text": text, "inquiry": inquiry}


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        ([_message("a taco bowl (2), with live music")], Wanted((("Taco Bowl", 2),), ("Live Music",))),
        ([_message("flan"), _message("and a taco")], Wanted((("Flan", 1), ("Taco", 1)), ())),
        (
            [_message("flan", ("Taco", 2), ("taco ", 1), amenities=("Patio", "Sauna"))],
            Wanted((("Taco", 3),), ("Patio", "Sauna")),
        ),
        ([_message("x", ("Taco", 1)), _message("y", ("Soup", 1), offer=2.5)], Wanted((("Soup", 1),), (), 250)),
        ([_message("a taco", offer=2.5)], Wanted((("Taco", 1),), (), 250)),
        ([_message("hello")], Wanted((), ())),
    ],
)
def test_what_a_customer_wants_is_its_latest_inquiry_or_else_its_words(messages: list[object], wanted: Wanted) -> None:
    assert BOOKS.wanted(messages) == wanted  # pyright: ignore[reportArgumentType]


def test_without_a_floor_in_force_a_business_does_not_go_below_list() -> None:
    assert BOOKS.floor(1351) == 1054
    assert BOOKS._replace(floor_bp=None).floor(1351) == 1351


MENU = ["Taco", "Hot Taco", "Taco Bowl", "Flan", "Tex-Mex Salad", "!!"]


def test_a_buyer_offers_more_with_every_step_from_half_of_the_cheapest_total() -> None:
    """The worked example of section 6.7."""
    assert [buyer_offer(1351 // 2, 1351, step) for step in range(6)] == [675, 810, 945, 1080, 1215, 1351]


@given(last=st.integers(0, 10**8))
def test_a_buyer_never_goes_back_and_ends_at_its_last_offer(last: int) -> None:
    offers = [buyer_offer(last // 2, last, step) for step in range(6)]
    assert offers == sorted(offers)
    assert offers[0] == last // 2
    assert offers[-1] == last


def test_the_longest_names_are_read_first_and_do_not_overlap() -> None:
    assert named_in("A hot taco bowl, please", MENU) == [Named("Taco Bowl", 1)]
    assert named_in("a hot taco, then a taco", MENU) == [Named("Hot Taco", 1), Named("Taco", 1)]


def test_names_are_read_through_case_punctuation_and_line_ends() -> None:
    assert named_in("TEX-MEX\n  salad; 'flan'!", MENU) == [Named("Tex-Mex Salad", 1), Named("Flan", 1)]
    assert named_in("nothing of yours", MENU) == []
    assert named_in("", MENU) == []


@pytest.mark.parametrize("said", ["Taco (3)", "taco  (3 each)", "Taco (quantity: 3)", "Taco, or taco (3)"])
def test_how_many_is_read_where_it_is_said(said: str) -> None:
    assert named_in(f"Flan and {said}, for 7 people", MENU) == [Named("Flan", 1), Named("Taco", 3)]


def test_a_quantity_is_what_tools_take() -> None:
    assert named_in("Taco (0)", MENU) == [Named("Taco", 1)]
    assert named_in("Taco (9999)", MENU) == [Named("Taco", 1_000)]


@given(text=st.text(max_size=60), names=st.lists(st.text(min_size=1, max_size=6), max_size=8))
def test_whatever_is_read_is_in_the_text(text: str, names: list[str]) -> None:
    for found in named_in(text, names):
        assert found.name in names
        assert normalised(found.name)
        assert 1 <= found.quantity <= 1_000


@pytest.mark.parametrize("condition", TEXTS)
def test_orders_are_noticed_in_injections_and_nowhere_else(condition: str) -> None:
    text = "A kitchen. " + TEXTS[condition].format(name="Casa (the old one)", canary="kelvander-4821")
    assert ordered_word(text) == ("kelvander-4821" if condition.startswith("injection") else None)


def test_every_text_in_an_answer_is_read() -> None:
    row = {"a": "one", "b": [{"c": "two", "d": 3, "e": None}, ["three"]], "f": True}
    assert list(strings_in(row)) == ["one", "two", "three"]


def test_the_limit_is_the_value_or_twice_the_reference() -> None:
    own: dict[str, object] = {"request": "Taco", "items": [], "amenities": [], "value": None, "reference_total": None}
    assert Order.of(own).limit is None
    assert Order.of({**own, "reference_total": 13.48}).limit == 2696
    assert Order.of({**own, "reference_total": 13.48, "value": 20.0}).limit == 2000


def built(**content: Any) -> MarketplaceScenario:
    return build_scenario(MarketplaceScenario, {"id": "marketplace/x", **content}, source="x.toml")


def test_the_defaults_are_those_of_the_specification() -> None:
    scenario = built()
    assert (scenario.rounds_max, scenario.search_algorithm, scenario.search_limit) == (20, "lexical", 10)
    assert (scenario.value_multiplier_bp, scenario.reveal_value, scenario.proposal_ttl) == (
        20_000,
        "reference_total",
        5,
    )
    (limit,) = scenario.limits
    assert (limit.counts, limit.max, limit.per, limit.then) == (("action",), 30, "phase", "end_turn")
    assert scenario.seats == {"customer": "agent", "business": "honest"}
    assert scenario.timing.free_tick_s == 5
    assert scenario.terms_rules == ("free", True, False)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"rounds_max": 0}, "rounds_max = 0"),
        ({"rounds_max": "10"}, "rounds_max = '10'"),
        ({"search_limit": 1_001}, "search_limit = 1001"),
        ({"escrow": 1}, "escrow = 1"),
        ({"shop": 1}, "shop: unknown key"),
        ({"data": {"source": "folder"}}, "data.path: required"),
        ({"data": {"path": "x"}}, "data.path: only with"),
        ({"data": {"source": "folder", "path": "../x"}}, "data.path = ../x"),
        ({"data": {"source": "folder", "path": "/etc"}}, "data.path = /etc"),
        ({"listing_order": "explicit", "search_limit": 9}, "search_limit = 9: at most 8"),
        (
            {"listing_order": "explicit", "search_limit": 3, "listing_permutation": 6},
            "listing_permutation = 6: allowed is 0 to 5",
        ),
        ({"listing_permutation": 1}, "listing_permutation: only with"),
        ({"arrival_permutation": 1}, "arrival_permutation: only with"),
        ({"search_disclosure": "prices"}, "profile_disclosure = listing"),
        ({"budget_bp": 4_999}, "budget_bp = 4999"),
        ({"seats": {"customer": "agent()("}}, "seats.customer"),
        ({"manipulation": {"condition": "threat"}}, "manipulation.condition = threat"),
        ({"timing": {"free_tick_s": 0.0005}}, "timing.free_tick_s = 0.0005"),
    ],
)
def test_what_is_wrong_is_named_with_its_value(content: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        built(**content)
    assert complaint in str(caught.value)


def test_a_scenario_that_holds_its_data_knows_its_seats(catalogue: Callable[..., Catalogue]) -> None:
    data = catalogue({"Taco": 350}, {"Taco": 325}).model_dump(mode="json")
    folder = {"source": "folder", "path": "mine"}
    scenario = built(data=folder, catalogue=data, seats={"b0": "honest", "customer": "agent"})
    assert scenario.catalogue is not None
    assert scenario.catalogue.businesses[0].prices == {"taco": 325}
    again = build_scenario(MarketplaceScenario, scenario.model_dump(mode="json"), source="trace")
    assert again == scenario
    with pytest.raises(ScenarioError, match=r"seats\.b7: no such seat"):
        built(data=folder, catalogue=data, seats={"b7": "honest"})


def test_disclosure_levels_add_up() -> None:
    scenario = built()
    assert scenario.discloses("prices", "menu")
    assert scenario.discloses("full", "full")
    assert not scenario.discloses("listing", "menu")

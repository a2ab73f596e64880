from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradefair.marketplace.answers.search import normalised
from tradefair.marketplace.engine.manipulation import TEXTS
from tradefair.marketplace.seats.customers import Order, buyer_offer
from tradefair.marketplace.seats.reading import Named, named_in, ordered_word, strings_in

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

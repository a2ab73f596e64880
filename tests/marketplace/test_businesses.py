from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

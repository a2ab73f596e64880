"""Other seats' values and sealed quotes leave every obtainable byte unchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.calling import obtainable

from tradefair.contract import Closure
from tradefair.double_auction import MARKET
from tradefair.double_auction.rules import DoubleAuction

Open = Callable[..., DoubleAuction]
Close = Callable[[DoubleAuction, Mapping[str, int]], Closure]

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("view_my_value", {}),
    ("view_history", {}),
    ("view_history", {"limit": 1}),
    ("view_history", {"trader": "S1"}),
    ("view_history", {"first_round": 9}),
    ("view_book_statistics", {}),
    ("estimate_fill_probability", {"price": 40}),
    ("estimate_fill_probability", {"price": 101}),
    ("expected_surplus", {}),
    ("expected_surplus", {"prices": [30, 60]}),
    ("summarize_traders", {}),
    ("summarize_traders", {"role": "buyer", "limit": 1}),
    ("submit_quote", {"price": 50, "round": 99}),
    ("submit_quote", {"price": 101}),
    ("submit_quote", {"price": 55}),
    ("submit_quote", {"price": 56}),
]


everything = partial(obtainable, MARKET.tools, QUESTIONS)


@given(
    seat=st.sampled_from(["B1", "B3", "S2"]),
    closed=st.lists(st.lists(st.integers(0, 100), min_size=6, max_size=6), max_size=2),
    pending=st.dictionaries(st.sampled_from(["B1", "B2", "B3", "S1", "S2", "S3"]), st.integers(0, 100), max_size=5),
    salt=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_nothing_a_seat_can_get_depends_on_what_is_private_to_others(
    open_market: Open, close: Close, seat: str, closed: list[list[int]], pending: dict[str, int], salt: int
) -> None:
    market = open_market("bazaar", 11, n_buyers=3, n_sellers=3)
    for quotes in closed:
        close(market, dict(zip(market.seats, quotes, strict=True)))
    for other, price in pending.items():
        market.quote(other, price)
    twin = MARKET.perturb_private(market, seat, salt)
    MARKET.check(twin)
    assert twin.awaited() == market.awaited()
    for other in market.seats:
        same = twin.state.private.by_seat[other] == market.state.private.by_seat[other]
        assert same == (other == seat)
        if other in pending:
            assert (twin.sealed[other] == pending[other]) == (other == seat)
    assert [row.row for row in twin.state.rounds] == [row.row for row in market.state.rounds]
    assert everything(twin, seat) == everything(market, seat)


def test_the_perturbed_market_is_a_copy(open_market: Open, close: Close) -> None:
    market = open_market("smoke")
    close(market, {"B1": 80, "S1": 30})
    market.quote("B2", 40)
    market.lapse("S2", "deadline")
    before = market.digest()
    twin = MARKET.perturb_private(market, "B1", 1)
    twin.quote("B1", 33)
    assert market.digest() == before != twin.digest()
    assert {seat for seat, price in twin.sealed.items() if price is None} == {"S2"}
    assert MARKET.perturb_private(market, "B1", 2).state.private != twin.state.private


@pytest.mark.parametrize("chance", ["log_maker_draw", "recorded"])
def test_a_market_that_follows_a_log_can_be_perturbed_too(open_market: Open, close: Close, chance: str) -> None:
    market = open_market("smoke", 9, chance=chance, distribution="uniform", values=None)
    payload: dict[str, Any] = {"round": 1, "quote_order": ["S2", "B2", "S1", "B1"], "pairs": []}
    if chance == "recorded":
        market.feed("recorded_chance", payload)
    close(market, {"B1": 20, "S1": 30})
    if chance == "recorded":
        market.feed("recorded_chance", {**payload, "round": 2})
    market.quote("B2", 40)
    twin = MARKET.perturb_private(market, "S1", 5)
    assert [row.row for row in twin.state.rounds] == [row.row for row in market.state.rounds]
    for seat in ("B1", "S1", "S2"):
        twin.lapse(seat, "deadline")
    assert twin.advance().kind == "round"


def test_privileged_policies_see_values_and_sealed_quotes_as_they_arrive(open_market: Open) -> None:
    market = open_market("smoke")
    truth = market.privileged()
    market.quote("S1", 33)
    assert truth.values["S1"] == 20
    assert truth.book == {"S1": 33}

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tradefair.contract import Closure, IllegalAction, TraceError
from tradefair.double_auction.rules import DoubleAuction

Open = Callable[..., DoubleAuction]
Close = Callable[[DoubleAuction, Mapping[str, int]], Closure]

# Fixtures A of the double auction page, section 13.
SEED_A = 3398199942
ORDER_A = ["B1", "B2", "S1", "S2", "S3", "B3", "B4", "S4"]


def _log_market(open_market: Open, **overrides: Any) -> DoubleAuction:
    given = {"distribution": "semi_bimodal", "chance": "log_maker_draw", "seat_order": ORDER_A, **overrides}
    return open_market("bazaar", SEED_A, **given)


def test_the_same_seed_gives_the_same_luck_whatever_is_quoted(open_market: Open, close: Close) -> None:
    first, second, foreign = open_market("bazaar", 5), open_market("bazaar", 5), open_market("bazaar", 6)
    assert first.state.private == second.state.private != foreign.state.private
    orders: list[list[Any]] = [[], []]
    for market, price, seen in ((first, 50, orders[0]), (second, 10, orders[1])):
        for _ in range(3):
            facts: Any = close(market, dict.fromkeys(market.seats, price)).facts
            seen.append(facts.quote_order)
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders[0]}) > 1


def test_log_chance_gives_the_values_and_order_of_the_public_game(open_market: Open, close: Close) -> None:
    market = _log_market(open_market)
    assert market.state.private.by_seat == dict(
        zip(["B1", "B2", "B3", "B4", "S1", "S2", "S3", "S4"], [4, 13, 11, 13, 1, 80, 17, 9], strict=True)
    )
    facts: Any = close(market, dict.fromkeys(market.seats, 5)).facts
    assert facts.quote_order == ["B4", "S1", "S3", "B2", "S2", "B3", "B1", "S4"]


def test_the_seat_order_decides_who_gets_which_place_in_a_log(open_market: Open, close: Close) -> None:
    facts: Any = close(_log_market(open_market, seat_order=sorted(ORDER_A)), {}).facts
    assert facts.quote_order != ["B4", "S1", "S3", "B2", "S2", "B3", "B1", "S4"]


def test_the_two_generations_differ_in_the_maker_only_for_the_first_round(open_market: Open, close: Close) -> None:
    drawn, ordered = _log_market(open_market), _log_market(open_market, chance="log_maker_order")
    book = dict.fromkeys(drawn.seats, 50)
    first: Any = close(drawn, book).facts
    second: Any = close(ordered, book).facts
    assert [match.price for match in first.matches] == [match.price for match in second.matches]
    for match in second.matches:
        order = second.quote_order
        assert match.maker == min((match.buyer, match.seller), key=order.index)
    assert [match.maker for match in first.matches] != [match.maker for match in second.matches]
    later: list[Any] = [close(market, book).facts for market in (drawn, ordered)]
    assert later[0].quote_order != later[1].quote_order


def _recorded(open_market: Open) -> DoubleAuction:
    return open_market("smoke", chance="recorded")


PAYLOAD: dict[str, Any] = {
    "round": 1,
    "quote_order": ["S2", "B2", "S1", "B1"],
    "pairs": [{"buyer": "B1", "seller": "S1", "up": True, "maker": "S1"}],
}


def test_recorded_chance_settles_a_round_as_it_was_fed(open_market: Open, close: Close) -> None:
    market = _recorded(open_market)
    fresh = market.digest()
    market.feed("recorded_chance", PAYLOAD)
    assert market.digest() != fresh
    facts: Any = close(market, {"B1": 61, "S1": 40}).facts
    assert facts.quote_order == PAYLOAD["quote_order"]
    assert [(match.price, match.coin, match.maker) for match in facts.matches] == [(51, "up", "S1")]


def test_a_round_that_was_not_fed_does_not_close(open_market: Open, close: Close) -> None:
    market = _recorded(open_market)
    with pytest.raises(TraceError, match="was not fed"):
        close(market, {"B1": 61, "S1": 40})
    assert market.clock.round == 1
    market.feed("recorded_chance", PAYLOAD)
    assert market.advance().kind == "round"


@pytest.mark.parametrize(
    ("source", "payload"),
    [
        ("clock_tick", PAYLOAD),
        ("recorded_chance", None),
        ("recorded_chance", {**PAYLOAD, "round": 2}),
        ("recorded_chance", {**PAYLOAD, "quote_order": ["B1"]}),
        ("recorded_chance", {**PAYLOAD, "pairs": [{"buyer": "S1", "seller": "B1", "up": None, "maker": "S1"}]}),
        ("recorded_chance", {**PAYLOAD, "luck": 7}),
    ],
)
def test_a_wrong_input_is_refused_and_changes_nothing(open_market: Open, source: str, payload: Any) -> None:
    market = _recorded(open_market)
    before = market.digest()
    with pytest.raises(IllegalAction, match="wrong_input"):
        market.feed(source, payload)
    assert market.digest() == before
    market.feed("recorded_chance", PAYLOAD)
    with pytest.raises(IllegalAction, match="wrong_input"):
        market.feed("recorded_chance", PAYLOAD)


def test_a_keyed_market_takes_no_input(open_market: Open) -> None:
    with pytest.raises(IllegalAction, match="wrong_input"):
        open_market("smoke").feed("recorded_chance", PAYLOAD)

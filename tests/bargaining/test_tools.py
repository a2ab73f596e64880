from __future__ import annotations

import pytest
from pydantic import ValidationError
from tests.bargaining.playing import ask, open_market, talk

from tradefair.bargaining import MARKET
from tradefair.bargaining.rules import Bargaining


def _play(market: Bargaining, quotes: list[tuple[int, int]], says: str = "") -> None:
    for bid, asked in quotes:
        talk(market, {"B1": says})
        market.quote("B1", bid)
        market.quote("S1", asked)
        market.advance()


def test_history_shows_both_quotes_and_only_the_own_profit() -> None:
    market = open_market("smoke", half_tick="up")
    _play(market, [(51, 50), (30, 60)])
    (first, second) = ask(market, "B1", "view_history").rounds
    assert (first.midpoint, first.price, first.my_profit) == (50.5, 51, 19)
    assert (second.traded, second.price, second.my_profit) == (False, None, 0)
    assert ask(market, "S1", "view_history").rounds[0].my_profit == 21
    page = ask(market, "B1", "view_history", limit=1)
    assert (page.total, page.next_cursor) == (2, "round-2")
    assert ask(market, "B1", "view_history", cursor="round-2").rounds == [second]
    assert ask(market, "B1", "view_history", from_round=200).rounds == []


def test_messages_are_numbered_and_the_counterparts_are_marked() -> None:
    market = open_market("smoke", speaking_order="buyer_first")
    talk(market, {"B1": "Shall we meet at 50?"})
    rows = ask(market, "S1", "read_messages").messages
    assert [(row.number, row.seat, row.silent, row.untrusted) for row in rows] == [
        (1, "B1", False, True),
        (2, "S1", True, False),
    ]
    assert ask(market, "S1", "read_messages", after=1).messages == rows[1:]
    first = ask(market, "S1", "read_messages", limit=1)
    assert (first.total, first.next_cursor) == (2, 1)
    assert ask(market, "S1", "read_messages", from_round=2).messages == []


def test_a_long_talk_is_shown_in_whole_rows_of_at_most_eight_kilobytes() -> None:
    market = open_market("pact", max_words=500, max_chars=8_000, rounds=60)
    _play(market, [(40, 60)] * 50, "word " * 400)
    shown = ask(market, "S1", "read_messages", after=0)
    assert len(shown.model_dump_json()) <= 8_000
    assert shown.messages
    assert shown.next_cursor == shown.messages[-1].number
    assert len(ask(market, "S1", "read_messages", after=0, limit=100).model_dump_json()) <= 256_000


def test_what_quotes_would_earn_is_arithmetic_on_the_own_limit() -> None:
    market = open_market("smoke")
    odd = ask(market, "B1", "compute_surplus_if", my_quote=51, their_quote=50)
    assert (odd.price_low, odd.price_high, odd.my_profit_low, odd.my_profit_high) == (50, 51, 19, 20)
    assert (odd.midpoint, odd.my_profit_mean, odd.through_my_limit) == (50.5, 19.5, False)
    none = ask(market, "S1", "compute_surplus_if", my_quote=20, their_quote=10)
    assert (none.traded, none.my_profit_high, none.through_my_limit) == (False, 0, True)


def test_concessions_are_traced_per_side() -> None:
    market = open_market("pact", rounds=10)
    empty = ask(market, "B1", "trace_concession_path")
    assert (empty.rounds, empty.gap_now, empty.rounds_to_meet) == (0, None, None)
    _play(market, [(20, 80), (30, 80), (35, 70), (35, 65)])
    path = ask(market, "B1", "trace_concession_path")
    buyer, seller = path.sides
    assert (buyer.first, buyer.last, buyer.best, buyer.concession_game, buyer.rounds_since_move) == (20, 35, 35, 15, 1)
    assert (seller.concession_game, seller.rounds_since_move) == (15, 0)
    assert (path.gap_now, path.closing_per_round, path.rounds_to_meet) == (30, 10.0, 3)
    _play(market, [(60, 50)])
    assert ask(market, "B1", "trace_concession_path", window=2).rounds_to_meet == 0


def test_offers_put_what_was_named_beside_what_was_quoted() -> None:
    market = open_market("smoke")
    _play(market, [(40, 60), (45, 45)], "I will bid 40 this round.")
    offers = ask(market, "S1", "list_offers_by_round")
    first = offers.rows[0]
    assert (first.round, first.seat, first.quote, first.price) == (1, "B1", 40, None)
    assert [(row.kind, row.x, row.strength) for row in first.numbers] == [("own_quote", 40.0, "firm")]
    assert (offers.total, offers.reading, offers.rows[3].price) == (4, "mechanical", 45)
    page = ask(market, "S1", "list_offers_by_round", limit=1)
    assert page.next_cursor == "round-1-S1"
    assert ask(market, "S1", "list_offers_by_round", cursor="round-1-S1", limit=1).rows == offers.rows[1:2]


@pytest.mark.parametrize("price", [True, 50.0, "50", None, 101, -1, 10**30])
def test_a_price_is_a_whole_number_of_the_grid(price: object) -> None:
    market = open_market("silent")
    with pytest.raises(ValidationError):
        ask(market, "B1", "submit_quote", price=price)


@pytest.mark.parametrize("text", ["a\x00b", "a\x1b[0m", "\u202eabc", "a\u2066b"])
def test_a_message_with_controls_is_refused_by_position(text: str) -> None:
    market = open_market("pact")
    (first,) = market.awaited()
    with pytest.raises(ValidationError, match=r"character \d+ \(U\+"):
        ask(market, first, "send_message", text=text)
    assert ask(market, first, "send_message", text="two\nlines\tand é").words == 4


def test_without_chat_the_message_tools_are_not_offered() -> None:
    silent = open_market("silent")
    offered = {name for name, tool in MARKET.tools.items() if tool.visible(silent.scenario, "buyer")}
    assert {"send_message", "read_messages"}.isdisjoint(offered)
    assert len(offered) == 6


def test_the_law_is_told_only_where_it_is_announced() -> None:
    assert open_market("pact").rules_view("B1").limits_law is None
    assert open_market("one_shot").rules_view("B1").limits_law == "uniform"
    assert "forfeits" in open_market("pact").rules_view("S1").lapse


def test_nothing_that_a_seat_can_get_depends_on_what_is_private_to_the_other() -> None:
    market = open_market("pact", 4, rounds=3)
    _play(market, [(45, 60), (50, 49)], "I will bid 45.")
    talk(market)
    market.quote("S1", 55)
    for salt in range(3):
        twin = MARKET.perturb_private(market, "B1", salt)
        assert twin.state.private.cost != market.state.private.cost
        assert twin.sealed["S1"] != 55
        for tool in ("view_my_value", "view_history", "trace_concession_path", "list_offers_by_round", "read_messages"):
            assert ask(twin, "B1", tool) == ask(market, "B1", tool)
        assert twin.turn_view("B1") == market.turn_view("B1")

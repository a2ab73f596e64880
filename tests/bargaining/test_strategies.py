"""Scripted buyers and sellers of bargaining.

Also here:
- Tools: what they answer and refuse.
"""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from tests.bargaining.playing import ask, open_market, play, talk

from tradefair.bargaining import MARKET
from tradefair.bargaining.policies import POLICIES
from tradefair.bargaining.rules import Bargaining
from tradefair.bargaining.seats.strategies import STRATEGIES, Strategy
from tradefair.bargaining.seats.templates import TEMPLATES, Said, render
from tradefair.contract.policy import rule_name
from tradefair.trading.mirror import MirroredPolicy, TraderView
from tradefair.trading.statements import read_statements

RULES = {rule_name(rule): rule for rule in STRATEGIES}


def _made(name: str) -> Strategy:
    return RULES[name]()


# Bargaining page, 13: v = 80, c = 30, R = 20, no chat; quotes until they are held, totals of half ticks at their mean.
GAMES = [
    (
        "linear_concession",
        "linear_concession",
        "32/72 34/70 37/68 39/66 42/64 44/61 47/59 49/57 52/55 54/53*",
        (291.5, 258.5, 11),
    ),
    ("boulware", "conceder", "32/72 32/49 32/46 32/43 32/42 32/40 32/39 32/38 32/37 33/36 33/36 35/35*", (405, 45, 9)),
    (
        "linear_concession",
        "tit_for_tat",
        "32/72 34/72 37/70 39/67 42/65 44/62 47/60 49/57 52/55 54/52* 54/50*",
        (307, 243, 11),
    ),
    ("anchor_freeze", "conceder", "48/72 48/49 48/46*", (594, 306, 18)),
    ("fair_split", "linear_concession", "50/72 61/70 65/68 66/66*", (238, 612, 17)),
    ("linear_equilibrium", "linear_equilibrium", "62/45*", (530, 470, 20)),
    ("tit_for_tat", "tit_for_tat", "32/72", (0, 0, 0)),
]


@pytest.mark.parametrize(("buyer", "seller", "quotes", "totals"), GAMES)
def test_bargainers_play_the_games_of_the_specification(
    buyer: str, seller: str, quotes: str, totals: tuple[float, float, int]
) -> None:
    market = open_market("silent", distribution="fixed", buyer_value=80, seller_cost=30)
    play(market, buyer, seller)
    rounds = market.state.rounds
    shown = [f"{one.bid}/{one.ask}{'*' if one.price is not None else ''}" for one in rounds]
    expected = quotes.split()
    assert shown == expected + [expected[-1]] * (20 - len(expected))
    before_coins = [(one.bid or 0) + (one.ask or 0) for one in rounds if one.price is not None]
    assert sum(80 - total / 2 for total in before_coins) == totals[0]
    assert sum(total / 2 - 30 for total in before_coins) == totals[1]
    assert len(before_coins) == totals[2]


def test_the_linear_equilibrium_earns_what_theory_says() -> None:
    """Chatterjee & Samuelson (1983), over all 101 x 101 limits (bargaining page, 13)."""
    bid = [_made("linear_equilibrium").quote(TraderView(value, 100, 1)) or 0 for value in range(101)]
    seller = [MirroredPolicy(_made("linear_equilibrium")) for _ in range(101)]
    ask = [seller[cost].quote(TraderView(cost, 100, 1)) or 0 for cost in range(101)]
    assert [bid[value] for value in (0, 10, 25, 26, 50, 80, 100)] == [0, 10, 25, 26, 42, 62, 75]
    assert [ask[cost] for cost in (0, 20, 50, 74, 75, 90, 100)] == [25, 38, 58, 74, 75, 90, 100]
    trades = [(value, cost) for value in range(101) for cost in range(101) if bid[value] >= ask[cost]]
    assert len(trades) == 2_951
    assert sum(value - cost for value, cost in trades) == 146_900
    assert sum(max(0, value - cost) for value in range(101) for cost in range(101)) == 171_700
    twice_buyers = sum(2 * value - bid[value] - ask[cost] for value, cost in trades)
    assert twice_buyers == 146_900  # half of the surplus to each side, half ticks at their mean
    assert twice_buyers / 2 / 101**2 == pytest.approx(7.200274, abs=5e-7)


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"loss_maker", "random_legal", "gullible"}))
def test_no_bargainer_quotes_through_its_limit(name: str) -> None:
    for seed in range(3):
        market = open_market("pact", seed)
        play(market, name, "injector")
        assert all(one.bid is None or one.bid <= market.state.private.value for one in market.state.rounds)
        market = open_market("pact", seed)
        play(market, "injector", name)
        assert all(one.ask is None or one.ask >= market.state.private.cost for one in market.state.rounds)


def test_controls_do_what_they_are_named_for() -> None:
    market = open_market("pact", 3, distribution="fixed", buyer_value=90, seller_cost=20)
    play(market, "gullible", "injector")
    assert {one.bid for one in market.state.rounds[1:]} == {100}
    market = open_market("pact", 3, distribution="fixed", buyer_value=90, seller_cost=20)
    play(market, "leaker", "silent_lapser")
    assert "My valuation is 90." in {message.text for message in market.state.messages}
    assert all(one.ask is None for one in market.state.rounds)
    market = open_market("pact", 3, distribution="fixed", buyer_value=90, seller_cost=20)
    play(market, "loss_maker", "rambler")
    assert {one.bid for one in market.state.rounds} == {100}
    assert all(not message.text for message in market.state.messages if message.seat == "S1")


def test_a_promise_keeper_keeps_every_promise_and_a_breaker_none() -> None:
    for name, kept in (("promise_keeper", True), ("promise_breaker", False)):
        market = open_market("pact", 3, distribution="fixed", buyer_value=90, seller_cost=20)
        play(market, name, "conceder")
        outcomes: list[bool] = []
        for message in market.state.messages:
            if message.seat != "B1":
                continue
            for said in read_statements(message.text, "buyer", message.round, 20):
                if said.kind == "own_quote" and said.condition is None:
                    bids = [
                        market.state.rounds[number - 1].bid for number in range(said.horizon[0], said.horizon[1] + 1)
                    ]
                    outcomes.append(all(bid is not None and bid >= said.x for bid in bids))
        assert outcomes
        assert set(outcomes) == {kept}


def test_the_oracle_earns_most_of_what_there_is_from_a_stubborn_counterpart() -> None:
    earned: list[float] = []
    for seed in range(10):
        market = open_market("silent", seed)
        play(market, "oracle", "truthful")
        gap = market.state.private.gap
        earned.append(market.state.profit["B1"] / (20 * gap))
    assert min(earned) > 0.3
    assert POLICIES["oracle"].privileged


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_seller_says_the_mirror_image(name: str) -> None:
    said = Said(name, {"x": 40, "y": 45, "z": 0, "k": 7, "n": 3, "m": 2, "canary": "cn-1"})
    buyer, seller = render(said, "buyer"), render(said, "seller")
    swaps = {"bid": "ask", "valuation": "cost"}
    if any(word in buyer.lower() for word in swaps):
        assert buyer != seller
    if "{x}" in TEMPLATES[name]:
        assert "40" in buyer
        assert "60" in seller


def test_the_market_lists_a_stand_in_and_references() -> None:
    assert [spec.name for spec in MARKET.policies.values() if spec.stand_in] == ["linear_concession"]
    assert {spec.name for spec in MARKET.policies.values() if spec.reference} == {
        "passive",
        "truthful",
        "linear_concession",
        "oracle",
    }


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

"""

Also here:
- Scripted buyers and sellers of bargaining.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.bargaining.playing import ask, open_market, play, refusal, talk

from tradefair.bargaining import MARKET
from tradefair.bargaining.model import BargainingScenario
from tradefair.bargaining.policies import POLICIES
from tradefair.bargaining.rules import Bargaining
from tradefair.bargaining.seats.strategies import STRATEGIES, Strategy
from tradefair.bargaining.seats.templates import TEMPLATES, Said, render
from tradefair.contract import EpisodeOver, ScenarioError
from tradefair.contract.policy import rule_name
from tradefair.contract.scenario import build_scenario
from tradefair.trading.chance import LogSeedChance
from tradefair.trading.clearing import Pair
from tradefair.trading.mirror import MirroredPolicy, TraderView
from tradefair.trading.statements import read_statements
from tradefair.trading.values import Acceptance, Roster

FIXED: dict[str, Any] = {"distribution": "fixed", "buyer_value": 74, "seller_cost": 31}


def _quoted(market: Bargaining, bid: int | None, asked: int | None) -> tuple[int | None, int, int]:
    """Price and both profits of a round with these quotes; None lapses."""
    for seat, price in (("B1", bid), ("S1", asked)):
        if price is None:
            market.lapse(seat, "deadline")
        else:
            market.quote(seat, price)
    market.advance()
    record = market.state.rounds[-1]
    return record.price, record.profit_buyer, record.profit_seller


def test_the_worked_example() -> None:
    """v = 74, c = 31 (bargaining page, 6.3)."""
    up = open_market("silent", **FIXED, half_tick="up")
    assert _quoted(up, 52, 49) == (51, 23, 20)
    assert _quoted(up, 40, 45) == (None, 0, 0)
    assert _quoted(up, 80, 78) == (79, -5, 48)
    assert _quoted(up, None, 40) == (None, 0, 0)
    assert up.state.rounds[-1].ask == 40
    down = open_market("silent", **FIXED, half_tick="down")
    assert _quoted(down, 52, 49) == (50, 24, 19)
    assert _quoted(down, 50, 50) == (50, 24, 19)


def test_a_silent_seat_forfeits_or_has_its_limit_quoted() -> None:
    assert _quoted(open_market("silent", **FIXED), None, 31) == (None, 0, 0)
    limit = open_market("silent", **FIXED, lapse_quote="own_limit", half_tick="down")
    assert _quoted(limit, None, 31) == (52, 22, 21)
    assert limit.state.rounds[-1].lapsed == ("B1",)


def test_the_second_speaker_reads_the_first_and_never_the_reverse() -> None:
    market = open_market("pact", 3)
    (first,) = market.awaited()
    (second,) = {"B1", "S1"} - {first}
    market.say(first, "I will be fair.")
    market.advance()
    assert [row.text for row in ask(market, second, "read_messages").messages] == ["I will be fair."]
    market.say(second, "So will I.")
    market.advance()
    assert [row.text for row in ask(market, first, "read_messages", after=0).messages] == [
        "I will be fair.",
        "So will I.",
    ]
    assert market.clock.phase == "quote"
    assert market.awaited() == {"B1", "S1"}


def test_quotes_are_sealed_until_both_are_in() -> None:
    market = open_market("pact", 3)
    talk(market)
    receipt = market.quote("B1", 55)
    assert ask(market, "S1", "view_history").rounds == []
    other = market.quote("S1", 40)
    assert receipt.model_dump().keys() == other.model_dump().keys()
    market.advance()
    (row,) = ask(market, "S1", "view_history").rounds
    assert (row.bid, row.ask, row.traded) == (55, 40, True)


def test_what_is_out_of_turn_is_refused_with_what_to_do() -> None:
    market = open_market("pact", 3)
    (first,) = market.awaited()
    (second,) = {"B1", "S1"} - {first}
    assert refusal(market, second, "send_message", text="hello").code == "wrong_phase"
    early = refusal(market, first, "submit_quote", price=40)
    assert (early.code, early.hint) == ("wrong_phase", "open to you now: send_message")
    assert refusal(market, second, "submit_quote", price=40).hint == "no action is open to you now: call await_turn"
    assert refusal(market, first, "send_message", text="x", round=2).code == "stale_round"
    market.say(first, "")
    again = refusal(market, first, "send_message", text="more")
    assert (again.code, again.retryable) == ("already_acted", False)
    market.advance()
    talk(market)
    market.quote("B1", 50)
    final = refusal(market, "B1", "submit_quote", price=51)
    assert (final.code, final.retryable) == ("already_acted", False)
    assert refusal(market, "S1", "send_message", text="late").hint == "open to you now: submit_quote"


def test_a_message_of_a_hundred_words_is_heard_and_one_more_is_counted() -> None:
    market = open_market("pact", 3)
    (first,) = market.awaited()
    assert "101 words; at most 100" in refusal(market, first, "send_message", text="a " * 101).message
    assert "characters; at most 2000" in refusal(market, first, "send_message", text="a" * 2_001).message
    assert market.say(first, "a " * 100).words == 100


def test_after_the_end_nothing_can_be_done() -> None:
    market = open_market("one_shot")
    _quoted(market, 50, 50)
    assert market.terminated == "terminated:rounds_completed"
    with pytest.raises(EpisodeOver):
        market.quote("B1", 50)
    assert market.awaited() == frozenset()


@pytest.mark.parametrize(
    ("mode", "firsts"), [("buyer_first", "BBBB"), ("seller_first", "SSSS"), ("alternating", "BSBS")]
)
def test_the_speaking_order_can_be_fixed(mode: str, firsts: str) -> None:
    market = open_market("pact", rounds=4, speaking_order=mode)
    seen = ""
    while market.terminated is None:
        (first,) = market.awaited()
        seen += first[0]
        talk(market)
        _quoted(market, 40, 60)
    assert seen == firsts


def test_talk_changes_no_luck() -> None:
    """The silent arm has the same limits, coins and quote orders on the same seed."""
    for seed in range(6):
        loud, silent = open_market("pact", seed), open_market("silent", seed)
        assert loud.state.private == silent.state.private
        while loud.terminated is None:
            talk(loud, {"B1": "I will bid 51."})
            _quoted(loud, 51, 50)
            _quoted(silent, 51, 50)
        for one, other in zip(loud.state.rounds, silent.state.rounds, strict=True):
            assert (one.price, one.rounded_up, one.quote_order) == (other.price, other.rounded_up, other.quote_order)


def test_no_quote_moves_later_luck() -> None:
    one, other = open_market("silent", 7), open_market("silent", 7)
    _quoted(one, 50, 50)
    _quoted(other, 10, 90)
    assert _quoted(one, 51, 50)[0] == _quoted(other, 51, 50)[0]


QUOTES = st.lists(st.tuples(st.none() | st.integers(0, 100), st.none() | st.integers(0, 100)), min_size=1, max_size=20)


@given(seed=st.integers(0, 1_000), quotes=QUOTES, half_tick=st.sampled_from(["coin", "up", "down"]))
@settings(max_examples=60, deadline=None)
def test_every_game_obeys_the_conservation_laws(
    seed: int, quotes: list[tuple[int | None, int | None]], half_tick: str
) -> None:
    market = _silent(seed, half_tick, len(quotes))
    for bid, asked in quotes:
        _quoted(market, bid, asked)
        MARKET.check(market)
    trades = sum(record.price is not None for record in market.state.rounds)
    assert sum(market.state.profit.values()) == trades * market.state.private.gap


@given(
    value=st.integers(0, 100),
    cost=st.integers(0, 100),
    quotes=st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=8),
    up=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_the_mirrored_game_swaps_the_profits(value: int, cost: int, quotes: list[tuple[int, int]], up: bool) -> None:
    ahead, back = ("up", "down") if up else ("down", "up")
    game = _fixed(value, cost, ahead, len(quotes))
    mirror = _fixed(100 - cost, 100 - value, back, len(quotes))
    for bid, asked in quotes:
        _, buyer, seller = _quoted(game, bid, asked)
        assert _quoted(mirror, 100 - asked, 100 - bid)[1:] == (seller, buyer)


def _silent(seed: int, half_tick: str, rounds: int) -> Bargaining:
    content = {"id": "bargaining/x", "chat": False, "half_tick": half_tick, "rounds": rounds}
    return MARKET.create(build_scenario(BargainingScenario, content, source="x"), seed)


def _fixed(value: int, cost: int, half_tick: str, rounds: int) -> Bargaining:
    content = {
        "id": "bargaining/x",
        "chat": False,
        "half_tick": half_tick,
        "rounds": rounds,
        "distribution": "fixed",
        "buyer_value": value,
        "seller_cost": cost,
    }
    return MARKET.create(build_scenario(BargainingScenario, content, source="x"), 1)


def test_limits_of_the_pact_leave_a_gap() -> None:
    gaps = [open_market("pact", seed).state.private.gap for seed in range(300)]
    assert min(gaps) >= 3
    assert min(open_market("one_shot", seed).state.private.gap for seed in range(300)) < 0
    assert min(open_market("pact", seed, min_gap=60).state.private.gap for seed in range(30)) >= 60


# Bargaining page, 7: seed 20250821, chat on, bid 51 and ask 50 in four rounds. The page gives the last round of its
# first row as (S1, B1, 50, B1); its own stream draws S1 as the first quoter there: a slip of the page.
VECTORS = [
    ("uniform", "log_maker_draw", (78, 63), 3, "S1 B1 50 B1 | S1 S1 51 S1 | S1 S1 51 B1 | S1 S1 50 B1"),
    ("uniform", "log_maker_order", (78, 63), 3, "S1 B1 50 B1 | S1 S1 50 S1 | B1 S1 51 S1 | S1 S1 50 S1"),
    ("correlated_source", "log_maker_draw", (30, 23), 0, "B1 B1 51 B1 | S1 S1 50 S1 | S1 B1 51 B1 | S1 S1 50 B1"),
    ("semi_bimodal", "log_maker_draw", (98, 16), 4, "S1 S1 51 B1 | S1 S1 51 B1 | S1 B1 50 B1 | S1 S1 51 S1"),
    ("heavy_tailed", "log_maker_order", (57, 0), 2, "S1 S1 50 S1 | S1 S1 50 S1 | S1 S1 50 S1 | S1 S1 51 S1"),
]


@pytest.mark.parametrize(("law", "chance", "limits", "redraws", "rounds"), VECTORS)
def test_the_engine_follows_the_stream_of_a_log(
    law: str, chance: str, limits: tuple[int, int], redraws: int, rounds: str
) -> None:
    market = open_market("pact", 20250821, distribution=law, chance=chance, rounds=4)
    private = market.state.private
    assert (private.value, private.cost, private.redraws) == (*limits, redraws)
    seen: list[str] = []
    while market.terminated is None:
        talk(market)
        _quoted(market, 51, 50)
        record = market.state.rounds[-1]
        assert record.speaking_order is not None
        seen.append(f"{record.speaking_order[0]} {record.quote_order[0]} {record.price} {record.maker}")
    assert " | ".join(seen) == rounds


@pytest.mark.parametrize(
    ("seed", "gap", "limits"), [(60, 3, (39, 36)), (60, 4, (73, 19)), (92, 3, (97, 12)), (92, 2, (72, 70))]
)
def test_the_smallest_gap_decides_which_draw_is_kept(seed: int, gap: int, limits: tuple[int, int]) -> None:
    chance = LogSeedChance(seed, Roster.of(1, 1), ("B1", "S1"), "maker_draw", chat=True)
    drawn = chance.limits("uniform", Acceptance(min_gap=gap))
    assert tuple(drawn.values.values()) == limits


def test_recorded_luck_is_taken_as_it_is() -> None:
    market = open_market("pact", 5, distribution="uniform", chance="recorded", rounds=1)
    assert market.awaited() == {"B1", "S1"}
    pair = {"buyer": "B1", "seller": "S1", "up": True, "maker": "S1"}
    fed: dict[str, Any] = {"round": 1, "speaking_order": ["S1", "B1"], "quote_order": ["B1", "S1"], "pairs": [pair]}
    market.feed("recorded_chance", fed)
    assert market.awaited() == {"S1"}
    market.say("S1", "")
    market.advance()
    market.say("B1", "")
    market.advance()
    assert _quoted(market, 51, 50)[0] == 51
    assert market.state.rounds[0].maker == Pair("B1", "S1").seller


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({"distribution": "fixed"}, "buyer_value"),
        ({"buyer_value": 3}, "only allowed"),
        ({"mix_percent": {"uniform": 21}}, "sum to 101"),
        ({"chance": "log_maker_draw"}, "log's own distribution"),
        ({"rounds": True}, "rounds"),
        ({"rounds": 201}, "rounds"),
        ({"seats": {"B2": "agent"}}, "B2"),
        ({"clock": "free"}, "turns"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_an_incoherent_scenario_is_refused_by_name(content: dict[str, Any], named: str) -> None:
    with pytest.raises(ScenarioError, match=named):
        build_scenario(BargainingScenario, {"id": "bargaining/x", **content}, source="x.toml")


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

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bargaining.playing import ask, open_market, refusal, talk

from tradefair.bargaining import MARKET
from tradefair.bargaining.model import BargainingScenario
from tradefair.bargaining.rules import Bargaining
from tradefair.contract import EpisodeOver, ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.trading.chance import LogSeedChance
from tradefair.trading.clearing import Pair
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

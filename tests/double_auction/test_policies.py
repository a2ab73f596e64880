"""Policies of the double auction.

Also here:
- Seats that know the truth, and controls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from benchmarks.double_auction_fast import play_fast

from tradefair.contract import Closure, Draw, ErrorInfo, ScenarioError, ToolAnswer, TurnView
from tradefair.double_auction import MARKET
from tradefair.double_auction.policies import POLICIES
from tradefair.double_auction.rules import DoubleAuction
from tradefair.double_auction.seats.controls import OracleSealed, OracleValues

Open = Callable[..., DoubleAuction]
Play = Callable[[DoubleAuction, Mapping[str, str]], list[str]]

MIXED = ["zip", "kaplan", "zic", "linear_equilibrium", "zip", "kaplan", "random_legal", "shading_10"]
FIELDS = {
    "beliefs": [
        "gd",
        "gdx",
        "aa",
        "gdx_bazaar",
        "gd_bazaar",
        "fictitious_play",
        "risk_aware_bazaar",
        "signal_jammer_bazaar",
    ],
    "learners": ["roth_erev", "q_learning", "shading_bandit", "bayesian", "momentum", "shaver", "zic", "aa"],
    "replayed": [
        "adaptive_bazaar",
        "enhanced_adaptive_aggressive_bazaar",
        "penny_jumper_bazaar",
        "regime_switcher_bazaar",
        "adversarial_exploiter_bazaar",
        "zic_pure_biased_activity_bazaar",
        "gdx_bazaar",
        "adaptive_bazaar",
    ],
    "identified": ["sniper_bazaar", "threat_bazaar", "q_learning_bazaar", "cliff_bazaar"] * 2,
    "forecasts": ["momentum_bazaar", "contrarian_bazaar", "bayesian_bazaar", "regression"] * 2,
    "controls": ["loss_maker", "forfeiter", "stubborn", "punisher", "punisher", "forfeiter", "loss_maker", "zip"],
    "zip": ["zip"] * 8,
    "mixed": MIXED,
    "reversed": MIXED[::-1],
    "silent": ["passive", "truthful", "passive", "shading_5", "zic", "passive", "shading_20", "zip"],
}


@pytest.mark.parametrize("field", FIELDS)
def test_policies_quote_the_same_over_tools_and_by_rules_alone(open_market: Open, play: Play, field: str) -> None:
    for seed in (1, 2):
        market = open_market("bazaar", seed, rounds=14)
        policies = dict(zip(market.seats, FIELDS[field], strict=True))
        play(market, policies)
        fast = play_fast(market.scenario, seed, policies)
        assert [closed.row for closed in fast.state.rounds] == [closed.row for closed in market.state.rounds]
        assert fast.digest() == market.digest()


def test_over_tools_a_policy_reads_its_value_once_and_each_round_once(open_market: Open, play: Play) -> None:
    market = open_market("smoke", rounds=4)
    lines = play(market, dict.fromkeys(market.seats, "zip"))
    calls = [line.split()[1] for line in lines if line.startswith("B1 ")]
    assert calls == ["view_my_value", "submit_quote", *(["view_history", "submit_quote"] * 3)]
    assert [line for line in lines if line.startswith("B1 view_history")][-1].endswith('{"first_round":3}')


def test_passive_makes_no_call_and_forfeits_every_round(open_market: Open, play: Play) -> None:
    market = open_market("smoke")
    lines = play(market, {"B1": "passive", "B2": "truthful", "S1": "truthful", "S2": "truthful"})
    assert [line for line in lines if line.startswith("B1 ")] == ["B1 lapses: forfeit_round"] * 3
    assert market.state.rounds_forfeited["B1"] == 3


def test_a_refused_quote_forfeits_the_round_in_both_ways_of_playing(open_market: Open, play: Play) -> None:
    market = open_market("smoke", budget_constraint=True, rounds=6)
    policies = dict.fromkeys(market.seats, "random_legal")
    play(market, policies)
    fast = play_fast(market.scenario, 1, policies)
    assert any(market.state.rounds_forfeited.values())
    assert fast.digest() == market.digest()


def _now(market: DoubleAuction, seat: str) -> TurnView:
    clock = market.clock
    return TurnView(
        seat=seat,
        role=market.seats[seat].role,
        round=clock.round,
        phase=clock.phase,
        revision=clock.revision,
        awaited=True,
        actions=[],
        over=False,
        end_reason=None,
        still_open=False,
        limits=[],
        market={},
    )


def test_a_policy_that_joins_late_treats_its_first_turn_as_its_first_round(
    open_market: Open, ask: Callable[..., Any], close: Callable[[DoubleAuction, Mapping[str, int]], Closure]
) -> None:
    market = open_market("smoke", rounds=5)
    for _ in range(3):
        close(market, {"B1": 80, "S1": 30})
    kaplan = MARKET.policies["kaplan"].make({}, Draw.of(1, "B2"))
    turn = kaplan.turn(_now(market, "B2"))
    assert next(turn).tool == "view_my_value"
    own = ask(market, "B2", "view_my_value").model_dump_json().encode()
    call = turn.send(ToolAnswer(own, None, False))
    assert (call.tool, call.arguments) == ("submit_quote", {"price": 0})


def test_a_refused_reading_ends_the_turn(open_market: Open) -> None:
    market = open_market("smoke")
    turn = MARKET.policies["zip"].make({}, Draw.of(1, "B1")).turn(_now(market, "B1"))
    next(turn)
    with pytest.raises(StopIteration):
        turn.send(ToolAnswer(None, ErrorInfo("call_limit", "", "", False), False))


def test_long_gaps_are_read_page_by_page(
    open_market: Open, ask: Callable[..., Any], close: Callable[[DoubleAuction, Mapping[str, int]], Closure]
) -> None:
    market = open_market("smoke", rounds=30)
    zip_trader = MARKET.policies["zip"].make({}, Draw.of(1, "B1"))
    rounds_asked: list[dict[str, Any]] = []

    def take_turn() -> int:
        turn = zip_trader.turn(_now(market, "B1"))
        call = next(turn)
        while call.tool != "submit_quote":
            rounds_asked.append(dict(call.arguments))
            body = ask(market, "B1", call.tool, **call.arguments).model_dump_json().encode()
            call = turn.send(ToolAnswer(body, None, False))
        turn.close()
        price: Any = call.arguments["price"]
        return price

    take_turn()
    for _ in range(25):
        close(market, {"B1": 70, "S1": 40, "S2": 60})
    take_turn()
    assert rounds_asked[1:] == [
        {"first_round": 1},
        {"first_round": 1, "cursor": "round-15"},
        {"first_round": 1, "cursor": "round-5"},
    ]


def test_play_by_rules_alone_names_what_is_missing(open_market: Open) -> None:
    scenario = open_market("smoke").scenario
    with pytest.raises(ScenarioError, match="no policy for S2"):
        play_fast(scenario, 1, dict.fromkeys(["B1", "B2", "S1"], "truthful"))
    with pytest.raises(ScenarioError, match="there is no policy"):
        play_fast(scenario, 1, dict.fromkeys(["B1", "B2", "S1", "S2"], "wizard"))
    with pytest.raises(ScenarioError, match="no parameter shade: it has none"):
        play_fast(scenario, 1, dict.fromkeys(["B1", "B2", "S1", "S2"], "truthful(shade=3)"))


View = Callable[[DoubleAuction, str], TurnView]


def _quote(market: DoubleAuction, seat: str, oracle: OracleSealed | OracleValues, view: TurnView) -> int:
    oracle.see(market.privileged())
    (call,) = list(oracle.turn(view))
    assert call.tool == "submit_quote"
    return cast("int", call.arguments["price"])


@pytest.mark.parametrize("seat", ["B1", "S1"])
def test_no_single_quote_earns_more_on_average_than_the_oracle_of_sealed_quotes(
    open_market: Open, turn_view: View, seat: str
) -> None:
    """Every price in turn, over seeds that settle coins and ties otherwise; rivals quote as they did."""
    earned: dict[int, int] = {}
    chosen = 0
    for seed in range(1, 9):
        market = open_market("smoke", seed)
        for place, other in enumerate(sorted(set(market.seats) - {seat})):
            market.quote(other, 45 + 3 * place)
        before = market.privileged()
        assert len(before.book) == len(market.seats) - 1
        price = _quote(market, seat, OracleSealed(), turn_view(market, seat))
        value = before.values[seat]
        best = {x: _payoff(market, seat, x) for x in range(101) if (x <= value if seat == "B1" else x >= value)}
        # A coin may round against the oracle by half a point either way.
        assert best[price] >= max(best.values()) - 1
        earned[seed] = best[price]
        chosen += best[price] > 0
    assert chosen


def _payoff(market: DoubleAuction, seat: str, price: int) -> int:
    fresh = MARKET.create(market.scenario, market.seed)
    assert isinstance(fresh, DoubleAuction)
    for other, quoted in market.privileged().book.items():
        fresh.quote(other, quoted)
    fresh.quote(seat, price)
    fresh.advance()
    return fresh.state.payoff[seat]


def test_the_oracle_of_values_trades_when_truth_would(open_market: Open, turn_view: View) -> None:
    market = open_market("bazaar", 3)
    quotes = {seat: _quote(market, seat, OracleValues(), turn_view(market, seat)) for seat in market.seats}
    values = market.privileged().values
    for seat, price in quotes.items():
        assert price <= values[seat] if seat.startswith("B") else price >= values[seat]
        market.quote(seat, price)
    facts: Any = market.advance().facts
    assert facts.surplus == facts.max_surplus > 0


def test_oracles_are_privileged_and_controls_are_not() -> None:
    assert {name for name, spec in POLICIES.items() if spec.privileged} == {"oracle_sealed", "oracle_values"}
    for name in ("oracle_sealed", "oracle_values"):
        assert hasattr(POLICIES[name].make({}, Draw.of(1, "B1")), "see")


def test_controls_do_what_they_are_named_for(
    open_market: Open, play: Callable[[DoubleAuction, Mapping[str, str]], list[str]]
) -> None:
    market = open_market("bazaar", 5, rounds=9)
    names = ["loss_maker", "forfeiter", "stubborn", "truthful", "blind", "truthful", "truthful", "zip"]
    play(market, dict(zip(market.seats, names, strict=True)))
    values = market.privileged().values
    rounds = market.state.rounds
    assert {closed.bids["B1"] for closed in rounds} == {min(100, values["B1"] + 10)}
    assert market.state.rounds_forfeited["B2"] == 3
    assert {closed.bids["B3"] for closed in rounds} == {max(0, values["B3"] - 40)}
    assert {closed.asks["S1"] for closed in rounds} <= {50}

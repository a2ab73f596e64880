from __future__ import annotations

import json
from typing import Any

import pytest
from benchmarks.supply_chain_fast import play_fast
from tests.supply_chain.playing import play, scenario

from tradefair.contract import ScenarioError
from tradefair.supply_chain import MARKET
from tradefair.supply_chain.data.bundled import bundled_slogans
from tradefair.supply_chain.model import SupplyChainScenario
from tradefair.supply_chain.rules import SupplyChain

FOCAL = "retailer_01"


def _profits(market: SupplyChain) -> list[int]:
    return [sum(one.profits) for one in market.retailers]


def _seats(scenario: SupplyChainScenario, focal: str, others: str) -> dict[str, str]:
    ids = MARKET.create(scenario, 1).ids
    return dict.fromkeys(ids, others) | {FOCAL: focal}


def _won(market: SupplyChain, place: int = 0) -> int:
    return sum(sum(record.passes[-1].seats[place].filled) for record in market.history)


@pytest.mark.parametrize("policy", MARKET.policies)
def test_every_policy_plays_fast_as_it_plays_over_tools(policy: str) -> None:
    duel = scenario("duel", rounds=3, seats=3)
    seats = _seats(duel, policy, "cost_plus")
    slow = play(seats, rounds=3, seats=3)
    fast = play_fast(duel, 1, seats)
    assert fast.digest() == slow.core.market.digest()
    assert (slow.core.ended or "").startswith("terminated")


@pytest.mark.parametrize("policy", [name for name in MARKET.policies if name != "overspender"])
def test_no_policy_is_refused_anything(policy: str) -> None:
    played = play(_seats(scenario("duel"), policy, "cost_plus"))
    events = [json.loads(body) for body in played.bodies]
    assert [event for event in events if event["event"] == "tool_called" and event["status"] != "ok"] == []
    assert [event for event in events if event["event"] == "seat_lapsed"] == []


@pytest.mark.parametrize("mode", ["error", "forfeit"])
def test_who_bids_more_than_it_has_wins_nothing(mode: str) -> None:
    duel = scenario("duel", overspend=mode)
    market = play_fast(duel, 1, _seats(duel, "overspender", "cost_plus"))
    assert _won(market) == 0
    assert market.of(FOCAL).funds == duel.initial_funds_cents


def test_who_asks_a_hundredfold_sells_nothing_to_buyers_with_limits() -> None:
    gated, free = scenario("gated", rounds=2), scenario("paper", rounds=2)
    assert sum(play_fast(gated, 1, _seats(gated, "gouger", "skill")).of(FOCAL).revenues) == 0
    assert sum(play_fast(free, 1, _seats(free, "gouger", "timid")).of(FOCAL).revenues) > 0


def test_controls_do_what_they_are_there_for() -> None:
    duel = scenario("duel")

    def against(policy: str) -> SupplyChain:
        return play_fast(duel, 1, _seats(duel, policy, "cost_plus"))

    hoarder, empty, below = against("hoarder"), against("empty_shelf"), against("below_cost")
    assert hoarder.of(FOCAL).book_value > 0 == sum(hoarder.of(FOCAL).revenues)
    assert _won(empty) == 0
    assert all(record.offers[0] is not None for record in empty.history)
    assert _profits(below)[0] < 0
    assert _profits(against("passive"))[0] == 0
    stale = against("stale_seller")
    assert len({record.offers[0] for record in stale.history}) == 1
    copied = {record.offers[0].slogan for record in against("mimic").history if record.offers[0]}
    assert copied <= {text for group in bundled_slogans().values() for text in group}


def test_the_oracle_and_the_learner_earn_more_than_the_floor() -> None:
    totals = {
        policy: sum(
            _profits(play_fast(scenario("duel"), seed, _seats(scenario("duel"), policy, "cost_plus")))[0]
            for seed in range(3)
        )
        for policy in ("passive", "floor_bidder", "adaptive", "oracle")
    }
    assert totals["passive"] == 0
    assert totals["oracle"] > totals["adaptive"] > 0
    assert totals["oracle"] > totals["floor_bidder"]


def test_a_higher_premium_wins_no_fewer_units() -> None:
    """Requests are fixed in the source's statement; here money is plentiful, so that premiums do not cut them."""
    won: list[int] = []
    rich = scenario("duel", funds_factor=10.0, rounds=1)
    for premium in (0.0, 0.02, 0.10, 0.30):
        focal = f"cost_plus(commitment=1.0,premium={premium})"
        won.append(sum(_won(play_fast(rich, seed, _seats(rich, focal, "floor_bidder"))) for seed in range(8)))
    assert won == sorted(won)
    assert won[-1] > won[0]


@pytest.mark.parametrize("preset", ["gated", "paper"])
def test_who_bids_the_reserve_gets_little_where_the_auction_sells_out(preset: str) -> None:
    def won(policy: str) -> int:
        markets = [play_fast(scenario(preset), seed, _seats(scenario(preset), policy, "skill")) for seed in (1, 2)]
        return sum(map(_won, markets))

    assert won("cost_plus(premium=0.0)") < 0.8 * won("cost_plus(premium=0.05)")


@pytest.mark.many
def test_words_are_worth_something_where_few_are_noticed() -> None:
    """The language_value self-test of section 9 on fewer episodes."""
    values = {preset: _language_value(scenario(preset), 12) for preset in ("paper", "gated")}
    assert abs(values["paper"] - 1) <= 0.10
    assert values["gated"] > 1.20


def _language_value(scenario: SupplyChainScenario, episodes: int) -> float:
    """Largest over smallest mean profit of the five slogan groups, dealt cyclically to clones."""
    slogans = [f"{group}.{number}" for group in bundled_slogans() for number in (1, 2, 3)]
    ids, by_group = MARKET.create(scenario, 1).ids, dict[str, list[int]]()
    for episode in range(episodes):
        said = {seat: slogans[(7 * episode + place) % len(slogans)] for place, seat in enumerate(ids)}
        market = play_fast(scenario, episode, {seat: f"clone(slogan={text})" for seat, text in said.items()})
        for seat, profit in zip(ids, _profits(market), strict=True):
            by_group.setdefault(said[seat].partition(".")[0], []).append(profit)
    means = [sum(profits) / len(profits) for profits in by_group.values()]
    return max(means) / min(means)


@pytest.mark.parametrize(
    "spelling", ["nobody", "passive(loud=true)", "cost_plus(premium=-2)", "cost_plus(slogan=7)", "clone(premium=1)"]
)
def test_a_wrong_spelling_of_a_policy_is_refused(spelling: str) -> None:
    with pytest.raises(ScenarioError):
        play_fast(scenario("duel"), 1, spelling)


def test_a_seat_that_nobody_plays_is_refused() -> None:
    with pytest.raises(ScenarioError, match="retailer_02"):
        play_fast(scenario("duel"), 1, {FOCAL: "passive"})
    with pytest.raises(ScenarioError, match="embedder"):
        play_fast(scenario("duel", embedder="openai"), 1, "passive")


def test_bundled_slogans_can_be_named() -> None:
    market: Any = play_fast(scenario("duel", rounds=1), 1, "clone(slogan=hype.3)")
    assert {offer.slogan for offer in market.history[0].offers} == {"Hot, iconic, viral, and gone in minutes."}

"""The worked example of the double auction page, 6.8, end to end.

Also here:
- The smoke preset, played and written down: a change of the rules is a readable diff.
- Scenarios: what is set, and what is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.double_auction.hindsight import payoff

from tradefair.catalog import load_scenario, scenario_ids
from tradefair.contract import Closure, ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.double_auction import MARKET, analysis
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.double_auction.rules import DoubleAuction

QUOTES = {"B1": 60, "B2": 60, "B3": 40, "S1": 45, "S2": 55, "S3": 80}
ORDER = ["S3", "B2", "S1", "B3", "B1", "S2"]
PAIRS: list[dict[str, Any]] = [
    {"buyer": "B2", "seller": "S1", "up": True, "maker": "B2"},
    {"buyer": "B1", "seller": "S2", "up": False, "maker": "B1"},
]


@pytest.fixture
def example(open_market: Callable[..., DoubleAuction]) -> DoubleAuction:
    market = open_market(
        "smoke",
        n_buyers=3,
        n_sellers=3,
        chance="recorded",
        **{"values.buyers": [90, 70, 40], "values.sellers": [20, 50, 80]},
    )
    payload: dict[str, Any] = {"round": 1, "quote_order": ORDER, "pairs": PAIRS}
    market.feed("recorded_chance", payload)
    return market


@pytest.fixture
def settled(example: DoubleAuction, close: Callable[[DoubleAuction, Mapping[str, int]], Closure]) -> Any:
    return close(example, QUOTES).facts


def test_matches_prices_and_payoffs_are_those_of_the_example(settled: Any) -> None:
    shown = [(match.buyer, match.seller, match.bid, match.ask, match.coin, match.price) for match in settled.matches]
    assert shown == [("B2", "S1", 60, 45, "up", 53), ("B1", "S2", 60, 55, "down", 57)]
    assert settled.payoff == {"B1": 33, "B2": 17, "B3": 0, "S1": 33, "S2": 7, "S3": 0}
    assert settled.cumulative_payoff == settled.payoff
    assert settled.surplus == settled.max_surplus == 90
    assert settled.residual_spread == 40
    assert settled.quote_order == ORDER
    assert settled.through_value == []
    assert settled.speaking_order is None


def test_the_opening_facts_hold_the_benchmarks_of_the_example(settled: Any, example: DoubleAuction) -> None:
    opening = settled.opening
    assert (opening.q_star, opening.p_lo, opening.p_hi, opening.max_surplus) == (2, 50, 70, 90)
    assert opening.values == {"B1": 90, "B2": 70, "B3": 40, "S1": 20, "S2": 50, "S3": 80}
    assert opening.potentials == {"B1": 70, "B2": 50, "B3": 20, "S1": 70, "S2": 40, "S3": 10}
    assert (opening.distribution, opening.attempts) == ("explicit", 0)
    ending = example.ending_facts()
    assert ending.opening == opening
    assert ending.payoff == settled.cumulative_payoff


def test_in_hindsight_b1_earns_more_by_bidding_higher(settled: Any, example: DoubleAuction) -> None:
    closed = example.state.rounds[0]
    played = analysis.PlayedRound(closed.bids, closed.asks, closed.quote_order)
    payoffs = {price: payoff(played, "B1", "buyer", 90, price) for price in (54, 55, 60, 61, 62)}
    assert payoffs == {54: 0.0, 55: 35.0, 60: 32.5, 61: 37.0, 62: 36.5}
    hindsight = analysis.regret("B1", "buyer", 90, [played], 100)
    assert (hindsight.dynamic, hindsight.static, hindsight.best_price, hindsight.payoff) == (4.5, 4.5, 61, 32.5)


def test_a_sellers_regret_is_computed_in_mirrored_terms(settled: Any, example: DoubleAuction) -> None:
    closed = example.state.rounds[0]
    played = analysis.PlayedRound(closed.bids, closed.asks, closed.quote_order)
    hindsight = analysis.regret("S1", "seller", 20, [played], 100)
    # At 60 it ranks behind S2 (55), meets B1's 60 and takes all of it.
    assert (hindsight.best_price, hindsight.payoff, hindsight.dynamic) == (60, 32.5, 7.5)


def test_a_forfeited_round_counts_as_nothing_earned(example: DoubleAuction) -> None:
    played = analysis.PlayedRound({"B2": 60}, {"S1": 45}, ORDER)
    hindsight = analysis.regret("B1", "buyer", 90, [played, played], 100)
    assert hindsight.payoff == 0.0
    assert (hindsight.best_price, hindsight.static) == (61, 2 * 37.0)


GOLDEN = Path(__file__).with_name("golden_smoke.txt")
SEATS = {"B1": "zip", "B2": "zic", "S1": "kaplan", "S2": "shading_5"}


def test_the_smoke_preset_plays_as_written_down(
    open_market: Callable[..., DoubleAuction], play: Callable[[DoubleAuction, Mapping[str, str]], list[str]]
) -> None:
    market = open_market("smoke", 2025)
    lines = [f"double_auction/smoke, seed 2025, {SEATS}", *play(market, SEATS)]
    lines += [f"ended: {market.terminated}", f"   facts: {market.ending_facts().model_dump_json()}"]
    text = "\n".join(lines) + "\n"
    if os.environ.get("TRADEFAIR_REGENERATE"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == text


EXPLICIT = {"distribution": "explicit", "n_buyers": 2, "n_sellers": 1}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"n_buyers": 0}, "n_buyers = 0"),
    ({"n_sellers": 501}, "n_sellers = 501"),
    ({"n_buyers": True}, "n_buyers = True"),
    ({"rounds": 1001}, "rounds = 1001"),
    ({"rounds": 2.5}, "rounds = 2.5"),
    ({"price_max": 150}, "multiple of 100"),
    ({"price_max": 10_100}, "price_max = 10100"),
    ({"distribution": "normal"}, "distribution = normal"),
    ({"acceptance": "sometimes"}, "acceptance = sometimes"),
    ({"min_gap": 101}, "min_gap = 101: must lie in 0..price_max = 100"),
    ({"max_seller_cost": 200}, "max_seller_cost = 200: must lie in"),
    ({"max_attempts": 0}, "max_attempts = 0"),
    ({"n_buyers": 9, "n_sellers": 8}, "acceptance = vector: at most 16 seats, not 17"),
    ({"values": {"buyers": [1], "sellers": [2]}}, "only allowed with distribution = explicit"),
    (EXPLICIT, "values: required"),
    ({**EXPLICIT, "values": {"buyers": [9], "sellers": [3]}}, "values.buyers: 1 entries; there are 2 buyers"),
    ({**EXPLICIT, "values": {"buyers": [9, 8], "sellers": [3, 4]}}, "values.sellers: 2 entries"),
    ({**EXPLICIT, "values": {"buyers": [9, 101], "sellers": [3]}}, "values.buyers: every value must lie in"),
    ({**EXPLICIT, "values": {"buyers": [9, 8], "sellers": [-1]}}, "values.sellers: every value must lie in"),
    ({"seat_order": ["B1", "B1"]}, "seat_order: must name each of the 8 seats"),
    ({"chance": "dice"}, "chance = dice"),
    ({"chance": "log_maker_draw"}, "needs the log's own distribution"),
    ({"chance": "recorded", "distribution": "uniform", "price_max": 200}, "whose price_max is 100, not 200"),
    ({"chance": "log_maker_order", "distribution": "uniform", "acceptance": "none"}, "accepted by 'vector', not none"),
    ({"chat": {"enabled": True, "recipients": []}}, "chat.recipients: name at least one of all_traders"),
    ({"chat": {"recipients": ["everybody"]}}, "chat.recipients"),
    ({"chat": {"max_words": 0}}, "chat.max_words = 0"),
    ({"chat": {"max_chars": 2_001}}, "chat.max_chars = 2001"),
    ({"chat": {"volume": 3}}, "chat.volume: unknown key"),
    ({"clock": "free"}, "clock = free"),
    ({"framing": "grand"}, "framing = grand"),
    ({"seats": {"B9": "agent"}}, "seats.B9: no such seat or role"),
    ({"seats": {"B1": "two words"}}, "is not a policy"),
    ({"colour": 1}, "colour: unknown key"),
]


@pytest.mark.parametrize(("content", "expected"), WRONG, ids=[text[:40] for _, text in WRONG])
def test_a_wrong_scenario_is_refused_by_naming_key_and_allowed_values(content: dict[str, Any], expected: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        build_scenario(DoubleAuctionScenario, {"id": "double_auction/wrong", **content}, source="wrong.toml")
    assert str(caught.value).startswith("wrong.toml: ")
    assert expected in str(caught.value)


@pytest.mark.parametrize("preset", ["bazaar", "duel", "smoke", "large"])
def test_every_preset_opens_with_one_quote_phase_and_its_agent_at_b1(preset: str) -> None:
    scenario: Any = load_scenario("double_auction", preset)
    market = MARKET.create(scenario, 7)
    assert scenario.phases == ("quote",)
    assert scenario.seats["B1"] == "agent"
    assert market.awaited() == frozenset(market.seats)
    assert f"double_auction/{preset}" in scenario_ids("double_auction")


def test_the_presets_with_and_without_talk_differ_in_nothing_else() -> None:
    talk: Any = load_scenario("double_auction", "collusion")
    silent: Any = load_scenario("double_auction", "collusion_silent")
    one, other = (MARKET.create(scenario, 5) for scenario in (talk, silent))
    assert (one.clock.phase, other.clock.phase) == ("talk", "quote")
    assert one.state.private == other.state.private
    assert talk.seats == silent.seats
    varying = {"id", "description", "chat"}
    assert talk.model_dump(exclude=varying) == silent.model_dump(exclude=varying)


def test_an_unknown_policy_on_a_seat_is_refused(open_market: Callable[..., DoubleAuction]) -> None:
    with pytest.raises(ScenarioError, match=r"seats.B1: there is no policy 'wizard'.*truthful"):
        open_market("smoke", **{"seats.B1": "wizard"})


def test_values_that_no_draw_can_satisfy_are_refused(open_market: Callable[..., DoubleAuction]) -> None:
    with pytest.raises(ScenarioError, match="max_attempts = 20"):
        open_market("bazaar", min_buyer_value=100, max_seller_cost=0, distribution="semi_bimodal", max_attempts=20)


def test_the_framing_changes_the_brief_only(open_market: Callable[..., DoubleAuction]) -> None:
    plain, desk = open_market("duel"), open_market("duel", framing="desk")
    briefs = [MARKET.brief(market.scenario, "S1") for market in (plain, desk)]
    assert briefs[0].role != briefs[1].role
    assert "desk" in briefs[1].role
    assert plain.state.private == desk.state.private
    assert all("an ask of 0 to 100" in brief.round_semantics and "30" in brief.round_semantics for brief in briefs)
    assert not any("collu" in " ".join(brief).lower() for brief in briefs)

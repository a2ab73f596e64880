from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tradefair.catalog import load_scenario, scenario_ids
from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario
from tradefair.double_auction import MARKET
from tradefair.double_auction.model import DoubleAuctionScenario
from tradefair.double_auction.rules import DoubleAuction

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

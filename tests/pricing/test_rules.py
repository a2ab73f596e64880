"""Rounds of posted prices: who sells what, what a silent firm does, shocks, refusals, scenarios, seats."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pricing.scenarios import played, scenario

from tradefair.contract import Chance, IllegalAction, ScenarioError
from tradefair.pricing import MARKET
from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.rules import Pricing


def test_a_round_pays_what_the_page_says() -> None:
    market = Pricing(scenario(), 1)
    market.post("F1", 1473)
    market.post("F2", 1473)
    closure = market.advance()
    assert closure.public.model_dump()["prices"] == {"F1": 1473, "F2": 1473}
    assert market.state.profit == {"F1": 222_957_537, "F2": 222_957_537}
    market.check()


def test_a_silent_firm_is_closed_until_it_posts_and_then_keeps_its_price() -> None:
    market = Pricing(scenario(), 1)
    market.post("F1", 1500)
    assert market.lapse("F2", "deadline") == "stays_closed"
    market.advance()
    assert (market.state.rows[-1].prices, market.state.rows[-1].units[1]) == ((1500, None), 0)
    market.post("F2", 1400)
    assert market.lapse("F1", "deadline") == "keeps_price"
    market.advance()
    assert market.state.rows[-1].prices == (1500, 1400)
    market.check()


def test_refusals_say_what_is_allowed() -> None:
    market = Pricing(scenario(), 1)
    for call, code, words in (
        (lambda: market.post("F1", 4001), "price_above_max", "4000"),
        (lambda: market.post("F1", 1500, 3), "stale_round", "the open round is 1"),
    ):
        with pytest.raises(IllegalAction, match=words) as refused:
            call()
        assert refused.value.info.code == code
    market.post("F1", 900)
    with pytest.raises(IllegalAction) as refused:
        market.post("F1", 901)
    assert refused.value.info.code == "already_acted"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cost": [1000, 1000, 1001]}, "cost: 3 entries; there are 2 firms"),
        ({"price_max": 30_000}, "price_max = 30000: quality 2000 and mu 250 allow at most 17000"),
        ({"outside": 20_000}, "outside = 20000: with mu 250 and its shocks at most 10000"),
        ({"outside": 10_000, "shock": "demand"}, "outside = 10000: with mu 250 and its shocks at most 10000"),
        ({"quality": [15_001, 2000]}, "quality = 15001: with mu 250 at most 15000"),
        ({"quality": None}, "quality: required with drawn = false"),
        ({"firms": 3, "quality": [2000, 2100]}, "quality: 2 entries; there are 3 firms"),
        ({"mu_range": [300, 200]}, "mu_range = [300, 200]: the first must not be above the second"),
        ({"firms": 11}, "firms = 11"),
        ({"mu": 0}, "mu = 0"),
        ({"consumers": 99}, "consumers = 99"),
        ({"drawn": True}, "quality: must be absent with drawn = true"),
        ({"shock_size": 61}, "shock_size = 61"),
        ({"seats": {"F9": "nash"}}, "seats.F9: no such seat"),
    ],
)
def test_wrong_content_names_key_value_and_bound(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(**changes)
    assert words in str(refused.value)


def test_a_law_that_no_rival_can_follow_is_an_error_of_the_scenario() -> None:
    for law in ("nobody", "rival", "planner", "contrary"):
        with pytest.raises(ScenarioError, match=f"rival_laws: there is no law '{law}'"):
            MARKET.create(scenario("duel", rival_laws=["nash", law]), 1)


def test_equal_lists_follow_the_number_of_firms() -> None:
    assert scenario("five", firms=3).quality == (2000, 2000, 2000)


def test_what_a_seed_draws_is_uniform_between_the_bounds_and_keyed_by_firm() -> None:
    bounds = {"quality_range": [1_990, 1_992], "cost_range": [998, 1_000], "mu_range": [240, 241]}
    seen: dict[str, set[int]] = {"quality": set(), "cost": set(), "mu": set()}
    laws: set[str] = set()
    for seed in range(60):
        market, chance = Pricing(scenario("duel", **bounds), seed), Chance(seed)
        demand = market.state.demand
        for place, seat in enumerate(market.seats):
            assert demand.quality[place] == 1_990 + int(3 * chance.uniform("quality", seat))
            assert market.state.cost[seat] == 998 + int(3 * chance.uniform("cost", seat))
            laws.add(market.rivals[seat])
        assert demand.mu == 240 + int(2 * chance.uniform("mu"))
        seen["quality"] |= {*demand.quality}
        seen["cost"] |= {*market.state.cost.values()}
        seen["mu"].add(demand.mu)
    assert seen == {"quality": {1_990, 1_991, 1_992}, "cost": {998, 999, 1_000}, "mu": {240, 241}}
    assert laws == {"best_reply", "matcher", "edgeworth", "grim", "fixed_markup"}


def test_a_shock_keeps_its_level_until_chance_gives_another_of_five() -> None:
    market, chance = played("shocks", 9, "nash", rounds=400), Chance(9)
    level = 0
    for row in market.state.rows:
        if row.round == 1 or chance.uniform("shock", row.round) < 0.2:
            level = (-60, -30, 0, 30, 60)[int(5 * chance.uniform("shock_level", row.round))]
        assert (row.shock, row.cost_shocks, row.outside) == (level, (level, level), 0)
    assert {row.shock for row in market.state.rows} == {-60, -30, 0, 30, 60}


def test_shocks_of_ones_own_and_of_demand_fall_where_they_are_meant_to() -> None:
    own = played("hidden_cost", 4, "nash", rounds=100)
    assert {row.shock for row in own.state.rows} == {0}
    assert all(len({row.cost_shocks[place] for row in own.state.rows}) == 5 for place in range(3))
    assert any(len({*row.cost_shocks}) > 1 for row in own.state.rows)
    demand = played("textbook", 4, "nash", rounds=100, shock="demand")
    assert all((row.cost_shocks, row.outside) == ((0, 0), row.shock) for row in demand.state.rows)
    assert len({row.outside for row in demand.state.rows}) == 5


def test_shocks_are_the_same_whatever_is_posted() -> None:
    one, other = (played("shocks", 3, own) for own in ("nash", "passive"))
    assert [row.shock for row in one.state.rows] == [row.shock for row in other.state.rows]
    assert {row.shock for row in one.state.rows} <= {-60, -30, 0, 30, 60}
    assert len({row.shock for row in one.state.rows}) > 2


@given(
    shift=st.integers(-10_000, 10_000),
    prices=st.lists(st.integers(0, 4_000), min_size=1, max_size=5),
    mu=st.integers(250, 400),
)
def test_only_what_an_offer_is_worth_beyond_buying_nothing_counts(shift: int, prices: list[int], mu: int) -> None:
    quality = [2_000 + 10 * place for place in range(len(prices))]
    sold = units_sold(prices, quality, mu, 0, 1_000_000)
    assert units_sold(prices, [a + shift for a in quality], mu, shift, 1_000_000) == sold


def test_weights_stay_fine_where_buying_nothing_is_worth_as_little_as_a_scenario_may_say() -> None:
    # Worths 40 mu below 0: weights that were of worths alone came down to 2 and 4, and demand in steps of a tenth.
    sold = units_sold([4_040, 4_040], [0, 0], 100, -4_000, 1_000_000)
    share = math.exp(-0.4) / (1 + 2 * math.exp(-0.4))
    assert sold == (round(1_000_000 * share),) * 2

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradefair.retail.data.generator import past_of
from tradefair.retail.engine.luck import Luck
from tradefair.retail.engine.world import NewsItem, World, news_effect
from tradefair.retail.model import NewsRules, RetailScenario

Scenarios = Callable[..., RetailScenario]


def _days(scenario: RetailScenario, seed: int, days: int) -> list[list[NewsItem]]:
    world = World(scenario, past_of(scenario).store)
    listed: list[list[NewsItem]] = []
    for day in range(days):
        world.open_day(Luck.of_episode(seed), day + 1, day, history=False)
        listed.append(world.listed)
        assert all(quote >= 100 for quote in world.quotes)
        assert all(1000 <= quality <= 5000 for quality in world.qualities)
        cap = scenario.news.cap
        assert all(-cap <= effect <= cap for effect in (*world.need_effect, *world.supply_effect))
    return listed


def test_news_come_in_their_number_and_stay_for_their_days(scenario_of: Scenarios) -> None:
    scenario = scenario_of("smoke", {"news.daily_count": 20})
    listed = _days(scenario, 1, 500)
    assert {len(items) for items in listed} == {20}
    seen: dict[str, list[int]] = {}
    for day, items in enumerate(listed):
        assert len({item.id for item in items}) == 20
        for item in items:
            seen.setdefault(item.id, []).append(day)
            assert item.first <= day <= item.last
    for day in range(490):
        for item in listed[day]:
            days = seen[item.id]
            assert days == list(range(item.first, item.last + 1))
            assert len(days) == 1 if not item.business else 4 <= len(days) <= 6
    live = [sum(item.business for item in items) for items in listed[10:]]
    assert 6 <= sum(live) / len(live) <= 8


def test_without_news_nothing_is_listed_and_nothing_moves(scenario_of: Scenarios) -> None:
    scenario = scenario_of("smoke", {"news.enabled": False})
    assert _days(scenario, 1, 5) == [[]] * 5


def test_an_item_moves_what_it_names_and_nothing_else(scenario_of: Scenarios) -> None:
    scenario = scenario_of("smoke", {"news.ratios": [0.0, 0.0, 0.5, 0.5]})
    store = past_of(scenario).store
    world = World(scenario, store)
    world.open_day(Luck.of_episode(3), 1, 0, history=False)
    named = {
        (side, place)
        for item in world.listed
        for side in (("need", "supply") if item.side == "both" else (item.side,))
        for place, product in enumerate(store.products)
        if item.product == place or (item.mode == "category" and item.category == product.category)
    }
    for place in range(len(store.products)):
        assert (world.need_effect[place] != 0) == (("need", place) in named)
        assert (world.supply_effect[place] != 0) == (("supply", place) in named)


def test_an_item_of_both_sides_moves_demand_and_quotes_alike(scenario_of: Scenarios) -> None:
    scenario = scenario_of(
        "smoke", {"news.ratios": [0.0, 0.0, 0.5, 0.5], "news.need_share": 0.0, "news.both_share": 1.0}
    )
    world = World(scenario, past_of(scenario).store)
    world.open_day(Luck.of_episode(3), 1, 0, history=False)
    assert {item.side for item in world.listed} == {"both"}
    assert any(world.need_effect)
    assert world.need_effect == world.supply_effect


def test_the_shares_of_the_sides_are_those_of_the_scenario(scenario_of: Scenarios) -> None:
    scenario = scenario_of("smoke", {"news.ratios": [0.0, 0.0, 0.0, 1.0], "news.daily_count": 20})
    sides = Counter(item.side for items in _days(scenario, 1, 600) for item in items)
    total = sum(sides.values())
    assert sides["need"] / total == pytest.approx(scenario.news.need_share, abs=0.03)
    assert sides["both"] / total == pytest.approx(scenario.news.both_share, abs=0.03)


def test_effects_of_the_worked_example() -> None:
    rules = NewsRules()
    assert news_effect(rules, [0.30, 1.2 * -0.15]) == pytest.approx(0.096)
    assert news_effect(rules, [0.30]) == pytest.approx(0.24)
    assert news_effect(rules, []) == 0.0


@given(st.lists(st.floats(-2, 2), max_size=20), st.floats(0, 2), st.floats(0, 0.9))
def test_effects_stay_within_their_cap(terms: list[float], scale: float, cap: float) -> None:
    assert abs(news_effect(NewsRules(base_scale=scale, cap=cap), terms)) <= cap


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_the_degree_words_the_strength(seed: int) -> None:
    scenario = RetailScenario.model_validate(
        {"id": "retail/x", "history_days": 14, "news": {"ratios": (0.0, 1.0, 0.0, 0.0)}}, strict=False
    )
    world = World(scenario, past_of(scenario).store)
    world.open_day(Luck.of_episode(seed), 1, 0, history=False)
    for item in world.listed:
        low = 0.10 + item.degree * 0.35 / 3
        assert low - 1e-9 <= item.strength <= low + 0.35 / 3 + 1e-9
        assert item.extra_days in (3, 4, 5)
        assert item.sign in (-1, 1)

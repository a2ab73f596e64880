from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from tests.calling import Caller
from tests.marketplace.playing import play, scenario_of

from tradefair.contract import Chance, ScenarioError
from tradefair.marketplace import MARKET
from tradefair.marketplace.analysis import match_sets
from tradefair.marketplace.answers.search import document_of
from tradefair.marketplace.data.generator import generate
from tradefair.marketplace.engine.manipulation import (
    PROFILE_SURFACES,
    TEXTS,
    TOLD_SURFACES,
    canary_of,
    house_text,
    shown,
)
from tradefair.marketplace.model import Manipulation, Source, Surface
from tradefair.marketplace.rules import Marketplace

CATALOGUE = generate(Source(customers=2), 1)
CONDITIONS = tuple(TEXTS)


def said(condition: str = "control", surface: str = "description", place: int = 1, seed: int = 1) -> Any:
    content = {"condition": condition, "surface": surface, "business_index": place}
    return house_text(Manipulation.model_validate(content), CATALOGUE, Chance(seed))


def test_there_are_six_conditions_and_six_surfaces() -> None:
    assert set(CONDITIONS) | {"off"} == set(get_args(Manipulation.model_fields["condition"].annotation))
    assert set(PROFILE_SURFACES) | set(TOLD_SURFACES) == set(get_args(Surface))
    assert get_args(Manipulation.model_fields["surface"].annotation) == get_args(Surface)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_text_carries_the_canary_and_leaves_nothing_to_fill_in(condition: str) -> None:
    found = said(condition)
    assert found.canary in found.text
    assert not re.search(r"[{}\n\t]", found.text)
    assert ("{name}" in TEXTS[condition]) == (CATALOGUE.businesses[1].name in found.text)


@pytest.mark.parametrize("condition", ["injection_basic", "injection_strong"])
def test_only_injections_order_their_reader_to_write_the_canary(condition: str) -> None:
    ordered = re.compile(r"\bwrite ([\w-]+) in your next message|\bmust write ([\w-]+)")
    match = ordered.search(said(condition).text)
    assert match
    assert said(condition).canary in match.groups()
    assert not any(ordered.search(said(other).text) for other in CONDITIONS if not other.startswith("injection"))


def test_canaries_are_invented_words_with_four_digits_unlike_each_other() -> None:
    chance = Chance(3)
    canaries = [canary_of(chance, place) for place in range(120)]
    assert all(re.fullmatch(r"[a-z]+-\d{4}", canary) for canary in canaries)
    assert len(set(canaries)) == len(canaries)
    assert canary_of(Chance(3), 7) == canaries[7]
    assert canary_of(Chance(4), 7) != canaries[7]


def test_two_businesses_with_one_draw_have_different_canaries() -> None:
    class Stuck(Chance):
        def uniform(self, stream: str, *key: int | str) -> float:
            return 0.999999999

    assert len({canary_of(Stuck(0), place) for place in range(3)}) == 3


def test_nobody_says_anything_where_manipulation_is_off() -> None:
    assert said("off") is None
    assert shown(CATALOGUE, None) is CATALOGUE


def test_a_business_that_is_not_there_is_named() -> None:
    with pytest.raises(ScenarioError, match=r"manipulation\.business_index = 6: allowed is 0 to 5"):
        said(place=6)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("surface", sorted(PROFILE_SURFACES))
def test_a_profile_surface_carries_the_text_and_nothing_else_changes(condition: str, surface: str) -> None:
    found = said(condition, surface)
    changed = shown(CATALOGUE, found)
    before, after = CATALOGUE.businesses[1], changed.businesses[1]
    assert document_of(after) != document_of(before)
    assert [one for one in changed.businesses if one != after] == [one for one in CATALOGUE.businesses if one != before]
    assert changed.customers == CATALOGUE.customers
    if surface == "item_name":
        assert [line.item for line in after.menu] == [*(line.item for line in before.menu), found.text]
        assert after.menu[-1].price_cents == 100
        assert after.prices[found.text.lower()] == 100
        assert (after.name, after.description) == (before.name, before.description)
    else:
        assert getattr(after, surface) == f"{getattr(before, surface)} {found.text}"
        assert after.menu == before.menu


@pytest.mark.parametrize("surface", sorted(TOLD_SURFACES))
def test_a_text_that_is_told_leaves_the_profile_alone(surface: str) -> None:
    assert shown(CATALOGUE, said("authority", surface)) is CATALOGUE


def test_match_sets_do_not_see_the_text() -> None:
    assert match_sets(shown(CATALOGUE, said(surface="item_name")), 20_000) == match_sets(CATALOGUE, 20_000)


# --- in the market --------------------------------------------------------------------------------------------------


def opened(condition: str, surface: str, **given: Any) -> Marketplace:
    texts = {"condition": condition, "surface": surface, "business_index": 4, **given}
    shows = {"search_disclosure": "menu", "profile_disclosure": "menu"}
    return MARKET.create(scenario_of({"customers": 3}, manipulation=texts, **shows), 1)


def results(market: Marketplace, query: str) -> list[dict[str, Any]]:
    return Caller(MARKET.tools).ask(market, "customer_0001", "search_businesses", query=query).model_dump()["results"]


@pytest.mark.parametrize("surface", sorted(PROFILE_SURFACES))
def test_search_is_made_of_clean_profiles_unless_the_scenario_says_otherwise(surface: str) -> None:
    query = "certified Guild master"
    plain = [row["business"] for row in results(opened("off", surface), query)]
    loud = [row["business"] for row in results(opened("authority", surface), query)]
    assert loud == plain
    indexed = opened("authority", surface, index_text=True)
    carrier = indexed.participants["business_0005"].handle
    assert plain[0] != carrier
    assert results(indexed, query)[0]["business"] == carrier


@pytest.mark.parametrize("surface", get_args(Surface))
def test_the_canary_stands_on_its_own_surface_alone(surface: str) -> None:
    market = opened("social_proof", surface)
    canary = canary_of(Chance(1), 4)
    fields = {"name": "name", "description": "description", "item_name": "menu"}
    found = [key for row in results(market, "") for key, value in row.items() if canary in str(value)]
    assert found == [fields[key] for key in fields if key == surface]
    books = Caller(MARKET.tools).ask(market, "business_0005", "view_my_business").model_dump()
    assert books["house_text_surface"] == (None if surface in fields else surface)
    assert (canary in (books["house_text"] or "")) == (surface not in fields)
    others = Caller(MARKET.tools).ask(market, "business_0004", "view_my_business").model_dump()
    assert others["house_text"] is None
    assert [(each.business, each.surface, each.canary) for each in market.ending_facts().canaries] == [
        ("business_0005", surface, canary)
    ]


@pytest.mark.parametrize(
    ("surface", "tool", "argument"),
    [
        ("chat", "send_message", "text"),
        ("proposal_note", "send_proposal", "note"),
        ("withdraw_reason", "withdraw_proposal", "reason"),
    ],
)
def test_a_manipulator_says_its_text_once_to_each_customer(surface: str, tool: str, argument: str) -> None:
    ended = play(
        {"source": "design", "design": "manipulation_competitive"},
        "window_shopper",
        seats={"business_0001": "manipulator"},
        manipulation={"condition": "loss_aversion", "surface": surface},
        search_algorithm="simple",
    )
    canary = ended.ending.canaries[0].canary
    calls = [event for event in ended.events if event["event"] == "tool_called" and canary in str(event["arguments"])]
    assert {(event["seat"], event["tool"]) for event in calls} == {("business_0001", tool)}
    assert all(canary in event["arguments"][argument] for event in calls)
    assert len(calls) == len(ended.customers) == 3
    assert ended.refusals == []

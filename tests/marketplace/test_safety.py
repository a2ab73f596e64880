"""A seat cannot act for another, money moves once and for what was offered, and text is text: both clocks."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.calling import Caller
from tests.marketplace.playing import play, scenario_of
from tests.marketplace.table import B1, B2, B3, C1, C2, LINES, NASTY, Table, catalogue

from tradefair.contract import Chance, ScenarioError
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.replay import Replayed, replay
from tradefair.host.episode.episode import Episode
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
from tradefair.marketplace.engine.proposals import EDGES
from tradefair.marketplace.model import Catalogue, Manipulation, Source, Surface
from tradefair.marketplace.rules import Marketplace
from tradefair.tracestore import open_trace

SEATS = (C1, C2, B1, B2, B3)
CLOCKS = ("turns", "free")


def balances(table: Table) -> dict[str, int]:
    return table.market.ledger.balances


def bought(table: Table) -> str:
    """Ada has paid casa's proposal."""
    table.ask()
    name = table.offer()
    table.ok(C1, "pay_proposal", proposal=name, expected_total=8.6)
    table.close()
    return name


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_payment_moves_the_total_once_from_its_addressee_to_its_sender(clock: str) -> None:
    table = Table(clock=clock)
    name = bought(table)
    assert (balances(table)[C1], balances(table)[B1], sum(balances(table).values())) == (-860, 860, 0)
    assert table.code(C1, "pay_proposal", proposal=name) == "not_open"
    assert len(table.market.ledger.entries) == 1
    assert table.market.proposals[name].state == "paid"


@pytest.mark.parametrize("clock", CLOCKS)
def test_nobody_pays_rejects_withdraws_or_reads_what_is_anothers(clock: str) -> None:
    table = Table(clock=clock)
    table.ask()
    table.ask(C1, "b0002")
    name = table.offer(note=NASTY)
    before = balances(table)
    assert table.code(C2, "pay_proposal", proposal=name) == "unknown_id"
    assert table.code(C2, "reject_proposal", proposal=name) == "unknown_id"
    assert table.code(C2, "compare_proposals", proposals=[name]) == "unknown_id"
    assert table.code(B2, "withdraw_proposal", proposal=name) == "unknown_id"
    absent = table.call(C2, "pay_proposal", proposal="p-b0001-c0001-9").error
    assert absent == table.call(C2, "pay_proposal", proposal=name).error  # the same words for both
    for seat in (C2, B2, B3):
        for tool in ("receive_messages", "view_proposals"):
            answer = str(table.ok(seat, tool))
            assert NASTY not in answer
            assert name not in answer
    for seat, tool in ((B1, "pay_proposal"), (B1, "reject_proposal"), (C1, "withdraw_proposal")):
        assert table.code(seat, tool, proposal=name) == "tool_unavailable"
    assert balances(table) == before
    assert table.market.proposals[name].state == "open"


@pytest.mark.parametrize("clock", CLOCKS)
def test_what_is_closed_or_differs_is_not_paid(clock: str) -> None:
    table = Table(clock=clock)
    table.ask()
    table.ask()
    expired = table.offer(expires_in=1)
    withdrawn = table.offer()
    table.ask()
    table.close()
    table.ok(B1, "withdraw_proposal", proposal=withdrawn)
    table.close()
    for name, state in ((expired, "expired"), (withdrawn, "withdrawn")):
        answer = table.call(C1, "pay_proposal", proposal=name)
        assert answer.error is not None
        assert (answer.error.code, state in answer.error.message) == ("not_open", True)
    table.ask()
    name = table.offer()
    for wrong in (8.59, 8.61, 0, 860):
        assert table.code(C1, "pay_proposal", proposal=name, expected_total=wrong) == "total_changed"
    assert set(balances(table).values()) == {0}


def test_terms_that_the_rules_forbid_are_not_sent() -> None:
    table = Table()
    table.ask()
    cases: list[tuple[str, dict[str, Any]]] = [
        ("item_not_on_menu", {"lines": [{"item": NASTY, "quantity": 1, "unit_price": 1}]}),
        ("duplicate_item", {"lines": [*LINES, {"item": " taco", "quantity": 1, "unit_price": 1}]}),
        ("total_mismatch", {"lines": LINES, "total": 8.61}),
        ("invalid_arguments", {"lines": [{**LINES[0], "unit_price": -1}]}),
        ("invalid_arguments", {"lines": [{**LINES[0], "quantity": 0}]}),
        ("invalid_arguments", {"lines": []}),
        ("invalid_arguments", {"lines": LINES, "seat": B2}),
    ]
    for code, terms in cases:
        assert table.code(B1, "send_proposal", to="c0001", **terms) == code
    posted = Table(price_rule="posted", verify_claims=True)
    posted.ask()
    off = [{**LINES[0], "unit_price": 3.24}]
    assert posted.code(B1, "send_proposal", to="c0001", lines=off) == "price_not_posted"
    assert posted.code(B1, "send_proposal", to="c0001", lines=LINES, claims=["Music"]) == "false_claim"
    floored = Table(price_rule="floor")
    floored.ask()
    assert floored.code(B1, "send_proposal", to="c0001", lines=[{**LINES[0], "unit_price": 2.59}]) == "below_floor"
    assert floored.ok(B1, "send_proposal", to="c0001", lines=[{**LINES[0], "unit_price": 2.6}])["total"] == 5.2
    assert table.market.proposals == {}


def test_lenient_rules_take_the_same_terms_with_a_flag_that_no_customer_sees() -> None:
    table = Table(price_rule="floor", proposal_rules="lenient")
    table.ask()
    line = {"item": "Unicorn", "quantity": 1, "unit_price": 0.5}
    told = table.ok(B1, "send_proposal", to="c0001", lines=[line, {**LINES[0], "unit_price": 1}], total=2)
    assert (told["flags"], told["total"]) == (["off_menu", "sum_mismatch", "below_floor"], 2.0)
    table.close()
    assert "flags" not in str(table.ok(C1, "view_proposals"))


@pytest.mark.parametrize("clock", CLOCKS)
def test_budgets_purchases_and_capacity_bind(clock: str) -> None:
    poor = Table(clock=clock, budget_bp=9_000)
    poor.ask()
    name = poor.offer()
    assert poor.code(C1, "pay_proposal", proposal=name) == "insufficient_funds"
    once = Table(clock=clock, single_purchase=True, capacity=1)
    once.ask(C1, "b0001", "b0002")
    once.ask(C2, "b0001")
    names = [once.ok(B1, "send_proposal", to=to, lines=LINES)["proposal"] for to in ("c0001", "c0002")]
    other = once.ok(B2, "send_proposal", to="c0001", lines=LINES)["proposal"]
    once.close()
    once.ok(C1, "pay_proposal", proposal=names[0])
    assert once.code(C1, "pay_proposal", proposal=other) == "second_purchase"
    once.close()
    assert once.code(C1, "pay_proposal", proposal=other) == "second_purchase"
    assert once.code(C2, "pay_proposal", proposal=names[1]) == "capacity_full"


@pytest.mark.parametrize("text", [NASTY, "'", '"', "\\", "$(rm -rf /)", "\U0001f32e" * 400, "‮‏", "x" * 20_000, "\t\n"])
def test_text_is_kept_and_shown_as_it_was_written(text: str) -> None:
    table = Table(text_max=20_000)
    inquiry = {"items": [{"item": text[:60], "quantity": 2}], "amenities": [text[:60]]}
    table.ok(C1, "send_message", to=["b0001"], text=text, inquiry=inquiry)
    table.close()
    (entry,) = table.ok(B1, "receive_messages")["entries"]
    assert entry["text"] == text
    assert entry["inquiry"]["items"] == [{"item": text[:60], "quantity": 2}]
    name = table.offer(note=text[:1_000], claims=[text[:60]])
    (row,) = table.ok(C1, "view_proposals")["proposals"]
    assert (row["note"], row["claims"]) == (text[:1_000], [text[:60]])
    table.ok(C1, "search_businesses", query=text[:500])
    table.ok(C1, "reject_proposal", proposal=name, reason=text[:500])
    table.close()
    assert table.market.proposals[name].reason == text[:500]


@pytest.mark.parametrize("clock", CLOCKS)
async def test_a_payment_with_one_key_that_is_sent_a_hundred_times_is_made_once(clock: str, tmp_path: Path) -> None:
    table = Table(clock=clock)
    episode = await Episode.create(tmp_path / "x.trace", MARKET, table.scenario, 1, episode_id="x")
    try:
        calls: list[tuple[str, str, dict[str, Any]]] = [
            (C1, "send_message", {"to": ["b0001"], "text": "?"}),
            *((seat, "end_turn", {}) for seat in (C1, C2)),
            (B1, "send_proposal", {"to": "c0001", "lines": LINES}),
            *((seat, "end_turn", {}) for seat in (B1, C1, C2)),
        ]
        for seat, tool, arguments in calls:
            await episode.call(seat, tool, arguments)
        payment = {"proposal": "p-b0001-c0001-1"}
        sent = [episode.call(C1, "pay_proposal", payment, call_key="once") for _ in range(100)]
        answers = {result.body for result in await asyncio.gather(*sent)}
        for seat in sorted(episode.core.market.awaited()):
            await episode.call(seat, "end_turn", {})
        market = episode.core.market
        assert isinstance(market, Marketplace)
        assert (len(answers), len(market.ledger.entries), market.ledger.balance(B1)) == (1, 1, 860)
        with open_trace(episode.path) as trace:
            paid = [event for event in trace.decoded() if event.get("tool") == "pay_proposal"]
        assert len(paid) == 1
    finally:
        await episode.close()


def test_nothing_that_is_anothers_secret_stands_in_any_answer() -> None:
    """Ids, requests, means, floors and provenance are values that occur nowhere else."""
    one = catalogue()
    customers = tuple(
        each.model_copy(
            update={
                "id": f"zz-{each.id}",
                "request": f"qq-{each.id}",
                "wants": tuple(replace(want, mean_cents=77_777 + place) for want in each.wants),
            }
        )
        for place, each in enumerate(one.customers)
    )
    businesses = tuple(
        each.model_copy(update={"id": f"zz-{each.id}", "floor_bp": 7_331, "progenitor_customer": "zz-ada"})
        for each in one.businesses
    )
    table = Table(data=Catalogue(customers=customers, businesses=businesses), price_rule="floor", rounds_max=4)
    buyer, other, seller, rival = "zz-ada", "zz-bob", "zz-casa", "zz-dino"
    table.ask(buyer, "b0001", "b0002")
    table.offer(seller, note="between two")
    secrets = {
        buyer: ("zz-", "qq-bob", "77778", "7777.7", "0.7331", "matches"),
        other: ("zz-", "qq-ada", "77777", "0.7331", "between two", "p-b0001"),
        seller: ("zz-", "qq-", "7777", "155"),
        rival: ("zz-", "qq-", "7777", "155", "between two", "p-b0001"),
    }
    for seat, words in secrets.items():
        for name, tool in table.core.tools(seat).items():
            if tool.read_only and not tool.recorded and name != "await_turn":
                arguments = {"query": ""} if name == "search_businesses" else {"business": "b0001"}
                known = set(tool.input_schema.get("properties", {}))
                answer = table.call(seat, name, **{key: given for key, given in arguments.items() if key in known})
                told = (answer.body or b"").decode().replace(f'"seat":"{seat}"', "")
                assert [word for word in words if word in told] == [], (seat, name)


# --- whatever seats do ----------------------------------------------------------------------------------------------

switches = st.fixed_dictionaries(
    {
        "capacity": st.sampled_from([0, 1]),
        "escrow": st.booleans(),
        "reputation": st.booleans(),
        "sealed_window": st.sampled_from([0, 2]),
        "arrival_stagger": st.sampled_from([0, 1]),
        "delay_jitter": st.sampled_from([0, 2]),
        "budget_bp": st.sampled_from([0, 20_000]),
        "proposal_rules": st.sampled_from(["strict", "lenient"]),
        "single_purchase": st.booleans(),
    }
)


def attempts(table: Table, seat: str, draw: random.Random) -> list[tuple[str, dict[str, Any]]]:
    """A few calls of one seat, legal and not, with any words."""
    market = table.market
    mine = [name for name, offer in market.proposals.items() if seat in (offer.customer, offer.business)]
    name = draw.choice(mine) if mine and draw.random() < 0.9 else "p-b0001-c0002-7"
    words = draw.choice([NASTY, "a", "\U0001f32e" * 30])
    lines = [{**line, "unit_price": draw.choice([0, 0.01, 3.25])} for line in LINES[: draw.randint(1, 2)]]
    customers: list[tuple[str, dict[str, Any]]] = [
        ("send_message", {"to": ["b0001", "b0002"], "text": words, "inquiry": {"amenities": [words[:100]]}}),
        ("pay_proposal", {"proposal": name}),
        ("pay_proposal", {"proposal": name, "expected_total": 3.25}),
        ("reject_proposal", {"proposal": name, "reason": words}),
        ("receive_messages", {}),
    ]
    businesses: list[tuple[str, dict[str, Any]]] = [
        ("send_proposal", {"to": draw.choice(["c0001", "c0002"]), "lines": lines, "note": words, "claims": ["Patio"]}),
        ("send_proposal", {"to": "c0001", "lines": lines, "claims": [words[:100]], "expires_in": 1, "total": 1}),
        ("withdraw_proposal", {"proposal": name, "reason": words}),
        ("send_message", {"to": ["c0001"], "text": words}),
        ("receive_messages", {}),
    ]
    known = customers if seat in (C1, C2) else businesses
    calls = [draw.choice(known) for _ in range(draw.randint(1, 4))]
    if draw.random() < 0.05:
        return [*calls, ("finish", {"reason": words})]
    wait = {"wait": draw.choice(["next_round", "message"]), "rounds": draw.randint(1, 3)}
    return [*calls, ("end_turn", wait)]


def facts_of(table: Table) -> list[Any]:
    return [event["facts"] for event in map(orjson.loads, table.bodies) if "facts" in event]


def turns_of(table: Table, draw: random.Random) -> list[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    awaited = sorted(table.market.awaited()) if table.scenario.clock == "turns" else SEATS
    return [(seat, attempts(table, seat, draw)) for seat in awaited]


def checked(table: Table) -> None:
    """The laws of money, mail and proposals."""
    MARKET.check(table.market)
    for offer in table.market.proposals.values():
        assert all(after in EDGES[before] for (_, before), (_, after) in pairwise(offer.history))
    payments = Counter(entry.reason for entry in table.market.ledger.entries if entry.payer in (C1, C2))
    assert set(payments.values()) <= {1}


many = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(st.integers(0, 10_000), switches)
def test_money_and_mail_are_conserved_under_the_free_clock_and_a_trace_rebuilds_the_state(
    seed: int, switched: dict[str, Any]
) -> None:
    table, draw = Table(seed, clock="free", rounds_max=6, **switched), random.Random(seed)
    while table.core.ended is None:
        for seat, calls in turns_of(table, draw):
            for tool, arguments in calls:
                table.call(seat, tool, **arguments)
                checked(table)
        table.bodies += [record.body for record in table.core.feed("clock_tick", None).records]
        checked(table)
    follower = Replayed(Core.restore(MARKET, table.core.manifest))
    for body in table.bodies:
        follower.step(body)
    follower.finish()
    assert follower.core.market.digest() == table.market.digest()


@pytest.mark.many
@many
@given(st.integers(0, 10_000), switches)
def test_the_order_in_which_seats_call_within_a_round_changes_nothing(seed: int, switched: dict[str, Any]) -> None:
    one, other = (Table(seed, rounds_max=8, **switched) for _ in range(2))
    draw = random.Random(seed)
    while one.core.ended is None:
        turns = turns_of(one, draw)
        heard: list[dict[str, list[object]]] = []
        for table, order in ((one, turns), (other, turns[::-1])):
            heard.append({})
            for seat, calls in order:
                heard[-1][seat] = [table.call(seat, tool, **arguments)[2:6] for tool, arguments in calls]
        assert heard[0] == heard[1]
        assert one.market.digest() == other.market.digest()
        checked(one)
    assert facts_of(one) == facts_of(other)
    assert one.core.outcome_digest == other.core.outcome_digest
    assert len(list(replay(MARKET, one.core.manifest, one.bodies))) == len(one.bodies)


@many
@given(st.integers(0, 10_000), st.text(max_size=40), st.text(max_size=40))
def test_looks_and_refusals_leave_the_state_as_it_is(seed: int, query: str, name: str) -> None:
    table = Table(seed, rounds_max=5)
    bought(table)
    before = table.market.digest()
    for seat in (C1, C2, B1):
        for tool in table.core.tools(seat).values():
            if tool.read_only and not tool.recorded:
                table.call(seat, tool.name, **({"query": query} if tool.name == "search_businesses" else {}))
    for tool in ("pay_proposal", "reject_proposal", "view_business"):
        table.call(C1, tool, **{"business" if tool == "view_business" else "proposal": name})
    assert table.market.digest() == before


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

"""The free clock: the host posts ticks, actions take effect at once, agents wait for news, traces need no clock.

Also here:
- Every market can still be looked at when its episode is over.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue
from tests.waiting import LONGER, SOON

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.players import AGENT as AGENT_SEAT
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import new_episode, scripted_seats
from tradefair.host.seats.plans import SeatPlan, plan_seats
from tradefair.host.seats.scripted import Scripted
from tradefair.marketplace import MARKET
from tradefair.marketplace.model import MarketplaceScenario

AGENT = "customer_0001"


def scenario(tick_s: float = LONGER, **overrides: Any) -> MarketplaceScenario:
    loaded = load_scenario(
        "marketplace", "small_demo", {"clock": "free", "timing.free_tick_s": tick_s, "alias_ids": False, **overrides}
    )
    assert isinstance(loaded, MarketplaceScenario)
    return loaded


def seats(
    played: MarketplaceScenario, customers: str = "item_searcher", outside: tuple[str, ...] = (AGENT,)
) -> SeatPlan:
    roles = {seat: spec.role for seat, spec in MARKET.create(played, 7).seats.items()}
    scripted = {seat: customers if role == "customer" else "honest" for seat, role in roles.items()}
    return SeatPlan({**scripted, **dict.fromkeys(outside, AGENT_SEAT)})


async def opened(table: Any, played: MarketplaceScenario, plan: SeatPlan | None = None) -> Episode:
    policies = scripted_seats(MARKET, played, plan or seats(played), 7)
    episode = await Episode.create(table.folder / "free.trace", MARKET, played, 7, episode_id="free", scripted=policies)
    table.opened.append(episode)
    return episode


async def test_the_host_posts_ticks_and_the_trace_needs_no_clock(table: Any) -> None:
    episode = await opened(table, scenario(2 * SOON, rounds_max=3))
    assert await table.within(episode.wait_ended()) == "truncated:max_rounds"
    await episode.close()
    events = table.events(episode)
    ticks = [event for event in events if event["event"] == "input"]
    assert [(event["source"], event["payload"], event["round"]) for event in ticks] == [
        ("clock_tick", None, number) for number in (1, 2, 3)
    ]
    assert Counter(event["event"] for event in events)["round_closed"] == 3
    assert table.verdict(episode.path) == "reproduced"


async def test_an_action_takes_effect_at_once_and_scripted_seats_answer_within_the_tick(table: Any) -> None:
    played = scenario()
    episode = await opened(table, played, seats(played, "passive"))
    business = "b0001"
    await episode.call(AGENT, "send_message", {"to": [business], "text": "Hello?"})
    inbox = table.data(await episode.call(AGENT, "receive_messages", {"after": 0}))
    assert [(entry["counterpart"], entry["round"]) for entry in inbox["entries"]] == [(business, 1)]
    await episode.call(AGENT, "send_message", {"to": [business], "text": "And now?"})
    assert table.data(await episode.call(AGENT, "receive_messages", {"after": 0})) == inbox  # it has acted in this tick
    await episode.feed("clock_tick", None)
    assert len(table.data(await episode.call(AGENT, "receive_messages", {"after": 0}))["entries"]) == 2


async def test_a_wait_ends_with_news_and_news_between_two_waits_are_not_missed(table: Any) -> None:
    played = scenario()
    episode = await opened(table, played, seats(played, "passive"))
    first = await table.within(episode.await_turn(AGENT, 40))
    assert (first.awaited, first.still_open, first.over) == (False, False, False)  # a customer may begin
    assert (await episode.await_turn(AGENT, SOON)).still_open
    await episode.call(AGENT, "send_message", {"to": ["b0002"], "text": "Hello?"})
    assert not (await table.within(episode.await_turn(AGENT, 40))).still_open  # the answer came before the wait
    waiting = asyncio.create_task(episode.await_turn(AGENT, 40))
    await asyncio.sleep(0)
    assert not waiting.done()
    await episode.call(AGENT, "send_message", {"to": ["b0003"], "text": "Hello?"})
    assert not (await table.within(waiting)).still_open


async def test_a_wait_ends_with_the_tick_that_the_seat_waited_for(table: Any) -> None:
    episode = await opened(table, scenario())
    await episode.await_turn(AGENT, SOON)
    done = table.data(await episode.call(AGENT, "end_turn", {"wait": "message", "rounds": 2}))
    assert (done["status"], done["wake_round"]) == ("not_needed", 3)
    await episode.feed("clock_tick", None)
    assert (await episode.await_turn(AGENT, SOON)).still_open
    await episode.feed("clock_tick", None)
    assert (await table.within(episode.await_turn(AGENT, 40))).round == 3


async def test_a_market_of_scripted_seats_alone_waits_for_no_clock(table: Any) -> None:
    played = scenario()
    episode = await opened(table, played, seats(played, outside=()))
    assert await table.within(episode.wait_ended()) == "terminated:completed"
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


@pytest.mark.parametrize("customers", ["item_searcher", "patient_comparer"])
async def test_an_episode_goes_on_where_its_log_ends(table: Any, customers: str) -> None:
    played = scenario(arrival_stagger=1, rounds_max=6)
    plan = seats(played, customers)
    episode = await opened(table, played, plan)
    await episode.call(AGENT, "send_message", {"to": ["b0001", "b0002"], "text": "Hello?"})
    await episode.feed("clock_tick", None)
    head = episode.core.market.digest()
    await episode.close()
    again = await Episode.open(episode.path, MARKET, scripted=scripted_seats(MARKET, played, plan, 7))
    table.opened.append(again)
    assert again.core.market.digest() == head
    while again.core.ended is None:
        await again.feed("clock_tick", None)
    await again.close()
    assert table.verdict(again.path) == "reproduced"

    whole = Core.create(MARKET, played, 7)
    straight = scripted_seats(MARKET, played, plan, 7)
    whole.start()
    straight.run(whole)
    whole.call(AGENT, "send_message", {"to": ["b0001", "b0002"], "text": "Hello?"})
    while whole.ended is None:
        straight.run(whole)
        whole.feed("clock_tick", None)
    assert whole.outcome_digest == again.core.outcome_digest  # being interrupted has changed nothing


async def test_no_other_input_is_taken(table: Any) -> None:
    episode = await opened(table, scenario())
    for source, payload in (("clock_tick", 1), ("operator", None), ("x", "y")):
        with pytest.raises(Exception, match="wrong_input"):
            await episode.feed(source, payload)
    assert Scripted({}).run(episode.core) == []


GAMES: list[tuple[str, str, dict[str, JsonValue]]] = [
    ("double_auction", "smoke", {"rounds": 1}),
    ("double_auction", "collusion", {"rounds": 1}),
    ("bargaining", "pact", {"rounds": 1}),
    ("retail", "smoke", {"horizon_days": 2}),
    ("supply_chain", "duel", {"rounds": 1}),
    ("marketplace", "small_demo", {}),
    ("pricing", "smoke", {}),
    ("order_book", "smoke", {}),
    ("order_book", "asset_short", {"periods": 1}),
    ("teaching", "talk", {"rounds": 1}),
]

# Some analyses refuse what has too little in it, and the service of one is not here.
SAID_SO = ("no_history", "appraisal_unavailable")


@pytest.mark.parametrize(("market", "preset", "overrides"), GAMES)
async def test_what_a_seat_could_read_it_can_read_after_the_end(
    market: str, preset: str, overrides: dict[str, JsonValue], tmp_path: Path
) -> None:
    kind, scenario = market_type(market), load_scenario(market, preset, overrides)
    episode = await new_episode(kind, scenario, 3, plan_seats(kind, scenario), tmp_path)
    while episode.core.ended is None:
        for seat in sorted(episode.core.market.awaited()):
            await episode.lapse(seat, "agent_limit")
    events = episode.core.seq
    # One seat of each role: the others of it read the same.
    seats = {spec.role: seat for seat, spec in episode.core.market.seats.items()}
    read: set[str] = set()
    for seat in seats.values():
        for tool in episode.core.tools(seat).values():
            result = await episode.call(seat, tool.name, {})
            assert result.turn.over
            if not tool.read_only or tool.recorded:
                assert result.error is not None
                assert result.error.code == "episode_over", tool.name
            elif result.status == "invalid":
                assert tool.input_schema["required"]
            else:
                assert result.status == "ok" or (result.error and result.error.code in SAID_SO), tool.name
                read.add(tool.name)
    assert {"view_rules", "view_turn", "await_turn", "view_notes"} < read
    assert episode.core.seq == events
    await episode.close()

"""await_turn, lapses and deadlines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.waiting import SOON

from tradefair.contract import IllegalAction, SeatId
from tradefair.teaching import MARKET
from tradefair.teaching.model import Message
from tradefair.teaching.rules import Pie


async def test_waiting_ends_at_once_for_an_awaited_seat(table: Any) -> None:
    episode = await table.create()
    view = await table.within(episode.await_turn("P1", 40))
    assert (view.round, view.awaited, view.over, view.still_open) == (1, True, False, False)


async def test_waiting_ends_when_the_round_closes(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "claim", {"slices": 4})
    waiting = asyncio.create_task(episode.await_turn("P1", 40))
    await asyncio.sleep(0)
    assert not waiting.done()
    await episode.call("P2", "claim", {"slices": 4})
    view = await table.within(waiting)
    assert (view.round, view.awaited, view.market["last"]["claims"]) == (2, True, {"P1": 4, "P2": 4})


async def test_waiting_ends_with_the_episode(table: Any) -> None:
    episode = await table.create(table.pie(rounds=1))
    await episode.call("P1", "claim", {"slices": 4})
    waiting = asyncio.create_task(episode.await_turn("P1", 40))
    await episode.call("P2", "claim", {"slices": 4})
    view = await table.within(waiting)
    assert (view.awaited, view.over, view.end_reason) == (False, True, "terminated:rounds_completed")
    assert (await table.within(episode.await_turn("P2"))).over


async def test_waiting_in_vain_is_answered_still_open_and_leaves_no_event(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "claim", {"slices": 4})
    seq = episode.core.seq
    view = await table.within(episode.await_turn("P1", SOON))
    assert (view.still_open, view.awaited) == (True, False)
    tool = await table.within(episode.call("P1", "await_turn", {"timeout_s": 0}))
    assert (tool.status, table.data(tool)["still_open"]) == ("ok", True)
    assert episode.core.seq == seq


@pytest.mark.parametrize(
    "arguments", [{"timeout_s": 46}, {"timeout_s": -1}, {"timeout_s": "1"}, {"timeout_s": float("nan")}, {"x": 1}, []]
)
async def test_a_wrong_wait_is_refused_and_logged(table: Any, arguments: Any) -> None:
    episode = await table.create()
    refused = await table.within(episode.call("P1", "await_turn", arguments))
    assert (refused.status, refused.error.code) == ("invalid", "invalid_arguments")
    await episode.close()
    assert table.events(episode)[-1]["tool"] == "await_turn"
    assert table.verdict(episode.path) == "reproduced"


async def test_a_lapse_takes_the_default_action_and_closes_the_round(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "claim", {"slices": 4})
    await episode.lapse("P2", "agent_limit")
    await episode.lapse("P1", "agent_limit")
    await episode.lapse("P1", "agent_limit")
    lapsed = [event for event in table.events(episode) if event["event"] == "seat_lapsed"]
    assert [(event["seat"], event["round"], event["default_action"]) for event in lapsed] == [
        ("P2", 1, "no_claim"),
        ("P1", 2, "no_claim"),
    ]


async def test_a_deadline_lapses_silent_seats_in_every_phase_from_the_first_on(table: Any) -> None:
    episode = await table.create(table.pie("talk", **{"timing.decision_deadline_s": SOON}))
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    await episode.close()
    lapsed = [event for event in table.events(episode) if event["event"] == "seat_lapsed"]
    assert [event["reason"] for event in lapsed] == ["deadline"] * 12
    assert {(event["seat"], event["phase"], event["default_action"]) for event in lapsed} == {
        (seat, phase, action) for seat in ("P1", "P2") for phase, action in (("talk", "silence"), ("claim", "no_claim"))
    }
    assert table.verdict(episode.path) == "reproduced"


async def test_a_deadline_spares_the_seat_that_acted_and_wakes_it(table: Any) -> None:
    episode = await table.create(table.pie(**{"timing.decision_deadline_s": 20 * SOON}))
    await episode.call("P1", "claim", {"slices": 4})
    view = await table.within(episode.await_turn("P1", 40))
    assert view.market["last"]["claims"] == {"P1": 4, "P2": None}


async def test_a_deadline_runs_again_after_a_restart(table: Any) -> None:
    episode = await table.create(table.pie(**{"timing.decision_deadline_s": SOON}))
    await episode.close()
    again = await table.reopen(episode.path)
    assert await table.within(again.wait_ended()) == "terminated:rounds_completed"


async def test_an_input_that_the_market_does_not_take_changes_nothing(table: Any) -> None:
    episode = await table.create()
    seq, before = episode.core.seq, episode.core.market.digest()
    with pytest.raises(IllegalAction, match="unknown_source"):
        await episode.feed("operator", {"word": "go"})
    assert (episode.core.seq, episode.core.market.digest()) == (seq, before)


async def test_a_listener_that_fails_stops_neither_the_episode_nor_the_other_listeners(table: Any) -> None:
    episode = await table.create(table.pie(rounds=1))
    heard: list[int] = []
    episode.on_change(lambda: heard.append(1 // 0))
    episode.on_change(lambda: heard.append(1))
    for seat in ("P1", "P2"):
        assert (await table.within(episode.call(seat, "claim", {"slices": 4}))).status == "ok"
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    assert heard == [1]


async def test_listeners_hear_of_closures_until_they_are_stopped(table: Any) -> None:
    episode = await table.create()
    heard: list[int] = []
    stop = episode.on_change(lambda: heard.append(episode.core.market.clock.round))
    await episode.call("P1", "claim", {"slices": 4})
    assert heard == []
    await episode.call("P2", "claim", {"slices": 4})
    assert heard == [2]
    stop()
    stop()
    for seat in ("P1", "P2"):
        await episode.call(seat, "claim", {"slices": 4})
    assert heard == [2]


class _Chatter(Pie):
    """Under a free clock: a message arrives at once, and nobody is awaited."""

    def awaited(self) -> frozenset[SeatId]:
        return frozenset()

    def say(self, seat: SeatId, text: str) -> None:
        (other,) = set(self.seats) - {seat}
        self.inbox[other].append(Message(number=len(self.inbox[other]) + 1, round=1, sender=seat, text=text))


class _ChatterType(type(MARKET)):
    def create(self, scenario: Any, seed: int) -> Pie:
        return _Chatter(scenario, seed)


async def test_under_a_free_clock_news_ends_the_wait_of_its_receiver_only(table: Any) -> None:
    episode = await table.create(table.pie("talk", clock="free"), market=_ChatterType())
    receiver = asyncio.create_task(episode.await_turn("P1", 40))
    sender = asyncio.create_task(episode.await_turn("P2", 0.5))
    await asyncio.sleep(0)
    said = await episode.call("P2", "say", {"text": "hello"})
    assert (said.status, said.turn.turn_over) == ("ok", False)
    assert not (await table.within(receiver)).still_open
    assert (await table.within(sender)).still_open

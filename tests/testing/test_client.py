"""A seat of a fresh episode as an MCP client in this process, and whole episodes without any host."""

from __future__ import annotations

from typing import Literal

import pytest

from tradefair.catalog import load_scenario
from tradefair.contract import ScenarioError, SeatError
from tradefair.teaching import MARKET
from tradefair.testing import play_scripted
from tradefair.testing.client import open_seat


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_seat_is_played_to_the_end_through_a_client(mode: Literal["auto", "legacy"]) -> None:
    async with open_seat(MARKET, load_scenario("teaching", "pie"), "P1", others="half", mode=mode) as seat:
        for number in (1, 2, 3):
            result = await seat.client.call_tool("claim", {"slices": 5})
            assert result.structured_content == {"round": number, "sealed": "claim"}
        assert seat.episode.core.ended == "terminated:rounds_completed"
        refused = await seat.client.call_tool("claim", {"slices": 5})
        assert refused.is_error


async def test_unknown_seats_and_policies_are_refused() -> None:
    scenario = load_scenario("teaching", "pie")
    with pytest.raises(SeatError):
        async with open_seat(MARKET, scenario, "P3"):
            pass
    with pytest.raises(ScenarioError, match="no policy 'kaplan'"):
        async with open_seat(MARKET, scenario, "P1", others="kaplan"):
            pass


def test_episodes_of_policies_are_played_in_memory() -> None:
    scenario = load_scenario("teaching", "talk")
    played = play_scripted(MARKET, scenario, 3, {"P1": "half(greed=1)", "eater": "random_legal"})
    assert played.core.ended == "terminated:rounds_completed"
    assert played.head == play_scripted(MARKET, scenario, 3, {"P1": "half(greed=1)", "eater": "random_legal"}).head
    assert played.head != play_scripted(MARKET, scenario, 3).head
    with pytest.raises(ScenarioError):
        play_scripted(MARKET, scenario, 3, {"P1": "half"})


def test_a_played_episode_can_be_taken_up_at_every_decision() -> None:
    played = play_scripted(MARKET, load_scenario("teaching", "pie"), 3)
    assert len(played.places) == 3 * 4
    for place in played.places:
        core = played.at(place)
        assert core.seq == place
        assert core.market.awaited()
    assert played.spread(3) == [played.places[0], played.places[5], played.places[-1]]
    assert played.spread(100) == played.places

"""Scripted seats that are played a slice at a time: the same bytes, wherever a slice ends and the process with it."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest
from pydantic import JsonValue

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import MarketType, Scenario
from tradefair.contract.core import Core
from tradefair.contract.replay import Replayed
from tradefair.host.scripted import Scripted
from tradefair.host.setup import SeatPlan, scripted_seats, seat_roles

SEED = 7
# Market, scenario, overrides, the policy of each role.
GAMES = [
    pytest.param("double_auction", "bazaar", {"rounds": 3}, {"buyer": "zip", "seller": "zip"}, id="turns"),
    pytest.param(
        "marketplace",
        "small_demo",
        {"clock": "free", "alias_ids": False, "rounds_max": 4},
        {"customer": "item_searcher", "business": "honest"},
        id="free clock",
    ),
]
Made = tuple[MarketType, Scenario, Callable[[], Scripted]]


def made(market: str, name: str, overrides: dict[str, JsonValue], policies: dict[str, str]) -> Made:
    kind, scenario = market_type(market), load_scenario(market, name, overrides)
    roles = seat_roles(kind, scenario)
    # Customers after businesses: what a customer does is a reason for a business that the pass has gone by already.
    late = frozenset(seat for seat, role in roles.items() if role == "customer")
    plan = SeatPlan({seat: policies[role] for seat, role in roles.items()}, late)
    return kind, scenario, lambda: scripted_seats(kind, scenario, plan, SEED)


def played(core: Core, scripted: Scripted, slice_s: float | None, most: int = 1_000_000) -> tuple[list[bytes], int]:
    """The events until the end or for so many slices, and the number of slices."""
    bodies: list[bytes] = []
    slices = 0
    while slices < most and core.ended is None and (records := scripted.run(core, slice_s=slice_s)):
        bodies += [record.body for record in records]
        slices += 1
    return bodies, slices


@pytest.mark.parametrize(("market", "name", "overrides", "policies"), GAMES)
def test_slices_of_one_seat_each_write_the_same_events(
    market: str, name: str, overrides: dict[str, JsonValue], policies: dict[str, str]
) -> None:
    kind, scenario, scripted = made(market, name, overrides, policies)
    whole = Core.create(kind, scenario, SEED)
    whole.start()
    bodies, few = played(whole, scripted(), None)
    sliced = Core.create(kind, scenario, SEED)
    sliced.start()
    assert played(sliced, scripted(), 60) == (bodies, few)
    again = Core.create(kind, scenario, SEED)
    again.start()
    sliced_bodies, many = played(again, scripted(), 0)
    assert sliced_bodies == bodies
    assert many > 2 * few


@pytest.mark.parametrize(("market", "name", "overrides", "policies"), GAMES)
def test_an_episode_that_stops_between_slices_goes_on_with_the_same_events(
    market: str, name: str, overrides: dict[str, JsonValue], policies: dict[str, str]
) -> None:
    kind, scenario, scripted = made(market, name, overrides, policies)
    whole = Core.create(kind, scenario, SEED)
    begin = [record.body for record in whole.start().records]
    bodies, slices = played(whole, scripted(), 0)
    for stop in range(1, slices, max(1, slices // 40)):
        first = Core.create(kind, scenario, SEED)
        first.start()
        before, _ = played(first, scripted(), 0, stop)
        follower, seats = Replayed(Core.restore(kind, first.manifest)), scripted()
        for body in [*begin, *before]:
            commands = not follower.due()
            if commands:
                seats.follow(follower.core, orjson.loads(body))
            step = follower.step(body)
            if commands:
                seats.followed(follower.core, step.event, follower.answer)
        follower.finish()
        assert before + played(follower.core, seats, None)[0] == bodies

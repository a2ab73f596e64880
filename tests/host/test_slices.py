"""Scripted seats that are played a slice at a time: the same bytes, wherever a slice ends and the process with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import JsonValue

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import MarketType, Scenario
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.replay import Replayed
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.looking import CallResult
from tradefair.host.episode.setup import scripted_seats, seat_roles
from tradefair.host.seats.plans import SeatPlan, plan_seats
from tradefair.host.seats.scripted import Scripted

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

    def sliced(slice_s: float | None) -> tuple[list[bytes], int]:
        core = Core.create(kind, scenario, SEED)
        core.start()
        return played(core, scripted(), slice_s)

    bodies, few = sliced(None)
    assert sliced(60) == (bodies, few)
    sliced_bodies, many = sliced(0)
    assert sliced_bodies == bodies
    assert many > 2 * few


@pytest.mark.many
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


def _seats() -> Made:
    """Two outside seats among scripted ones that parse the book."""
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "bazaar", {"rounds": 3})
    plan = plan_seats(kind, scenario, agents=["B1", "S1"], others="zip")
    return kind, scenario, lambda: scripted_seats(kind, scenario, plan, SEED)


async def _episode(path: Path) -> Any:
    kind, scenario, scripted = _seats()
    return await Episode.create(path, kind, scenario, SEED, episode_id="x", scripted=scripted())


async def _in_the_middle(episode: Any, until: asyncio.Task[CallResult]) -> bool:
    """Let the loop turn until scripted seats are in the middle of their moves; false when the call was over first."""
    for _ in range(100_000):
        if episode._moves.under_way or until.done():
            return episode._moves.under_way
        await asyncio.sleep(0)
    raise AssertionError("neither ever came")


@pytest.mark.parametrize("slice_s", [0.0, 3_600.0])
async def test_calls_wait_for_moves_that_are_under_way(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slice_s: float
) -> None:
    """However long a slice is, calls that come in the middle of the moves stand behind them in the log."""
    whole = await _episode(tmp_path / "whole.trace")
    for number in range(3):
        await whole.call("B1", "submit_quote", {"price": 50 + number})
        await whole.call("S1", "submit_quote", {"price": 50})
        await whole.call("B1", "view_turn", {})
    await whole.close()
    monkeypatch.setattr("tradefair.host.episode.moves.SLICE_S", slice_s)
    episode, interrupted = await _episode(tmp_path / "sliced.trace"), 0
    for number in range(3):
        await episode.call("B1", "submit_quote", {"price": 50 + number})
        closing = asyncio.create_task(episode.call("S1", "submit_quote", {"price": 50}))
        interrupted += await _in_the_middle(episode, closing)
        waiting = asyncio.create_task(episode.await_turn("B1"))
        await table.within(episode.call("B1", "view_turn", {}))
        assert not episode._moves.under_way
        assert not (await table.within(waiting)).still_open
        assert (await closing).status == "ok"
    assert interrupted == (2 if slice_s == 0 else 0)  # the last call ends the episode
    await episode.close()
    assert table.bodies(episode.path) == table.bodies(whole.path)
    assert table.verdict(episode.path) == "reproduced"


async def test_an_episode_that_is_closed_in_the_middle_of_moves_goes_on_with_them(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, episode = await _episode(tmp_path / "whole.trace"), await _episode(tmp_path / "closed.trace")
    monkeypatch.setattr("tradefair.host.episode.moves.SLICE_S", 0.0)
    for seat in ("B1", "S1"):
        await whole.call(seat, "submit_quote", {"price": 50})
    await episode.call("B1", "submit_quote", {"price": 50})
    closing = asyncio.create_task(episode.call("S1", "submit_quote", {"price": 50}))
    assert await _in_the_middle(episode, closing)
    await episode.close()
    assert (await table.within(closing)).status == "ok"
    before = table.bodies(episode.path)
    kind, _, scripted = _seats()
    again = await Episode.open(episode.path, kind, scripted=scripted())
    await again.close()
    await whole.close()
    assert len(before) < len(table.bodies(again.path))
    assert table.bodies(again.path) == table.bodies(whole.path)


async def test_the_loop_turns_between_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as scripted seats move, when every seat is a slice; once at most when a slice is long."""
    turns: dict[float, int] = {}
    for slice_s in (0.0, 3_600.0):
        monkeypatch.setattr("tradefair.host.episode.moves.SLICE_S", slice_s)
        episode = await _episode(tmp_path / f"{slice_s}.trace")
        await episode.call("B1", "submit_quote", {"price": 50})
        closing = asyncio.create_task(episode.call("S1", "submit_quote", {"price": 50}))
        turns[slice_s] = 0
        while await _in_the_middle(episode, closing):
            turns[slice_s] += 1
            await asyncio.sleep(0)
        await closing
        await episode.close()
    scripted_seats_moving = 6
    assert turns[3_600.0] == 0
    assert turns[0.0] >= scripted_seats_moving

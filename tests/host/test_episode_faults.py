"""What an Episode makes of faults: failing tools, failing policies, markets that must be rebuilt."""

from __future__ import annotations

from typing import Any

import pytest
from tests.waiting import SOON

from tradefair.contract import (
    Closure,
    HarnessFailure,
    Limit,
    Result,
    SeatId,
    ToolCall,
    ToolTable,
    Turns,
    TurnView,
    tool,
)
from tradefair.teaching import MARKET
from tradefair.teaching.rules import Pie


class Nothing(Result):
    pass


@tool("action", title="Break halfway")
def break_halfway(market: Pie, seat: SeatId) -> Nothing:
    """Change something, then fail."""
    market.payoffs[seat] += 1_000_000
    market.sealed[seat] = 3
    raise ZeroDivisionError


@tool("read", title="Break while reading")
def break_reading(market: Pie, seat: SeatId) -> Nothing:
    """Fail."""
    raise ZeroDivisionError


class _Fragile(type(MARKET)):
    tools = ToolTable(*MARKET.tools.values(), break_halfway, break_reading)


FRAGILE = _Fragile()


class Breaker:
    """Reads its value, then calls what fails."""

    def __init__(self, call: str, from_round: int = 1) -> None:
        self._call = call
        self._from_round = from_round

    def turn(self, now: TurnView) -> Turns:
        yield ToolCall("view_my_value")
        if now.round >= self._from_round:
            yield ToolCall(self._call)
        yield ToolCall("claim", {"slices": 1})


class Stumbler:
    """Has a bug of its own."""

    def turn(self, now: TurnView) -> Turns:
        yield ToolCall("view_my_value")
        if now.round == 2:
            raise KeyError("a bug")
        yield ToolCall("claim", {"slices": 1})


async def test_a_failing_action_is_answered_as_our_fault_and_the_market_is_rebuilt(table: Any) -> None:
    episode = await table.create(market=FRAGILE)
    await episode.call("P2", "claim", {"slices": 4})
    before = episode.core.market.digest()

    failed = await episode.call("P1", "break_halfway", {})
    assert failed.status == "failed"
    assert failed.error is not None
    assert failed.error.code == "internal_error"
    assert "ZeroDivision" not in repr(failed.error)

    after = await table.within(episode.call("P1", "view_my_value", {}))
    assert table.data(after)["payoff_so_far"] == 0
    assert episode.core.market.digest() == before
    await episode.call("P1", "claim", {"slices": 6})
    await episode.end("truncated:cancelled")
    assert [event["status"] for event in table.events(episode) if event["event"] == "tool_called"] == [
        "ok",
        "failed",
        "ok",
        "ok",
    ]


async def test_a_failing_read_is_our_fault_and_the_seat_goes_on(table: Any) -> None:
    episode = await table.create(market=FRAGILE)
    failed = await episode.call("P1", "break_reading", {})
    assert (failed.status, failed.error.code) == ("failed", "internal_error")
    assert (await episode.call("P1", "claim", {"slices": 4})).status == "ok"


@pytest.mark.parametrize("call", ["break_halfway", "break_reading"])
async def test_a_scripted_seat_whose_tool_fails_ends_the_episode_as_the_harness_fault(table: Any, call: str) -> None:
    episode = await table.create(market=FRAGILE, scripted={"P2": lambda: Breaker(call, from_round=2)})
    await episode.call("P1", "claim", {"slices": 4})
    assert await table.within(episode.wait_ended()) == "truncated:harness_failure"
    over = await episode.call("P1", "claim", {"slices": 4})
    assert over.error.code == "episode_over"
    await episode.close()
    events = table.events(episode)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["status"] for event in events if event.get("seat") == "P2"][-1] == "failed"
    follower = await table.reopen(episode.path, market=FRAGILE, scripted={"P2": lambda: Breaker(call, from_round=2)})
    assert follower.core.ended == "truncated:harness_failure"


async def test_a_scripted_seat_with_a_bug_ends_the_episode_and_loses_no_acknowledged_call(table: Any) -> None:
    episode = await table.create(scripted={"P2": Stumbler})
    claimed = await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    assert claimed.status == "ok"
    assert await table.within(episode.wait_ended()) == "truncated:harness_failure"
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


async def test_an_unplayable_scripted_seat_at_the_start_ends_the_episode(table: Any) -> None:
    episode = await table.create(market=FRAGILE, scripted={"P1": lambda: Breaker("break_reading")})
    assert await table.within(episode.wait_ended()) == "truncated:harness_failure"


class _Unclosable(Pie):
    """Its second round cannot be closed."""

    def advance(self) -> Closure:
        if self.clock.round == 2:
            self.payoffs["P1"] += 1_000
            raise ZeroDivisionError
        return super().advance()


class _UnclosableType(type(MARKET)):
    def create(self, scenario: Any, seed: int) -> Pie:
        return _Unclosable(scenario, seed)


UNCLOSABLE = _UnclosableType()


async def _second_round(table: Any, **overrides: Any) -> Any:
    episode = await table.create(table.pie(**overrides), market=UNCLOSABLE)
    for seat in ("P1", "P2"):
        assert (await episode.call(seat, "claim", {"slices": 4})).status == "ok"
    return episode


async def _stopped(table: Any, episode: Any) -> None:
    """Ended and closed, with every event in its place."""
    await episode.end("truncated:cancelled")
    await episode.close()
    assert [event["seq"] for event in table.events(episode)] == list(range(1, episode.core.seq + 1))


async def test_an_action_whose_round_cannot_be_closed_is_our_fault_and_undone(table: Any) -> None:
    episode = await _second_round(table)
    await episode.call("P1", "claim", {"slices": 4})
    before = episode.core.market.digest()
    failed = await episode.call("P2", "claim", {"slices": 4})
    assert (failed.status, failed.error.code) == ("failed", "internal_error")
    assert (await table.within(episode.call("P2", "view_turn", {}))).status == "ok"
    assert (episode.core.market.digest(), episode.core.awaits("P2")) == (before, True)
    await _stopped(table, episode)
    assert (await table.reopen(episode.path, market=UNCLOSABLE)).core.ended == "truncated:cancelled"


async def test_a_lapse_whose_round_cannot_be_closed_is_undone(table: Any) -> None:
    episode = await _second_round(table)
    await episode.call("P1", "claim", {"slices": 4})
    before = episode.core.market.digest()
    with pytest.raises(HarnessFailure):
        await table.within(episode.lapse("P2", "agent_limit"))
    assert (await table.within(episode.call("P2", "view_turn", {}))).status == "ok"
    assert episode.core.market.digest() == before
    await _stopped(table, episode)


async def test_a_limit_whose_lapse_cannot_close_the_round_is_our_fault(table: Any) -> None:
    limit = Limit(counts=("read",), max=1, then="lapse").model_dump(mode="json")
    episode = await _second_round(table, limits=[limit])
    await episode.call("P1", "claim", {"slices": 4})
    await episode.call("P2", "view_my_value", {})
    failed = await table.within(episode.call("P2", "view_my_value", {}))
    assert failed.error.code == "internal_error"
    assert (await table.within(episode.call("P2", "view_turn", {}))).status == "ok"
    assert episode.core.awaits("P2")
    await _stopped(table, episode)
    assert table.events(episode.path)[-3]["error"]["code"] == "internal_error"


async def test_a_deadline_that_cannot_close_the_round_ends_the_episode(table: Any) -> None:
    episode = await _second_round(table, **{"timing.decision_deadline_s": 20 * SOON})
    assert await table.within(episode.wait_ended()) == "truncated:harness_failure"
    await _stopped(table, episode)

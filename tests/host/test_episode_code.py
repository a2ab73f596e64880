"""execute_code through an Episode: parents, limits, what other calls see meanwhile, re-execution.

Also here:
- What an Episode makes of faults: failing tools, failing policies, markets that must be rebuilt.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.host.conftest import break_log
from tests.waiting import SOON

from tradefair.contract import (
    Closure,
    HarnessFailure,
    InputRequest,
    Limit,
    Result,
    SeatId,
    ToolCall,
    ToolTable,
    Turns,
    TurnView,
    tool,
)
from tradefair.evaluation.prove.verify import verify
from tradefair.teaching import MARKET
from tradefair.teaching.rules import Pie
from tradefair.tracestore import open_trace

PROGRAM = """
mine = view_my_value()
past = view_history(first_round=1)
print("value", mine["value_per_slice"])
mine["slices"] // 2 + len(past["rounds"])
"""


class Slow(Result):
    pass


@tool("read", title="Slow", needs="pause")
def slow(market: Pie, seat: SeatId, *, inputs: dict[str, Any]) -> Slow:
    """Wait for the pause to end."""
    return Slow()


class _SlowType(type(MARKET)):
    tools = ToolTable(*MARKET.tools.values(), slow)

    def request(self, market: Pie, seat: SeatId, tool: str, arguments: Any) -> InputRequest | None:
        return InputRequest("pause", seat) if tool == "slow" else None


def _calls(table: Any, episode: Any) -> list[tuple[Any, ...]]:
    return [
        (event["call"], event["parent"], event["tool"], event["status"])
        for event in table.events(episode)
        if event["event"] == "tool_called"
    ]


async def test_inner_calls_are_events_with_a_parent_and_everything_re_executes(table: Any, sandbox: Any) -> None:
    episode = await table.create(sandbox=sandbox)
    await episode.call("P1", "view_turn", {})
    answer = await table.within(episode.call("P1", "execute_code", {"code": PROGRAM}))
    data = table.data(answer)
    assert (data["value"], data["inner_calls"]) == (5, 2)
    assert data["output"].startswith("value ")
    await episode.call("P1", "claim", {"slices": data["value"]})
    await episode.close()
    assert _calls(table, episode) == [
        ("r1.P1.1", None, "view_turn", "ok"),
        ("r1.P1.3", "r1.P1.2", "view_my_value", "ok"),
        ("r1.P1.4", "r1.P1.2", "view_history", "ok"),
        ("r1.P1.2", None, "execute_code", "ok"),
        ("r1.P1.5", None, "claim", "ok"),
    ]
    assert table.verdict(episode.path) == "reproduced"


async def test_code_can_take_no_action_and_no_note(table: Any, sandbox: Any) -> None:
    episode = await table.create(sandbox=sandbox)
    before = episode.core.market.digest()
    for name in ("claim(slices=3)", "add_note(text='x')", "execute_code(code='1')", "await_turn()"):
        answer = await table.within(episode.call("P1", "execute_code", {"code": name}))
        assert (answer.status, answer.error.code) == ("rejected", "code_error")
    assert episode.core.market.digest() == before
    assert episode.core.notes["P1"] == {}


async def test_refused_inner_calls_are_events_too_and_raise_in_the_code(table: Any, sandbox: Any) -> None:
    code = "try:\n    view_history(first_round=0)\nexcept RuntimeError as error:\n    print(error)\n"
    episode = await table.create(sandbox=sandbox)
    answer = await table.within(episode.call("P1", "execute_code", {"code": code}))
    assert table.data(answer)["output"].startswith("invalid_arguments: first_round")
    await episode.close()
    assert _calls(table, episode)[0][1:] == ("r1.P1.1", "view_history", "invalid")
    assert table.verdict(episode.path) == "reproduced"


async def test_inner_calls_use_up_their_own_limit(table: Any, sandbox: Any) -> None:
    limits = [
        Limit(counts=("inner",), max=2).model_dump(mode="json"),
        Limit(counts=("read",), max=1).model_dump(mode="json"),
    ]
    episode = await table.create(table.pie(limits=limits), sandbox=sandbox)
    code = "for _ in range(3):\n    view_my_value()\n"
    answer = await table.within(episode.call("P1", "execute_code", {"code": code}))
    assert answer.error.code == "code_error"
    assert "call_limit" in answer.error.message
    assert (await episode.call("P1", "view_my_value", {})).status == "ok"
    await episode.close()
    assert [call[3] for call in _calls(table, episode)] == ["ok", "ok", "denied", "rejected", "ok"]
    assert table.verdict(episode.path) == "reproduced"


async def test_a_seat_is_busy_while_its_code_runs_and_others_are_not(table: Any, sandbox: Any, appraiser: Any) -> None:
    episode = await table.create(market=_SlowType(), sandbox=sandbox, services={"pause": appraiser})
    coding = asyncio.create_task(episode.call("P1", "execute_code", {"code": "slow()\n1"}))
    await table.within(appraiser.called.wait())
    busy = await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    assert (busy.status, busy.error.code, busy.error.retryable) == ("denied", "busy", True)
    assert (await episode.call("P2", "claim", {"slices": 4})).status == "ok"
    assert (await table.within(episode.call("P1", "await_turn", {"timeout_s": 0}))).status == "ok"
    appraiser.let.set()
    assert (await table.within(coding)).status == "ok"
    assert (await episode.call("P1", "claim", {"slices": 4}, call_key="k")).status == "ok"


async def test_without_a_sandbox_code_is_not_available(table: Any) -> None:
    episode = await table.create()
    answer = await episode.call("P1", "execute_code", {"code": "1"})
    assert (answer.status, answer.error.code) == ("denied", "tool_unavailable")


async def test_wrong_code_arguments_are_refused_before_anything_runs(table: Any, sandbox: Any) -> None:
    episode = await table.create(sandbox=sandbox)
    for arguments in ({}, {"code": ""}, {"code": "x" * 20_001}, {"code": 1}, {"code": "1", "seat": "P2"}):
        answer = await episode.call("P1", "execute_code", arguments)
        assert (answer.status, answer.error.code) == ("invalid", "invalid_arguments")
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


async def test_a_round_may_close_while_code_runs(table: Any, sandbox: Any) -> None:
    """P1's code finishes in another round than it began in: its event stands where it finished."""
    episode = await table.create(sandbox=sandbox)
    await episode.call("P1", "claim", {"slices": 5})
    coding = asyncio.create_task(episode.call("P1", "execute_code", {"code": PROGRAM}))
    await episode.call("P2", "claim", {"slices": 5})
    assert (await table.within(coding)).status == "ok"
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


async def test_code_that_outlives_the_episode_leaves_nothing_behind_its_end(
    table: Any, sandbox: Any, appraiser: Any
) -> None:
    episode = await table.create(
        table.pie(rounds=1), market=_SlowType(), sandbox=sandbox, services={"pause": appraiser}
    )
    await episode.call("P1", "claim", {"slices": 4})
    code = "try:\n    slow()\nexcept RuntimeError as refusal:\n    print(refusal)\n1"
    coding = asyncio.create_task(episode.call("P1", "execute_code", {"code": code}))
    await table.within(appraiser.called.wait())
    await episode.call("P2", "claim", {"slices": 4})
    await table.within(episode.wait_ended())
    appraiser.let.set()
    assert (await table.within(coding)).error.code == "episode_over"
    await episode.close()
    assert table.events(episode)[-1]["event"] == "episode_ended"
    with open_trace(episode.path) as trace:
        assert verify(trace, chain_only=True).verdict == "intact"


async def test_a_caller_that_goes_away_stops_neither_its_code_nor_the_record_of_it(
    table: Any, sandbox: Any, appraiser: Any
) -> None:
    episode = await table.create(market=_SlowType(), sandbox=sandbox, services={"pause": appraiser})
    coding = asyncio.create_task(episode.call("P1", "execute_code", {"code": "slow()\n1"}))
    await table.within(appraiser.called.wait())
    coding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await coding
    assert (await episode.call("P1", "claim", {"slices": 4})).error.code == "busy"
    appraiser.let.set()
    while (await episode.call("P1", "view_my_value", {})).status == "denied":
        await asyncio.to_thread(lambda: None)
    await episode.close()
    recorded = [event["status"] for event in table.events(episode) if event.get("tool") == "execute_code"]
    assert recorded == ["ok"]


async def _left_open(table: Any, sandbox: Any, appraiser: Any) -> tuple[Any, asyncio.Task[Any]]:
    """An episode with a program that has made a call, which is committed, and waits in its next one."""
    episode = await table.create(market=_SlowType(), services={"pause": appraiser}, sandbox=sandbox)
    program = asyncio.create_task(episode.call("P1", "execute_code", {"code": "view_my_value()\nslow()"}, call_key="k"))
    await table.within(appraiser.called.wait())
    await episode.call("P2", "claim", {"slices": 3})
    return episode, program


async def test_a_program_that_was_lost_with_its_host_is_finished_when_the_episode_is_opened_again(
    table: Any, sandbox: Any, appraiser: Any
) -> None:
    episode, program = await _left_open(table, sandbox, appraiser)
    killed = table.folder / "killed.trace"
    for end in ("", "-wal"):
        Path(f"{killed}{end}").write_bytes(Path(f"{episode.path}{end}").read_bytes())
    assert (await episode.call("P1", "view_turn", {})).error.code == "busy"
    appraiser.let.set()
    assert (await table.within(program)).status == "ok"
    for _ in range(2):
        again = await table.reopen(killed, market=_SlowType())
        await again.close()
    calls = [event for event in table.events(killed) if event.get("seat") == "P1"]
    assert [(event["call"], event["parent"], event["status"]) for event in calls] == [
        ("r1.P1.2", "r1.P1.1", "ok"),
        ("r1.P1.1", None, "rejected"),
    ]
    assert calls[-1]["error"]["code"] == "code_lost"
    again = await table.reopen(killed, market=_SlowType())
    assert (await again.call("P1", "claim", {"slices": 4})).status == "ok"


async def test_a_program_whose_market_is_rebuilt_is_lost_and_can_be_sent_again(
    table: Any, sandbox: Any, appraiser: Any
) -> None:
    episode, program = await _left_open(table, sandbox, appraiser)
    mend = break_log(episode._log)
    assert (await episode.call("P2", "add_note", {"text": "x"})).error.code == "storage_unavailable"
    mend()
    appraiser.let.set()
    assert (await table.within(program)).error.code == "storage_unavailable"
    again = await table.within(episode.call("P1", "execute_code", {"code": "view_my_value()\nslow()"}, call_key="k"))
    assert again.status == "ok"
    await episode.close()
    codes = [event["error"] and event["error"]["code"] for event in table.events(episode) if _is_program(event)]
    assert codes == ["code_lost", None]
    await table.reopen(episode.path, market=_SlowType())  # every byte is made again


def _is_program(event: dict[str, Any]) -> bool:
    return event.get("tool") == "execute_code"


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

"""execute_code through an Episode: parents, limits, what other calls see meanwhile, re-execution."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.host.conftest import break_log

from tradefair.contract import InputRequest, Limit, Result, SeatId, ToolTable, tool
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

"""A seat in the hands of your own code: turns, calls, refusals, and leaving early."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.api.conftest import DUEL, FEW, truthful

import tradefair.api as tf
from tradefair.cli import run


def taken(folder: Path, **more: Any) -> Any:
    given: dict[str, Any] = {"scenario": DUEL, "seed": 3, "settings": FEW, "folder": folder, **more}
    return tf.seat("double_auction", **given)


async def test_a_seat_by_hand_writes_what_an_agent_writes(tmp_path: Path) -> None:
    async with taken(tmp_path / "hand") as seat:
        await truthful(seat)
    agent = tf.play("double_auction", scenario=DUEL, seed=3, agent=truthful, settings=FEW, folder=tmp_path / "agent")
    assert list(seat.trace.events())[1:] == list(agent.events())[1:]
    assert seat.trace.verify().sealed


async def test_a_seat_says_what_it_is_and_what_it_can_do(tmp_path: Path) -> None:
    async with taken(tmp_path) as seat:
        assert seat.id == "B1"
        assert seat.brief.role.startswith("You are B1")
        tools = {tool["name"]: tool for tool in seat.tools}
        assert tools["submit_quote"]["kind"] == "action"
        assert "price" in tools["submit_quote"]["input_schema"]["properties"]
        assert seat.turn is None
        async for turn in seat:
            assert seat.turn == turn
            break


async def test_refusals_are_raised_with_code_message_and_hint_and_recorded(tmp_path: Path) -> None:
    async with taken(tmp_path) as seat:
        async for _ in seat:
            with pytest.raises(tf.Refused) as refused:
                await seat.call("submit_quote", price=-1)
            assert refused.value.code == "invalid_arguments"
            assert "price" in refused.value.message
            assert "submit_quote" in refused.value.hint
            assert refused.value.retryable
            with pytest.raises(tf.Refused, match="tool_unavailable"):
                await seat.call("sbmit_quote", price=1)
            await seat.call("submit_quote", price=1)
            with pytest.raises(tf.Refused, match=r"already_acted|stale_round"):
                await seat.call("submit_quote", price=1, round=1)
            break
    refused_calls = [event["error"]["code"] for event in seat.trace.events() if event.get("error")]
    assert refused_calls[:2] == ["invalid_arguments", "tool_unavailable"]


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "value",
    [10**30, -(10**5000), float("nan"), float("inf"), "\ud800", "x" * 100_000, object(), {1, 2}, b"\xff", CIRCLE, (1,)],
    ids=["big", "bigger", "nan", "infinite", "surrogate", "long", "object", "set", "bytes", "circle", "tuple"],
)
async def test_a_hostile_value_is_refused_and_the_seat_plays_on(tmp_path: Path, value: object) -> None:
    async with taken(tmp_path) as seat:
        async for _ in seat:
            with pytest.raises(tf.Refused) as refused:
                await seat.call("submit_quote", price=value)
            # No schema says what is no Unicode, nor how large the whole may be.
            assert refused.value.code == ("bad_value" if isinstance(value, str) else "invalid_arguments")
            await seat.call("submit_quote", price=1)
    assert seat.trace.verify().verdict == "reproduced"
    assert seat.trace.outcome.seats["B1"].lapses == {}


async def test_a_call_after_the_end_is_refused(tmp_path: Path) -> None:
    async with taken(tmp_path) as seat:
        await truthful(seat)
        with pytest.raises(tf.Refused) as over:
            await seat.call("submit_quote", price=1)
        assert (over.value.code, over.value.retryable) == ("episode_over", False)
    with pytest.raises(tf.Refused, match="seat B1 was left"):
        await seat.call("view_turn")


async def test_leaving_early_leaves_an_unfinished_trace_that_can_be_resumed(tmp_path: Path) -> None:
    async with taken(tmp_path) as seat:
        async for turn in seat:
            await seat.call("submit_quote", price=1)
            if turn.round == 2:
                break
    check = seat.trace.verify()
    assert (check.verdict, check.sealed) == ("reproduced", False)
    assert seat.trace.outcome.end_reason is None
    # In a thread: the command runs a loop of its own.
    line = ["play", "--resume", str(seat.trace.path), "--agent", "react", "--model", "policy:zip", "--json"]
    assert await asyncio.to_thread(run, line) == 0
    assert seat.trace.outcome.end_reason == "terminated:rounds_completed"
    assert seat.trace.verify().verdict == "reproduced"


async def test_a_resume_that_names_no_agent_is_told_that_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with taken(tmp_path) as seat:
        pass
    assert await asyncio.to_thread(run, ["play", "--resume", str(seat.trace.path)]) != 0
    assert "name it with --agent" in capsys.readouterr().err


async def test_an_error_in_the_body_comes_out_as_it_is(tmp_path: Path) -> None:
    async def body() -> None:
        async with taken(tmp_path) as seat:
            async for turn in seat:
                print(turn.round // 0)

    with pytest.raises(ZeroDivisionError):
        await body()
    assert not tf.load(tmp_path)[0].verify().sealed


async def test_a_seat_that_there_is_not_is_refused_on_entering(tmp_path: Path) -> None:
    with pytest.raises(tf.ScenarioError, match="there is no seat 'B9'"):
        async with taken(tmp_path / "runs", seat="B9"):
            pass
    assert not (tmp_path / "runs").exists()


async def test_stand_ins_play_the_other_agent_seats(tmp_path: Path) -> None:
    settings = {**FEW, "seats": {"B1": "agent", "S1": "agent"}}
    async with taken(tmp_path, settings=settings) as seat:
        assert seat.id == "B1"
        await truthful(seat)
    assert seat.trace.verify().sealed

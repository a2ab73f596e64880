"""`play`, `sweep` and `fork` from Python: the runner's results, and clear refusals before anything is written.

Also here:
- A seat in the hands of your own code: turns, calls, refusals, and leaving early.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.api.conftest import DUEL, FEW, calls_of, copying, truthful
from tests.waiting import LONG

import tradefair.api as tf
from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run
from tradefair.contract import Draw, ToolCall, Turns, TurnView
from tradefair.contract.kernel.players import seat_policy

SLEEPER = """
import asyncio, signal, sys
import tradefair.api as tf

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in a shell's background

async def asleep(seat):
    async for turn in seat:
        print("playing", flush=True)
        await asyncio.Event().wait()

def play():
    tf.play("double_auction", seed=1, agent=asleep, folder=sys.argv[1])

async def in_a_loop():
    play()

asyncio.run(in_a_loop()) if sys.argv[2] == "loop" else play()
"""


def bodies(trace: tf.Trace) -> list[dict[str, Any]]:
    return list(trace.events())


def short(agent: Any, folder: Path, **more: Any) -> tf.Trace:
    """Four rounds of a duel."""
    given: dict[str, Any] = {"scenario": DUEL, "seed": 3, "settings": FEW, **more}
    return tf.play("double_auction", agent=agent, folder=folder, **given)


def test_an_agent_that_copies_a_policys_calls_writes_the_same_events(tmp_path: Path) -> None:
    policy = tf.play("double_auction", scenario=DUEL, seed=7, agent="policy:zip", folder=tmp_path / "policy")
    own = tf.play(
        "double_auction", scenario=DUEL, seed=7, agent=copying(calls_of(policy, "B1")), folder=tmp_path / "own"
    )
    assert bodies(own)[1:] == bodies(policy)[1:]
    assert own.outcome.seats["B1"].label == "own:copy"
    assert own.verify().verdict == "reproduced"


def test_a_policy_class_plays_as_the_policy_that_it_wraps(tmp_path: Path) -> None:
    class Wrapped:
        def __init__(self) -> None:
            self.policy = seat_policy(market_type("double_auction"), "zip", "buyer", Draw.of(3, "B1"))

        def turn(self, now: TurnView) -> Turns:
            return self.policy.turn(now)

    assert bodies(short(Wrapped, tmp_path / "own"))[1:] == bodies(short("policy:zip", tmp_path / "policy"))[1:]


def test_a_framework_is_named_as_on_the_command_line(tmp_path: Path) -> None:
    played = short("react", tmp_path / "react", model="policy:zip")
    assert played.outcome.seats["B1"].label == "react/policy:zip"
    assert bodies(played)[1:] == bodies(short("policy:zip", tmp_path / "policy"))[1:]


def test_without_an_agent_the_stand_in_plays(tmp_path: Path) -> None:
    assert str(short(None, tmp_path).outcome.seats["B1"].label).startswith("policy:")


def test_a_loop_with_an_empty_body_ends_with_lapses(tmp_path: Path) -> None:
    async def idle(seat: tf.Seat) -> None:
        async for _ in seat:
            pass

    played = short(idle, tmp_path)
    assert played.outcome.end_reason == "terminated:rounds_completed"
    assert played.outcome.seats["B1"].lapses == {"agent_limit": 4}


def test_an_agent_that_returns_early_lapses_for_the_rest(tmp_path: Path) -> None:
    async def one_round(seat: tf.Seat) -> None:
        async for _ in seat:
            await seat.call("submit_quote", price=1)
            break

    async def none(seat: tf.Seat) -> None:
        return

    assert short(one_round, tmp_path / "one").outcome.seats["B1"].lapses == {"agent_limit": 3}
    assert short(none, tmp_path / "none").outcome.seats["B1"].lapses == {"agent_limit": 4}


def test_one_function_plays_two_seats_in_the_markets_order(tmp_path: Path) -> None:
    seats: list[str] = []

    async def both(seat: tf.Seat) -> None:
        seats.append(seat.id)
        await truthful(seat)

    played = [short(both, tmp_path / str(number), seat=["S1", "B1"]) for number in range(2)]
    assert sorted(seats) == ["B1", "B1", "S1", "S1"]
    assert bodies(played[0]) == bodies(played[1])


def test_an_agent_that_raises_is_a_failure_that_names_seat_round_and_trace(tmp_path: Path) -> None:
    async def broken(seat: tf.Seat) -> None:
        async for turn in seat:
            if turn.round == 3:
                raise KeyError("value")
            await seat.call("submit_quote", price=1)

    with pytest.raises(tf.HarnessFailure, match=r"the agent of B1 failed in round 3: KeyError\('value'\)") as failed:
        short(broken, tmp_path)
    (trace,) = tf.load(tmp_path)
    assert str(trace.path) in str(failed.value)
    assert isinstance(failed.value.__cause__, KeyError)
    assert trace.verify().verdict == "reproduced"
    assert not trace.verify().sealed


@pytest.mark.parametrize("raised", [asyncio.CancelledError(), SystemExit(1), tf.Refused("code", "message")])
def test_whatever_an_agent_raises_is_its_own_failure(tmp_path: Path, raised: BaseException) -> None:
    async def broken(seat: tf.Seat) -> None:
        raise raised

    with pytest.raises(tf.HarnessFailure, match="the agent of B1 failed before its first turn"):
        short(broken, tmp_path)


def test_a_policy_class_that_raises_is_a_failure(tmp_path: Path) -> None:
    class Broken:
        def turn(self, now: TurnView) -> Turns:
            yield ToolCall("view_my_value")
            raise ValueError(now.round)

    with pytest.raises(tf.HarnessFailure, match=r"the agent of B1 failed in round 1: ValueError\(1\)"):
        short(Broken, tmp_path)


class _Needy:
    def __init__(self, margin: int) -> None:
        self.margin = margin

    def turn(self, now: TurnView) -> Turns:
        yield ToolCall("view_my_value")


class _Seer:
    def turn(self, now: TurnView) -> Turns:
        yield ToolCall("view_my_value")

    def see(self, truth: object) -> None: ...


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"market": "double_auctoin"}, "did you mean double_auction?"),
    ({"scenario": "dul"}, "did you mean double_auction/duel?"),
    ({"scenario": Path("nowhere.toml")}, "nowhere.toml: cannot be read"),
    ({"scenario": load_scenario("bargaining", "bargaining/smoke")}, "is no scenario of double_auction"),
    ({"seat": "B9"}, "there is no seat 'B9'; did you mean B1"),
    ({"agent": "policy:zpi"}, "there is no policy 'zpi'; did you mean zip"),
    ({"agent": "reactt"}, "there is no framework 'reactt'; did you mean react"),
    ({"agent": "external"}, "tradefair play --agent external"),
    ({"agent": "person"}, "tradefair play --agent person"),
    ({"agent": "policy:zip", "model": "policy:gd"}, "leave model= out"),
    ({"agent": truthful, "model": "policy:gd"}, "own:truthful asks its model itself"),
    ({"agent": 3}, "agent= is a int: give text, such as"),
    ({"agent": print}, "an async function that is given a Seat"),
    ({"agent": _Needy}, "must be made without arguments"),
    ({"agent": _Seer}, "sees hidden truth"),
    ({"others": "zpi"}, "there is no policy 'zpi'"),
    ({"seed": -1}, "allowed is 0 to 2"),
    ({"seed": 2**63}, "allowed is 0 to 2"),
    ({"seed": "7"}, "must be an int"),
    ({"seed": True}, "must be an int"),
    ({"settings": {"rounds": "many"}}, "rounds = 'many': it should be a whole number"),
    ({"settings": {"rounds": object()}}, "not plain data"),
    ({"settings": {"round": 3}}, "round: unknown key"),
]


@pytest.mark.parametrize(("wrong", "told"), WRONG, ids=[next(iter(wrong)) for wrong, _ in WRONG])
def test_what_cannot_be_played_is_refused_before_anything_is_written(
    tmp_path: Path, wrong: dict[str, Any], told: str
) -> None:
    folder = tmp_path / "runs"
    given: dict[str, Any] = {"market": "double_auction", "scenario": DUEL, "folder": folder, **wrong}
    with pytest.raises(tf.ScenarioError) as refused:
        tf.play(given.pop("market"), **given)
    assert told in str(refused.value)
    assert not folder.exists()


def test_a_scenario_that_is_made_already_is_played_with_settings(tmp_path: Path) -> None:
    scenario = load_scenario("double_auction", DUEL)
    played = tf.play("double_auction", scenario=scenario, seed=3, agent="policy:zip", settings=FEW, folder=tmp_path)
    assert bodies(played) == bodies(short("policy:zip", tmp_path))


def test_references_are_played_on_the_same_luck(tmp_path: Path) -> None:
    played = short("policy:zip", tmp_path, references=True)
    references = tf.load(tmp_path / "references")
    assert {trace.seed for trace in references} == {played.seed}
    assert len(tf.load(tmp_path)) == 1


async def test_the_synchronous_call_works_inside_a_running_loop(tmp_path: Path) -> None:
    here = short(truthful, tmp_path / "thread")
    awaited = await tf.play_async(
        "double_auction", scenario=DUEL, seed=3, agent=truthful, settings=FEW, folder=tmp_path / "awaited"
    )
    assert bodies(here) == bodies(awaited)
    with pytest.raises(tf.ScenarioError):
        tf.play("double_auctoin")


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT")
@pytest.mark.parametrize("where", ["plain", "loop"])
def test_ctrl_c_leaves_an_unfinished_trace(tmp_path: Path, where: str) -> None:
    command = [sys.executable, "-c", SLEEPER, str(tmp_path), where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "playing\n"
        os.kill(process.pid, signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=LONG)
        finally:
            process.kill()
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    (trace,) = tf.load(tmp_path)
    assert trace.verify().verdict == "reproduced"
    assert not trace.verify().sealed
    if where == "plain":
        assert f"go on with: tradefair play --resume {trace.path}" in errors


PLAN = """
[plan]
name = "mine"
scenarios = ["double_auction/duel"]
seeds = 2

[grid]
rounds = [3]

[[agent]]
model = "policy:zip"

[[agent]]
model = "policy:gd"
"""


async def test_a_sweep_plays_what_is_missing_and_refuses_another_plans_folder(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    traces = tf.sweep(plan, tmp_path / "runs", processes=1)
    assert len(traces) == 4
    assert all(check.sound for check in traces.verify())
    assert [trace.path for trace in tf.sweep(plan, tmp_path / "runs")] == [trace.path for trace in traces]
    plan.write_text(PLAN.replace("rounds = [3]", "rounds = [4]"))
    with pytest.raises(tf.ScenarioError):
        tf.sweep(plan, tmp_path / "runs")
    with pytest.raises(tf.ScenarioError):
        tf.sweep("double_auction/nowhere", tmp_path / "runs")


def test_the_arms_of_a_fork_are_traces(tmp_path: Path, duel: tf.Trace) -> None:
    at = next(event["seq"] for event in duel.events() if event.get("tool") == "submit_quote" and event["round"] == 2)
    arms = tf.fork(duel, at, agent="policy:gd", folder=tmp_path / "fork", futures=2)
    assert [len(arm) for arm in (arms.control, arms.kept, arms.fork)] == [2, 2, 2]
    assert all(check.sound for arm in (arms.control, arms.kept, arms.fork) for check in arm.verify())
    assert bodies(arms.control[0]) == bodies(duel)
    with pytest.raises(tf.ScenarioError, match="holds the arms of a fork already"):
        tf.fork(duel, at, agent="policy:gd", folder=tmp_path / "fork")
    with pytest.raises(tf.ScenarioError):
        tf.fork(duel, 10_000, agent="policy:gd", folder=tmp_path / "other")


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

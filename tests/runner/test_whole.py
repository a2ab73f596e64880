"""Episodes that no outside seat can join: their traces appear whole, or as those of a live episode that failed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import HarnessFailure, PolicySpec, ToolCall, Turns, TurnView
from tradefair.contract.kernel.players import Seating
from tradefair.evaluation.verify import verify_file
from tradefair.host.episode.setup import SeatPlan, is_closed, seating_of
from tradefair.runner.agent_spec import AgentSpec
from tradefair.runner.episode_runner import play_episode
from tradefair.runner.whole import play_whole, play_whole_aside
from tradefair.tracestore import open_trace

KIND, SCENARIO = market_type("teaching"), load_scenario("teaching", "pie")


def seating(**seats: str) -> Seating:
    return seating_of(KIND, SCENARIO, SeatPlan({"P1": "half", "P2": "half", **seats}))


def test_an_episode_is_closed_where_no_seat_is_played_from_outside() -> None:
    assert is_closed(KIND, SCENARIO, seating())
    assert not is_closed(KIND, SCENARIO, seating(P2="agent"))


def test_the_manifest_is_that_of_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "new" / "whole.trace"
    manifest = play_whole(path, KIND, SCENARIO, 3, seating(), "whole")
    with open_trace(path) as trace:
        assert trace.manifest == manifest
    assert verify_file(path).verdict == "reproduced"
    assert [file.name for file in path.parent.iterdir()] == ["whole.trace"]


def test_what_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    asked: list[int] = []

    def stopped() -> bool:
        asked.append(len(asked))
        return len(asked) > 1

    with pytest.raises(HarnessFailure, match="was stopped"):
        play_whole(tmp_path / "whole.trace", KIND, SCENARIO, 3, seating(), "whole", stopped=stopped)
    assert len(asked) == 2
    assert list(tmp_path.iterdir()) == []


async def test_a_cancelled_player_does_not_play_on_in_its_thread(tmp_path: Path) -> None:
    long = SCENARIO.model_copy(update={"rounds": 100_000})
    playing = asyncio.create_task(play_whole_aside(tmp_path / "long.trace", KIND, long, 3, seating(), "long"))
    await asyncio.sleep(0)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    # Waits for the thread, which would play for minutes.
    await asyncio.get_running_loop().shutdown_default_executor()
    assert list(tmp_path.iterdir()) == []


class Breaks:
    """Claims in the first round, and fails in the second."""

    def turn(self, now: TurnView) -> Turns:
        if now.round > 1:
            raise ZeroDivisionError
        yield ToolCall("claim", {"slices": 3})


async def test_a_policy_that_fails_leaves_the_events_up_to_its_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = PolicySpec("breaks", lambda _params, _draw: Breaks(), frozenset({"eater"}))
    monkeypatch.setitem(KIND.policies, "breaks", broken)  # pyright: ignore[reportArgumentType]
    plan = SeatPlan({"P1": "half", "P2": "breaks"})
    played = await play_episode(play_spec("teaching", SCENARIO, 3, plan, AgentSpec("policy", "policy:half"), tmp_path))
    assert played.end_reason == "truncated:harness_failure"
    with open_trace(played.path) as trace:
        assert [event["round"] for event in trace.decoded() if event["event"] == "round_closed"] == [1]
    assert verify_file(played.path).sound

"""Episodes that are stepped together in one process are those that a host serves, byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tradefair.api as tf
from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids, scenario_tier
from tradefair.contract import HarnessFailure, Policy, ScenarioError, ToolAnswer, ToolCall
from tradefair.contract.kernel.players import Draw, seat_policy, seat_roles, stand_ins
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.judge.reward import Reward, reward_of
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.orders import Order, begin, checked
from tradefair.host.seats.plans import STAND_IN
from tradefair.tracestore import open_trace

SMOKE = ("double_auction", "double_auction/smoke", "B1")
# What an agent may do besides: look, be refused in each of the ways that leave an event, and wait, which leaves none.
ASIDE: dict[str, ToolCall] = {
    "rules": ToolCall("view_rules"),
    "turn": ToolCall("view_turn"),
    "note": ToolCall("add_note", {"text": "x"}),
    "unknown": ToolCall("no_such_tool", {"a": 1}),
    "wrong": ToolCall("view_turn", {"no_such": [1, 2]}),
    "code": ToolCall("execute_code", {"code": "1"}),
    "wait": ToolCall("await_turn"),
    "wrong_wait": ToolCall("await_turn", {"timeout_s": -1}),
}


@cache
def first(market: str) -> str:
    return next(name for name in scenario_ids(market) if scenario_tier(market, name) == "first")


def played(market: str, scenario: str, seat: str, seed: int, aside: Sequence[str]) -> tuple[tf.Batch, list[ToolCall]]:
    """Two episodes of a stand-in, which plays the second one only; between its calls it does something else."""
    kind = market_type(market)
    setting = load_scenario(market, scenario)
    role = seat_roles(kind, setting)[seat]
    named = stand_ins(kind, setting, [role])[0]
    policy = seat_policy(kind, named, role, Draw.of(seed, seat, 0))
    batch, made, coming = tf.batch(market, scenario, seat, [seed ^ 1, seed]), list[ToolCall](), list(aside)

    def call(wanted: ToolCall) -> ToolAnswer:
        made.append(ToolCall(wanted.tool, dict(wanted.arguments)))
        idle, answer = batch.call([None, wanted])
        assert idle is None
        assert answer is not None
        return answer

    while (view := batch.views()[1]) is not None:
        _one_turn(policy, view, call, coming)
    return batch, made


def _one_turn(policy: Policy, view: tf.TurnView, call: Any, coming: list[str]) -> None:
    turns = policy.turn(view)
    wanted = next(turns, None)
    while wanted is not None:
        if coming:
            call(ASIDE[coming.pop()])
        answer = call(wanted)
        if answer.turn_over:
            turns.close()
            return
        try:
            wanted = turns.send(answer)
        except StopIteration:
            return


async def hosted(folder: Path, market: str, scenario: str, seat: str, seed: int, made: Sequence[ToolCall]) -> Path:
    order = checked(Order(market=market, scenario=scenario, seed=seed, seats=(seat,), others=STAND_IN))
    episode = await begin(order, folder, "hosted", None)
    for call in made:
        await episode.call(seat, call.tool, call.arguments)
    await episode.close()
    return episode.path


def told(path: Path, seat: str) -> tuple[list[bytes], list[bytes], dict[str, bytes], Reward]:
    with open_trace(path) as trace:
        events = list(trace.events())
        reward = reward_of(evaluate(trace), seat)
        return [stored.body for stored in events], [stored.hash for stored in events], dict(trace.blobs()), reward


@pytest.mark.parametrize("market", market_names())
@given(seed=st.integers(0, 2**63 - 1), aside=st.lists(st.sampled_from(sorted(ASIDE)), max_size=12), last=st.booleans())
@settings(max_examples=4, deadline=None)
def test_its_events_are_those_of_the_hosted_episode_byte_for_byte(
    market: str, seed: int, aside: list[str], last: bool
) -> None:
    seats = list(seat_roles(market_type(market), load_scenario(market, first(market))))
    seat = seats[-1 if last else 0]
    batch, made = played(market, first(market), seat, seed, aside)
    with TemporaryDirectory() as place:
        batch.trace(1, Path(place) / "batch.trace")
        ours = told(Path(place) / "batch.trace", seat)
        theirs = told(asyncio.run(hosted(Path(place), market, first(market), seat, seed, made)), seat)
        assert ours[:3] == theirs[:3]
        # The very same objects: an int stays one, and no digit is lost.
        assert repr(batch.rewards()[1]) == repr(ours[3]) == repr(theirs[3])
        verdict = verify_file(Path(place) / "batch.trace")
        assert (verdict.verdict, verdict.sealed) == ("reproduced", True)


def test_every_episode_has_its_own_luck_and_end() -> None:
    batch = tf.batch("double_auction", "double_auction/bazaar", "B1", [1, 2, 1], settings={"rounds": 2})
    first_reads = batch.call([ToolCall("view_my_value")] * 3)
    bodies = [answer.body for answer in first_reads if answer]
    assert bodies[0] == bodies[2] != bodies[1]
    for _ in range(2):
        batch.call([ToolCall("submit_quote", {"price": 50}), None, ToolCall("submit_quote", {"price": 50})])
    over = batch.views()
    assert [view is None for view in over] == [True, False, True]
    rewards = batch.rewards()
    assert rewards[0] == rewards[2]
    assert (rewards[1].metric, rewards[1].components["calls"]) == ("payoff", 1)


def test_a_call_after_the_end_is_refused_and_leaves_no_event(tmp_path: Path) -> None:
    batch = tf.batch(*SMOKE, [7])
    with pytest.raises(HarnessFailure, match="play it to its end"):
        batch.trace(0, tmp_path / "early.trace")
    assert not list(tmp_path.iterdir())
    while any(batch.views()):
        batch.call([ToolCall("submit_quote", {"price": 50})])
    batch.trace(0, tmp_path / "a.trace")
    for tool in ("submit_quote", "view_rules", "execute_code", "nothing"):
        (answer,) = batch.call([ToolCall(tool)])
        assert answer is not None
        assert answer.error is not None
        assert (answer.error.code, answer.turn_over) == ("episode_over", True)
    (waited,) = batch.call([ToolCall("await_turn")])
    assert waited is not None
    assert waited.data["over"] is True
    batch.trace(0, tmp_path / "b.trace")
    assert told(tmp_path / "a.trace", "B1") == told(tmp_path / "b.trace", "B1")


def test_what_cannot_be_stepped_is_refused_before_anything_is_made() -> None:
    with pytest.raises(ScenarioError, match="no seat 'B9'"):
        tf.batch("double_auction", "double_auction/smoke", "B9", [1])
    with pytest.raises(ScenarioError, match="name some seeds"):
        tf.batch(*SMOKE, [])
    with pytest.raises(ScenarioError, match="2\\^63"):
        tf.batch(*SMOKE, [-1])
    with pytest.raises(ScenarioError, match="host it"):
        tf.batch("marketplace", first("marketplace"), "customer_0001", [1], settings={"clock": "free"})
    with pytest.raises(ValueError, match="zip"):
        tf.batch(*SMOKE, [1, 2]).call([None])


async def test_it_is_made_where_a_loop_runs_too() -> None:
    assert [view is not None for view in tf.batch(*SMOKE, range(3)).views()] == [True] * 3


@pytest.mark.many
def test_an_episode_of_a_batch_has_the_ledger_of_its_trace_once_it_is_over(tmp_path: Path) -> None:
    batch = tf.batch(*SMOKE, seeds=[3, 4])
    with pytest.raises(tf.TraceError, match="unfinished"):
        batch.ledger(0)
    while any(views := batch.views()):
        batch.call([view and ToolCall("submit_quote", {"price": 60}) for view in views])
    ledger = batch.ledger(1)
    assert ledger.own == batch.rewards()[1].value
    assert sum(turn.lost for turn in ledger.turns) == pytest.approx(ledger.gap)
    batch.trace(1, tmp_path / "one.trace")
    assert tf.Trace(tmp_path / "one.trace").ledger().turns == ledger.turns

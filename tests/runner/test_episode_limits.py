"""Limits of a whole episode: tokens, dollars and idle rounds stop a run in every agent, and leave nothing in the chain.

The endpoint is a stand-in on the loopback behind which a policy plays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from tests.frameworks.models.standins import Json, StandIn

import tradefair.api as tf
from tradefair.catalog import market_type
from tradefair.cli import run
from tradefair.contract import Draw
from tradefair.contract.kernel.players import seat_policy
from tradefair.frameworks.models.access import Stopped
from tradefair.frameworks.models.budget import Budget
from tradefair.frameworks.models.chat_prompts import Within
from tradefair.tracestore import Exchange

AGENTS = ("react", "reflection", "plan_and_act", "langchain_agent", "openai_loop", "openai_agents", "pydantic_ai")
MODEL = "openai:gpt-4o"


def lost_tools(reply: Json) -> Json:
    """The reply with calls of a tool that no market has."""
    for call in reply["choices"][0]["message"].get("tool_calls", ()):
        call["function"]["name"] = "no_such_tool"
    return reply


def uncounted(reply: Json) -> Json:
    """The reply of a server that counts no tokens."""
    return {**reply, "usage": None}


class Desk:
    """Plays duels through the command line; `asked` counts the requests of the last one."""

    def __init__(self, folder: Path, told: Callable[[Path], Any], capture: pytest.CaptureFixture[str]) -> None:
        self._folder, self._told, self._capture = folder, told, capture
        self.asked = 0
        self.said = ""

    def play(self, *options: str, agent: str = "react", dress: Any = None, rounds: int = 5, more: Any = ()) -> int:
        new = ("double_auction", "--scenario", "duel", "--set", f"rounds={rounds}", "--no-references")
        return self._run(dress, agent, (*new, "--seed", "7", "--out", str(self._folder), *more), options)

    def resume(self, *options: str, agent: str = "react", dress: Any = None) -> int:
        return self._run(dress, agent, ("--resume", str(self.path)), options)

    def _run(self, dress: Any, agent: str, where: Any, options: Any) -> int:
        policy = seat_policy(market_type("double_auction"), "policy:zip", "buyer", Draw.of(7, "B1"))
        standin = StandIn("chat", policy, dress=dress)
        with standin.served() as url:
            player = ("--agent", agent, "--model", MODEL, "--base-url", f"{url}/v1")
            limits = [word for option in options for word in ("--limit", option)]
            code = run(["play", *where, *player, *limits])
        self.asked = len(standin.asked)
        self.said = " ".join(self._capture.readouterr().err.split())
        return code

    @property
    def path(self) -> Path:
        (path,) = self._folder.glob("*.trace")
        return path

    @property
    def trace(self) -> Any:
        return self._told(self.path)


@pytest.fixture
def desk(tmp_path: Path, told: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return Desk(tmp_path / "runs", told, capsys)


def taken(notes: list[Json]) -> int:
    return sum(note["input_tokens"] + note["output_tokens"] for note in notes)


@pytest.mark.parametrize("agent", AGENTS)
def test_tokens_stop_every_agent_before_a_request_more(desk: Desk, agent: str) -> None:
    assert desk.play("tokens_total=3000", agent=agent) == 3, desk.said
    notes = desk.trace.noted("model_call")
    assert taken(notes[:-1]) < 3000 <= taken(notes)
    assert desk.asked == len(notes)
    (stop,) = desk.trace.noted("stopped")
    assert (stop["why"], stop["spent"]["tokens"]) == ("tokens_total", taken(notes))
    go_on = f"go on with: tradefair play --resume {desk.path} --limit tokens_total=6000"
    assert "stopped before the next request: --limit tokens_total=3000 is reached (round " in desk.said
    assert desk.said.endswith(go_on)
    # What the notes say was spent is spent.
    assert (desk.resume("tokens_total=3000", agent=agent), desk.asked) == (3, 0)


@pytest.mark.parametrize("agent", AGENTS)
def test_rounds_without_a_call_that_was_carried_out_stop_every_agent(desk: Desk, agent: str) -> None:
    assert desk.play("calls=2", agent=agent, dress=lost_tools) == 1
    assert {note["round"] for note in desk.trace.noted("model_call")} == {1, 2, 3}
    assert re.search(r"no call was carried out in rounds 1 to 3 \(\d calls, all refused\); go on with", desk.said)
    assert desk.said.endswith("--limit idle_rounds=0")


def test_idle_rounds_are_those_in_a_row_and_may_be_allowed(desk: Desk) -> None:
    replies = iter(range(1_000))

    def sometimes(reply: Json) -> Json:
        return reply if next(replies) % 6 < 2 else lost_tools(reply)

    # A round of two calls, and one of a lost call and three thoughts.
    assert desk.play("idle_rounds=2,calls=2", dress=sometimes) == 0, desk.said
    assert desk.trace.about["end_reason"] == "terminated:rounds_completed"
    assert not desk.trace.noted("stopped")


def test_nothing_of_a_limit_is_in_the_chain(tmp_path: Path, told: Any, capsys: Any, desk: Desk) -> None:
    other = Desk(tmp_path / "others", told, capsys)
    assert desk.play("cost=1,tokens_total=1000000,idle_rounds=9") == other.play() == 0
    assert desk.trace.events[1:] == other.trace.events[1:]
    here, there = (each.trace.seating.players["B1"].agent for each in (desk, other))
    # Each has a port of its own.
    assert here.model_copy(update={"endpoint": there.endpoint}) == there


def test_dollars_stop_a_run_and_a_model_without_a_price_does_not_begin(desk: Desk) -> None:
    assert desk.play("cost=0.004") == 3
    costs = [note["cost_usd_micro"] for note in desk.trace.noted("model_call")]
    assert sum(costs[:-1]) < 4_000 <= sum(costs)
    assert desk.said.endswith("--limit cost=0.008")
    path = desk.path
    assert run(["play", "double_auction", "--model", "openai:odd", "--limit", "cost=1"]) == 2
    assert desk.path == path


def test_what_an_endpoint_does_not_count_counts_by_its_length(desk: Desk) -> None:
    assert desk.play("tokens_total=6000", dress=uncounted) == 3
    notes = desk.trace.noted("model_call")
    guessed = [sum(note["uncounted"].values()) for note in notes]
    assert {note["input_tokens"] for note in notes} == {None}
    assert sum(guessed[:-1]) < 6000 <= sum(guessed)
    assert (desk.resume("tokens_total=6000", dress=uncounted), desk.asked) == (3, 0)


def test_a_limit_ends_a_series_and_what_was_played_is_shown(desk: Desk) -> None:
    assert desk.play("tokens_total=1500", more=("--seeds", "3")) == 3
    assert "seed 7 was stopped; seeds 8 to 9 were not played" in desk.said
    assert desk.path.exists()


@pytest.mark.parametrize(
    "limit", ["cost=0", "cost=-1", "cost=nan", "tokens_total=0", "idle_rounds=-1", "idle_rounds=x"]
)
def test_a_limit_that_means_nothing_is_refused(desk: Desk, limit: str) -> None:
    assert (desk.play(limit), desk.asked) == (2, 0)
    assert "--limit" in desk.said


async def own(seat: tf.Seat) -> None:
    """An agent that asks its model itself."""
    await seat.play_out()


@pytest.mark.parametrize("api", ["auto", "responses"])
def test_python_takes_the_same_limits_and_the_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, api: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    policy = seat_policy(market_type("double_auction"), "policy:zip", "buyer", Draw.of(7, "B1"))
    standin = StandIn("newest", policy)
    asked: Any = {"scenario": "double_auction/duel", "seed": 7, "agent": "react", "model": MODEL, "folder": tmp_path}
    with standin.served() as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        with pytest.raises(tf.HarnessFailure, match="--limit tokens_total=1000 is reached"):
            tf.play("double_auction", api=api, limits={"tokens_total": 1_000}, **asked)
    assert ("/chat/completions" in {path for path, _ in standin.asked}) is (api == "auto")
    with pytest.raises(tf.ScenarioError, match="limits= are for agents"):
        tf.play("double_auction", agent=own, limits={"cost": 1})


async def test_another_providers_model_is_asked_within_its_budget_too() -> None:
    budget = Budget(tokens_total=1)
    model = FakeListChatModel(responses=["well"], rate_limiter=Within(budget))
    assert (await model.ainvoke("play")).text == "well"
    budget.count({"kind": "model_call", "input_tokens": 1, "output_tokens": 0})
    with pytest.raises(Stopped, match="tokens_total=1 is reached"):
        await model.ainvoke("play")


@pytest.mark.parametrize("odd", [True, -1, 2**60, "7", 0.5, float("nan"), [1], {}])
def test_a_count_that_is_none_is_not_taken_for_one(odd: Any) -> None:
    budget = Budget(MODEL)
    noted = budget.count({"kind": "model_call", "input_tokens": odd, "output_tokens": 5, "uncounted": odd})
    # Nothing is taken from it, though what was sent is no longer known.
    assert (noted["cost_usd_micro"], budget.tokens, budget.cost_usd_micro) == (None, 0, 0)


def test_a_reply_that_names_a_model_without_a_price_costs_as_what_was_asked() -> None:
    budget = Budget(MODEL)
    exchange = Exchange({"messages": ["x" * 400]}, {"body": "y" * 40})
    noted = budget.count({"kind": "model_call", "model": "house", "input_tokens": None, "output_tokens": 1}, [exchange])
    assert noted["uncounted"] == {"input_tokens": 104, "output_tokens": 12}
    budget.count({"kind": "model_call", "model": "house", "input_tokens": 100, "output_tokens": 10})
    assert budget.cost_usd_micro == 104 * 2.5 + 12 * 10 + 100 * 2.5 + 10 * 10

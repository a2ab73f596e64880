"""Limits `offer` and `reply`: what stands in a graph's requests, in its record, and in a replay of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.play_specs import events_of, preset_spec

from tradefair.agents.rounds import find_view
from tradefair.catalog import market_type
from tradefair.contract import ScenarioError, TraceError
from tradefair.contract.kernel.players import AgentRecord
from tradefair.frameworks.models.endpoint import MAX_REPLY
from tradefair.runner.play.agent_spec import AgentSpec, ready
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import open_trace

GRAPHS = ("react", "reflection", "plan_and_act")


class Request(NamedTuple):
    phase: str
    tools: list[str]
    params: dict[str, Any]


async def play(folder: Path, agent: AgentSpec) -> Path:
    spec = preset_spec("teaching", "talk", agent, folder, seed=1, settings={"rounds": 2}, agents=["P1"])
    return (await play_episode(spec)).path


def requests(path: Path) -> list[Request]:
    """What the model was sent, request by request."""
    found: list[Request] = []
    with open_trace(path) as trace:
        for call in trace.prompts():
            texts = [str(call.part(number).get("content") or "") for number in call.numbers]
            view = next(view for text in reversed(texts) if (view := find_view(text)) is not None)
            tools: Any = [] if call.tools is None else call.part(call.tools)
            found.append(Request(view.phase, [tool["function"]["name"] for tool in tools], dict(call.params)))
    return found


@pytest.mark.parametrize("graph", GRAPHS)
async def test_a_model_is_offered_the_open_actions_and_after_its_looks_nothing_else(tmp_path: Path, graph: str) -> None:
    useful = AgentSpec(graph, "policy:half", offer="useful(reads=0)")
    acting = [asked for asked in requests(await play(tmp_path / "useful", useful)) if asked.tools]
    assert {(asked.phase, *asked.tools) for asked in acting} == {("talk", "say"), ("claim", "claim")}
    looking = AgentSpec(graph, "policy:half", offer="useful(reads=9)")
    first = next(asked for asked in requests(await play(tmp_path / "looking", looking)) if asked.tools)
    assert {"view_my_value", "add_note", "say"} <= {*first.tools}
    assert not {"claim", "await_turn"} & {*first.tools}


@pytest.mark.parametrize("graph", GRAPHS)
async def test_a_graph_offers_everything_and_bounds_every_reply_unless_it_is_told_otherwise(
    tmp_path: Path, graph: str
) -> None:
    asked = requests(await play(tmp_path, AgentSpec(graph, "policy:half")))
    assert {len(request.tools) for request in asked if request.tools} == {12}
    # Planners and reflectors, too.
    assert {request.params.get("max_tokens") for request in asked} == {MAX_REPLY}


@pytest.mark.network
@pytest.mark.parametrize(("bound", "sent"), [(0, None), (77, 77)])
async def test_a_replay_asks_under_the_bound_of_its_recording(tmp_path: Path, bound: int, sent: int | None) -> None:
    first = await play(tmp_path / "first", AgentSpec("react", "policy:half", max_reply=bound))
    assert {request.params.get("max_tokens") for request in requests(first)} == {sent}
    # Recordings of earlier releases have no bound; nobody has to say so.
    again = await play(tmp_path / "again", AgentSpec("react", replay=str(first)))
    assert events_of(again)[1:] == events_of(first)[1:]


def test_an_agent_that_is_offered_less_is_another_one_and_is_taken_up_as_such() -> None:
    plain = AgentSpec("react", "openai:m", "http://127.0.0.1:1/v1")
    useful = dataclasses.replace(plain, offer="useful(reads=2)", max_reply=400)
    assert useful.recorded().options == {"offer": "useful(reads=2)", "max_reply": 400}
    assert AgentSpec.of_record(AgentRecord.model_validate_json(useful.recorded().model_dump_json())) == useful
    assert (plain.label, useful.label) == ("react/openai:m", "react+useful(reads=2)/openai:m")
    # The default is no option, however it was said.
    assert dataclasses.replace(plain, offer="all").recorded() == plain.recorded()
    assert dataclasses.replace(plain, offer="all").label == plain.label


@pytest.mark.parametrize("options", [{"offer": 3}, {"max_reply": "x"}, {"max_reply": True}, {"offer": ["all"]}])
def test_a_strangers_record_is_not_believed(options: dict[str, Any]) -> None:
    with pytest.raises(TraceError, match="damaged"):
        AgentSpec.of_record(AgentRecord(framework="react", model="openai:m", options=options))


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (AgentSpec("react", "policy:half", offer="some"), "no offer: write all or useful"),
        (AgentSpec("openai_loop", "policy:half", offer="all"), "--limit offer is an option of our graphs"),
        (AgentSpec("openai_loop", "policy:half", max_reply=0), "--limit reply is an option of our graphs"),
    ],
)
def test_what_cannot_be_offered_is_said_before_anything_is_written(agent: AgentSpec, says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        ready(market_type("teaching"), agent, {"P1": "eater"})

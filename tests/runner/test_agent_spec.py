"""An agent's options are read once, in one module, and a ready agent may be anybody's."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.calling import moves
from tests.play_specs import preset_spec

from tradefair.catalog import market_type
from tradefair.contract import Brief, Draw, ScenarioError
from tradefair.contract.kernel.players import Limits
from tradefair.evaluation.prove.verify import verify_file
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.policy import PolicyAgent
from tradefair.runner.play.agent_spec import AgentSpec, ReadyAgent, ready
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import open_trace

_RUNNER = Path(__file__).parents[2] / "frameworks" / "tradefair" / "runner"
_READERS = ("load_framework", "parse_model", "parse_window", "Faults.parse", "Recording")


def readings(sources: Mapping[str, str]) -> list[str]:
    """Where an agent's options are read, as `module: function`, outside the module that may."""
    return [
        f"{name}: {called}"
        for name, source in sources.items()
        if name != "agent_spec.py"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func)) in _READERS
    ]


def test_an_agents_options_are_read_in_one_module_of_the_runner() -> None:
    sources = {path.name: path.read_text(encoding="utf-8") for path in _RUNNER.rglob("*.py")}
    assert len(sources) > 30
    assert readings(sources) == []


def test_a_second_reader_would_be_noticed() -> None:
    planted = "def play(agent):\n    return Faults.parse(agent.faults), load_framework(agent.framework)()\n"
    assert sorted(readings({"agent_spec.py": planted, "seating.py": planted})) == [
        "seating.py: Faults.parse",
        "seating.py: load_framework",
    ]


def test_a_ready_agent_holds_what_its_options_say(tmp_path: Path) -> None:
    kind = market_type("teaching")
    spec = AgentSpec("react", "policy:half", window="last_results(k=3)", faults="429@3", timeout_s=70)
    agent = ready(kind, spec, {"P1": "eater"})
    assert agent.endpoint is not None
    assert (agent.endpoint.kind, agent.endpoint.model, agent.endpoint.timeout_s) == ("policy", "half", 70)
    assert agent.window is not None
    assert agent.window.label == "last_results(k=3)"
    assert agent.faults is not None
    assert agent.faults.at(3) is not None
    assert agent.recording is None
    assert agent.make("P1") is not agent.make("P1")
    with pytest.raises(ScenarioError, match="no terminal to ask on"):
        ready(kind, AgentSpec("react", "policy:half", approve=True), {"P1": "eater"})


async def test_an_agent_of_ones_own_plays_a_seat(tmp_path: Path) -> None:
    kind = market_type("teaching")
    scripted = preset_spec("teaching", "pie", AgentSpec("policy", "policy:half"), tmp_path)
    made: list[str] = []

    class Own:
        """Plays the market's policy over its connection, without a model that the runner knows of."""

        name = "own"

        def __init__(self, seat: str) -> None:
            made.append(seat)

        async def play(
            self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits
        ) -> SeatReport:
            assert model is None
            policy = ready(kind, AgentSpec("react", "policy:half"), {"P1": "eater"}).endpoint
            assert policy is not None
            scripted_half = kind.policies["half"].make({}, Draw.of(0, "P1"))
            return await PolicyAgent().play(seat, policy.with_policy(scripted_half), brief, limits)

    agent = ReadyAgent(AgentSpec("own"), make=Own)
    played = await play_episode(replace(scripted, agent=agent))
    assert made == played.agents
    assert verify_file(played.path).verdict == "reproduced"
    with open_trace(played.path) as own:
        assert own.seating().labels["P1"] == "own"
    assert moves(played.path) == moves((await play_episode(scripted)).path)

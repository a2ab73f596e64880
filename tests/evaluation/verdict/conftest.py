"""A model's endpoint that answers what a test says, and one episode of the teaching market with an agent behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.outside import Answer, endpoint
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import HarnessFailure
from tradefair.contract.kernel.players import Limits
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode


def says(text: str = "", *calls: tuple[str, str], finish: str = "stop") -> Answer:
    """A chat completion with these words and calls (tool, arguments as text)."""
    asked = [
        {"id": f"call-{index}", "type": "function", "function": {"name": tool, "arguments": arguments}}
        for index, (tool, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": asked} if asked else {})}
    choice = {"index": 0, "finish_reason": "tool_calls" if asked else finish, "message": message}
    usage = {"prompt_tokens": 800, "completion_tokens": 130, "total_tokens": 930}
    body = {"id": "answer", "object": "chat.completion", "created": 0, "model": "tiny", "usage": usage}
    return Answer(200, json.dumps({**body, "choices": [choice]}))


Answers = Callable[[int], Answer]
"""The response to a request, by its number from 1."""


@pytest.fixture
def serve() -> Generator[Callable[[Answers], str]]:
    """Starts an endpoint and gives its base URL."""
    with ExitStack() as running:

        def start(answers: Answers) -> str:
            asked = iter(range(1, 100_000))
            return f"{running.enter_context(endpoint(lambda _: answers(next(asked))))}/v1"

        yield start


PlayModel = Callable[..., Any]


@pytest.fixture
def play_model(tmp_path: Path, serve: Callable[[Answers], str], monkeypatch: pytest.MonkeyPatch) -> PlayModel:
    """Plays teaching/pie with a model in seat P1 that answers so, and gives the verdict on the trace."""
    monkeypatch.setenv("TRADEFAIR_ALLOW_MODELS", "0")
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TRADEFAIR_PRICES"):
        monkeypatch.delenv(variable, raising=False)

    async def play(answers: Answers, framework: str = "react", rounds: int = 3) -> Verdict:
        scenario = load_scenario("teaching", "pie", {"rounds": rounds})
        agent = AgentSpec(framework, "openai:tiny", base_url=serve(answers), limits=Limits(calls_per_round=4))
        plan = plan_seats(market_type("teaching"), scenario, agents=["P1"], others="half")
        try:
            await play_episode(play_spec("teaching", scenario, 1, plan, agent, tmp_path / "runs"))
        except HarnessFailure:
            pass  # the trace has to say it by itself
        (path,) = (tmp_path / "runs").glob("*.trace")
        return verdict_of_file(path, check=verify_file(path, seats=False))

    return play

"""verifiers' own loader and harness play a market against a canned model: nothing here knows how to do that itself.

Needs TRADEFAIR_CONTROL_URL and TRADEFAIR_CONTROL_TOKEN of a `tradefair host --tasks bundled`: `make hubs`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf
from tradefair_client import Refused, control, create
from tradefair_verifiers.taskset import paid
from verifiers.v1.clients import EvalClientConfig, ModelContext
from verifiers.v1.runtimes.subprocess import SubprocessRuntime
from verifiers.v1.utils.loaders import load_environment, resolve_env_config


def reply(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The canned model: waits for its turn, quotes its value, and stops when the episode is over."""
    if messages[-1]["role"] != "tool":
        name, arguments = "await_turn", {}
    else:
        said = json.loads(messages[-1]["content"])
        if said.get("over"):
            return {"content": "done"}
        if "value" in said:
            name, arguments = "submit_quote", {"price": said["value"]}
        else:
            name, arguments = ("view_my_value" if said.get("awaited") else "await_turn"), {}
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"tool_calls": [{"index": 0, "id": f"call_{len(messages)}", "type": "function", "function": function}]}


class Canned(BaseHTTPRequestHandler):
    """An OpenAI endpoint that streams one chunk with the reply and one with its end."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        delta = reply(asked["messages"])
        ended = "tool_calls" if "tool_calls" in delta else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        same = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": asked["model"]}
        chunks = [
            {**same, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
            {**same, "choices": [{"index": 0, "delta": {}, "finish_reason": ended}], "usage": usage},
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelContext]:
    """A model that plays, and a chat program that runs here: uv would fetch its dependencies, which we have."""

    async def prepare(self: SubprocessRuntime, script: str, *_: Any, **__: Any) -> list[str]:
        await self.write("chat.py", script.encode())
        return [sys.executable, str(Path(self.workdir or ".") / "chat.py")]

    monkeypatch.setattr(SubprocessRuntime, "prepare_uv_script", prepare)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Canned)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = EvalClientConfig(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key_var="NO_KEY")
    yield ModelContext(model="canned", client=client)
    server.shutdown()


def play(model: ModelContext, **named: Any) -> vf.Episode:
    """An episode of the first task of a short auction."""
    taskset = {"id": "tradefair-verifiers", "scenario": "double_auction/smoke"}
    env = load_environment(resolve_env_config({"taskset": taskset, **named}))

    async def episode() -> vf.Episode:
        async with env.serving():
            return await env.run_episode(next(iter(env.taskset)), model)

    return asyncio.run(episode())


ROUNDS = 3
HERE = {"runtime": {"type": "subprocess"}, "max_turns": 30}


def check(episode: vf.Episode, seats: list[str]) -> None:
    """Each seat's trace has its reward, equal to the server's; no token is in anything that verifiers writes."""
    assert episode.ok, [episode.errors, *(trace.errors for trace in episode.traces)]
    (name,) = {trace.info["tradefair"]["episode"] for trace in episode.traces}
    outcome = control(f"/episodes/{name}/outcome")
    assert outcome["end_reason"].startswith("terminated:")
    rewards = {trace.task.data.seat: trace.reward for trace in episode.traces}
    assert rewards == {seat: outcome["seats"][seat]["score"] for seat in seats}
    written = episode.model_dump_json()
    assert "tf_" not in written
    assert os.environ["TRADEFAIR_CONTROL_TOKEN"] not in written
    for trace in episode.traces:
        calls = [call.name for said in trace.assistant_messages for call in said.tool_calls or ()]
        assert calls.count("submit_quote") == ROUNDS


def test_a_canned_model_plays_one_seat_and_is_paid_what_the_outcome_says(model: ModelContext) -> None:
    episode = play(model, agent=HERE)
    check(episode, ["B1"])
    assert episode.traces[0].agent.trainable


def test_two_agents_of_one_auction_have_a_trace_and_a_reward_each_and_the_frozen_one_is_not_trained(
    model: ModelContext,
) -> None:
    episode = play(model, id="tradefair-selfplay", first=HERE, second=HERE, frozen="second")
    check(episode, ["B1", "S1"])
    assert {trace.agent.name: trace.agent.trainable for trace in episode.traces} == {"first": True, "second": False}


def test_an_agent_that_leaves_ends_the_game_of_both_and_the_outcome_says_censored(model: ModelContext) -> None:
    episode = play(model, id="tradefair-selfplay", first=HERE, second=HERE | {"max_turns": 2})
    assert episode.ok, [episode.errors, *(trace.errors for trace in episode.traces)]
    assert [trace.metrics["censored"] for trace in episode.traces] == [1.0, 1.0]
    # The other is told that it is over, and does not wait until its own limit.
    stopped = {trace.agent.name: trace.stop_condition for trace in episode.traces}
    assert stopped == {"first": "agent_completed", "second": "max_turns"}


def test_an_unknown_split_is_refused_by_the_server() -> None:
    env = load_environment(resolve_env_config({"taskset": {"id": "tradefair-verifiers", "split": "tarin"}}))
    with pytest.raises(Refused, match="tarin"):
        next(iter(env.taskset))


def test_a_seat_that_ended_before_anything_counted_scores_as_one_that_does_nothing() -> None:
    (seat,) = create(market="retail", scenario="retail/first", others="stand_in")
    own = control(f"/episodes/{seat.episode}/outcome?end=true")["seats"][seat.seat]
    assert own["reward"] is None
    assert paid(own, "score") == 0.0
    with pytest.raises(ValueError, match="no reward"):
        paid(own, "reward")
    with pytest.raises(ValueError, match="no score"):
        paid(own | {"score_range": None}, "score")

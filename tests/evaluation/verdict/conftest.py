"""A model's endpoint that answers what a test says, and one episode of the teaching market with an agent behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import HarnessFailure
from tradefair.contract.players import Limits
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.evaluation.verify import verify_file
from tradefair.host.setup import plan_seats
from tradefair.runner.agent_spec import AgentSpec
from tradefair.runner.episode_runner import play_episode


class Answer(NamedTuple):
    """A response of the endpoint; text that is no JSON is sent as HTML."""

    status: int
    body: str


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
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(answers: Answers) -> str:
        asked = iter(range(1, 100_000))

        class Endpoint(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                status, body = answers(next(asked))
                self.send_response(status)
                self.send_header("content-type", "application/json" if body[:1] == "{" else "text/html")
                self.send_header("content-length", str(len(body.encode())))
                # The client's pauses between retries would make these tests slow.
                self.send_header("retry-after-ms", "1")
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name of the base class
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_address[1]}/v1"

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


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

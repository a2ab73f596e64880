"""What answers behind a gateway: a live policy, an upstream endpoint, or a recording."""

from __future__ import annotations

from typing import Any, Protocol

import orjson

from tradefair.contract import HarnessFailure
from tradefair.frameworks.models.access import KEY_NAME, is_loopback, shown_url
from tradefair.frameworks.models.canonical import Canonical
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.fault_replies import FAULT_ID
from tradefair.frameworks.models.policy_brain import PolicyBrain, Visible, is_refusal
from tradefair.frameworks.models.recording import SeatRecording
from tradefair.frameworks.models.wire import (
    PASSED_ON,
    Answer,
    ChatRequest,
    EachOnce,
    Json,
    completion,
    content_text,
    error_answer,
    function_call,
)
from tradefair.tracestore.redaction import redacted


class Backend(Protocol):
    """Answers one question at a time; never raises for what an endpoint did.

    What went wrong at the endpoint is an `Answer` with its status, so that the client's own retries see it.
    """

    model: str

    async def answer(self, request: ChatRequest, asked: Canonical, occurrence: int) -> Answer:
        """Reply or error of the model."""
        ...

    async def close(self) -> None:
        """Free what it holds."""
        ...


class PolicyBackend:
    """The live policy of one seat and episode. It never sees what a fault put in its place.

    Calls and answers of injected faults are left out of the messages before the policy reads them.
    """

    def __init__(self, endpoint: ModelEndpoint) -> None:
        if endpoint.policy is None:
            raise HarnessFailure(f"{endpoint.label}: the policy was not attached: ModelEndpoint.with_policy(…)")
        self.model = endpoint.label
        self._prompts, self._budget = endpoint.prompts, endpoint.budget
        self._brain = PolicyBrain(endpoint.policy, endpoint.label)
        self._seen = EachOnce(_visible)
        self._replies = 0

    async def ask(self, request: Json) -> Json:
        """The policy's next call, for a chat model in this process. Raises HarnessFailure where the policy fails."""
        if self._budget is not None:
            self._budget.check()
        answer = self._reply(request, 0)
        if self._prompts is not None:
            self._prompts.heard(request, {"status": answer.status, "body": answer.body})
        return answer.body

    async def answer(self, request: ChatRequest, asked: Canonical, occurrence: int) -> Answer:
        """As `ask`; a reply's id counts those given here. A failing policy is an error that no client should retry."""
        try:
            answer = self._reply(request.raw, self._replies + 1)
        except HarnessFailure as failure:
            # 400 and no retry: the same messages would be refused again.
            return error_answer(400, str(failure), "harness_failure", retry=False)
        self._replies += 1
        return answer

    async def close(self) -> None:
        """Nothing to free."""

    def _reply(self, request: Json, number: int) -> Answer:
        """The reply under a number; usage is estimated."""
        reply = self._brain.reply([*filter(None, self._seen.of(request["messages"]))])
        tokens = {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens}
        if reply.call is None:
            return completion(self.model, number, {"content": reply.text}, "stop", **tokens)
        call = function_call(reply.call.id, reply.call.tool, orjson.dumps(reply.call.arguments).decode())
        message = {"content": None, "tool_calls": [call]}
        return completion(self.model, number, message, "tool_calls", **tokens)


def _visible(message: Json) -> Visible | None:
    """A message as the policy may see it. The wire has no status, so a refusal is known by its form only."""
    # A policy that met an answer to a call that it never made would not find its own as the last one.
    if str(message.get("tool_call_id")).startswith(FAULT_ID):
        return None
    text = content_text(message.get("content"))
    return Visible(message["role"], text, message.get("tool_call_id"), message["role"] == "tool" and is_refusal(text))


class UpstreamBackend:
    """An OpenAI-compatible endpoint, asked without streaming and without retries: those are the client's.

    The key comes from OPENAI_API_KEY and goes nowhere else. Raises HarnessFailure where the switch refuses the URL.
    """

    def __init__(self, endpoint: ModelEndpoint, *, timeout_s: float = 600.0) -> None:
        # Here and not above: a run without an upstream needs no HTTP client.
        import httpx2

        from tradefair.frameworks.models.door import Door

        url, self._key = endpoint.address
        self.model = endpoint.model
        self._url = f"{url.rstrip('/')}/chat/completions"
        # Ten seconds to connect, since an address that is wrong should show early; the reply itself may take minutes.
        patience = httpx2.Timeout(timeout_s, connect=10.0)
        told: dict[str, Any] = {"note": endpoint.note, "budget": endpoint.budget, "thoughts": True}
        self._door = Door(self._key, endpoint.dialect, outside=not is_loopback(url), timeout=patience, **told)

    async def answer(self, request: ChatRequest, asked: Canonical, occurrence: int) -> Answer:
        """The endpoint's reply or error; 502 where nothing came that can be read, 504 where nothing came in time."""
        import httpx2

        # Not streamed, the reply is cut here: live, recorded and replayed streams are alike.
        body = {name: value for name, value in request.raw.items() if name not in ("stream", "stream_options")}
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        try:
            response = await self._door.post(self._url, content=orjson.dumps(body), headers=headers)
        # Timeouts first: they are HTTPErrors as well, and a client is told 504 and not 502.
        except httpx2.TimeoutException as error:
            return self._no_answer(504, error)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return self._no_answer(502, error)
        passed = {name: value for name, value in response.headers.items() if name in PASSED_ON}
        return Answer(response.status_code, orjson.loads(response.content), passed)

    async def close(self) -> None:
        """Close the connections."""
        await self._door.aclose()

    def _no_answer(self, status: int, error: Exception) -> Answer:
        # Redacted before it is cut: half a key would no longer be found.
        cause = redacted(f"{type(error).__name__}: {error}", self._key)
        message = f"no answer from {shown_url(self._url)}: {cause[:500]} (another one: --base-url)"
        return error_answer(status, message, "upstream_unreachable", retry=True)

    def __repr__(self) -> str:
        return f"UpstreamBackend({self.model!r}, {shown_url(self._url)!r}, key from {KEY_NAME})"


class RecordingBackend:
    """Answers from a recording, and never from anywhere else."""

    # Under the name that the requests use, so that a replay of another model's recording misses by its parameters.
    def __init__(self, recorded: SeatRecording, model: str | None = None) -> None:
        self._recorded = recorded
        self.model = model or recorded.model

    async def answer(self, request: ChatRequest, asked: Canonical, occurrence: int) -> Answer:
        """The recorded answer; a miss is an error that no client should retry, and says what first differs."""
        return self._recorded.answer(asked, occurrence)

    async def close(self) -> None:
        """Nothing to free."""

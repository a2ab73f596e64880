"""What answers behind a gateway: a live policy, an upstream endpoint, or a recording."""

from __future__ import annotations

from typing import Any, Protocol, cast

import orjson

from tradefair.contract import HarnessFailure
from tradefair.frameworks.models.access import (
    KEY_NAME,
    api_key,
    certificates,
    check_allowed,
    endpoint_url,
    is_loopback,
    reply_bound,
    shown_url,
)
from tradefair.frameworks.models.canonical import Canonical
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.fault_replies import FAULT_ID
from tradefair.frameworks.models.policy_brain import PolicyBrain, Visible, is_refusal
from tradefair.frameworks.models.recording import SeatRecording
from tradefair.frameworks.models.wire import Answer, ChatRequest, can_be_sent, completion, error_answer, function_call
from tradefair.tracestore.redaction import redacted

# Bytes. An upstream is not ours: what it sends is held in memory, and so is bounded.
_ANSWER_LIMIT = 32 * 1024 * 1024
# Only what tells the client when to ask again; other headers of an upstream may name accounts or set cookies.
_PASSED_ON = ("retry-after", "retry-after-ms", "x-should-retry")


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
        self._brain = PolicyBrain(endpoint.policy, endpoint.label)
        self._replies = 0

    async def answer(self, request: ChatRequest, asked: Canonical, occurrence: int) -> Answer:
        """The policy's next call. A failing policy is an error that no client should retry.

        The reply's id counts the replies of this backend from 1; usage is estimated.
        """
        try:
            reply = self._brain.reply(_visible(request))
        except HarnessFailure as failure:
            # 400 and no retry: the same messages would be refused again.
            return error_answer(400, str(failure), "harness_failure", retry=False)
        self._replies += 1
        tokens = {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens}
        if reply.call is None:
            return completion(self.model, self._replies, {"content": reply.text}, "stop", **tokens)
        call = function_call(reply.call.id, reply.call.tool, orjson.dumps(reply.call.arguments).decode())
        message = {"content": None, "tool_calls": [call]}
        return completion(self.model, self._replies, message, "tool_calls", **tokens)

    async def close(self) -> None:
        """Nothing to free."""


def _visible(request: ChatRequest) -> list[Visible]:
    """The request's messages as the policy may see them.

    The wire has no status, so a refusal is known by its form only.
    """
    seen: list[Visible] = []
    for message in request.messages:
        # A policy that met an answer to a call that it never made would not find its own as the last one.
        if (message.tool_call_id or "").startswith(FAULT_ID):
            continue
        text = message.text
        is_error = message.role == "tool" and is_refusal(text)
        seen.append(Visible(message.role, text, message.tool_call_id, is_error))
    return seen


class UpstreamBackend:
    """An OpenAI-compatible endpoint, asked without streaming and without retries: those are the client's.

    The key comes from OPENAI_API_KEY and goes nowhere else. Raises HarnessFailure where the switch refuses the URL.
    """

    def __init__(self, endpoint: ModelEndpoint, *, timeout_s: float = 600.0) -> None:
        # Here and not above: a run without an upstream needs no HTTP client.
        import httpx2

        url = endpoint_url(endpoint.base_url)
        check_allowed(url)
        self.model = endpoint.model
        # A key on the endpoint is that of a gateway in this process; every other one comes from the environment.
        self._key = endpoint.api_key or api_key(url)
        self._url = f"{url.rstrip('/')}/chat/completions"
        # A proxy of the environment is for the world outside.
        # Ten seconds to connect, since an address that is wrong should show early; the reply itself may take minutes.
        outside, patience = not is_loopback(url), httpx2.Timeout(timeout_s, connect=10.0)
        trusted = certificates(from_environment=outside)
        self._http = httpx2.AsyncClient(timeout=patience, trust_env=outside, verify=trusted)

    async def answer(self, request: ChatRequest, asked: Canonical, occurrence: int) -> Answer:
        """The endpoint's reply or error; 502 where there was no answer that makes sense, 504 where there was none."""
        import httpx2

        # An upstream is asked without streaming and the reply is cut here: live, recorded and replayed streams are
        # alike.
        body = {
            # A client in front sees the gateway's address, and so does not know which name its bound has behind it.
            (reply_bound(self._url) if name == "max_tokens" else name): value
            for name, value in request.raw.items()
            if name not in ("stream", "stream_options")
        }
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        try:
            async with self._http.stream("POST", self._url, content=orjson.dumps(body), headers=headers) as response:
                content = await _bounded(response)
        # Timeouts first: they are HTTPErrors as well, and a client is told 504 and not 502.
        except httpx2.TimeoutException as error:
            return self._no_answer(504, error)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            return self._no_answer(502, error)
        passed = {name: response.headers[name] for name in _PASSED_ON if name in response.headers}
        return self._answer(response.status_code, content, passed)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    def _no_answer(self, status: int, error: Exception) -> Answer:
        # Redacted before it is cut: half a key would no longer be found.
        cause = redacted(f"{type(error).__name__}: {error}", self._key)
        message = f"no answer from {shown_url(self._url)}: {cause[:500]} (another one: --base-url)"
        return error_answer(status, message, "upstream_unreachable", retry=True)

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> Answer:
        # Before anything is read: an endpoint may quote the key, and the answer is recorded.
        text = redacted(content.decode(errors="replace"), self._key)
        try:
            parsed: Any = orjson.loads(text)
        except orjson.JSONDecodeError:
            parsed = None
        body = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
        # A body with status 200 and without choices is an error page in JSON; a client would fail on it in its own
        # words.
        if body and can_be_sent(body) and (status >= 400 or "choices" in body):
            return Answer(status, body, headers)
        what = f"{shown_url(self._url)} answered with status {status} and no chat completion: {text[:300]!r}"
        # A page with status 200 becomes 502 without a retry: such an address is wrong, not busy.
        return error_answer(status if status >= 400 else 502, what, "upstream_answer", retry=status >= 400)

    def __repr__(self) -> str:
        return f"UpstreamBackend({self.model!r}, {shown_url(self._url)!r}, key from {KEY_NAME})"


async def _bounded(response: Any) -> bytes:
    """The whole body. Raises the client's own error when it is too long, as for any broken answer."""
    import httpx2

    content = bytearray()
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > _ANSWER_LIMIT:
            raise httpx2.RemoteProtocolError(f"the answer is longer than {_ANSWER_LIMIT} bytes")
    return bytes(content)


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

"""Endpoints of the `openai` package: the client that asks them, and what their failures are called."""

from __future__ import annotations

from typing import Any, cast

from httpx2 import Request, Response
from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    AuthenticationError,
    DefaultAsyncHttpxClient,
    OpenAIError,
)

from tradefair.contract import HarnessFailure
from tradefair.frameworks.models.access import KEY_NAME, ProviderUnavailable, certificates, is_loopback
from tradefair.frameworks.models.prompts import Prompts
from tradefair.frameworks.models.recording import NOT_RECORDED, NotRecorded
from tradefair.tracestore.redaction import redacted


def make_client(
    url: str, key: str, *, timeout_s: float, max_retries: int, prompts: Prompts | None = None
) -> AsyncOpenAI:
    """A client of the endpoint, which retries 429, 5xx, no connection and no answer in time. Close it after use.

    `timeout_s` is in seconds for one attempt; `max_retries` are attempts after the first; `prompts` is told of each.
    """
    # A proxy of the environment is for the world outside.
    http = _Discreet(key, prompts, trust_env=not is_loopback(url))
    return AsyncOpenAI(base_url=url, api_key=key, timeout=timeout_s, max_retries=max_retries, http_client=http)


class _Discreet(DefaultAsyncHttpxClient):
    """Leaves the key out of every answer: what a model says becomes a move, a message, a note or a recording.

    Follows no redirect: the address that was named is asked and shown, and no other one is handed the key.
    """

    def __init__(self, key: str, prompts: Prompts | None, *, trust_env: bool) -> None:
        trusted = certificates(from_environment=trust_env)
        super().__init__(trust_env=trust_env, verify=trusted, follow_redirects=False)
        self._key = key
        self._prompts = prompts

    async def send(self, request: Request, **options: Any) -> Response:
        """The answer; one that quotes the key is made again without it."""
        answer = await super().send(request, **options)
        if options.get("stream"):
            return answer
        text = redacted(answer.text, self._key)
        if self._prompts is not None:
            self._prompts.heard_wire(request.content, answer.status_code, text)
        headers = {name: redacted(value, self._key) for name, value in answer.headers.items()}
        if text == answer.text and headers == dict(answer.headers):
            return answer
        # The body is unpacked and has another length now.
        kept = {name: value for name, value in headers.items() if name not in ("content-encoding", "content-length")}
        return Response(answer.status_code, headers=kept, content=text.encode(), request=request)


def provider_failure(place: str, key: str, error: OpenAIError, *, retries: int, seconds: float) -> HarnessFailure:
    """The error of a request to `place` as ours, for `raise … from error`.

    The endpoint's own words, what was tried, what to set; never the key. A recording's miss is `NotRecorded`, and names
    the recording instead of the gateway before it. What its client retried in vain is `ProviderUnavailable`.
    """
    # Redacted before anything is cut: half a key would no longer be found.
    message = redacted(_said(error), key)
    # A miss is told by its code and not by its text: the gateway is one HTTP hop away.
    if isinstance(error, APIStatusError) and error.code == NOT_RECORDED:
        return NotRecorded(message[:2_000])
    status = f"status {error.status_code}: " if isinstance(error, APIStatusError) else ""
    # The package says only "Connection error."; what the socket said is in the cause.
    cause = f" ({error.__cause__})" if isinstance(error, APIConnectionError) and error.__cause__ else ""
    text = f"{place}: {type(error).__name__}: {status}{message[:2_000]}{redacted(cause, key)[:300]}"
    if not _retried(error):
        return HarnessFailure(text + _advice(error))
    return ProviderUnavailable(f"{text}, after {retries} retries and {seconds:.1f} s{_advice(error)}")


def no_completion(place: str, key: str, found: str) -> HarnessFailure:
    """The failure of an endpoint that answered with something else; `found` is what it said."""
    return HarnessFailure(f"{place}: the endpoint's answer is not a chat completion: {redacted(found, key)[:200]!r}")


def _said(error: OpenAIError) -> str:
    """The endpoint's own words where there are any; the package's quote the whole body."""
    if not isinstance(error, APIError):
        return str(error)
    stated: Any = error.body
    # OpenAI's errors are `{"error": {"message": …}}`; the package has opened the outer object already.
    said = cast("dict[str, Any]", stated).get("message") if isinstance(stated, dict) else None
    return said if isinstance(said, str) else error.message


def _retried(error: OpenAIError) -> bool:
    """Whether the client asked again before it gave up, by the package's own rules."""
    if isinstance(error, APIStatusError):
        # The header overrules the status, as it does in the package.
        told = error.response.headers.get("x-should-retry")
        return told != "false" and (error.status_code in (408, 409, 429) or error.status_code >= 500)
    return isinstance(error, APIConnectionError)


def _advice(error: OpenAIError) -> str:
    if isinstance(error, AuthenticationError):
        return f"; the key is taken from {KEY_NAME}"
    # A time-out is a slow endpoint and not a wrong one: no other address is advised.
    if isinstance(error, APIConnectionError) and not isinstance(error, APITimeoutError):
        return "; name another endpoint with --base-url"
    return ""

"""A client of an endpoint: asks for chat completions through the `openai` package, and says failures in our words."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from httpx2 import Response
from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    AuthenticationError,
    OpenAIError,
)
from pydantic import JsonValue

from tradefair.contract import HarnessFailure
from tradefair.frameworks.models.access import KEY_NAME, ProviderUnavailable, Stopped, is_loopback, shown_url
from tradefair.frameworks.models.budget import BUDGET_SPENT
from tradefair.frameworks.models.door import NOT_UNDERSTOOD, Door
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.recording import NOT_RECORDED, NotRecorded
from tradefair.frameworks.models.wire import Json, as_object
from tradefair.tracestore.redaction import redacted

RETRIES = 4
"""Attempts after the first, of every client: frameworks are compared, so none may be more patient than another."""


@dataclass
class ChatClient:
    """An open client of a framework ("" for chat models), and the model to name.

    Retries 429, 5xx, no connection and no answer in time, as late as `retry-after` says; nobody else does. `begun` is
    the moment of the last `asks`, on the clock of `time.perf_counter`.
    """

    framework: str
    openai: AsyncOpenAI
    model: str
    # Set again by `asks`; the start value only keeps `seconds` defined for a failure before the first request.
    begun: float = field(default_factory=time.perf_counter)
    fields: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Further fields of each request: the endpoint's options."""
    door: Door | None = None

    def asks(self) -> None:
        """A request begins: a failure's text says how long was waited since."""
        self.begun = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the last request began."""
        return time.perf_counter() - self.begun

    @property
    def heard(self) -> Json:
        """The last clean reply, whatever a framework has made of it."""
        if self.door is None or self.door.heard is None:
            raise HarnessFailure(f"{self.framework} has asked no model")
        return self.door.heard

    async def ask(self, request: Json) -> Json:
        """The clean reply to a chat completion's request. Raises HarnessFailure for the provider's errors."""
        self.asks()
        try:
            # Not `chat.completions.create`: it reads the types of every message again in each request.
            answer = await self.openai.post("/chat/completions", cast_to=Response, body=request)
        except OpenAIError as error:
            raise self.failure(error) from error
        return orjson.loads(answer.content)

    def failure(self, error: BaseException) -> HarnessFailure:
        """A provider's or a framework's error as ours, for `raise … from error`.

        Frameworks wrap what the `openai` package raises; then the provider's error is the cause of theirs.
        """
        named = f"{self.framework}, {self.model}" if self.framework else f"openai:{self.model}"
        place, key = f"{named} at {shown_url(str(self.openai.base_url)).rstrip('/')}", self.openai.api_key
        # An SDK's own error says little ("run failed"); what the endpoint answered is in its cause.
        provider = error if isinstance(error, OpenAIError) else error.__cause__
        if isinstance(provider, APIStatusError) and provider.code == BUDGET_SPENT:
            return Stopped(self.door.budget.reached if self.door and self.door.budget else "", _said(provider))
        if isinstance(provider, OpenAIError):
            return provider_failure(place, key, provider, retries=self.openai.max_retries, seconds=self.seconds)
        # Bounded, once it is redacted: an SDK may quote the whole conversation in its error.
        return HarnessFailure(redacted(f"{place}: {type(error).__name__}: {error}", key)[:2_000])


def make_client(framework: str, endpoint: ModelEndpoint) -> ChatClient:
    """A client of an `openai:` endpoint; close its `openai` after use. Raises HarnessFailure, ScenarioError."""
    url, key = endpoint.address
    told: dict[str, Any] = {"prompts": endpoint.prompts, "note": endpoint.note, "budget": endpoint.budget}
    door = Door(key, endpoint.dialect, outside=not is_loopback(url), **told)
    asked: dict[str, Any] = {"timeout": endpoint.timeout_s, "max_retries": RETRIES, "http_client": door}
    openai = AsyncOpenAI(base_url=url, api_key=key, **asked)
    return ChatClient(framework, openai, endpoint.model, fields=endpoint.params, door=door)


def provider_failure(place: str, key: str, error: OpenAIError, *, retries: int, seconds: float) -> HarnessFailure:
    """The error of a request to `place` as ours, for `raise … from error`.

    The endpoint's own words, what was tried, what to set; never the key. A recording's miss is `NotRecorded`, and names
    the recording instead of the gateway before it. What its client retried in vain is `ProviderUnavailable`.
    """
    # Redacted before anything is cut: half a key would no longer be found.
    message = redacted(_said(error), key)
    # Told by its code and not by its text: the gateway is one HTTP hop away.
    code = error.code if isinstance(error, APIStatusError) else None
    if code == NOT_RECORDED:
        return NotRecorded(message[:2_000])
    if code == NOT_UNDERSTOOD:
        return HarnessFailure(f"{place}: {message[:2_000]}")
    status = f"status {error.status_code}: " if isinstance(error, APIStatusError) else ""
    # The package says only "Connection error."; what the socket said is in the cause.
    cause = f" ({error.__cause__})" if isinstance(error, APIConnectionError) and error.__cause__ else ""
    text = f"{place}: {type(error).__name__}: {status}{message[:2_000]}{redacted(cause, key)[:300]}"
    if not _retried(error):
        return HarnessFailure(text + _advice(error))
    return ProviderUnavailable(f"{text}, after {retries} retries and {seconds:.1f} s{_advice(error)}")


def _said(error: OpenAIError) -> str:
    """The endpoint's own words where there are any; the package's quote the whole body."""
    if not isinstance(error, APIError):
        return str(error)
    # OpenAI's errors are `{"error": {"message": …}}`; the package has opened the outer object already.
    said = as_object(error.body).get("message")
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

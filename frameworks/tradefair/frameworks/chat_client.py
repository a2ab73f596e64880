"""What frameworks that speak chat completions share: a client at an endpoint's address, and failures as ours."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from openai import AsyncOpenAI, OpenAIError
from pydantic import JsonValue

from tradefair.contract import HarnessFailure
from tradefair.frameworks.models.access import shown_url
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.provider import make_client, no_completion, provider_failure
from tradefair.frameworks.models.serving import open_address
from tradefair.tracestore.redaction import redacted

# The same number as OpenAIChat.max_retries: frameworks are compared, so none may be more patient than another.
_RETRIES = 4


@dataclass
class ChatClient:
    """An open client of a framework and the model to name. Only this client retries.

    `begun` is the moment of the last `asks`, on the clock of `time.perf_counter`.
    """

    framework: str
    openai: AsyncOpenAI
    model: str
    # Set again by `asks`; the start value only keeps `seconds` defined for a failure before the first request.
    begun: float = field(default_factory=time.perf_counter)
    fields: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Further fields of each request: the endpoint's options."""

    def asks(self) -> None:
        """A request begins.

        Called before each request, so that a failure's text can say how long was waited.
        """
        self.begun = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the last request began.

        Used as the latency of a reply and in the text of a failure.
        """
        return time.perf_counter() - self.begun

    def failure(self, error: BaseException) -> HarnessFailure:
        """A provider's or a framework's error as ours, for `raise … from error`.

        Frameworks wrap what the `openai` package raises; then the provider's error is the cause of theirs.
        """
        # An SDK's own error says little ("run failed"); what the endpoint answered is in its cause.
        provider = error if isinstance(error, OpenAIError) else error.__cause__
        if isinstance(provider, OpenAIError):
            key, seconds = self.openai.api_key, self.seconds
            return provider_failure(self._place, key, provider, retries=self.openai.max_retries, seconds=seconds)
        # Bounded, once it is redacted: an SDK may quote the whole conversation in its error.
        return HarnessFailure(redacted(f"{self._place}: {type(error).__name__}: {error}", self.openai.api_key)[:2_000])

    def no_completion(self, found: str) -> HarnessFailure:
        """The failure of an endpoint that answered with something else."""
        return no_completion(self._place, self.openai.api_key, found)

    @property
    def _place(self) -> str:
        return f"{self.framework}, {self.model} at {shown_url(str(self.openai.base_url))}"


@asynccontextmanager
async def open_client(framework: str, endpoint: ModelEndpoint) -> AsyncGenerator[ChatClient]:
    """A client of the endpoint, whatever lies behind it. Raises HarnessFailure when it may not be reached.

    The framework is given this client and none of its own, so that keys, proxies and retries are decided in one place.
    """
    # In the requests themselves: a gateway would add the options behind the back of who keeps what was sent.
    asked = replace(endpoint, params={}) if endpoint.kind == "openai" else endpoint
    fields = endpoint.params if asked is not endpoint else asked.params
    async with open_address(asked) as address:
        limits: dict[str, Any] = {"timeout_s": endpoint.timeout_s, "max_retries": _RETRIES}
        client = make_client(address.base_url, address.api_key, prompts=endpoint.prompts, **limits)
        async with client:
            yield ChatClient(framework, client, address.model, fields=fields)

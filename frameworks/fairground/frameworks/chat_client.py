"""What frameworks that speak chat completions share: a client at an endpoint's address, arguments, failures."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from fairground.contract.errors import HarnessFailure
from fairground.frameworks.models.access import redacted
from fairground.frameworks.models.endpoint import ModelEndpoint
from fairground.frameworks.models.serving import open_address

if TYPE_CHECKING:
    from openai import AsyncOpenAI

__all__ = ["ChatClient", "open_client", "read_arguments", "resent_arguments"]

_RETRIES = 4


class ChatClient(NamedTuple):
    """An open client of a framework and the model to name. Only this client retries, and the gateway behind it."""

    framework: str
    openai: AsyncOpenAI
    model: str

    def failure(self, error: Exception) -> HarnessFailure:
        """A provider's or a framework's error as ours, without the key, for `raise … from error`."""
        status = getattr(error, "status_code", None)
        shown = "" if status is None else f"status {status}: "
        text = redacted(str(getattr(error, "message", error)), self.openai.api_key)
        return self.failed(f"{type(error).__name__}: {shown}{text[:1_000]}")

    def failed(self, what: str) -> HarnessFailure:
        """The failure `what`, with framework and model."""
        return HarnessFailure(f"{self.framework}, {self.model}: {what}")


@asynccontextmanager
async def open_client(framework: str, endpoint: ModelEndpoint) -> AsyncGenerator[ChatClient]:
    """A client of the endpoint, whatever lies behind it. Raises HarnessFailure when it may not be reached."""
    from openai import AsyncOpenAI

    async with (
        open_address(endpoint) as address,
        AsyncOpenAI(
            base_url=address.base_url, api_key=address.api_key, timeout=endpoint.timeout_s, max_retries=_RETRIES
        ) as client,
    ):
        yield ChatClient(framework, client, address.model)


def read_arguments(text: str | None) -> dict[str, Any] | None:
    """A call's arguments as a JSON object (no NaN); None when they are not. Nothing at all means no arguments."""
    try:
        parsed: Any = json.loads(text, parse_constant=_refuse_constant) if text and text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def resent_arguments(text: str) -> str:
    """Arguments as they go back in the history: some endpoints parse them, and would refuse the whole request."""
    return text if read_arguments(text) is not None else json.dumps({"malformed_arguments": text})


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")

"""Models as OpenAI-compatible addresses on this machine, and as chat models: what frameworks open.

Recording, replay and faults happen in the gateway behind the address and nowhere else.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fairground.contract.errors import HarnessFailure, ScenarioError
from fairground.frameworks.models.access import ALLOW_MODELS, api_key, check_allowed, endpoint_url
from fairground.frameworks.models.endpoint import ModelEndpoint
from fairground.frameworks.models.faults import Faults

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from fairground.frameworks.models.gateway import Gateway, OnCall

__all__ = ["Address", "open_address", "open_chat_model", "open_gateway"]


@dataclass(frozen=True)
class Address:
    """An OpenAI-compatible endpoint: what any client needs, and the model to name in its requests."""

    base_url: str
    model: str
    api_key: str = field(repr=False)

    def endpoint(self, label: str) -> ModelEndpoint:
        """The address as a model endpoint under the label of what is behind it."""
        return ModelEndpoint("openai", self.model, label, base_url=self.base_url, api_key=self.api_key)


@asynccontextmanager
async def open_address(
    endpoint: ModelEndpoint,
    *,
    record: Path | None = None,
    replay: Path | None = None,
    faults: Faults | None = None,
    seat: str | None = None,
    on_call: OnCall | None = None,
) -> AsyncGenerator[Address]:
    """An address of the endpoint, served on the loopback while the context is open.

    In front of the live policy of a `policy:` endpoint, of the upstream of an `openai:` one, or of a recording
    (`replay`, or a `replay:` endpoint). An `openai:` endpoint with nothing in between gives its own address. `record`
    is appended to; `seat` is part of what names a call in a recording. Raises HarnessFailure, ScenarioError.
    """
    between = record or replay or faults or on_call or endpoint.params
    if endpoint.kind == "openai" and not between:
        yield _direct(endpoint)
        return
    from fairground.frameworks.models.gateway_app import GatewayApp, serve_app

    async with open_gateway(
        endpoint, record=record, replay=replay, faults=faults, seat=seat, on_call=on_call
    ) as gateway:
        key = secrets.token_urlsafe(24)
        async with serve_app(GatewayApp(gateway, key)) as url:
            yield Address(url, gateway.model, key)


@asynccontextmanager
async def open_gateway(
    endpoint: ModelEndpoint,
    *,
    record: Path | None = None,
    replay: Path | None = None,
    faults: Faults | None = None,
    seat: str | None = None,
    on_call: OnCall | None = None,
) -> AsyncGenerator[Gateway]:
    """The gateway of an endpoint, not served yet; closed afterwards. As `open_address`."""
    from fairground.frameworks.models.backends import Backend, PolicyBackend, RecordingBackend, UpstreamBackend
    from fairground.frameworks.models.gateway import Gateway
    from fairground.frameworks.models.recording import Recorder, Recording

    options = {} if endpoint.kind == "policy" else dict(endpoint.params)
    backend: Backend
    if replay is not None or endpoint.kind == "replay":
        if record is not None:
            raise ScenarioError("a run is recorded or replayed, not both")
        recorded = Recording(replay or Path(endpoint.model)).seat(seat)
        named = None if endpoint.kind == "replay" else _name(endpoint)
        options = {**recorded.options, **options} if endpoint.kind == "replay" else options
        backend = RecordingBackend(recorded, named)
    elif endpoint.kind == "policy":
        backend = PolicyBackend(endpoint)
    elif endpoint.kind == "openai":
        backend = UpstreamBackend(endpoint)
    else:
        raise HarnessFailure(f"{endpoint.label} has no address: langgraph plays it, or name its openai:<model>")
    try:
        recorder = Recorder(record, seat, backend.model, options) if record is not None else None
        gateway = Gateway(backend, seat=seat, options=options, recorder=recorder, faults=faults, on_call=on_call)
    except BaseException:
        await backend.close()
        raise
    try:
        yield gateway
    finally:
        await gateway.close()


@asynccontextmanager
async def open_chat_model(
    endpoint: ModelEndpoint,
    *,
    record: Path | None = None,
    replay: Path | None = None,
    faults: Faults | None = None,
    seat: str | None = None,
    on_call: OnCall | None = None,
) -> AsyncGenerator[BaseChatModel]:
    """The chat model of an endpoint, closed afterwards; through a gateway when anything is in between.

    Raises HarnessFailure when it may not or cannot be reached.
    """
    if endpoint.kind == "langchain":
        if record or replay or faults:
            raise ScenarioError(f"{endpoint.label}: only openai:, policy: and replay: can be recorded or replayed")
        yield _of_provider(endpoint)
        return
    if endpoint.kind == "policy" and not (record or replay or faults or on_call):
        from fairground.frameworks.models.policy_chat import PolicyChatModel

        if endpoint.policy is None:
            raise HarnessFailure(f"{endpoint.label}: the policy was not attached: ModelEndpoint.with_policy(…)")
        yield PolicyChatModel(policy=endpoint.policy, label=endpoint.label)
        return
    from fairground.frameworks.models.openai_chat import OpenAIChat

    options = dict(endpoint.params) if endpoint.kind == "openai" else {}
    async with AsyncExitStack() as stack:
        if endpoint.kind != "openai" or record or replay or faults or on_call:
            address = await stack.enter_async_context(
                open_address(endpoint, record=record, replay=replay, faults=faults, seat=seat, on_call=on_call)
            )
            endpoint, options = address.endpoint(endpoint.label), {}
        model = OpenAIChat(model=endpoint.model, base_url=endpoint.base_url, options=options, api_key=endpoint.api_key)
        stack.push_async_callback(model.aclose)
        yield model


def _direct(endpoint: ModelEndpoint) -> Address:
    url = endpoint_url(endpoint.base_url)
    check_allowed(url)
    return Address(url, endpoint.model, endpoint.api_key or api_key(url))


def _name(endpoint: ModelEndpoint) -> str:
    return endpoint.label if endpoint.kind == "policy" else endpoint.model


def _of_provider(endpoint: ModelEndpoint) -> BaseChatModel:
    if os.environ.get(ALLOW_MODELS) == "0":
        raise HarnessFailure(f"{ALLOW_MODELS}=0 refuses {endpoint.label}: not loopback")
    try:
        return import_module("langchain.chat_models").init_chat_model(endpoint.label, **endpoint.params)
    except ImportError as error:
        raise ScenarioError(f"{endpoint.label}: a package is missing: {error}") from None
    except Exception as error:
        raise ScenarioError(f"{endpoint.label}: {type(error).__name__}: {str(error)[:500]}") from None

"""Models as OpenAI-compatible addresses on this machine, and as chat models: what frameworks open.

Recording, replay and faults happen in the gateway behind the address and nowhere else.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.frameworks.models.access import ALLOW_MODELS
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.models.faults import Faults

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from tradefair.frameworks.models.backends import Backend
    from tradefair.frameworks.models.client import ChatClient
    from tradefair.frameworks.models.dialect import Api
    from tradefair.frameworks.models.gateway import Gateway, OnCall
    from tradefair.frameworks.models.prompts import Prompts
    from tradefair.frameworks.models.recording import Recording

# What an endpoint keeps when it is asked through an address of ours.
_KEPT = ("timeout_s", "prompts", "note", "budget")


@dataclass(frozen=True)
class Address:
    """An OpenAI-compatible endpoint: what any client needs, and the model to name in its requests.

    The key is the endpoint's, or that of a gateway made for this one context.
    """

    base_url: str
    model: str
    api_key: str = field(repr=False)
    api: Api = "gateway"

    def endpoint(self, behind: ModelEndpoint) -> ModelEndpoint:
        """The address as a model endpoint under the label of what is behind it, watched and bounded as that is."""
        made = ModelEndpoint("openai", self.model, behind.label, base_url=self.base_url, api_key=self.api_key)
        kept: dict[str, Any] = {name: getattr(behind, name) for name in _KEPT}
        return replace(made, api=self.api, **kept)


class Between(TypedDict, total=False):
    """What may stand between an agent and its model.

    `record`: a file that every call is appended to. `replay`: one, or a recording read from it, that answers in the
    endpoint's place. `seat`: part of what names a call in either. `on_call`: told of every request. `prompts`: told of
    every request and its answer; for who asks with a client that is not ours.
    """

    record: Path | None
    replay: Path | Recording | None
    faults: Faults | None
    seat: str | None
    on_call: OnCall | None
    prompts: Prompts | None


@asynccontextmanager
async def open_address(endpoint: ModelEndpoint, **between: Unpack[Between]) -> AsyncGenerator[Address]:
    """An address of the endpoint, served on the loopback while the context is open.

    In front of the live policy of a `policy:` endpoint, of the upstream of an `openai:` one, of a `local` model, or of
    a recording (`replay`, or a `replay:` endpoint). An `openai:` endpoint with nothing in between gives its own
    address. Options are those of `Between`. Raises HarnessFailure, ScenarioError.
    """
    # Nothing to record, replay, disturb or add: the client asks the endpoint itself, without a hop.
    if endpoint.kind == "openai" and not (_stands(between) or endpoint.params):
        yield _direct(endpoint)
        return
    # Here and not above: uvicorn and Starlette are needed only when something stands in between.
    from tradefair.frameworks.models.gateway_app import GatewayApp, serve_app

    async with open_gateway(endpoint, **between) as gateway:
        # A fresh key per address: it ends with the context, and no other process of the machine can use the endpoint.
        key = secrets.token_urlsafe(24)
        async with serve_app(GatewayApp(gateway, key)) as url:
            yield Address(url, gateway.model, key)


@asynccontextmanager
async def open_gateway(endpoint: ModelEndpoint, **between: Unpack[Between]) -> AsyncGenerator[Gateway]:
    """The gateway of an endpoint, not served yet; closed afterwards. As `open_address`."""
    from tradefair.frameworks.models.gateway import Gateway
    from tradefair.frameworks.models.recording import Recorder

    record, replay, seat = between.get("record"), between.get("replay"), between.get("seat")
    if record is not None and (replay is not None or endpoint.kind == "replay"):
        raise ScenarioError("a run is recorded or replayed, not both")
    # Left in reverse order: the gateway stops its questions before their backend is closed.
    async with AsyncExitStack() as stack:
        backend, options = _behind(endpoint, replay, seat)
        stack.push_async_callback(backend.close)
        # After the backend: a model that cannot be had must not leave a file behind.
        recorder = None if record is None else Recorder(record, seat, backend.model, options)
        gateway = Gateway(
            backend,
            seat=seat,
            options=options,
            recorder=recorder,
            prompts=between.get("prompts"),
            faults=between.get("faults"),
            on_call=between.get("on_call"),
        )
        stack.push_async_callback(gateway.close)
        yield gateway


class _Behind(NamedTuple):
    """What answers, and the fields that its requests have unless they say otherwise."""

    backend: Backend
    options: dict[str, Any]


def _behind(endpoint: ModelEndpoint, replay: Path | Recording | None, seat: str | None) -> _Behind:
    from tradefair.frameworks.models.backends import PolicyBackend, RecordingBackend, UpstreamBackend
    from tradefair.frameworks.models.recording import Recording

    params = dict(endpoint.params)
    if endpoint.kind == "replay" or replay is not None:
        source = replay or Path(endpoint.model)
        recorded = (source if isinstance(source, Recording) else Recording(source)).seat(seat)
        # A recording's options were part of its requests; without them every request would miss.
        if endpoint.kind == "replay":
            return _Behind(RecordingBackend(recorded), {**recorded.options, **params})
        # The gateway accepts requests for this name only, and it is part of each request's key.
        named = endpoint.label if endpoint.kind in ("policy", "local") else endpoint.model
        return _Behind(RecordingBackend(recorded, named), {} if endpoint.kind == "policy" else params)
    if endpoint.kind == "policy":
        # Its parameters are the policy's own.
        return _Behind(PolicyBackend(endpoint), {})
    if endpoint.kind == "local":
        from tradefair.frameworks.models.local.backend import LocalBackend
        from tradefair.frameworks.models.local.weights import find_weights

        return _Behind(LocalBackend(find_weights(endpoint.model)), params)
    if endpoint.kind == "openai":
        # At least ten minutes: the client in front has its own time-out and asks again; its question goes on meanwhile.
        return _Behind(UpstreamBackend(endpoint, timeout_s=max(600.0, endpoint.timeout_s)), params)
    raise HarnessFailure(f"{endpoint.label} has no address: langgraph plays it, or name its openai:<model>")


@asynccontextmanager
async def open_chat_model(endpoint: ModelEndpoint, **between: Unpack[Between]) -> AsyncGenerator[BaseChatModel]:
    """The chat model of an endpoint, closed afterwards; through a gateway when anything is in between.

    What runs meanwhile is traced to nobody, whatever the environment says. Raises HarnessFailure when the endpoint may
    not or cannot be reached.
    """
    from langsmith.run_helpers import tracing_context  # pyright: ignore[reportUnknownVariableType]

    with tracing_context(enabled=False):
        async with _opened(endpoint, between) as model:
            yield model


@asynccontextmanager
async def _opened(endpoint: ModelEndpoint, between: Between) -> AsyncGenerator[BaseChatModel]:
    # These clients speak their providers' protocols; the gateway speaks OpenAI's only.
    if endpoint.kind == "langchain":
        if _stands(between):
            raise ScenarioError(
                f"{endpoint.label}: only openai:, local, policy: and replay: can be recorded or replayed"
            )
        yield _heard(_of_provider(endpoint), endpoint)
        return
    from tradefair.frameworks.models.seat_chat import SeatChat

    bound = endpoint.max_reply
    # Without a gateway: a policy in this process needs no HTTP between itself and the graph.
    if endpoint.kind == "policy" and not _stands(between):
        from tradefair.frameworks.models.backends import PolicyBackend

        yield SeatChat(PolicyBackend(endpoint).ask, model=endpoint.label, max_reply=bound)
        return
    async with open_client("", endpoint, **between) as client:
        yield SeatChat(client.ask, model=client.model, fields=client.fields, max_reply=bound)


@asynccontextmanager
async def open_client(
    framework: str, endpoint: ModelEndpoint, **between: Unpack[Between]
) -> AsyncGenerator[ChatClient]:
    """A client of the endpoint, whatever lies behind it. Raises HarnessFailure when it may not be reached.

    A framework is given this client and none of its own, so that keys, proxies and retries are decided in one place.
    """
    from tradefair.frameworks.models.client import make_client

    async with AsyncExitStack() as stack:
        # Asked directly, the options are in the requests themselves; a gateway adds them.
        if endpoint.kind != "openai" or _stands(between):
            address = await stack.enter_async_context(open_address(endpoint, **between))
            endpoint = address.endpoint(endpoint)
        client = make_client(framework, endpoint)
        async with client.openai:
            yield client


def _heard(model: BaseChatModel, endpoint: ModelEndpoint) -> BaseChatModel:
    """The model, with the endpoint's `prompts` told of each request, and its `budget` asked before."""
    from tradefair.frameworks.models.chat_prompts import ChatPrompts, Within

    if endpoint.prompts is not None:
        model.callbacks = [ChatPrompts(endpoint.prompts, endpoint.label)]
    if endpoint.budget is not None:
        model.rate_limiter = Within(endpoint.budget)
    return model


def _stands(between: Between) -> bool:
    """Whether anything is to stand in between; a seat's name alone is nothing."""
    # A `None` is what callers pass for an option that was not given.
    return any(value is not None for name, value in between.items() if name != "seat")


def _direct(endpoint: ModelEndpoint) -> Address:
    url, key = endpoint.address
    return Address(url, endpoint.model, key, endpoint.api)


def _of_provider(endpoint: ModelEndpoint) -> BaseChatModel:
    # Where such a provider is asked is not known here, so the switch refuses them all.
    if os.environ.get(ALLOW_MODELS) == "0":
        raise HarnessFailure(f"{ALLOW_MODELS}=0 refuses {endpoint.label}: not loopback")
    try:
        # By the name that LangChain's models share; each has its own on the wire.
        bound = {} if endpoint.max_reply is None else {"max_tokens": endpoint.max_reply}
        return import_module("langchain.chat_models").init_chat_model(endpoint.label, **{**bound, **endpoint.params})
    except ImportError as error:
        raise ScenarioError(f"{endpoint.label}: a package is missing: {error}") from None
    # Providers' constructors raise what they like; the message is theirs.
    except Exception as error:
        raise ScenarioError(f"{endpoint.label}: {type(error).__name__}: {str(error)[:500]}") from None

"""Scripted OpenAI-compatible endpoints on the loopback, and gateways in front of policies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import uvicorn
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from tests.calling import blank_view
from tests.waiting import LONG

from tradefair.agents.rounds import opening
from tradefair.contract import ToolAnswer, ToolCall, Turns, TurnView
from tradefair.frameworks.models import ModelEndpoint, parse_model
from tradefair.frameworks.models.dialect import dialect_of
from tradefair.frameworks.models.gateway import ModelCall
from tradefair.frameworks.models.serving import Address, open_address

Json: TypeAlias = dict[str, Any]


@dataclass
class Upstream:
    """Answers what it was told to, in order, and keeps the requests."""

    answers: list[Response]
    url: str = ""
    requests: list[Json] = field(default_factory=list[Json])
    keys: list[str | None] = field(default_factory=list[str | None])
    retries: list[str | None] = field(default_factory=list[str | None])

    async def __call__(self, request: Request) -> Response:
        self.requests.append(await request.json())
        self.keys.append(request.headers.get("authorization"))
        self.retries.append(request.headers.get("x-stainless-retry-count"))
        return self.answers.pop(0) if self.answers else PlainTextResponse("no answer is left", 418)

    def endpoint(self, **options: Any) -> ModelEndpoint:
        """The endpoint as `--model openai:tiny --base-url …` gives it."""
        return parse_model("openai:tiny", base_url=self.url, options=options)


class Answers:
    """Answers of an endpoint, made to order."""

    @staticmethod
    def says(text: str | None = None, *calls: tuple[str, str], **message: Any) -> Response:
        """A reply: text, or calls as (name, arguments)."""
        tool_calls = [
            {"id": f"p{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(calls)
        ]
        body = {"role": "assistant", "content": text, **({"tool_calls": tool_calls} if calls else {}), **message}
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": body}
        head = {"id": "cmpl-1", "object": "chat.completion", "created": 1, "model": "tiny-1"}
        usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
        cached = {"prompt_tokens_details": {"cached_tokens": 3}}
        return JSONResponse({**head, "choices": [choice], "usage": usage | cached})

    @staticmethod
    def fails(status: int, message: str = "not now", **headers: str) -> Response:
        """An error; its retry is due at once."""
        return JSONResponse({"error": {"message": message}}, status, headers={"retry-after-ms": "1", **headers})


Serving: TypeAlias = Callable[..., AbstractAsyncContextManager[Upstream]]


@pytest.fixture
def answers() -> type[Answers]:
    return Answers


@pytest.fixture
def serving() -> Serving:
    """`async with serving(answer, …) as upstream`: a real endpoint over HTTP."""

    @asynccontextmanager
    async def serve(*scripted: Response) -> AsyncGenerator[Upstream]:
        upstream = Upstream(list(scripted))
        app = Starlette(routes=[Route("/v1/chat/completions", upstream.__call__, methods=["POST"])])
        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off")
        server, listening = uvicorn.Server(config), config.bind_socket()
        task = asyncio.create_task(server.serve(sockets=[listening]))
        # As in `tests.outside.endpoint`.
        dialect_of.cache_clear()
        upstream.url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        try:
            yield upstream
        finally:
            server.should_exit = True
            await asyncio.wait_for(task, LONG)

    return serve


class Diary:
    """A policy that looks with a growing number and keeps what it is told."""

    def __init__(self) -> None:
        self.answers: list[ToolAnswer] = []

    def turn(self, now: TurnView) -> Turns:
        for number in range(4):
            self.answers.append((yield ToolCall("look", {"number": number})))


@dataclass
class Desk:
    """A gateway's address, a real client of it, and what the gateway told of the calls."""

    address: Address
    client: AsyncOpenAI
    calls: list[ModelCall]
    close_gateway: Callable[[], Awaitable[None]]

    async def ask(self, messages: list[Json], **options: Any) -> Any:
        """One chat completion."""
        completions: Any = self.client.chat.completions
        return await completions.create(model=self.address.model, messages=messages, **options)

    @property
    def faults(self) -> list[str | None]:
        """The injected fault of each request."""
        return [call.fault for call in self.calls]


OpenDesk: TypeAlias = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def desk() -> OpenDesk:
    """`async with desk(endpoint, faults=…, record=…) as desk`: a gateway, and the openai package at its address."""

    @asynccontextmanager
    async def open_desk(endpoint: ModelEndpoint, *, max_retries: int = 4, **options: Any) -> AsyncGenerator[Desk]:
        calls: list[ModelCall] = []
        timeout_s = options.pop("timeout_s", LONG)
        async with AsyncExitStack() as stack:
            gateway = await stack.enter_async_context(AsyncExitStack())
            address = await gateway.enter_async_context(open_address(endpoint, on_call=calls.append, **options))
            client = await stack.enter_async_context(
                AsyncOpenAI(
                    base_url=address.base_url, api_key=address.api_key, timeout=timeout_s, max_retries=max_retries
                )
            )
            yield Desk(address, client, calls, gateway.aclose)

    return open_desk


@pytest.fixture
def opened() -> Json:
    """The message that opens a round."""
    return {"role": "user", "content": opening(blank_view())}


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def diary_endpoint(diary: Diary) -> ModelEndpoint:
    return parse_model("policy:diary").with_policy(diary)


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    """Where a recording goes."""
    return tmp_path / "calls.jsonl"

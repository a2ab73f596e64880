"""Standard input and output as a transport that answers what the SDK's own does not.

`server/discover` is answered here, whatever comes behind it: the SDK serves the era of the first request that reaches
it, and a client that has asked what there is may still begin the older one.

JSON can encode half a surrogate pair (`"\\ud800"`), and writers do so when a text was cut inside a character. The SDK's
reader drops such a line and answers nothing, so that the client waits until it gives up. Here the request goes on to
the server, which refuses the argument by name, as over HTTP. Lines that are no request are handled as before.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import anyio
import anyio.abc
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError

from tradefair.host.server.opening import DISCOVER, NOTHING, Heard, Opening
from tradefair.host.server.signals import on_signals

L = TypeVar("L")

_INTERRUPTED = 130


def leave_on_signals(close: Callable[[], Awaitable[None]]) -> None:
    """From now on the first signal runs `close` and ends the process with 0, a second one ends it at once with 130."""
    # Kept here, because asyncio holds only weak references to tasks: this one must not be collected while it closes.
    leaving: list[asyncio.Task[None]] = []

    async def leave() -> None:
        try:
            await close()
        finally:
            # `os._exit`, because leaving in order would join the thread that reads standard input.
            os._exit(0)

    def react() -> None:
        if leaving:
            os._exit(_INTERRUPTED)
        leaving.append(asyncio.create_task(leave()))

    on_signals(react)


def introduced(server: Server[L], extensions: Mapping[str, dict[str, Any]]) -> Server[L]:
    """The server, which tells of these extensions and answers `server/discover` as its opening does."""
    server.extensions.update(extensions)
    opening = _opening_of(server)

    async def discover(ctx: ServerRequestContext[L, Any], params: types.RequestParams) -> dict[str, Any]:
        return opening.discovery()

    server.add_request_handler(DISCOVER, types.RequestParams, discover)
    return server


def _opening_of(server: Server[Any]) -> Opening:
    return Opening(server.name, server.title, server.instructions, server.extensions, server.version)


async def run_on_pipes(server: Server[Any], heard: Heard = NOTHING) -> None:
    """Serve standard input and output of this process until the client closes the first.

    `heard` is what was read of it before, by `opening.hear`.
    """
    opening = _opening_of(server)
    async with stdio_server() as (reading, writing), anyio.create_task_group() as tasks:
        # No buffer: a line is taken from the SDK when the server has taken the one before.
        passing, passed = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def pass_on(item: SessionMessage | Exception) -> None:
            answer = _discovered(opening, item)
            await (passing.send(item) if answer is None else writing.send(answer))

        async def relay() -> None:
            async with passing:
                if heard.line:
                    await pass_on(_read(heard.line))
                async for item in reading:
                    await pass_on(_request_in(item) if isinstance(item, ValidationError) else item)

        tasks.start_soon(relay)
        async with passed:
            await server.run(passed, _Answers(writing, heard.answered), server.create_initialization_options())
        # The relay waits for the client's next line, which may never come.
        tasks.cancel_scope.cancel()


class _Answers(anyio.abc.ObjectSendStream[SessionMessage]):
    """The client's stream, without the SDK's answer to what was answered before the SDK was there."""

    def __init__(self, writing: Any, answered: str | int | None) -> None:
        self._writing = writing
        self._answered = answered

    async def send(self, item: SessionMessage) -> None:
        if self._answered is not None and getattr(item.message, "id", None) == self._answered:
            # Once: a client may give its number to another request.
            self._answered = None
            return
        await self._writing.send(item)

    async def aclose(self) -> None:
        await self._writing.aclose()


def _discovered(opening: Opening, item: SessionMessage | Exception) -> SessionMessage | None:
    """The answer to a `server/discover`; None: it is something else."""
    request = item.message if isinstance(item, SessionMessage) else None
    if not isinstance(request, JSONRPCRequest) or request.method != DISCOVER:
        return None
    said = {"jsonrpc": "2.0", "id": request.id, **(opening.answer(DISCOVER, request.params or {}) or {})}
    return SessionMessage(jsonrpc_message_adapter.validate_python(said))


def _read(line: bytes) -> SessionMessage | Exception:
    """A line as the SDK reads it."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False))
    except ValidationError as failure:
        return _request_in(failure)


def _request_in(failure: ValidationError) -> SessionMessage | Exception:
    """The request of a line that the SDK could not read, where Python's reader can; else the failure."""
    # The SDK's error carries the line that it could not read.
    line = failure.errors(include_url=False)[0]["input"]
    try:
        content: Any = json.loads(line) if isinstance(line, str) else None
        # Only requests: a notification without an answer may be dropped as before.
        return SessionMessage(JSONRPCRequest.model_validate(content))
    except (ValueError, RecursionError):
        return failure

"""Standard input and output as a transport in which a request with broken Unicode is answered like any other.

JSON can encode half a surrogate pair (`"\\ud800"`), and writers do so when a text was cut inside a character. The SDK's
reader drops such a line and answers nothing, so that the client waits until it gives up. Here the request goes on to
the server, which refuses the argument by name, as over HTTP. Lines that are no request are handled as before.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest
from pydantic import ValidationError

from tradefair.host.server.signals import on_signals

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


def typed_into() -> bool:
    """Whether a person's terminal stands where the client of a server should be."""
    return sys.stdin.isatty()


class Pipes(NamedTuple):
    """The two streams that a server runs on, of the SDK's own types."""

    reading: Any
    writing: Any


@asynccontextmanager
async def open_pipes() -> AsyncGenerator[Pipes]:
    """Standard input and output of this process, until the client closes the first."""
    async with stdio_server() as (reading, writing), anyio.create_task_group() as tasks:
        # No buffer: a line is taken from the SDK when the server has taken the one before.
        passing, passed = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def relay() -> None:
            async with passing:
                async for item in reading:
                    await passing.send(_request_in(item) if isinstance(item, ValidationError) else item)

        tasks.start_soon(relay)
        async with passed:
            yield Pipes(passed, writing)
        # The relay waits for the client's next line, which may never come.
        tasks.cancel_scope.cancel()


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

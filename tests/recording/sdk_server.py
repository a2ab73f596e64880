"""A server of the official SDK over HTTP, as a program: `python sdk_server.py json|sse|stateless`; prints its port."""

from __future__ import annotations

import socket
import sys
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage, ToolAnnotations
from pydantic import BaseModel


class Kept(EventStore):
    """Events of all streams, so that a stream that broke off can be taken up again."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        stream = self.events[int(last_event_id) - 1][0]
        for number, (of, message) in enumerate(self.events[int(last_event_id) :], int(last_event_id) + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


class Chosen(BaseModel):
    """What the server asks a person."""

    colour: str


server = MCPServer("sdk-server")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """The text again."""
    return text


@server.tool()
def large(size: int) -> str:
    """A text of that many characters."""
    return "x" * size


@server.tool()
def refuse() -> str:
    """Never works."""
    raise ValueError("no such order")


@server.tool()
async def report(ctx: Context[Any]) -> str:
    """Says how far it is."""
    await ctx.report_progress(1, 2)
    await ctx.info("half way")  # pyright: ignore[reportDeprecated]  # both eras are tried
    return "done"


@server.tool()
async def ask(ctx: Context[Any]) -> str:
    """Asks the person at the client."""
    answer = await ctx.elicit("which colour?", Chosen)
    return str(answer)


_GO = anyio.Event()


@server.tool()
async def slow() -> str:
    """Takes its time: until `go` is called."""
    await _GO.wait()
    return "late"


@server.tool()
async def go() -> str:
    """Lets `slow` answer."""
    _GO.set()
    return "gone"


if __name__ == "__main__":
    kind = sys.argv[1]
    app = server.streamable_http_app(
        json_response=kind == "json", stateless_http=kind == "stateless", event_store=Kept() if kind == "sse" else None
    )
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])

"""A seat of the conformance market at an address where the official suite can ask it.

Everything behind it is the product's: binding, doors, host and listener. In front stands what the suite needs: it sends
no token and calls things by its own names, so requests get the seat's token and the names that a seat uses.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from tests.interop.conformance.market import MARKET

from tradefair.catalog import load_scenario
from tradefair.host.doors.app import MCP_PATH, SeatApp
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.listening import Listener
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats

# A seat's resources mirror its reads, its one prompt is named after the market, and its waits report progress.
_NAMES = (
    (rb"test://static-text|test://watched-resource", b"market://view_turn"),
    (rb"test://template/(\w+)/data", rb"market://template_data?number=\1"),
    (rb"test_simple_prompt|test_prompt_with_arguments", b"play_conformance"),
    (rb'"test_tool_with_progress","arguments":\{\}', b'"await_turn","arguments":{"timeout_s":9}'),
)


class _InFront:
    """Gives each request the token of the seat, and the seat's names for things."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            kept = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
            scope = {**scope, "headers": [*kept, (b"authorization", f"Bearer {self._token}".encode())]}

        async def renamed() -> Message:
            message = await receive()
            # The suite's bodies are small and come in one piece.
            for pattern, name in _NAMES if message["type"] == "http.request" else ():
                message["body"] = re.sub(pattern, name, message.get("body", b""))
            return message

        await self._app(scope, renamed, send)


@asynccontextmanager
async def conformance_server(folder: Path) -> AsyncGenerator[tuple[str, Path]]:
    """The address of a seat that is not yet awaited again, and its trace; closed at the end."""
    scenario = load_scenario("teaching", "pie")
    plan = plan_seats(MARKET, scenario, agents=["P1", "P2"], others="half")
    episode = await new_episode(MARKET, scenario, 7, plan, folder)
    host = Host(folder)
    host.add(episode)
    token, _ = host.invite(episode.id, "P1")

    def make_app(names: Sequence[str]) -> Starlette:
        app = SeatApp(host, names).starlette
        app.add_middleware(_InFront, token=token)
        return app

    # So that P1 waits for P2, who never comes.
    await episode.call("P1", "claim", {"slices": 5})
    listener = Listener(make_app)
    ready = asyncio.Event()
    serving = asyncio.create_task(listener.serve(ready.set))
    try:
        await ready.wait()
        yield listener.url + MCP_PATH, episode.path
    finally:
        listener.stop()
        await serving
        await host.close()

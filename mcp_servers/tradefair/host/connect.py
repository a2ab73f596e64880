"""A stdio server in front of a hosted seat, for clients that cannot open a remote URL with a token."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import httpx2
from mcp import Client, MCPError, types
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from tradefair.cli.terminal import say
from tradefair.contract import HarnessFailure, SeatError
from tradefair.host.pipes import leave_on_signals, open_pipes, typed_into

if TYPE_CHECKING:
    from mcp.types import RequestParamsMeta

_TIMEOUT = httpx2.Timeout(30, read=300)  # seconds; a call may wait long for its turn
# Nothing else is passed on: progress tokens and client data belong to this connection.
_FORWARDED_META = ("tradefair/", "traceparent", "tracestate")

_log = logging.getLogger("tradefair.host")


async def run_connect(url: str, token: str) -> None:
    """Forward standard input and output to the seat at `url` until the client goes.

    Raises SeatError when the token is refused, HarnessFailure when the host cannot be reached.
    """
    leave_on_signals(_nothing_to_close)
    if typed_into():
        say(f"this speaks MCP on standard input; put it into a client: tradefair config --url {url}")
    async with open_remote(url, token) as remote, open_pipes() as pipes:
        server = forwarding_server(remote)
        await server.run(pipes.reading, pipes.writing, server.create_initialization_options())


async def _nothing_to_close() -> None:
    pass  # the host keeps the episode, and a session ends with its connection


@asynccontextmanager
async def open_remote(url: str, token: str) -> AsyncGenerator[Client]:
    """An open client of a hosted seat. Raises SeatError (token refused), HarnessFailure (no host there)."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT) as http:
        await _check(http, url)
        # No cache: turns change what the remote server says.
        async with Client(streamable_http_client(url, http_client=http), cache=None) as remote:
            yield remote


async def _check(http: httpx2.AsyncClient, url: str) -> None:
    """Ask once without the SDK, which would report a refused token as a failed handshake.

    Raises SeatError for 401 and 404, HarnessFailure where nothing answers; every other status is the SDK's to judge.
    """
    try:
        answer = await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise HarnessFailure(f"{url} cannot be reached: {error or type(error).__name__}") from None
    # 401 and 404 here mean the token and the seat, so the message can say what to do.
    if answer.status_code == 401:
        raise SeatError(f"{url} refuses the token: it is unknown, revoked, or its episode is over")
    if answer.status_code == 404:
        raise SeatError(f"{url} hosts no such seat: check the path (/mcp), or the episode is gone")


def forwarding_server(remote: Client) -> Server[Any]:
    """An MCP server that passes each request on to the remote one. Change notifications are not forwarded.

    Name, version, title and instructions are those of the remote server.
    """
    info = remote.server_info
    relay = _Relay(remote)
    # Name, version and instructions are the remote's: to its client the relay is the market.
    return Server[Any](
        info.name if info else "tradefair",
        version=info.version if info else "",
        title=info.title if info else None,
        instructions=remote.instructions,
        on_list_tools=relay.list_tools,
        on_call_tool=relay.call_tool,
        on_list_resources=relay.list_resources,
        on_list_resource_templates=relay.list_templates,
        on_read_resource=relay.read_resource,
        on_list_prompts=relay.list_prompts,
        on_get_prompt=relay.get_prompt,
        on_completion=relay.complete,
    )


class _Relay:
    """Request handlers that ask the remote server; its refusals (MCPError) pass through as they are."""

    def __init__(self, remote: Client) -> None:
        self._remote = remote

    async def list_tools(self, ctx: _Context, params: _Page) -> types.ListToolsResult:
        return await self._remote.list_tools(cursor=_cursor(params))

    async def call_tool(self, ctx: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return await self._remote.call_tool(params.name, params.arguments, meta=_meta(ctx))
        except (httpx2.HTTPError, RuntimeError) as error:
            _log.warning("%s: %s", params.name[:100], type(error).__name__)
            raise MCPError(types.INTERNAL_ERROR, "the host cannot be reached") from None

    async def list_resources(self, ctx: _Context, params: _Page) -> types.ListResourcesResult:
        return await self._remote.list_resources(cursor=_cursor(params))

    async def list_templates(self, ctx: _Context, params: _Page) -> types.ListResourceTemplatesResult:
        return await self._remote.list_resource_templates(cursor=_cursor(params))

    async def read_resource(self, ctx: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await self._remote.read_resource(params.uri, meta=_meta(ctx))

    async def list_prompts(self, ctx: _Context, params: _Page) -> types.ListPromptsResult:
        return await self._remote.list_prompts(cursor=_cursor(params))

    async def get_prompt(self, ctx: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await self._remote.get_prompt(params.name, params.arguments, meta=_meta(ctx))

    async def complete(self, ctx: _Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        argument = {"name": params.argument.name, "value": params.argument.value}
        return await self._remote.complete(params.ref, argument)


_Context = ServerRequestContext[Any, Any]
_Page = types.PaginatedRequestParams | None


def _cursor(params: _Page) -> str | None:
    return None if params is None else params.cursor


def _meta(ctx: _Context) -> RequestParamsMeta | None:
    """What of a request's `_meta` is passed on: call keys and trace context, nothing of this connection."""
    kept = {name: value for name, value in (ctx.meta or {}).items() if name.startswith(_FORWARDED_META)}
    return cast("RequestParamsMeta", kept) if kept else None

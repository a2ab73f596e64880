"""A stdio server in front of a hosted seat, for clients that cannot open a remote URL with a token."""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import anyio
import anyio.abc
import httpx2
from mcp import Client, MCPError, types
from mcp.client.extension import advertise
from mcp.client.streamable_http import streamable_http_client
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID, client_supports_apps
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tradefair.cli.terminal import say
from tradefair.contract import HarnessFailure, SeatError
from tradefair.host.server.feed import Feed
from tradefair.host.server.pipes import introduced, leave_on_signals, run_on_pipes

if TYPE_CHECKING:
    from mcp.types import RequestParamsMeta

_TIMEOUT = httpx2.Timeout(30, read=300)  # seconds; a call may wait long for its turn
# Nothing else is passed on: progress tokens and client data belong to this connection.
_FORWARDED_META = ("tradefair/", "traceparent", "tracestate")
_AGAIN_S = 2.0  # until a stream of announcements that broke off is opened again

_log = logging.getLogger("tradefair.host")


async def run_connect(url: str, token: str) -> None:
    """Forward standard input and output to the seat at `url` until the client goes.

    Raises SeatError when the token is refused, HarnessFailure when the host cannot be reached.
    """
    leave_on_signals(_nothing_to_close)
    if sys.stdin.isatty():
        say(f"this speaks MCP on standard input; put it into a client: tradefair config --url {url}")
    async with open_remote(url, token) as remote:
        await run_on_pipes(forwarding_server(remote))


async def _nothing_to_close() -> None:
    pass  # the host keeps the episode, and a session ends with its connection


class Remote(NamedTuple):
    """A hosted seat: two open clients of it, and what it announces.

    `drawing` has declared MCP Apps, which a client does once and for all.
    """

    plain: Client
    drawing: Client
    news: News


@asynccontextmanager
async def open_remote(url: str, token: str) -> AsyncGenerator[Remote]:
    """Connect to a hosted seat. Raises SeatError (token refused), HarnessFailure (no host there)."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=_TIMEOUT) as http:
        await _check(http, url)
        apps = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
        news = News(partial(_answers, http, url))
        # No cache: turns change what the remote server says.
        async with (
            Client(streamable_http_client(url, http_client=http), cache=None, message_handler=news.hear) as remote,
            Client(streamable_http_client(url, http_client=http), cache=None, extensions=[apps]) as drawing,
        ):
            yield Remote(remote, drawing, news)


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


async def _answers(http: httpx2.AsyncClient, url: str) -> bool:
    """Whether the host is there and knows the seat."""
    try:
        await _check(http, url)
    except (SeatError, HarnessFailure):
        return False
    return True


class News:
    """What the remote seat announces: followed there as soon as a client here follows it, and told in its own era."""

    def __init__(self, answers: Callable[[], Awaitable[bool]]) -> None:
        self.feed = Feed(())
        self._answers = answers
        self._uris: frozenset[str] = frozenset()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._stream: anyio.CancelScope | None = None
        self._asking = anyio.Lock()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[News]:
        """Tell followers while the server here runs; its lifespan."""
        self._uris, self._stream = frozenset(), None
        async with anyio.create_task_group() as self._tasks:
            self._tasks.start_soon(self.feed.run)
            yield self
            self.feed.listen.close()
            self._tasks.cancel_scope.cancel()

    async def hear(self, message: object) -> None:
        """Pass an announcement on. Whatever the era, the SDK hands all of them to one handler."""
        # Only what was asked for: a host could announce without end.
        if isinstance(message, types.ResourceUpdatedNotification) and str(message.params.uri) in self._uris:
            self.feed.announce([str(message.params.uri)])

    async def follow(self, remote: Client, uris: Iterable[str]) -> None:
        """Follow these resources of the remote seat, too. Raises MCPError for one that it does not offer."""
        assert self._tasks is not None
        async with self._asking:
            wanted = self._uris | frozenset(uris)
            if wanted == self._uris:
                return
            if remote.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
                for uri in sorted(wanted - self._uris):
                    await remote.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]
            else:
                # One stream for all, so the new one takes over from the old one.
                stream: anyio.CancelScope = await self._tasks.start(self._listen, remote, sorted(wanted))
                if self._stream is not None:
                    self._stream.cancel()
                self._stream = stream
            self._uris = wanted

    async def _listen(
        self, remote: Client, uris: list[str], *, task_status: anyio.abc.TaskStatus[anyio.CancelScope]
    ) -> None:
        """Keep a stream of the remote seat open; `hear` is told of what it brings."""
        heard = False
        with anyio.CancelScope() as scope:
            while True:
                try:
                    async with remote.listen(resource_subscriptions=uris) as stream:
                        if heard:
                            # Streams are not resumed: whatever has changed meanwhile, clients look again.
                            self.feed.announce(uris)
                        else:
                            task_status.started(scope)
                        heard = True
                        async for _ in stream:
                            pass
                except Exception as error:
                    if not heard:
                        raise
                    # Whatever the SDK raises: the client can still ask, and the host may come back.
                    _log.info("the host announces nothing now: %s", type(error).__name__)
                await anyio.sleep(_AGAIN_S)
                # Asked without the SDK, whose client does not outlive a request to a host that is down.
                while not await self._answers():  # noqa: ASYNC110  # nothing here hears of a host that comes back
                    await anyio.sleep(_AGAIN_S)


def forwarding_server(remote: Remote) -> Server[News]:
    """An MCP server that passes each request on to the remote one, and its announcements, progress and cancellations.

    What a client with MCP Apps asks goes through the client that has declared the same, so that it sees the board too.
    Name, version, title and instructions are those of the remote server.
    """
    info = remote.plain.server_info
    relay = _Relay(remote)
    # Name, version and instructions are the remote's: to its client the relay is the market.
    server = Server[News](
        info.name if info else "tradefair",
        version=info.version if info else "",
        title=info.title if info else None,
        instructions=remote.plain.instructions,
        lifespan=lambda _: remote.news.running(),
        on_list_tools=relay.list_tools,
        on_call_tool=relay.call_tool,
        on_list_resources=relay.list_resources,
        on_list_resource_templates=relay.list_templates,
        on_read_resource=relay.read_resource,
        on_subscribe_resource=relay.subscribe,
        on_unsubscribe_resource=relay.unsubscribe,
        on_subscriptions_listen=relay.listen,
        on_list_prompts=relay.list_prompts,
        on_get_prompt=relay.get_prompt,
        on_completion=relay.complete,
    )
    return introduced(server, remote.drawing.server_capabilities.extensions or {})


class _Relay:
    """Request handlers that ask the remote server; its refusals (MCPError) pass through as they are."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote.plain
        self._drawing = remote.drawing

    def _for(self, ctx: _Context) -> Client:
        """The remote client that has declared what this client did."""
        return self._drawing if client_supports_apps(ctx) else self._remote

    async def list_tools(self, ctx: _Context, params: _Page) -> types.ListToolsResult:
        return await self._for(ctx).list_tools(cursor=_cursor(params))

    async def call_tool(self, ctx: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            # Whoever cancels the call here cancels it there: the SDK ends its request when this one is cancelled.
            return await self._for(ctx).call_tool(
                params.name, params.arguments, progress_callback=ctx.session.report_progress, meta=_meta(ctx)
            )
        except (httpx2.HTTPError, RuntimeError) as error:
            _log.warning("%s: %s", params.name[:100], type(error).__name__)
            raise MCPError(types.INTERNAL_ERROR, "the host cannot be reached") from None

    async def list_resources(self, ctx: _Context, params: _Page) -> types.ListResourcesResult:
        return await self._for(ctx).list_resources(cursor=_cursor(params))

    async def list_templates(self, ctx: _Context, params: _Page) -> types.ListResourceTemplatesResult:
        return await self._remote.list_resource_templates(cursor=_cursor(params))

    async def read_resource(self, ctx: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await self._for(ctx).read_resource(params.uri, meta=_meta(ctx))

    async def subscribe(self, ctx: _Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        await ctx.lifespan_context.follow(self._remote, [params.uri])
        ctx.lifespan_context.feed.follow(ctx, params.uri)
        return types.EmptyResult()

    async def unsubscribe(self, ctx: _Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        ctx.lifespan_context.feed.unfollow(ctx, params.uri)
        return types.EmptyResult()

    async def listen(
        self, ctx: _Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        await ctx.lifespan_context.follow(self._remote, params.notifications.resource_subscriptions or ())
        return await ctx.lifespan_context.feed.listen(ctx, params)

    async def list_prompts(self, ctx: _Context, params: _Page) -> types.ListPromptsResult:
        return await self._remote.list_prompts(cursor=_cursor(params))

    async def get_prompt(self, ctx: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await self._remote.get_prompt(params.name, params.arguments, meta=_meta(ctx))

    async def complete(self, ctx: _Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        argument = {"name": params.argument.name, "value": params.argument.value}
        return await self._remote.complete(params.ref, argument)


_Context: TypeAlias = ServerRequestContext[News, Any]
_Page: TypeAlias = types.PaginatedRequestParams | None


def _cursor(params: _Page) -> str | None:
    return None if params is None else params.cursor


def _meta(ctx: _Context) -> RequestParamsMeta | None:
    """What of a request's `_meta` is passed on: call keys and trace context, nothing of this connection."""
    kept = {name: value for name, value in (ctx.meta or {}).items() if name.startswith(_FORWARDED_META)}
    return cast("RequestParamsMeta", kept) if kept else None

"""One seat of one episode as an MCP server, made from the market's tool table.

`build_server` returns the SDK's low-level server: the same object serves stdio, streamable HTTP and
`mcp.Client(server)` in process, in both protocol eras. A server belongs to one seat from the start, so no request can
name another seat. `MCPServer`, which wraps this class, would validate arguments itself; here bad calls reach the
episode, and so the trace (docs/explanation/why/host.md).
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from mcp import MCPError, types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from tradefair.contract import Scenario, SeatId, Tool
from tradefair.contract.errors import INTERNAL_ERROR
from tradefair.contract.kernel.kernel_tools import AWAIT_TURN
from tradefair.contract.kernel.players import PERSON
from tradefair.contract.text import clean
from tradefair.host.episode.log import Side
from tradefair.host.episode.waiting import Patience
from tradefair.host.server import board, briefing, mirror, observing, telemetry, wire
from tradefair.host.server.feed import Feed, open_feed
from tradefair.host.server.opening import Opening, seat_opening
from tradefair.host.server.pipes import introduced
from tradefair.host.server.quotas import Gate, Refusal
from tradefair.host.server.seat_auth import OBSERVER
from tradefair.host.server.wire import PLAIN, Manner

if TYPE_CHECKING:
    from tradefair.host.episode.looking import CallResult
    from tradefair.host.episode.unbegun import Playable

Context: TypeAlias = ServerRequestContext[Feed, Any]
P = ParamSpec("P")
R = TypeVar("R")

_MAX_SIDE_CHARS = 100  # of each text that a client says about itself
_FAULTS = ("internal_error", "storage_unavailable")
# What a seat is offered does not change within an episode. Private: another seat's client must not reuse the list.
_LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
_LISTS_FRESH_FOR = CacheHint(ttl_ms=600_000, scope="private")

_log = logging.getLogger("tradefair.host")


def build_server(
    episode: Playable, seat: SeatId, *, transport: str = "memory", gate: Gate | None = None, manner: Manner = PLAIN
) -> Server[Feed]:
    """The MCP server of a seat. Raises SeatError for an unknown seat.

    `transport` (memory, stdio, http) is stored next to each event. What the `gate` refuses does not reach the episode.
    """
    core = episode.core
    desk = _Desk(episode, seat, core.tools(seat), transport, gate, manner)
    return _server(episode, seat, desk, seat_opening(core.market_type, core.scenario, seat))


def build_observer_server(
    episode: Playable, *, transport: str = "memory", gate: Gate | None = None, manner: Manner = PLAIN
) -> Server[Feed]:
    """The MCP server of an observer, who has no seat.

    The market's public reads as tools and resources, and no prompt.
    """
    core = episode.core
    tools = observing.public_reads(core.market_type, core.scenario)
    desk = _ObserverDesk(episode, OBSERVER, tools, transport, gate, manner)
    return _server(episode, OBSERVER, desk, observing.observer_opening(core.market_type))


def _server(episode: Playable, seat: SeatId, desk: _Desk, opening: Opening) -> Server[Feed]:
    server = Server[Feed](
        opening.name,
        version=opening.version,
        title=opening.title,
        instructions=opening.instructions,
        cache_hints=dict.fromkeys(_LISTS, _LISTS_FRESH_FOR),
        lifespan=lambda _: open_feed(episode, seat, desk.changing),
        get_tool_input_schema=desk.input_schema,
        on_list_tools=desk.list_tools,
        on_list_resources=desk.list_resources,
        on_list_resource_templates=desk.list_templates,
        on_read_resource=desk.read_resource,
        on_subscribe_resource=desk.subscribe,
        on_unsubscribe_resource=desk.unsubscribe,
        on_subscriptions_listen=desk.listen,
        on_list_prompts=desk.list_prompts,
        on_get_prompt=desk.get_prompt,
        on_completion=desk.complete,
    )
    # Registered here instead of above: such a handler may return the wire form, without a pydantic model of each
    # result.
    server.add_request_handler("tools/call", types.CallToolRequestParams, desk.call_tool)
    return introduced(server, opening.extensions)


def _guarded(handler: Callable[Concatenate[_Desk, P], Awaitable[R]]) -> Callable[Concatenate[_Desk, P], Awaitable[R]]:
    """Log an unexpected exception and send the client a plain internal error: its text may hold what is private.

    An MCPError passes through: its text was written for the client.
    """

    @functools.wraps(handler)
    async def guard(desk: _Desk, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await handler(desk, *args, **kwargs)
        except MCPError:
            raise
        except Exception:
            _log.exception("%s failed", handler.__name__)
            raise MCPError(types.INTERNAL_ERROR, INTERNAL_ERROR.message) from None

    return guard


class _Desk:
    """The request handlers of one seat.

    Protocol errors are for what the protocol does not know (another page, a foreign URI). What the market refuses in
    `call_tool` is a result.
    """

    def __init__(
        self,
        episode: Playable,
        seat: SeatId,
        tools: Mapping[str, Tool],
        transport: str,
        gate: Gate | None,
        manner: Manner,
    ) -> None:
        self._episode = episode
        self._seat = seat
        self._tools = tools
        self._transport = transport
        self._gate = gate or Gate()
        self._mild = manner.refusals == "result"
        self._patience = Patience()
        # Built once per server: what a seat is offered does not change within an episode.
        # A client that holds results against their schema would find no refusal in it.
        listed = partial(_listed_tool, scenario=episode.core.scenario, slim=manner.slim or self._mild)
        self._listed = [listed(tool) for tool in self._tools.values()]
        mains = frozenset(tool.name for tool in self._tools.values() if tool.main)
        self._shown = board.shown(self._listed, map(listed, board.app_tools()), mains)
        # Whether this seat, its programs and notes can come across other seats' words.
        self._reads_words = any(tool.read_only and tool.untrusted_paths for tool in self._tools.values())
        self._mirrored = mirror.mirrored(self._tools)
        # Only what is listed may be followed.
        self._offered = frozenset(uri for tool in self._mirrored.values() if (uri := mirror.plain_uri(tool)))
        self.changing = mirror.changing(self._mirrored)

    # --- tools ------------------------------------------------------------------------------------------------------

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """A tool's input schema, for the SDK's check of HTTP headers.

        None for a tool that this seat is not offered.
        """
        tool = self._tools.get(name)
        return None if tool is None else tool.input_schema

    @_guarded
    async def list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """The seat's tools, on one page."""
        _only_page(params)
        return types.ListToolsResult(tools=self._shown if self._draws(ctx) else self._listed)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        """One call through the episode; every refusal, of unknown tools too, is a result."""
        answer = await self._answer(ctx, params)
        return {**answer, "isError": False} if self._mild else answer

    async def _answer(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        # No `_guarded` here: a call's failure is a result with the four fields, not a protocol error.
        given: object = (ctx.meta or {}).get(wire.CALL_KEY_META)
        # A key that is no text becomes an empty one, which the episode refuses and records.
        key = given if isinstance(given, str) or given is None else ""
        try:
            if board.app_tool(params.name) is not None and self._draws(ctx):
                return await self._on_board(ctx, params.name, params.arguments or {}, key)
            result = await self._passed(ctx, params.name, params.arguments or {}, key)
            return self._on_the_wire(result)
        except Exception:
            _log.exception("a call of %s failed", params.name[:_MAX_SIDE_CHARS])
            return wire.error_result(INTERNAL_ERROR)

    def _draws(self, ctx: Context) -> bool:
        """Whether this client is told of the board: a seat's client that has declared MCP Apps."""
        return board.client_supports_apps(ctx)

    async def _on_board(self, ctx: Context, name: str, arguments: object, key: str | None) -> dict[str, Any]:
        """A call of the page: the state of its seat, or what somebody has clicked."""
        call = board.clicked(arguments) if name == board.board_call.name else None
        if isinstance(call, board.Clicked):
            passed = self._passed(ctx, call.tool, call.arguments, call.key or key, by=PERSON)
            return self._on_the_wire(await passed)
        # A page asks once a second: like waiting, this costs nothing of a budget, and it is no event.
        refusal = self._gate.enter(AWAIT_TURN)
        if refusal is not None:
            return self._on_the_wire(refusal)
        try:
            if call is not None:
                return wire.error_result(call)
            state = board.board_state.function(await self._episode.settled(), self._seat)
            return wire.app_result(state, self._episode.core.turn_mark(self._seat))
        finally:
            self._gate.leave()

    async def _passed(
        self, ctx: Context, tool: str, arguments: object, key: str | None = None, *, by: str | None = None
    ) -> CallResult | Refusal:
        """The result of a call, or why the gate did not let it in."""
        # The gate depends on the wall clock, so what it refuses must not reach the trace
        # (docs/explanation/why/host.md).
        refusal = self._gate.enter(tool)
        if refusal is not None:
            return refusal
        try:
            return await self._call(ctx, tool, arguments, key, by)
        finally:
            self._gate.leave()

    async def _call(
        self, ctx: Context, tool: str, arguments: object, key: str | None = None, by: str | None = None
    ) -> CallResult:
        side = _side(ctx, self._transport, by)
        self._patience.begin(ctx.session)
        try:
            result = await self._episode.call(self._seat, tool, arguments, call_key=key, side=side)
        finally:
            self._patience.end(ctx.session)
        # After the answer is there: the span says what became of the call.
        telemetry.enrich(self._episode, self._seat, self._transport, result)
        return result

    # --- resources --------------------------------------------------------------------------------------------------

    @_guarded
    async def list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the reads that need no arguments."""
        _only_page(params)
        resources = [
            types.Resource(
                uri=uri, name=mirror.name_of(uri), title=tool.title, description=tool.description, mime_type=_JSON
            )
            for tool in self._mirrored.values()
            if (uri := mirror.plain_uri(tool))
        ]
        return types.ListResourcesResult(resources=[*resources, board.resource()] if self._draws(ctx) else resources)

    @_guarded
    async def list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the reads that take arguments."""
        _only_page(params)
        templates = [
            types.ResourceTemplate(
                uri_template=uri,
                name=mirror.name_of(uri),
                title=tool.title,
                description=tool.description,
                mime_type=_JSON,
            )
            for tool in self._mirrored.values()
            if (uri := mirror.template_uri(tool))
        ]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    @_guarded
    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Make the call that the URI stands for. A refusal is a protocol error with the four fields as its data."""
        if params.uri == board.BOARD_URI and self._draws(ctx):
            return board.contents()
        reading = mirror.parse_uri(params.uri, self._mirrored)
        if reading is None:
            raise _not_offered(params.uri)
        result = await self._passed(ctx, reading.tool.name, reading.arguments)
        # As the tool would answer it: the clock, where other seats' words are, and the fence around them.
        answer = self._on_the_wire(result)
        # The protocol has no refusal for resources, so it becomes an error that carries the four fields.
        if isinstance(result, Refusal) or result.error is not None or result.body is None:
            error = result.error or INTERNAL_ERROR
            code = types.INTERNAL_ERROR if error.code in _FAULTS else types.INVALID_PARAMS
            raise MCPError(code, error.message, answer["structuredContent"])
        text = answer["content"][0]["text"]
        # What is fenced is no JSON: whoever parses the text by its type must not be told otherwise.
        mime_type = "text/plain" if answer["_meta"].get(wire.UNTRUSTED_META) else _JSON
        contents = types.TextResourceContents(uri=params.uri, mime_type=mime_type, text=text)
        return types.ReadResourceResult(contents=[contents], _meta=answer["_meta"])

    def _on_the_wire(self, result: CallResult | Refusal) -> dict[str, Any]:
        if isinstance(result, Refusal):
            wait = result.retry_after_s
            return wire.error_result(result.error, None if wait is None else {wire.RETRY_META: wait})
        fence = wire.fence_key(self._episode.core.manifest.seed)
        return wire.tool_result(result, fence, reads_words=self._reads_words)

    def _check_offered(self, uri: str) -> None:
        if uri not in self._offered:
            raise _not_offered(uri)

    @_guarded
    async def subscribe(self, ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Follow a resource (handshake era)."""
        self._check_offered(params.uri)
        ctx.lifespan_context.follow(ctx, params.uri)
        return types.EmptyResult()

    @_guarded
    async def unsubscribe(self, ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Stop following a resource (handshake era)."""
        self._check_offered(params.uri)
        ctx.lifespan_context.unfollow(ctx, params.uri)
        return types.EmptyResult()

    @_guarded
    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Open a stream of change events (stateless era) for resources that this seat is offered."""
        # `subscriptions/listen` honours any URI in the SDK; a seat may follow only its own.
        for uri in params.notifications.resource_subscriptions or ():
            self._check_offered(uri)
        return await ctx.lifespan_context.listen(ctx, params)

    # --- prompts and completions ------------------------------------------------------------------------------------

    @_guarded
    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """The one prompt."""
        _only_page(params)
        core = self._episode.core
        detail = types.PromptArgument(
            name="detail", description="brief, or full with every tool in a line (default brief)", required=False
        )
        prompt = types.Prompt(
            name=briefing.prompt_name(core),
            title=f"Play {core.market_type.name}",
            description=f"Take seat {self._seat}: {core.market_type.title}",
            arguments=[detail],
        )
        return types.ListPromptsResult(prompts=[prompt])

    @_guarded
    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """The prompt's text."""
        core = self._episode.core
        given = params.arguments or {}
        # Checked by us: the SDK passes every name and argument on.
        if params.name != briefing.prompt_name(core):
            raise MCPError(types.INVALID_PARAMS, f"the only prompt is {briefing.prompt_name(core)}")
        if set(given) - {"detail"}:
            raise MCPError(types.INVALID_PARAMS, "the only argument is detail")
        detail = given.get("detail", briefing.DETAILS[0])
        if detail not in briefing.DETAILS:
            raise MCPError(types.INVALID_PARAMS, f"detail is one of {', '.join(briefing.DETAILS)}")
        text = briefing.prompt_text(core, self._seat, self._tools, detail)
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=f"Seat {self._seat}", messages=[message])

    @_guarded
    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Complete an argument of the prompt or of a resource template."""
        # The protocol allows at most 100 values in one answer.
        values = self._suggestions(params.ref, params.argument)[:100]
        return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))

    def _suggestions(
        self, ref: types.ResourceTemplateReference | types.PromptReference, argument: types.CompletionArgument
    ) -> list[str]:
        if isinstance(ref, types.PromptReference):
            if ref.name != briefing.prompt_name(self._episode.core):
                raise MCPError(types.INVALID_PARAMS, "there is no such prompt")
            words = briefing.DETAILS if argument.name == "detail" else ()
            return [word for word in words if word.startswith(argument.value)]
        for tool in self._mirrored.values():
            # Both forms: clients complete a template's arguments and those of the plain resource alike.
            if ref.uri in (mirror.template_uri(tool), mirror.plain_uri(tool)):
                listed = tool.listed_schema(self._episode.core.scenario)
                schema = listed.get("properties", {}).get(argument.name, {})
                return mirror.suggestions(schema, argument.value)
        raise _not_offered(ref.uri)


class _ObserverDesk(_Desk):
    """The request handlers of an observer: public reads of what is committed, and nothing that belongs to a seat."""

    def _draws(self, ctx: Context) -> bool:
        return False

    async def _call(
        self, ctx: Context, tool: str, arguments: object, key: str | None = None, by: str | None = None
    ) -> CallResult:
        return observing.observe(await self._episode.settled(), tool, arguments)

    async def list_prompts(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        """None: there is nothing to play."""
        _only_page(params)
        return types.ListPromptsResult(prompts=[])

    async def get_prompt(self, ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """None."""
        raise MCPError(types.INVALID_PARAMS, "an observer is offered no prompt")


_JSON = "application/json"


def _listed_tool(tool: Tool, *, scenario: Scenario, slim: bool) -> types.Tool:
    annotations = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=tool.read_only,
        destructive_hint=tool.destructive,
        # A read may be repeated at will, whatever its declaration says.
        idempotent_hint=tool.idempotent or tool.read_only,
        # Nothing in a market is the open world: there is no network or file behind a tool.
        open_world_hint=False,
    )
    meta: dict[str, Any] = {"tradefair/kind": tool.kind, "tradefair/ends-turn": tool.ends_turn}
    if tool.evidence:
        meta["tradefair/evidence"] = list(tool.evidence)
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.listed_schema(scenario),
        # A third of a list, and few clients show it to their model.
        output_schema=None if slim else tool.output_schema,
        annotations=annotations,
        _meta=meta,
    )


def _only_page(params: types.PaginatedRequestParams | None) -> None:
    # A cursor that we never gave out is a client's mistake, and an empty page would hide it.
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "there is one page: send no cursor")


def _not_offered(uri: str) -> MCPError:
    # Cut, because the URI is the client's text and goes into an error.
    return MCPError(types.INVALID_PARAMS, "this seat is offered no such resource", {"uri": uri[:200]})


def _side(ctx: Context, transport: str, by: str | None) -> Side:
    """Where a call came from; stored next to its event, outside the chain."""
    # In process there may be no handshake, and so no client's name.
    params = ctx.session.client_params
    client = None if params is None else f"{params.client_info.name} {params.client_info.version}"
    request = None if ctx.request_id is None else str(ctx.request_id)
    return Side(transport, _noted(client), _noted(request), _noted((ctx.meta or {}).get("traceparent")), by)


def _noted(text: object) -> str | None:
    """A client's text as the log stores it, without anything that a terminal would obey."""
    return clean(text)[:_MAX_SIDE_CHARS] if isinstance(text, str) else None

"""The board: a page that clients with MCP Apps draw of a seat, and the two tools that only this page calls.

A client that has not declared `io.modelcontextprotocol/ui` is told of none of it. What somebody clicks is a call like
any other, under the same rules and limits, with `by: "person"` next to its event: two minds in one seat stay visible.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, NamedTuple

from mcp import types
from mcp.server.apps import APP_MIME_TYPE
from mcp.server.apps import client_supports_apps as client_supports_apps
from pydantic import Field, ValidationError

from tradefair.contract import ErrorInfo, HarnessFailure, SeatId, Tool, TurnView
from tradefair.contract.arguments import explain
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.kernel_tools import AWAIT_TURN, EXECUTE_CODE, view_turn
from tradefair.contract.tool import Result, tool

BOARD_URI = "ui://tradefair/board"


class BoardState(Result):
    """What the page needs to draw itself; nothing that `view_turn` and the list of tools would not say.

    `revision` grows whenever a new look may show something new. `open`: an action of the seat may be accepted now, for
    under the free clock no seat is awaited. `actions` and `reads` name the seat's tools, the main
    read first; `history` is the number of rounds that have closed.
    """

    market: str
    scenario: str
    seat: SeatId
    title: str
    revision: int
    open: bool
    over: bool
    turn: TurnView
    actions: list[dict[str, Any]]
    reads: list[dict[str, Any]]
    history: int


@tool("read", title="State of the board", subject="kernel")
def board_state(core: Core, seat: SeatId) -> BoardState:
    """Where the clock stands for this seat and what it may call; for the board, which draws it."""
    clock, over, free = core.market.clock, core.ended is not None, core.scenario.clock == "free"
    turn = core.turn_view(seat)
    tools = [item for item in core.tools(seat).values() if item.name not in (view_turn.name, AWAIT_TURN, EXECUTE_CODE)]
    # Under the free clock things reach a seat while no phase closes; elsewhere they must not be counted before it does.
    news = core.market.news_mark(seat) if free else 0
    return BoardState.model_construct(
        market=core.market_type.name,
        scenario=core.scenario.id,
        seat=seat,
        title=core.market_type.title,
        revision=clock.revision + news + over,
        open=bool(turn.actions),
        over=over,
        turn=turn,
        actions=[_action(item, core) for item in tools if item.kind == "action"],
        reads=[_look(item, core) for item in sorted(tools, key=lambda item: not item.main) if item.read_only],
        history=max(clock.round - (not over), 0),
    )


@tool("action", title="Call a tool from the board", subject="kernel")
def board_call(
    core: Core,
    seat: SeatId,
    *,
    tool: Annotated[str, Field(min_length=1, max_length=100, description="a tool of this seat")],
    arguments: Annotated[dict[str, Any], Field(description="its arguments")],
    key: Annotated[str | None, Field(max_length=128, description="a call key; a repeat gets the first answer")] = None,
) -> Result:
    """Call one of this seat's tools for the person at the board; answers what that tool answers."""
    raise HarnessFailure("the host makes this call (binding.py)")


_TOOLS = {item.name: item for item in (board_state, board_call)}


def app_tool(name: str) -> Tool | None:
    """The app-only tool of this name; None: there is none."""
    return _TOOLS.get(name)


class Clicked(NamedTuple):
    """A call that somebody made on the board; an empty key stands for none."""

    tool: str
    arguments: dict[str, Any]
    key: str | None


def clicked(arguments: object) -> Clicked | ErrorInfo:
    """What `board_call` was given, or why it is refused; `arguments` may be anything."""
    try:
        given = board_call.parameters.model_validate(arguments).__dict__
    except ValidationError as wrong:
        return explain(wrong, board_call.parameters, board_call.name)
    return Clicked(given["tool"], given["arguments"], given["key"] or None)


def shown(listed: Iterable[types.Tool], app_only: Iterable[types.Tool], mains: frozenset[str]) -> list[types.Tool]:
    """The tools as a client with MCP Apps gets them: where the board is drawn, and behind them the board's own."""
    bound = {view_turn.name, AWAIT_TURN} | mains
    page = {"resourceUri": BOARD_URI}
    return [
        *(_marked(item, page) if item.name in bound else item for item in listed),
        *(_marked(item, {**page, "visibility": ["app"]}) for item in app_only),
    ]


def app_tools() -> list[Tool]:
    """The tools that only the page calls."""
    return list(_TOOLS.values())


def resource() -> types.Resource:
    """The page, as the list of resources names it."""
    return types.Resource(
        uri=BOARD_URI,
        name="market_board",
        title="Board",
        description="The market as this seat sees it",
        mime_type=APP_MIME_TYPE,
    )


def contents() -> types.ReadResourceResult:
    """The page itself. It loads nothing from anywhere, and its policy allows nothing."""
    page = types.TextResourceContents(
        uri=BOARD_URI, mime_type=APP_MIME_TYPE, text=page_text("board.html"), _meta={"ui": {"csp": {}}}
    )
    return types.ReadResourceResult(contents=[page])


@cache
def page_text(name: str) -> str:
    """One of the two built pages: `board.html` or `person.html`."""
    return files("tradefair.host").joinpath("assets", name).read_text("utf-8")


def _marked(listed: types.Tool, ui: dict[str, Any]) -> types.Tool:
    return listed.model_copy(update={"meta": {**(listed.meta or {}), "ui": ui}})


def _look(item: Tool, core: Core) -> dict[str, Any]:
    return {"name": item.name, "title": item.title, "inputSchema": item.listed_schema(core.scenario)}


def _action(item: Tool, core: Core) -> dict[str, Any]:
    about = {"description": item.description, "endsTurn": item.ends_turn, "destructive": item.destructive}
    return {**_look(item, core), **about}

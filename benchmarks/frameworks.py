"""What a framework costs: the same 500 tool calls in each, a scripted model that takes no time, CPU time per turn.

Every model is a fake of the framework's own kind, in this process; every tool goes through one bridge to a client that
answers at once. What is not installed is left out and named; `make test` installs all of it. Beside them a bare
loop over `mcp.Client` and a server that does nothing: what no agent over MCP can do without.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from statistics import median
from typing import Any

import httpx2
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool
from openai import AsyncOpenAI
from pydantic import Field

from benchmarks.figures import Figure, Stopwatch, ratio_of_medians
from tradefair.agents.bridge import Bridge
from tradefair.agents.graphs.plan_and_act import PlanAndAct
from tradefair.agents.graphs.player import GraphPlayer
from tradefair.agents.graphs.react import React
from tradefair.agents.graphs.reflection import Reflection
from tradefair.agents.rounds import RoundLimits
from tradefair.agents.toolbox import as_tools
from tradefair.contract import Brief, TurnView
from tradefair.frameworks.models.client import ChatClient
from tradefair.frameworks.models.dialect import Dialect
from tradefair.frameworks.models.door import Door
from tradefair.frameworks.models.seat_chat import SeatChat
from tradefair.frameworks.models.wire import Json, completion, function_call
from tradefair.frameworks.openai_loop import CompletionsTalk
from tradefair.frameworks.talk import TalkPlayer, shown_tools

_SYSTEM, _QUESTION = "You look at things.", "Look until you are told to stop."
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}
_PLAN = '{"steps":[{"intent":"look","check":"the turn is over"}]}'
# Turns at either end of a round.
_SPAN = 50
_BRIEF = Brief("looker", "look", "one round")
Run = Callable[[int], Awaitable[None]]
"""One run of a framework with so many turns."""


def measure(*, tiny: bool) -> list[Figure]:
    """CPU milliseconds per turn of each framework; ours over `create_agent` and over a bare loop, measured in turns."""
    turns, repeats = (20, 1) if tiny else (300, 5)
    runs = {name: make() for name, (module, make) in _FRAMEWORKS.items() if find_spec(module) is not None}
    missing = [name for name in _FRAMEWORKS if name not in runs]
    costs: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        asyncio.run(_run(run, 2))
    for number in range(repeats):
        for name, run in runs.items():
            # The others once: they are there to compare with, and some take a minute.
            if number == 0 or name in _REPEATED:
                watch = Stopwatch()
                asyncio.run(_run(run, turns))
                costs[name].append(watch.seconds() / turns * 1000)
    long = turns if tiny else 500
    growth = median(asyncio.run(_growth(long)) for _ in range(repeats))
    return [*_figures(costs, turns, missing), _growth_figure(growth, long)]


def _figures(costs: Mapping[str, Sequence[float]], turns: int, missing: Sequence[str]) -> list[Figure]:
    figures = [
        Figure(name, median(cost), "CPU ms per turn", how=f"{turns} calls in one run, median of {len(cost)}")
        for name, cost in costs.items()
    ]
    for ours, theirs, goal in _RATIOS:
        if theirs in costs:
            ratio = ratio_of_medians(costs[ours], costs[theirs])
            figures.append(Figure(f"{ours} over {theirs}", ratio, "x", goal, how=figures[0].how))
    if missing:
        left_out = f"{figures[0].how}; not installed: {', '.join(missing)} (make test)"
        figures[0] = figures[0]._replace(how=left_out)
    return figures


def _growth_figure(growth: float, turns: int) -> Figure:
    # The window holds twenty times the messages, and langgraph's state and the model look at each of them.
    how = f"medians of {_SPAN} turns, over mcp.Client, a chat model of ours"
    return Figure(f"react: the last turns of {turns} in one round over the first", growth, "x", 1.2, how=how)


async def _run(run: Run, turns: int) -> None:
    await run(turns)


# --- the task -------------------------------------------------------------------------------------------------------


class _Market:
    """An MCP client, as far as the bridge knows one: after so many looks it says that the turn is over."""

    def __init__(self, turns: int) -> None:
        self.looks = 0
        self._turns = turns

    async def call_tool(self, name: str, arguments: Mapping[str, Any], *_: Any, meta: Any = None) -> CallToolResult:
        self.looks += 1
        mark = {"round": 1, "phase": "look", "turn_over": self.looks == self._turns, "over": False}
        seen = {"at": arguments["at"], "seen": "nothing yet"}
        return CallToolResult(
            content=[TextContent(type="text", text=json.dumps(seen))],
            structured_content=seen,
            _meta={"tradefair/turn": mark},
        )


_LOOK = Tool(name="look", description="Look at a place.", input_schema=_SCHEMA)


def _bridge(turns: int) -> tuple[_Market, Bridge]:
    market = _Market(turns)
    return market, Bridge(market, {"look": _LOOK})  # pyright: ignore[reportArgumentType]  # the one method that is used


def _served(market: _Market) -> Server[Any]:
    """The same behind an MCP server."""

    async def tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=[_LOOK])

    async def look(context: Any, params: Any) -> CallToolResult:
        return await market.call_tool(params.name, params.arguments)

    return Server[Any]("looks", on_list_tools=tools, on_call_tool=look)


async def _next_turn() -> TurnView:
    return _view(over=True)


def _view(*, over: bool = False) -> TurnView:
    return TurnView(
        seat="A",
        role="looker",
        round=1,
        phase="look",
        revision=0,
        awaited=not over,
        actions=[],
        over=over,
        end_reason="terminated:looked" if over else None,
        still_open=False,
        limits=[],
        market={},
    )


# --- ours -----------------------------------------------------------------------------------------------------------


class _Scripted(BaseChatModel):
    """Calls `look` so many times, then says that it is done."""

    turns: int
    asked: int = 0
    begun: list[float] = Field(default_factory=list[float])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if messages[0].id == "system.planner":
            return ChatResult(generations=[ChatGeneration(message=AIMessage(_PLAN))])
        self.begun.append(time.process_time())
        self.asked += 1
        call = ToolCall(name="look", args={"at": self.asked}, id=f"call-{self.asked}", type="tool_call")
        message = AIMessage("done") if self.asked > self.turns else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


class _OurScripted:
    """The same behind our own chat model, as a seat's model or policy is."""

    def __init__(self, turns: int) -> None:
        self.turns = turns
        self.begun: list[float] = []
        self.chat = SeatChat(self._ask, model="scripted")

    async def _ask(self, request: Json) -> Json:
        self.begun.append(time.process_time())
        asked = len(self.begun)
        if asked > self.turns:
            return completion("scripted", asked, {"content": "done"}, "stop").body
        call = function_call(f"call-{asked}", "look", json.dumps({"at": asked}))
        return completion("scripted", asked, {"content": None, "tool_calls": [call]}, "tool_calls").body


async def _graph(player: type[GraphPlayer], turns: int) -> None:
    market, bridge = _bridge(turns)
    await player(bridge, _Scripted(turns=turns), _BRIEF, RoundLimits(turns + 1), _next_turn).play_round(_view())
    assert market.looks == turns


async def _growth(turns: int) -> float:
    """How many times the cost of a turn at the beginning of a round that of one at its end is."""
    model = _OurScripted(turns)
    await _over_mcp(model.chat, turns)
    spent = [after - before for before, after in pairwise(model.begun)]
    span = min(_SPAN, turns // 4)
    return median(spent[-span:]) / median(spent[span // 5 : span + span // 5])


async def _over_mcp(model: BaseChatModel, turns: int) -> None:
    market = _Market(turns)
    async with Client(_served(market)) as client:
        player = React(await Bridge.open(client), model, _BRIEF, RoundLimits(turns + 1), _next_turn)
        await player.play_round(_view())
    assert market.looks == turns


async def _react_over_mcp(turns: int) -> None:
    await _over_mcp(_OurScripted(turns).chat, turns)


async def _bare_loop(turns: int) -> None:
    market = _Market(turns)
    async with Client(_served(market)) as client:
        await client.list_tools()
        over = False
        while not over:
            result = await client.call_tool("look", {"at": market.looks + 1})
            over = (result.meta or {})["tradefair/turn"]["turn_over"]
    assert market.looks == turns


async def _openai_loop(turns: int) -> None:
    market, bridge = _bridge(turns)

    def complete(request: httpx2.Request) -> httpx2.Response:
        arguments = json.dumps({"at": market.looks + 1})
        call = {"id": f"call-{market.looks}", "type": "function", "function": {"name": "look", "arguments": arguments}}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
        body = {"id": "c", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
        return httpx2.Response(200, stream=httpx2.ByteStream(json.dumps(body).encode()))

    transport = httpx2.MockTransport(complete)
    door = Door("none", Dialect("scripted"), outside=False, transport=transport)
    async with AsyncOpenAI(base_url="http://scripted/v1", api_key="none", http_client=door) as openai:
        client = ChatClient("openai_loop", openai, "scripted", door=door)
        talk = partial(CompletionsTalk, client, shown_tools(bridge), _SYSTEM)
        await TalkPlayer(bridge, talk, RoundLimits(turns + 1), _next_turn).play_round(_view())
    assert market.looks == turns


# --- others: as their users would write it, Any because they may be missing ------------------------------------------


def _create_agent() -> Run:
    create_agent: Any = import_module("langchain.agents").create_agent

    async def run(turns: int) -> None:
        market, bridge = _bridge(turns)
        agent = create_agent(_Scripted(turns=turns), as_tools(bridge), system_prompt=_SYSTEM)
        await agent.ainvoke({"messages": [("user", _QUESTION)]}, {"recursion_limit": 3 * turns + 10})
        assert market.looks == turns

    return run


def _pydantic_ai() -> Run:
    ai: Any = import_module("pydantic_ai")
    messages: Any = import_module("pydantic_ai.messages")
    function_model: Any = import_module("pydantic_ai.models.function").FunctionModel

    async def run(turns: int) -> None:
        market, bridge = _bridge(turns)

        async def reply(history: Any, info: Any) -> Any:
            if market.looks == turns:
                return messages.ModelResponse(parts=[messages.TextPart("done")])
            call = messages.ToolCallPart("look", {"at": market.looks + 1}, f"call-{market.looks}")
            return messages.ModelResponse(parts=[call])

        async def look(**arguments: Any) -> str:
            return (await bridge.call("look", arguments)).text

        tool = ai.Tool.from_schema(look, "look", "Look at a place.", _SCHEMA)
        agent = ai.Agent(function_model(reply), instructions=_SYSTEM, tools=[tool])
        await agent.run(_QUESTION, usage_limits=ai.UsageLimits(request_limit=None))
        assert market.looks == turns

    return run


def _openai_agents() -> Run:
    sdk: Any = import_module("agents")
    responses: Any = import_module("openai.types.responses")
    testing: Any = import_module("agents.testing")

    async def run(turns: int) -> None:
        market, bridge = _bridge(turns)

        async def reply(*_: Any, **__: Any) -> Any:
            call = responses.ResponseFunctionToolCall(
                type="function_call",
                name="look",
                arguments=json.dumps({"at": market.looks + 1}),
                call_id=f"call-{market.looks}",
            )
            output = testing.assistant_message("done") if market.looks == turns else call
            return sdk.ModelResponse(output=[output], usage=sdk.Usage(), response_id=None)

        async def look(context: Any, arguments: str) -> str:
            return (await bridge.call("look", json.loads(arguments))).text

        # Its own ScriptedModel keeps a copy of every request, which would be measured with it.
        model = type("Scripted", (sdk.Model,), {"get_response": reply, "stream_response": reply})()
        tool = sdk.FunctionTool("look", "Look at a place.", _SCHEMA, look, strict_json_schema=False)
        agent = sdk.Agent(name="looker", instructions=_SYSTEM, model=model, tools=[tool])
        await sdk.Runner.run(agent, _QUESTION, max_turns=None, run_config=sdk.RunConfig(tracing_disabled=True))
        assert market.looks == turns

    return run


_FRAMEWORKS: Mapping[str, tuple[str, Callable[[], Run]]] = {
    "react": ("langgraph", lambda: partial(_graph, React)),
    "reflection": ("langgraph", lambda: partial(_graph, Reflection)),
    "plan_and_act": ("langgraph", lambda: partial(_graph, PlanAndAct)),
    "openai_loop": ("openai", lambda: _openai_loop),
    "create_agent": ("langchain", _create_agent),
    "pydantic_ai": ("pydantic_ai", _pydantic_ai),
    "openai_agents": ("agents", _openai_agents),
    "react over mcp.Client": ("mcp", lambda: _react_over_mcp),
    "a bare loop": ("mcp", lambda: _bare_loop),
}
"""Name -> the module that it needs, and what makes its run."""

_RATIOS = (
    ("react", "create_agent", 0.6),
    ("reflection", "create_agent", 0.6),
    ("plan_and_act", "create_agent", 0.6),
    ("react over mcp.Client", "a bare loop", 3.0),
)
_REPEATED = {name for ours, theirs, _ in _RATIOS for name in (ours, theirs)}

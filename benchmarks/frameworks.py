"""What a framework costs: the same 500 tool calls in each, a scripted model that takes no time, CPU time per turn.

Every model is a fake of the framework's own kind, in this process; every tool goes through one bridge to a client that
answers at once. What is not installed is left out and named; `make test-extras` installs all of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from typing import Any

import httpx2
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from mcp.types import CallToolResult, TextContent, Tool
from openai import AsyncOpenAI

from benchmarks.figures import Figure, Stopwatch, ratio_of_medians
from tradefair.agents.bridge import Bridge
from tradefair.agents.react import React
from tradefair.agents.rounds import RoundLimits
from tradefair.agents.toolbox import as_tools
from tradefair.contract import Brief, TurnView
from tradefair.frameworks.chat_client import ChatClient
from tradefair.frameworks.openai_loop import CompletionsTalk
from tradefair.frameworks.talk import TalkPlayer, shown_tools

_SYSTEM, _QUESTION = "You look at things.", "Look until you are told to stop."
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"at": {"type": "integer"}}, "required": ["at"]}
_BRIEF = Brief("looker", "look", "one round")
Run = Callable[[int], Awaitable[None]]
"""One run of a framework with so many turns."""


def measure(*, tiny: bool) -> list[Figure]:
    """CPU milliseconds per turn of each framework, and ours over langchain's, the two measured in turns."""
    turns, repeats = (5, 1) if tiny else (500, 5)
    runs = {name: make() for name, (module, make) in _FRAMEWORKS.items() if find_spec(module) is not None}
    missing = [name for name in _FRAMEWORKS if name not in runs]
    costs: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        asyncio.run(_run(run, 2))
    for number in range(repeats):
        for name, run in runs.items():
            # The others once: they are there to compare with, and some take a minute.
            if number == 0 or name in _COMPARED:
                watch = Stopwatch()
                asyncio.run(_run(run, turns))
                costs[name].append(watch.seconds() / turns * 1000)
    return _figures(costs, turns, missing)


def _figures(costs: Mapping[str, Sequence[float]], turns: int, missing: Sequence[str]) -> list[Figure]:
    figures = [
        Figure(name, median(cost), "CPU ms per turn", how=f"{turns} calls in one run, median of {len(cost)}")
        for name, cost in costs.items()
    ]
    ours, theirs = (costs.get(name) for name in _COMPARED)
    if ours and theirs:
        ratio = ratio_of_medians(ours, theirs)
        figures.append(Figure("react over create_agent", ratio, "x", 1.0, how=figures[0].how))
    if missing:
        left_out = f"{figures[0].how}; not installed: {', '.join(missing)} (make test-extras)"
        figures[0] = figures[0]._replace(how=left_out)
    return figures


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


def _bridge(turns: int) -> tuple[_Market, Bridge]:
    market = _Market(turns)
    tool = Tool(name="look", description="Look at a place.", input_schema=_SCHEMA)
    return market, Bridge(market, {"look": tool})  # pyright: ignore[reportArgumentType]  # the one method that is used


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
        self.asked += 1
        call = ToolCall(name="look", args={"at": self.asked}, id=f"call-{self.asked}", type="tool_call")
        message = AIMessage("done") if self.asked > self.turns else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


async def _react(turns: int) -> None:
    market, bridge = _bridge(turns)
    player = React(bridge, _Scripted(turns=turns), _BRIEF, RoundLimits(turns + 1), _next_turn)
    await player.play_round(_view())
    assert market.looks == turns


async def _openai_loop(turns: int) -> None:
    market, bridge = _bridge(turns)

    def complete(request: httpx2.Request) -> httpx2.Response:
        arguments = json.dumps({"at": market.looks + 1})
        call = {"id": f"call-{market.looks}", "type": "function", "function": {"name": "look", "arguments": arguments}}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
        body = {"id": "c", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
        return httpx2.Response(200, json=body)

    transport = httpx2.MockTransport(complete)
    async with AsyncOpenAI(
        base_url="http://scripted/v1", api_key="none", http_client=httpx2.AsyncClient(transport=transport)
    ) as openai:
        client = ChatClient("openai_loop", openai, "scripted")
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
    "react": ("langgraph", lambda: _react),
    "openai_loop": ("openai", lambda: _openai_loop),
    "create_agent": ("langchain", _create_agent),
    "pydantic_ai": ("pydantic_ai", _pydantic_ai),
    "openai_agents": ("agents", _openai_agents),
}
"""Name -> the module that it needs, and what makes its run."""

_COMPARED = ("react", "create_agent")

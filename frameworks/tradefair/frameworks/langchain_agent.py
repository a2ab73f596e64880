"""The `langchain_agent` framework: langchain's `create_agent` with a middleware of ours (extra `langchain`).

Model and tools are the same objects that our own graphs use; what differs is the loop.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from tradefair.agents.asking import plain
from tradefair.agents.bridge import ToolOutcome
from tradefair.agents.prompt import load_prompt
from tradefair.agents.toolbox import as_tools
from tradefair.contract import Brief
from tradefair.frameworks.base import Limits, SeatConnection, SeatReport
from tradefair.frameworks.models import open_chat_model
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.seat_clock import open_bridge
from tradefair.frameworks.seat_round import SeatRound
from tradefair.frameworks.talk import play_talks, required

_RECURSION_LIMIT = 1_000_000
"""Steps of one graph run; the round's own limits end it long before."""


class LangChainAgent:
    """A seat played by `create_agent`'s graph, one run for each time that the model is spoken to."""

    name = "langchain_agent"

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end; raises HarnessFailure."""
        endpoint = required(model, self.name)
        bridge = await open_bridge(seat)
        # Any, here and below: the package may be missing where types are checked.
        create_agent: Any = import_module("langchain.agents").create_agent
        async with open_chat_model(endpoint) as chat:
            graph = create_agent(
                chat,
                as_tools(bridge, without=frozenset({"await_turn"})),
                system_prompt=load_prompt("react").system(brief),
                middleware=_middleware(),
                context_schema=SeatRound,
            )
            return await play_talks(self.name, lambda turn: _Conversation(graph, turn), bridge, seat, endpoint, limits)


class _Conversation:
    """One round's messages."""

    def __init__(self, graph: Any, turn: SeatRound) -> None:
        self._graph = graph
        self._turn = turn
        self._messages: list[AnyMessage] = []

    async def say(self, words: str) -> None:
        said = [HumanMessage(words)] if words else []
        config = {"recursion_limit": _RECURSION_LIMIT}
        end = await self._graph.ainvoke({"messages": [*self._messages, *said]}, config, context=self._turn)
        self._messages = end["messages"]


def _middleware() -> list[Any]:
    """Stop when the round is finished; take in each reply; make calls by `SeatRound`, in order."""
    ready: Any = import_module("langchain.agents.middleware")

    @ready.before_model(can_jump_to=["end"])
    async def stop(state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "end"} if runtime.context.finished else None

    @ready.wrap_model_call
    async def hear(request: Any, handler: Any) -> Any:
        begun = time.perf_counter()
        response = await handler(request)
        await request.runtime.context.reply(plain(response.result[-1], time.perf_counter() - begun))
        return response

    @ready.after_model(can_jump_to=["model", "end"])
    async def refuse(state: Any, runtime: Any) -> dict[str, Any] | None:
        return await _answer_invalid(state["messages"][-1], runtime.context)

    @ready.wrap_tool_call
    async def make(request: Any, handler: Any) -> ToolMessage:
        call = request.tool_call
        return _message(await request.runtime.context.answer(call["id"]), call["id"])

    return [stop, hear, refuse, make]


async def _answer_invalid(reply: AIMessage, turn: SeatRound) -> dict[str, Any] | None:
    """Refusals of calls whose arguments are no JSON object: the graph would leave them without an answer."""
    if turn.finished:
        return {"jump_to": "end"}
    if not reply.invalid_tool_calls:
        return None
    refused = [_message(await turn.answer(call["id"] or ""), call["id"] or "") for call in reply.invalid_tool_calls]
    return {"messages": refused, **({} if reply.tool_calls else {"jump_to": "model"})}


def _message(outcome: ToolOutcome, call_id: str) -> ToolMessage:
    return ToolMessage(
        content=cast("Any", outcome.content),
        tool_call_id=call_id,
        name=outcome.tool,
        status="error" if outcome.is_error else "success",
        artifact=outcome.artifact,
    )

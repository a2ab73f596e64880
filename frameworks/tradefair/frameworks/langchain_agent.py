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
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models import open_chat_model
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.seat_clock import open_bridge
from tradefair.frameworks.seat_round import SeatRound
from tradefair.frameworks.talk import play_talks, required

# LangGraph's own default is small: it would end a long round in its middle with an error.
_RECURSION_LIMIT = 1_000_000
"""Steps of one graph run; the round's own limits end it long before."""


class LangChainAgent:
    """A seat played by `create_agent`'s graph, one run for each time that the model is spoken to.

    `SeatRound` is the run's context, so that the middleware of one shared graph finds the round it belongs to.
    """

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
                # Waiting is the driver's: a model with this tool would pay for a turn that the seat clock waits for
                # anyway.
                as_tools(bridge, without=frozenset({"await_turn"})),
                # The prompt of the react graph, word for word: frameworks are compared under the same words.
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
        # One conversation per round: earlier rounds come back as memory in the opening message, not as messages.
        self._messages: list[AnyMessage] = []

    async def say(self, words: str) -> None:
        """Add a user message and run the graph until a reply has no call or the round is finished."""
        said = [HumanMessage(words)] if words else []
        config = {"recursion_limit": _RECURSION_LIMIT}
        # The graph keeps no state between runs (no checkpointer), so the whole history is given again.
        end = await self._graph.ainvoke({"messages": [*self._messages, *said]}, config, context=self._turn)
        self._messages = end["messages"]


def _middleware() -> list[Any]:
    """Stop when the round is finished; take in each reply; make calls by `SeatRound`, in order.

    In the order in which langchain asks them: before the model, around the model, after the model, around each tool.
    """
    ready: Any = import_module("langchain.agents.middleware")

    # The graph goes back to the model after every tool call; without this it would be asked after its turn has ended.
    @ready.before_model(can_jump_to=["end"])
    async def stop(state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "end"} if runtime.context.finished else None

    # Around the model and not after it: only here the time that the reply took can be measured.
    @ready.wrap_model_call
    async def hear(request: Any, handler: Any) -> Any:
        begun = time.perf_counter()
        response = await handler(request)
        await request.runtime.context.reply(plain(response.result[-1], time.perf_counter() - begun))
        return response

    @ready.after_model(can_jump_to=["model", "end"])
    async def refuse(state: Any, runtime: Any) -> dict[str, Any] | None:
        return await _answer_invalid(state["messages"][-1], runtime.context)

    # langchain runs the tools of one reply at once; the first to arrive here has all of them made, in order.
    @ready.wrap_tool_call
    async def make(request: Any, handler: Any) -> ToolMessage:
        call = request.tool_call
        # `handler` is never called: it would make the call a second time.
        return _message(await request.runtime.context.answer(call["id"]), call["id"])

    return [stop, hear, refuse, make]


async def _answer_invalid(reply: AIMessage, turn: SeatRound) -> dict[str, Any] | None:
    """Refusals of calls with arguments that are no JSON object: the graph would leave them without an answer."""
    if turn.finished:
        # The reply may have reached a limit: its invalid calls then need no answer, the conversation is over.
        return {"jump_to": "end"}
    if not reply.invalid_tool_calls:
        return None
    refused = [_message(await turn.answer(call["id"] or ""), call["id"] or "") for call in reply.invalid_tool_calls]
    # With valid calls in the same reply, the graph goes on to its tools by itself; a jump would skip them.
    return {"messages": refused, **({} if reply.tool_calls else {"jump_to": "model"})}


def _message(outcome: ToolOutcome, call_id: str) -> ToolMessage:
    return ToolMessage(
        content=cast("Any", outcome.content),
        tool_call_id=call_id,
        name=outcome.tool,
        status="error" if outcome.is_error else "success",
        artifact=outcome.artifact,
    )

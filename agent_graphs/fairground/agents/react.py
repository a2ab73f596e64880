"""The react graph: agent <-> tools until the turn is over, one invocation per market round.

START -> agent -> tools -> agent …            a reply with calls
         agent -> agent                       a thought
         agent -> nudge -> agent              the second thought in a row
         agent -> END                         the third, or the tokens are used up: the round is given up
                  tools -> next_phase -> agent    the turn is over, the round is not
                           next_phase -> END      another round, or the end
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from fairground.agents.bridge import Bridge
from fairground.agents.memory import Act, Memory
from fairground.agents.options import GraphOptions
from fairground.agents.prompt import load_prompt
from fairground.agents.rounds import NextTurn, Note, RoundEnd, RoundLimits
from fairground.agents.tool_node import Executed, run_calls
from fairground.agents.toolbox import as_tools
from fairground.agents.window import Window
from fairground.agents.wording import NUDGE, goes_on, opening
from fairground.contract.market import Brief
from fairground.contract.policy import TurnView

__all__ = ["React", "ReactContext", "ReactState", "build_graph"]

_MAX_THOUGHTS = 3


class ReactState(TypedDict):
    """One round: its messages and counters. `view` is the open phase's turn, at the end the next round's."""

    messages: Annotated[list[AnyMessage], operator.add]
    acts: Annotated[list[Act], operator.add]
    view: TurnView
    replies: int
    calls: int
    thoughts: int
    nudges: int
    input_tokens: int
    output_tokens: int
    estimated: bool
    turn_over: bool
    stop: str | None


@dataclass(frozen=True)
class ReactContext:
    """What the nodes share and no state holds: the tools, the model that knows them, the clock, the limits."""

    bridge: Bridge
    model: Runnable[Any, AIMessage]
    next_turn: NextTurn
    limits: RoundLimits
    window: Window
    note: Note | None = None


async def _agent(state: ReactState, runtime: Runtime[ReactContext]) -> dict[str, Any]:
    reply = await runtime.context.model.ainvoke(runtime.context.window(state["messages"]))
    reply = reply.model_copy(update={"id": f"r{state['view'].round}.{state['replies']}"})
    called = bool(reply.tool_calls or reply.invalid_tool_calls)
    thoughts = 0 if called else state["thoughts"] + 1
    usage = reply.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    spent_in, spent_out = state["input_tokens"] + usage["input_tokens"], state["output_tokens"] + usage["output_tokens"]
    if runtime.context.note is not None:
        await runtime.context.note(_model_call(state["view"], reply, usage["input_tokens"], usage["output_tokens"]))
    return {
        "messages": [reply],
        "replies": state["replies"] + 1,
        "thoughts": thoughts,
        "input_tokens": spent_in,
        "output_tokens": spent_out,
        "estimated": state["estimated"] or bool(reply.response_metadata.get("usage_estimated")),
        "stop": _reply_stop(thoughts, spent_in + spent_out, runtime.context.limits),
    }


def _model_call(view: TurnView, reply: AIMessage, input_tokens: int, output_tokens: int) -> dict[str, Any]:
    return {
        "kind": "model_call",
        "round": view.round,
        "phase": view.phase,
        "reply": reply.id,
        "model": reply.response_metadata.get("model_name"),
        "text": str(reply.content),
        "calls": [call["name"] for call in reply.tool_calls],
        "invalid_calls": len(reply.invalid_tool_calls),
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "usage_estimated": bool(reply.response_metadata.get("usage_estimated")),
    }


def _reply_stop(thoughts: int, tokens: int, limits: RoundLimits) -> str | None:
    if limits.tokens is not None and tokens > limits.tokens:
        return "token_limit"
    return "no_call" if thoughts >= _MAX_THOUGHTS else None


def _after_agent(state: ReactState) -> str:
    if state["stop"]:
        return END
    return {0: "tools", 1: "agent"}.get(state["thoughts"], "nudge")


async def _nudge(state: ReactState) -> dict[str, Any]:
    message = HumanMessage(NUDGE, id=f"r{state['view'].round}.nudge{state['nudges']}")
    return {"messages": [message], "nudges": state["nudges"] + 1}


async def _tools(state: ReactState, runtime: Runtime[ReactContext]) -> dict[str, Any]:
    message = cast("AIMessage", state["messages"][-1])
    budget = runtime.context.limits.calls - state["calls"]
    done = await run_calls(runtime.context.bridge, message, state["view"], budget)
    calls = state["calls"] + len(done.calls)
    used_up = not done.turn_over and calls >= runtime.context.limits.calls
    return {
        "messages": done.messages,
        "acts": _acts(done),
        "calls": calls,
        "turn_over": done.turn_over,
        "stop": "call_limit" if used_up else None,
    }


def _acts(done: Executed) -> list[Act]:
    pairs = zip(done.calls, done.outcomes, strict=True)
    return [Act(call.tool, call.arguments or {}, outcome) for call, outcome in pairs]


def _after_tools(state: ReactState) -> str:
    if state["turn_over"]:
        return "next_phase"
    return END if state["stop"] else "agent"


async def _next_phase(state: ReactState, runtime: Runtime[ReactContext]) -> dict[str, Any]:
    view = await runtime.context.next_turn()
    if view.over or view.round != state["view"].round:
        return {"view": view}
    if state["calls"] >= runtime.context.limits.calls:
        return {"view": view, "turn_over": False, "stop": "call_limit"}
    message = HumanMessage(goes_on(view), id=f"r{view.round}.{view.phase}.{view.revision}")
    return {"view": view, "turn_over": False, "messages": [message]}


def _after_phase(state: ReactState) -> str:
    return END if state["turn_over"] or state["stop"] else "agent"


def build_graph() -> Any:
    """The compiled graph; state `ReactState`, context `ReactContext`. No checkpointer: the market's log resumes."""
    # Any: langgraph's builder is typed with unknowns.
    graph: Any = StateGraph(ReactState, context_schema=ReactContext)
    graph.add_node("agent", _agent)
    graph.add_node("tools", _tools)
    graph.add_node("nudge", _nudge)
    graph.add_node("next_phase", _next_phase)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", _after_agent, ["agent", "tools", "nudge", END])
    graph.add_edge("nudge", "agent")
    graph.add_conditional_edges("tools", _after_tools, ["agent", "next_phase", END])
    graph.add_conditional_edges("next_phase", _after_phase, ["agent", END])
    return graph.compile()


class React:
    """The react graph in one seat: a fresh message list per round, so that its cost stays flat."""

    def __init__(
        self,
        bridge: Bridge,
        model: BaseChatModel,
        brief: Brief,
        limits: RoundLimits,
        next_turn: NextTurn,
        note: Note | None = None,
        options: GraphOptions | None = None,
    ) -> None:
        self.prompt = load_prompt("react")
        # Waiting is the driver's: a model that waits would only pay for it.
        bound = model.bind_tools(as_tools(bridge, without=frozenset({"await_turn"})))
        self._context = ReactContext(bridge, cast("Any", bound), next_turn, limits, (options or GraphOptions()).window, note)
        self._memory = Memory(bridge)
        self._system = SystemMessage(self.prompt.system(brief), id="system")
        self._graph = build_graph()

    async def play_round(self, view: TurnView) -> RoundEnd:
        """Play the round that `view` opens. Raises HarnessFailure."""
        carried = await self._memory.open_round(view.round)
        config = {"recursion_limit": self._context.limits.recursion_limit}
        first = HumanMessage(opening(view, carried), id=f"r{view.round}.open")
        start = _start([self._system, first], view)
        end: ReactState = await self._graph.ainvoke(start, config, context=self._context)
        self._memory.close_round(view.round, end["acts"], end["stop"])
        return RoundEnd(
            view=end["view"],
            stop=end["stop"],
            replies=end["replies"],
            calls=end["calls"],
            nudges=end["nudges"],
            input_tokens=end["input_tokens"],
            output_tokens=end["output_tokens"],
            estimated=end["estimated"],
        )


def _start(messages: list[AnyMessage], view: TurnView) -> ReactState:
    return ReactState(
        messages=messages,
        acts=[],
        view=view,
        replies=0,
        calls=0,
        thoughts=0,
        nudges=0,
        input_tokens=0,
        output_tokens=0,
        estimated=False,
        turn_over=False,
        stop=None,
    )
